/* stored.c: the rows of a run in the run file: written once, read along one table */
#include "lower.h"

static int store_facts(struct replay *r, struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;

	if (query_open(r->db, "replay_store_facts", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, r->facts.mode == REPLAY_AGENTIC);
	query_bind_u64(q, 2, r->facts.trace_block_size);
	query_bind_u64(q, 3, r->facts.rows);
	query_bind_u64(q, 4, r->facts.unreplayable_rows);
	return query_step(q, err);
}

static struct replay_note note_of(const struct replay *r)
{
	const struct agentic *ag = r->ag;
	struct replay_note note = {
		.input_length = r->at.input_length,
		.blocks = r->at.ids.n,
		.known_blocks = r->at.known,
		.unique_blocks = r->inputs_found,
	};

	if (ag) {
		note.session = strmap_get(&ag->names, ag->session[r->next]);
		note.tool_wait_ms = row_tool_wait(&r->at);
	}
	return note;
}

int replay_store(struct replay *r, replay_note_fn take, void *arg, struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;
	CLEAN(buf_done) struct buf bytes = BUF_INIT;
	struct replay_note note;
	int found;

	CHECK(!r->stored && !r->next && r->options.want == REPLAY_OF_RUN && !r->options.replayable);
	if (store_facts(r, err) < 0 || query_open(r->db, "replay_store", &q, err) < 0)
		return -1;
	for (; (found = window_seek(r, err)) > 0; r->next++) {
		if (row_find(r, (uint32_t)r->next, &r->at, err) < 0)
			return -1;
		buf_clear(&bytes);
		row_pack(&r->at, r->ag, &bytes);
		if (bytes.failed)
			return ts_error_nomem(err);
		query_bind_u64(q, 1, r->at.no);
		query_bind_blob(q, 2, bytes.data, bytes.len);
		if (query_step(q, err) < 0)
			return -1;
		query_reset(q);
		note = note_of(r);
		if (take(arg, &note, err) < 0)
			return -1;
	}
	return found;
}

/* Reads the facts: 1; 0: no rows are stored. A file from before there were such tables has none. */
static int read_facts(struct replay *r, struct ts_error *err)
{
	CLEAN(query_closep) struct query *tables = NULL, *q = NULL;
	int found;

	if (query_open(r->db, "replay_has_stored", &tables, err) < 0 || step_row(tables, err) < 0)
		return -1;
	if (query_u64(tables, 0) != 2)
		return 0;
	if (query_open(r->db, "replay_stored_facts", &q, err) < 0)
		return -1;
	found = query_step(q, err);
	if (found <= 0)
		return found;
	r->stored_agentic = query_u64(q, 0) != 0;
	r->facts.trace_block_size = query_u64(q, 1);
	r->facts.rows = query_u64(q, 2);
	r->facts.unreplayable_rows = query_u64(q, 3);
	return 1;
}

int stored_open(struct replay *r, struct ts_error *err)
{
	const struct replay_options *options = &r->options;
	bool agentic;
	int found = read_facts(r, err);

	if (found <= 0)
		return found;
	if (options->want == REPLAY_AS_AGENTIC && !r->stored_agentic)
		return not_agentic(err);
	agentic = r->stored_agentic && options->want != REPLAY_AS_STANDARD;
	/* Where a row that others wait for is left out, they wait for another one. */
	if (options->version2 || options->graph ||
	    (agentic && options->replayable && r->facts.unreplayable_rows))
		return 0;
	r->facts.mode = agentic ? REPLAY_AGENTIC : REPLAY_STANDARD;
	r->requests = r->facts.rows;
	return query_open(r->db, "replay_stored", &r->stored, err) < 0 ? -1 : 1;
}

int stored_next(struct replay *r, struct ts_error *err)
{
	for (; r->next < r->requests; r->next++) {
		if (step_row(r->stored, err) < 0)
			return -1;
		r->at.no = (uint32_t)query_u64(r->stored, 0);
		if (row_unpack(query_str(r->stored, 1), r->facts.trace_block_size,
			       r->stored_agentic, &r->at, err) < 0)
			return -1;
		if (!r->options.replayable || r->at.input_length)
			return 1;
	}
	return 0;
}
