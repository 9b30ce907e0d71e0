/* rows.c: replay rows as JSON: hash ids, output token ids, waits, tool events */
#include "lower.h"

/* What a row waits for, worked out before its first member is written (11.7). */
struct waiting {
	uint32_t previous;       /* in front of the list, or NONE */
	const uint32_t *further; /* the rest of the list */
	uint32_t further_count;
	double delay, tool_wait;
	size_t tools; /* kept spans, in r->kept */
};

static bool waits(const struct waiting *w)
{
	return w->previous != NONE || w->further_count;
}

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

static int find_waiting(struct replay *r, uint32_t i, struct waiting *w, struct ts_error *err)
{
	struct agentic *ag = r->ag;
	int64_t start = ag->start_ms[i], awaited_end = 0, from;
	double gap, busy;

	*w = (struct waiting){.previous = ag->previous[i]};
	w->further_count = links_count(&ag->waits, i);
	if (w->further_count)
		w->further = ag->waits.to + ag->waits.at[i];
	if (!waits(w))
		return 0;
	if (w->previous != NONE)
		awaited_end = ag->end_ms[w->previous];
	for (uint32_t k = 0; k < w->further_count; k++)
		if (ag->end_ms[w->further[k]] > awaited_end)
			awaited_end = ag->end_ms[w->further[k]];

	from = w->previous != NONE ? ag->start_ms[w->previous] : awaited_end;
	if (tools_kept(r, i, from, &w->tools, err) < 0)
		return -1;
	gap = start > awaited_end ? (double)(start - awaited_end) : 0.0;
	busy = (double)union_ms(r, w->tools, awaited_end, start);
	w->tool_wait = busy < gap ? busy : gap;
	w->delay = gap - w->tool_wait;
	return 0;
}

/* The O tokens stand in the blocks that follow the prompt, each token being its block's id. */
static int write_output_tokens(struct replay *r, struct json_writer *w, struct ts_str completion,
			       uint64_t input_length, uint64_t output_tokens, struct ts_error *err)
{
	uint64_t size = r->facts.trace_block_size;
	uint64_t block = input_length / size, in_block = input_length % size;
	uint32_t id = 0;

	jw_key(w, "output_token_ids");
	jw_open_array(w);
	for (uint64_t k = 0; k < output_tokens; k++) {
		if ((k == 0 || in_block == 0) &&
		    hashes_id(r, hash_at(completion, block), &id, err) < 0)
			return -1;
		jw_u64(w, id);
		if (++in_block == size) {
			in_block = 0;
			block++;
		}
	}
	jw_close_array(w);
	return 0;
}

static int write_hash_ids(struct replay *r, struct json_writer *w, struct ts_str input,
			  struct ts_str completion, uint64_t input_length, uint64_t output_tokens,
			  struct ts_error *err)
{
	size_t count = input.n / 8;
	/* The block that holds the prompt's end and first output is known by what it became. */
	bool shared = completion.p && output_tokens && input_length % r->facts.trace_block_size;
	uint32_t id;

	jw_key(w, "hash_ids");
	jw_open_array(w);
	for (size_t k = 0; k < count; k++) {
		struct ts_str from = shared && k == count - 1 ? completion : input;

		if (hashes_id(r, hash_at(from, k), &id, err) < 0)
			return -1;
		jw_u64(w, id);
	}
	jw_close_array(w);
	return 0;
}

static uint64_t blocks(const struct replay *r, uint64_t tokens)
{
	uint64_t size = r->facts.trace_block_size;

	return tokens / size + (tokens % size > 0);
}

/* The members that both row forms share, between session_id and delay. */
static int write_load(struct replay *r, struct json_writer *w, struct ts_error *err)
{
	uint64_t output_tokens = query_u64(r->row, 3), input_length = query_u64(r->row, 5);
	struct ts_str input = query_str(r->row, 6), completion = query_str(r->row, 7);

	if (input.n / 8 != blocks(r, input_length) ||
	    (completion.p && completion.n / 8 != blocks(r, input_length + output_tokens)))
		return ts_error_set(err, TS_E_STORE_DAMAGED,
				    "hashes in the run file do not fit their request");

	jw_kv_u64(w, "input_length", input_length);
	jw_kv_u64(w, "output_length", output_tokens);
	if (completion.p &&
	    write_output_tokens(r, w, completion, input_length, output_tokens, err) < 0)
		return -1;
	if (write_hash_ids(r, w, input, completion, input_length, output_tokens, err) < 0)
		return -1;
	jw_kv_double(w, "timestamp", (double)(query_i64(r->row, 2) - r->origin_ms));
	return 0;
}

static int write_ids(struct replay *r, struct json_writer *w, const uint32_t *requests,
		     uint32_t count, struct ts_error *err)
{
	struct ts_str id;

	for (uint32_t k = 0; k < count; k++) {
		if (request_id_text(r, requests[k], &id, err) < 0)
			return -1;
		jw_str(w, id);
	}
	return 0;
}

static int write_tool_events(struct replay *r, struct json_writer *w, size_t count,
			     struct ts_error *err)
{
	struct query *q = r->tool;

	jw_key(w, "tool_events");
	jw_open_array(w);
	for (size_t k = 0; k < count; k++) {
		query_reset(q);
		query_bind_u64(q, 1, r->ag->tools[r->kept[k]].no);
		if (step_row(q, err) < 0)
			return -1;
		int64_t start = query_i64(q, 2), end = query_i64(q, 3);

		jw_open_object(w);
		jw_kv_str(w, "tool_call_id", query_str(q, 0));
		jw_kv_str(w, "tool_class", query_str(q, 1));
		jw_kv_i64(w, "started_at_unix_ms", start > 0 ? start : 0);
		jw_kv_i64(w, "ended_at_unix_ms", end > 0 ? end : 0);
		jw_kv_double(w, "duration_ms", query_double(q, 4));
		jw_kv_str(w, "status", query_str(q, 5));
		if (!query_is_null(q, 6))
			jw_kv_u64(w, "output_bytes", query_u64(q, 6));
		if (!query_is_null(q, 7))
			jw_kv_u64(w, "output_tokens", query_u64(q, 7));
		if (!query_is_null(q, 8))
			jw_kv_str(w, "error_type", query_str(q, 8));
		jw_close_object(w);
	}
	jw_close_array(w);
	return 0;
}

static const char *request_kind(const struct session *s)
{
	if (s->background)
		return "background_agent";
	return s->parent != NONE ? "agent" : "foreground";
}

static int write_agentic(struct replay *r, struct json_writer *w, uint32_t i, struct ts_error *err)
{
	struct agentic *ag = r->ag;
	uint32_t branches = links_count(&ag->branches, i);
	struct waiting wait;

	if (find_waiting(r, i, &wait, err) < 0)
		return -1;
	jw_kv_str(w, "request_id", query_str(r->row, 0));
	jw_kv_str(w, "session_id", query_str(r->row, 1));
	if (write_load(r, w, err) < 0)
		return -1;
	if (waits(&wait))
		jw_kv_double(w, "delay", wait.delay);
	jw_kv_text(w, "request_kind", request_kind(&ag->sessions[ag->session[i]]));
	if (waits(&wait)) {
		jw_key(w, "wait_for");
		jw_open_array(w);
		if ((wait.previous != NONE && write_ids(r, w, &wait.previous, 1, err) < 0) ||
		    write_ids(r, w, wait.further, wait.further_count, err) < 0)
			return -1;
		jw_close_array(w);
	}
	if (branches) {
		jw_key(w, "branches");
		jw_open_array(w);
		if (write_ids(r, w, ag->branches.to + ag->branches.at[i], branches, err) < 0)
			return -1;
		jw_close_array(w);
	}
	jw_kv_bool(w, "prefix_reset", wait.previous == NONE);
	if (wait.tool_wait > 0)
		jw_kv_double(w, "tool_wait_ms", wait.tool_wait);
	return wait.tools ? write_tool_events(r, w, wait.tools, err) : 0;
}

int replay_each_tool_wait(struct replay *r, replay_wait_fn take, void *arg, struct ts_error *err)
{
	struct agentic *ag = r->ag;
	struct waiting wait;

	for (uint32_t i = 0; ag && i < r->requests; i++) {
		if (find_waiting(r, i, &wait, err) < 0)
			return -1;
		if (wait.tool_wait > 0 &&
		    take(arg, strmap_get(&ag->names, ag->session[i]), wait.tool_wait, err) < 0)
			return -1;
	}
	return 0;
}

static int write_row(struct replay *r, struct json_writer *w, uint32_t i, struct ts_error *err)
{
	if (r->options.version2)
		return versioned_row(r, w, i, err);
	return r->ag ? write_agentic(r, w, i, err) : write_load(r, w, err);
}

/* 1: r->row is at the next row; 0: there is none. */
static int find_row(struct replay *r, struct ts_error *err)
{
	for (; r->next < r->requests; r->next++) {
		query_reset(r->row);
		query_bind_u64(r->row, 1, r->no[r->next]);
		if (step_row(r->row, err) < 0)
			return -1;
		if (!r->options.replayable || query_u64(r->row, 5) != 0)
			return 1;
	}
	return 0;
}

int replay_next(struct replay *r, struct buf *out, bool numbers_string, struct ts_error *err)
{
	struct json_writer w;
	int found = find_row(r, err);

	if (found <= 0)
		return found;
	jw_init(&w, out, numbers_string ? JSON_NUMBERS_STRING : JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	if (write_row(r, &w, (uint32_t)r->next, err) < 0)
		return -1;
	jw_close_object(&w);
	query_reset(r->row);
	if (out->failed)
		return ts_error_nomem(err);
	r->next++;
	return 1;
}
