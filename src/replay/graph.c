/* graph.c: the requests of a run, or of a session and those below it, and what they wait for
 * (http-api.md 4.3)
 */
#include "lower.h"

#include <stdlib.h>

/* Marks the session and all that lie below it. marks has a byte a session, all zero. */
enum { UNSEEN, INSIDE, OUTSIDE, ON_PATH };

static void mark_sessions(const struct agentic *ag, uint32_t chosen, uint8_t *marks)
{
	marks[chosen] = INSIDE;
	for (uint32_t s = 0; s < ag->names.count; s++) {
		uint32_t at = s;
		uint8_t verdict;

		while (at != NONE && marks[at] == UNSEEN) {
			marks[at] = ON_PATH;
			at = ag->sessions[at].parent;
		}
		/* What ends without, or in a ring, does not lie below it. */
		verdict = at != NONE && marks[at] == INSIDE ? INSIDE : OUTSIDE;
		for (at = s; at != NONE && marks[at] == ON_PATH; at = ag->sessions[at].parent)
			marks[at] = verdict;
	}
}

static int write_node(struct replay *r, struct query *q, uint32_t i, struct json_writer *w,
		      struct ts_error *err)
{
	query_reset(q);
	query_bind_u64(q, 1, r->no[i]);
	if (step_row(q, err) < 0)
		return -1;
	jw_open_object(w);
	jw_kv_str(w, "request_id", query_str(q, 0));
	jw_kv_str(w, "session_id", query_str(q, 1));
	jw_kv_str(w, "model", query_str(q, 2));
	jw_kv_i64(w, "start_ms", query_i64(q, 3));
	jw_kv_i64(w, "end_ms", query_i64(q, 4));
	jw_kv_i64(w, "arrival_offset_ms", query_i64(q, 3) - r->origin_ms);
	jw_kv_u64(w, "input_length", query_u64(q, 5));
	jw_kv_u64(w, "output_tokens", query_u64(q, 6));
	jw_close_object(w);
	query_reset(q);
	return 0;
}

static int write_edge(struct replay *r, struct json_writer *w, uint32_t from, uint32_t to,
		      const char *relation, bool inferred, struct ts_error *err)
{
	struct ts_str id;

	jw_open_object(w);
	if (request_id_text(r, from, &id, err) < 0)
		return -1;
	jw_kv_str(w, "from", id);
	if (request_id_text(r, to, &id, err) < 0)
		return -1;
	jw_kv_str(w, "to", id);
	jw_kv_text(w, "relation", relation);
	jw_kv_bool(w, "inferred", inferred);
	jw_close_object(w);
	return 0;
}

/* shown: one byte a request. An edge is shown if both its ends are. */
static int write_edges(struct replay *r, const uint8_t *shown, struct json_writer *w,
		       struct ts_error *err)
{
	const struct agentic *ag = r->ag;

	for (uint32_t i = 0; ag && i < r->requests; i++) {
		uint32_t ahead = waits_ahead(ag, i);
		bool first = ag->previous[i] == NONE;

		if (!shown[i])
			continue;
		if (ahead != NONE && shown[ahead] &&
		    write_edge(r, w, ahead, i, first ? "spawn" : "sequence",
			       first && ag->sessions[ag->session[i]].source == NONE, err) < 0)
			return -1;
		for (uint32_t k = 0; k < links_count(&ag->waits, i); k++) {
			uint32_t awaited = ag->waits.to[ag->waits.at[i] + k];

			if (shown[awaited] &&
			    write_edge(r, w, awaited, i, "join",
				       ag->sessions[ag->session[awaited]].source == NONE, err) < 0)
				return -1;
		}
	}
	return 0;
}

int replay_graph(struct replay *r, struct ts_str session, uint64_t max_nodes, struct json_writer *w,
		 uint64_t *ret_total, struct ts_error *err)
{
	CLEAN(free_ptr) uint8_t *shown = calloc(r->requests, 1);
	CLEAN(free_ptr) uint8_t *marks = NULL;
	CLEAN(query_closep) struct query *q = NULL;
	struct agentic *ag = r->ag;
	uint64_t total = 0;

	if (!shown)
		return ts_error_nomem(err);
	if (session.p && ag) {
		uint32_t chosen = strmap_find(&ag->names, session);

		marks = calloc(ag->names.count, 1);
		if (!marks)
			return ts_error_nomem(err);
		if (chosen == STRMAP_NONE || !ag->sessions[chosen].count) {
			*ret_total = 0;
			return 0;
		}
		mark_sessions(ag, chosen, marks);
	} else if (session.p) {
		*ret_total = 0;
		return 0;
	}
	if (query_open(r->db, "replay_node", &q, err) < 0)
		return -1;
	jw_key(w, "nodes");
	jw_open_array(w);
	for (uint32_t i = 0; i < r->requests; i++) {
		if (marks && marks[ag->session[i]] != INSIDE)
			continue;
		if (total++ >= max_nodes)
			continue;
		shown[i] = 1;
		if (write_node(r, q, i, w, err) < 0)
			return -1;
	}
	jw_close_array(w);
	jw_key(w, "edges");
	jw_open_array(w);
	if (write_edges(r, shown, w, err) < 0)
		return -1;
	jw_close_array(w);
	jw_kv_bool(w, "truncated", total > max_nodes);
	jw_kv_u64(w, "total", total);
	*ret_total = total;
	return 0;
}
