/* versioned.c: versioned agentic rows: header, plays, typed dependencies (request-trace.md 16) */
#include "lower.h"

#include <stdlib.h>

enum relation { SEQUENCE, SPAWN, JOIN };

struct edge {
	struct ts_str id;
	bool completion; /* else dispatch */
	enum relation relation;
	double delay_ms;
};

/* ---- plays ---- */

#define ON_PATH (NONE - 1)

/* The session that is followed next, or NONE. */
static uint32_t next_up(const struct agentic *ag, uint32_t s)
{
	uint32_t parent = ag->sessions[s].parent;

	return parent != NONE && ag->sessions[parent].count ? parent : NONE;
}

int versioned_roots(struct replay *r, struct ts_error *err)
{
	struct agentic *ag = r->ag;

	/* Requests go in order, so the cycle that is reported is that of the first of them. */
	for (uint32_t i = 0; i < r->requests; i++) {
		uint32_t at = ag->session[i], root, up;

		while (ag->sessions[at].root == NONE) {
			ag->sessions[at].root = ON_PATH;
			up = next_up(ag, at);
			if (up == NONE)
				break;
			at = up;
		}
		root = ag->sessions[at].root;
		if (root == ON_PATH) {
			if (next_up(ag, at) != NONE) {
				struct ts_str name = strmap_get(&ag->names, at);

				return ts_error_set(err, TS_E_PARENT_CYCLE,
						    "session \"%.*s\" is among its own parents",
						    QUOTED(name));
			}
			root = at;
		}
		for (at = ag->session[i]; ag->sessions[at].root == ON_PATH;) {
			ag->sessions[at].root = root;
			at = next_up(ag, at);
			if (at == NONE)
				break;
		}
	}
	return 0;
}

/* ---- rows ---- */

static int write_hash_ids(struct replay *r, struct json_writer *w, uint32_t i,
			  uint64_t input_length, struct ts_str input, struct ts_error *err)
{
	size_t count = input.n / 8;
	bool partial = input_length % r->facts.trace_block_size > 0;
	struct numbers *ids = &r->at.ids;

	if (count != input_length / r->facts.trace_block_size + partial)
		return ts_error_set(err, TS_E_STORE_DAMAGED,
				    "hashes in the run file do not fit their request");
	ids->n = 0;
	if (hashes_ids(r, input, 0, count - partial, ids, err) < 0)
		return -1;
	jw_key(w, "hash_ids");
	jw_open_array(w);
	jw_u32s(w, ids->v, ids->n);
	if (partial) /* a number of its own, never shared */
		jw_u64(w, r->unique_inputs + i);
	jw_close_array(w);
	return 0;
}

static int by_rule(const void *x, const void *y)
{
	const struct edge *a = x, *b = y;
	int c = ts_str_cmp(a->id, b->id);

	if (!c)
		c = (int)a->completion - (int)b->completion;
	if (!c)
		c = (int)a->relation - (int)b->relation;
	return c ? c : (a->delay_ms > b->delay_ms) - (a->delay_ms < b->delay_ms);
}

static int make_edge(struct replay *r, uint32_t i, uint32_t awaited, enum relation relation,
		     struct edge *edge, struct ts_error *err)
{
	const struct agentic *ag = r->ag;
	int64_t start = ag->start_ms[i], reference;
	struct ts_str id;
	char *copy;

	if (request_id_text(r, awaited, &id, err) < 0)
		return -1;
	copy = arena_dup(&r->texts, id.p, id.n);
	if (!copy)
		return ts_error_nomem(err);
	edge->id = ts_str(copy, id.n);
	edge->relation = relation;
	edge->completion = relation != SPAWN || start >= ag->end_ms[awaited];
	reference = edge->completion ? ag->end_ms[awaited] : ag->start_ms[awaited];
	edge->delay_ms = start > reference ? (double)(start - reference) : 0.0;
	return 0;
}

static void write_edges(struct json_writer *w, const struct edge *edges, size_t count)
{
	static const char *const names[] = {"sequence", "spawn", "join"};

	jw_key(w, "dependencies");
	jw_open_array(w);
	for (size_t k = 0; k < count; k++) {
		jw_open_object(w);
		jw_kv_str(w, "request_id", edges[k].id);
		jw_kv_text(w, "trigger", edges[k].completion ? "completion" : "dispatch");
		jw_kv_double(w, "delay_ms", edges[k].delay_ms);
		jw_kv_text(w, "relation", names[edges[k].relation]);
		jw_close_object(w);
	}
	jw_close_array(w);
}

static int write_dependencies(struct replay *r, struct json_writer *w, uint32_t i,
			      struct ts_error *err)
{
	const struct agentic *ag = r->ag;
	uint32_t ahead = waits_ahead(ag, i), joins = links_count(&ag->waits, i);
	size_t count = 0;
	CLEAN(free_ptr) struct edge *edges = NULL;

	if (ahead == NONE && !joins)
		return 0;
	edges = calloc((size_t)joins + 1, sizeof(*edges));
	if (!edges)
		return ts_error_nomem(err);
	if (ahead != NONE && make_edge(r, i, ahead, ag->previous[i] != NONE ? SEQUENCE : SPAWN,
				       &edges[count++], err) < 0)
		return -1;
	for (uint32_t k = 0; k < joins; k++)
		if (make_edge(r, i, ag->waits.to[ag->waits.at[i] + k], JOIN, &edges[count++], err) <
		    0)
			return -1;
	qsort(edges, count, sizeof(*edges), by_rule);
	write_edges(w, edges, count);
	return 0;
}

int versioned_row(struct replay *r, struct json_writer *w, uint32_t i, struct ts_error *err)
{
	const struct agentic *ag = r->ag;
	const struct input *in = r->input;

	arena_reset(&r->texts);
	jw_kv_str(w, "request_id", in->request_id);
	jw_kv_str(w, "play_id", strmap_get(&ag->names, ag->sessions[ag->session[i]].root));
	jw_kv_str(w, "session_id", strmap_get(&ag->names, ag->session[i]));
	jw_kv_str(w, "model",
		  in->model.p && !text_is_blank(in->model) ? in->model : TS_STR("unknown"));
	jw_kv_u64(w, "input_length", in->input_length);
	jw_kv_u64(w, "output_length", in->output_tokens);
	if (write_hash_ids(r, w, i, in->input_length, in->hashes, err) < 0)
		return -1;
	jw_kv_double(w, "not_before_ms", (double)(in->start_ms - r->origin_ms));
	return write_dependencies(r, w, i, err);
}

bool replay_header(const struct replay *r, struct buf *out, bool numbers_string)
{
	struct json_writer w;
	char digest[40] = "requests:";

	if (!r->options.version2)
		return false;
	text_format_u64(r->facts.rows, digest + 9);
	jw_init(&w, out, numbers_string ? JSON_NUMBERS_STRING : JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	jw_kv_text(&w, "schema", "dynamo.agentic_mooncake");
	jw_kv_u64(&w, "version", 2);
	jw_kv_u64(&w, "block_size", r->facts.trace_block_size);
	jw_kv_text(&w, "hash_id_scope", "local");
	jw_key(&w, "source");
	jw_open_object(&w);
	jw_kv_text(&w, "format", "dynamo_request_trace");
	jw_kv_text(&w, "digest", digest);
	jw_close_object(&w);
	jw_close_object(&w);
	return true;
}
