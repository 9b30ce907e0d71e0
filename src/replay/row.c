/* row.c: what a replay row holds, found in the run: hash ids, output blocks, waits, tool spans */
#include "lower.h"

#include <stdlib.h>

int numbers_room(struct numbers *list, size_t more, struct ts_error *err)
{
	size_t cap = list->cap ? list->cap + list->cap / 2 : 32;
	uint32_t *bigger;

	if (more <= list->cap - list->n)
		return 0;
	if (cap - list->n < more)
		cap = list->n + more;
	bigger = reallocarray(list->v, cap, sizeof(*bigger));
	if (!bigger)
		return ts_error_nomem(err);
	list->v = bigger;
	list->cap = cap;
	return 0;
}

int numbers_add(struct numbers *list, uint32_t v, struct ts_error *err)
{
	if (numbers_room(list, 1, err) < 0)
		return -1;
	list->v[list->n++] = v;
	return 0;
}

void row_done(struct row *row)
{
	free(row->ids.v);
	free(row->output.v);
	free(row->waits.v);
	free(row->branches.v);
	free(row->tools.v);
	*row = (struct row){0};
}

uint64_t blocks_of(uint64_t tokens, uint64_t size)
{
	return tokens / size + (tokens % size > 0);
}

/* ---- hash ids ---- */

/* Inputs have the ids 0, 1, 2, ... in the order in which they first come, also where completions
 * have some behind them. All hashes may have had theirs before. */
static void count_known(struct replay *r, struct row *row)
{
	const struct numbers *ids = &row->ids;

	row->known = 0;
	while (row->known < ids->n && ids->v[row->known] < r->inputs_found)
		row->known++;
	for (size_t k = row->known; k < ids->n; k++)
		if (ids->v[k] >= r->inputs_found)
			r->inputs_found = ids->v[k] + 1;
}

static int find_ids(struct replay *r, struct row *row, struct ts_error *err)
{
	struct ts_str input = r->input->hashes, completion = r->input->completion;
	uint64_t size = r->facts.trace_block_size, first = row->input_length / size;
	uint64_t count = blocks_of(row->input_length, size);
	/* Adds as far as two such numbers go. */
	uint64_t all = blocks_of(u64_add_sat(row->input_length, row->output_tokens), size);
	size_t before;

	if (input.n / 8 != count || (completion.p && completion.n / 8 != all))
		return ts_error_set(err, TS_E_STORE_DAMAGED,
				    "hashes in the run file do not fit their request");
	row->has_output_ids = completion.p != NULL;
	before = r->ids.count;
	r->first_new = 0;
	if (hashes_ids(r, input, 0, count, &row->ids, err) < 0)
		return -1;
	if (before == r->inputs_found) {
		row->known = (uint32_t)r->first_new;
		r->inputs_found = (uint32_t)r->ids.count;
	} else {
		count_known(r, row);
	}
	if (!completion.p || !row->output_tokens)
		return 0;
	if (hashes_ids(r, completion, first, all, &row->output, err) < 0)
		return -1;
	/* The block that holds the prompt's end and first output is known by what it became. */
	if (first < count)
		row->ids.v[first] = row->output.v[0];
	return 0;
}

/* ---- waits ---- */

/* Length of the union of the kept spans within [from, to]. They come sorted by start, and cutting
 * keeps that order. */
static uint64_t union_ms(const struct replay *r, size_t count, int64_t from, int64_t to)
{
	int64_t covered = from;
	uint64_t busy = 0;

	for (size_t k = 0; k < count; k++) {
		const struct tool_span *t = &r->ag->tools[r->kept[k]];
		int64_t start = t->start_ms > covered ? t->start_ms : covered;
		int64_t end = t->end_ms < to ? t->end_ms : to;

		if (end <= start)
			continue;
		busy += (uint64_t)(end - start);
		covered = end;
	}
	return busy;
}

static enum request_kind kind_of(const struct session *s)
{
	if (s->background)
		return KIND_BACKGROUND_AGENT;
	return s->parent != NONE ? KIND_AGENT : KIND_FOREGROUND;
}

/* Adds those of request i to the list, by their numbers in request_rows, and moves *end to the
 * largest of their ends. */
static int add_links(const struct replay *r, const struct links *links, uint32_t i,
		     struct numbers *list, int64_t *end, struct ts_error *err)
{
	for (uint32_t k = 0; k < links_count(links, i); k++) {
		uint32_t other = links->to[links->at[i] + k];

		if (r->ag->end_ms[other] > *end)
			*end = r->ag->end_ms[other];
		if (numbers_add(list, r->no[other], err) < 0)
			return -1;
	}
	return 0;
}

/* 11.7 */
int row_find_waits(struct replay *r, uint32_t i, struct row *row, struct ts_error *err)
{
	const struct agentic *ag = r->ag;
	uint32_t previous = ag->previous[i];
	int64_t start = ag->start_ms[i], awaited_end = 0, ignored = 0;
	size_t tools = 0;

	row->waits.n = row->branches.n = row->tools.n = 0;
	row->gap_ms = row->busy_ms = 0;
	row->kind = kind_of(&ag->sessions[ag->session[i]]);
	row->prefix_reset = previous == NONE;
	if (add_links(r, &ag->branches, i, &row->branches, &ignored, err) < 0)
		return -1;
	if (previous != NONE) {
		awaited_end = ag->end_ms[previous];
		if (numbers_add(&row->waits, r->no[previous], err) < 0)
			return -1;
	}
	if (add_links(r, &ag->waits, i, &row->waits, &awaited_end, err) < 0)
		return -1;
	if (!row->waits.n)
		return 0;

	if (tools_kept(r, i, previous != NONE ? ag->start_ms[previous] : awaited_end, &tools, err) <
	    0)
		return -1;
	for (size_t k = 0; k < tools; k++)
		if (numbers_add(&row->tools, ag->tools[r->kept[k]].no, err) < 0)
			return -1;
	row->gap_ms = start > awaited_end ? (uint64_t)(start - awaited_end) : 0;
	row->busy_ms = union_ms(r, tools, awaited_end, start);
	return 0;
}

int row_find(struct replay *r, uint32_t i, struct row *row, struct ts_error *err)
{
	row->ids.n = row->output.n = 0;
	row->no = r->no[i];
	row->output_tokens = r->input->output_tokens;
	row->input_length = r->input->input_length;
	row->offset_ms = (uint64_t)(r->input->start_ms - r->origin_ms);
	if (find_ids(r, row, err) < 0)
		return -1;
	return r->ag ? row_find_waits(r, i, row, err) : 0;
}
