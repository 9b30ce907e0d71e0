/* rows.c: replay rows as JSON */
#include "lower.h"

/* The O tokens stand in the blocks that follow the prompt, each token being its block's id. */
static void write_output_tokens(const struct row *row, uint64_t size, struct json_writer *w)
{
	uint64_t in_block = row->input_length % size;
	size_t block = 0;

	jw_key(w, "output_token_ids");
	jw_open_array(w);
	for (uint64_t k = 0; k < row->output_tokens; k++) {
		jw_u64(w, row->output.v[block]);
		if (++in_block == size) {
			in_block = 0;
			block++;
		}
	}
	jw_close_array(w);
}

/* The members that both row forms share, between session_id and delay. */
static void write_load(const struct row *row, uint64_t size, struct json_writer *w)
{
	jw_kv_u64(w, "input_length", row->input_length);
	jw_kv_u64(w, "output_length", row->output_tokens);
	if (row->has_output_ids)
		write_output_tokens(row, size, w);
	jw_key(w, "hash_ids");
	jw_open_array(w);
	jw_u32s(w, row->ids.v, row->ids.n);
	jw_close_array(w);
	jw_kv_double(w, "timestamp", (double)row->offset_ms);
}

static int write_ids(struct replay *r, struct json_writer *w, const char *key,
		     const struct numbers *requests, struct ts_error *err)
{
	struct ts_str id, session;

	jw_key(w, key);
	jw_open_array(w);
	for (size_t k = 0; k < requests->n; k++) {
		if (!r->stored)
			id = window_id(r);
		else if (request_texts(r, requests->v[k], &id, &session, err) < 0)
			return -1;
		jw_str(w, id);
	}
	jw_close_array(w);
	return 0;
}

void tool_event_read(struct query *q, int column, struct tool_event *ret)
{
	ret->call = query_str(q, column);
	ret->class = query_str(q, column + 1);
	ret->start_ms = query_i64(q, column + 2);
	ret->end_ms = query_i64(q, column + 3);
	ret->duration_ms = query_double(q, column + 4);
	ret->status = query_str(q, column + 5);
	ret->bytes = query_opt_u64(q, column + 6);
	ret->tokens = query_opt_u64(q, column + 7);
	ret->error = query_str(q, column + 8);
}

static void write_tool_event(struct json_writer *w, const struct tool_event *event)
{
	jw_open_object(w);
	jw_kv_str(w, "tool_call_id", event->call);
	jw_kv_str(w, "tool_class", event->class);
	jw_kv_i64(w, "started_at_unix_ms", event->start_ms > 0 ? event->start_ms : 0);
	jw_kv_i64(w, "ended_at_unix_ms", event->end_ms > 0 ? event->end_ms : 0);
	jw_kv_double(w, "duration_ms", event->duration_ms);
	jw_kv_str(w, "status", event->status);
	if (event->bytes.has)
		jw_kv_u64(w, "output_bytes", event->bytes.v);
	if (event->tokens.has)
		jw_kv_u64(w, "output_tokens", event->tokens.v);
	if (event->error.p)
		jw_kv_str(w, "error_type", event->error);
	jw_close_object(w);
}

static int write_tool_events(struct replay *r, struct json_writer *w, const struct numbers *tools,
			     struct ts_error *err)
{
	struct query *q = r->tool;

	jw_key(w, "tool_events");
	jw_open_array(w);
	for (size_t k = 0; k < tools->n; k++) {
		struct tool_event event;

		if (!r->stored) {
			write_tool_event(w, window_event(r));
			continue;
		}
		query_reset(q);
		query_bind_u64(q, 1, tools->v[k]);
		if (step_row(q, err) < 0)
			return -1;
		tool_event_read(q, 0, &event);
		write_tool_event(w, &event);
	}
	jw_close_array(w);
	return 0;
}

static int write_agentic(struct replay *r, struct json_writer *w, struct ts_error *err)
{
	static const char *const kinds[KIND_COUNT] = {"foreground", "agent", "background_agent"};
	const struct row *row = &r->at;
	double tool_wait = row_tool_wait(row);
	struct ts_str id, session;

	if (!r->stored) {
		id = r->input->request_id;
		session = strmap_get(&r->ag->names, r->ag->session[r->next]);
	} else if (request_texts(r, row->no, &id, &session, err) < 0) {
		return -1;
	}
	jw_kv_str(w, "request_id", id);
	jw_kv_str(w, "session_id", session);
	write_load(row, r->facts.trace_block_size, w);
	if (row->waits.n)
		jw_kv_double(w, "delay", (double)row->gap_ms - tool_wait);
	jw_kv_text(w, "request_kind", kinds[row->kind]);
	if (row->waits.n && write_ids(r, w, "wait_for", &row->waits, err) < 0)
		return -1;
	if (row->branches.n && write_ids(r, w, "branches", &row->branches, err) < 0)
		return -1;
	jw_kv_bool(w, "prefix_reset", row->prefix_reset);
	if (tool_wait > 0)
		jw_kv_double(w, "tool_wait_ms", tool_wait);
	return row->tools.n ? write_tool_events(r, w, &row->tools, err) : 0;
}

/* The next row into r->at, but for version 2: 1, or 0 at the end. */
static int find_next(struct replay *r, struct ts_error *err)
{
	int found;

	if (r->stored)
		return stored_next(r, err);
	found = window_seek(r, err);
	if (found > 0 && !r->options.version2 && row_find(r, (uint32_t)r->next, &r->at, err) < 0)
		return -1;
	return found;
}

static int write_row(struct replay *r, struct json_writer *w, struct ts_error *err)
{
	if (r->options.version2)
		return versioned_row(r, w, (uint32_t)r->next, err);
	if (r->facts.mode == REPLAY_AGENTIC)
		return write_agentic(r, w, err);
	write_load(&r->at, r->facts.trace_block_size, w);
	return 0;
}

int replay_next(struct replay *r, struct buf *out, bool numbers_string, struct ts_error *err)
{
	struct json_writer w;
	int found = find_next(r, err);

	if (found <= 0)
		return found;
	jw_init(&w, out, numbers_string ? JSON_NUMBERS_STRING : JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	if (write_row(r, &w, err) < 0)
		return -1;
	jw_close_object(&w);
	query_reset(r->request_id);
	if (out->failed)
		return ts_error_nomem(err);
	r->next++;
	return 1;
}
