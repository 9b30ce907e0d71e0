/* lower.c: order of requests, block size, mode; opens a run for its rows */
#include "lower.h"

#include <inttypes.h>
#include <stdlib.h>

int step_row(struct query *q, struct ts_error *err)
{
	int more = query_step(q, err);

	if (more == 0)
		return ts_error_set(err, TS_E_STORE_DAMAGED, "a row of the run file is missing");
	return more < 0 ? -1 : 0;
}

int not_agentic(struct ts_error *err)
{
	return ts_error_set(err, TS_E_NOT_AGENTIC, "no request has an agent context");
}

/* Totals that decide the mode and the errors that need no order. */
static int read_totals(struct replay *r, uint64_t *ret_hashes, struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;
	uint64_t with_context, smallest, largest;

	if (query_open(r->db, "replay_totals", &q, err) < 0 || step_row(q, err) < 0)
		return -1;
	r->facts.rows = query_u64(q, 0);
	with_context = query_u64(q, 1);
	smallest = query_u64(q, 2);
	largest = query_u64(q, 3);
	r->facts.unreplayable_rows = query_u64(q, 4);
	*ret_hashes = query_u64(q, 5);
	if (r->facts.rows >= NONE)
		return ts_error_set(err, TS_E_INTERNAL, "more requests than rows can be numbered");
	r->requests = r->facts.rows;
	if (r->options.want == REPLAY_AS_AGENTIC && !with_context)
		return not_agentic(err);
	if (r->options.want == REPLAY_AS_STANDARD)
		with_context = 0;
	if (with_context && with_context != r->facts.rows)
		return ts_error_set(err, TS_E_MIXED_AGENT_CONTEXT,
				    "%" PRIu64 " of %" PRIu64 " requests have an agent context",
				    with_context, r->facts.rows);
	if (smallest != largest)
		return ts_error_set(err, TS_E_MIXED_BLOCK_SIZE,
				    "block sizes go from %" PRIu64 " to %" PRIu64, smallest,
				    largest);
	r->facts.trace_block_size = smallest;
	r->facts.mode = with_context ? REPLAY_AGENTIC : REPLAY_STANDARD;
	return 0;
}

/* Lowers the run. */
static int lower(struct replay *r, struct ts_error *err)
{
	uint64_t hashes;

	if (read_totals(r, &hashes, err) < 0)
		return -1;
	r->no = calloc(r->facts.rows + 1, sizeof(*r->no));
	if (!r->no)
		return ts_error_nomem(err);
	if (r->facts.mode == REPLAY_AGENTIC) {
		if (agentic_open(r, err) < 0)
			return -1;
	} else if (order_find(r, err) < 0) {
		return -1;
	}
	if (r->options.graph)
		return 0;
	if (window_open(r, err) < 0 || hashes_prepare(r, hashes, err) < 0)
		return -1;
	r->window.n = 0;
	r->window.with_texts = r->ag && !r->options.version2;
	return 0;
}

int replay_open(struct db *db, struct replay **ret, struct ts_error *err)
{
	return replay_open_as(db, &(struct replay_options){0}, ret, err);
}

int replay_open_as(struct db *db, const struct replay_options *options, struct replay **ret,
		   struct ts_error *err)
{
	CLEAN(replay_closep) struct replay *r = calloc(1, sizeof(*r));
	int stored;

	if (!r)
		return ts_error_nomem(err);
	r->db = db;
	r->options = *options;
	if (options->version2)
		r->options.want = REPLAY_AS_AGENTIC;
	r->facts.version = options->version2 ? 2 : 1;
	if (query_open(db, "replay_request_id", &r->request_id, err) < 0 ||
	    query_open(db, "replay_tool", &r->tool, err) < 0)
		return -1;
	stored = stored_open(r, err);
	if (stored < 0 || (!stored && lower(r, err) < 0))
		return -1;
	if (r->options.replayable)
		r->facts.rows -= r->facts.unreplayable_rows;
	*ret = TAKE(r);
	return 0;
}

void replay_close(struct replay *r)
{
	if (!r)
		return;
	window_close(&r->window);
	query_close(r->request_id);
	query_close(r->tool);
	query_close(r->stored);
	row_done(&r->at);
	agentic_free(r->ag);
	u64ids_done(&r->ids);
	free(r->kept);
	arena_done(&r->texts);
	free(r->no);
	free(r);
}

void replay_closep(struct replay **r)
{
	replay_close(*r);
}

const struct replay_facts *replay_facts(const struct replay *r)
{
	return &r->facts;
}

int request_texts(struct replay *r, uint32_t no, struct ts_str *ret_id, struct ts_str *ret_session,
		  struct ts_error *err)
{
	query_reset(r->request_id);
	query_bind_u64(r->request_id, 1, no);
	if (step_row(r->request_id, err) < 0)
		return -1;
	*ret_id = query_str(r->request_id, 0);
	*ret_session = query_str(r->request_id, 1);
	return 0;
}

int request_id_text(struct replay *r, uint32_t i, struct ts_str *ret, struct ts_error *err)
{
	struct ts_str session;

	return request_texts(r, r->no[i], ret, &session, err);
}
