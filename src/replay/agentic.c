/* agentic.c: sessions of an agentic run: parents, chains, background marks */
#include "lower.h"

#include <stdlib.h>

void agentic_free(struct agentic *ag)
{
	if (!ag)
		return;
	strmap_done(&ag->names);
	strmap_done(&ag->named);
	links_done(&ag->waits);
	links_done(&ag->branches);
	links_done(&ag->consumed);
	free(ag->named_requests);
	free(ag->sessions);
	free(ag->start_ms);
	free(ag->end_ms);
	free(ag->session);
	free(ag->previous);
	free(ag->chain);
	free(ag->tools);
	free(ag->by_end);
	free(ag->left_out);
	free(ag);
}

uint32_t session_number(struct agentic *ag, struct ts_str name)
{
	uint32_t number = strmap_add(&ag->names, name, NULL);

	if (number == STRMAP_NONE || number < ag->sessions_cap)
		return number;
	/* Numbers come one after another, so the room is missing for this one only. */
	size_t cap = ag->sessions_cap ? ag->sessions_cap + ag->sessions_cap / 2 : 64;
	struct session *bigger = reallocarray(ag->sessions, cap, sizeof(*bigger));

	if (!bigger)
		return NONE;
	for (size_t i = ag->sessions_cap; i < cap; i++)
		bigger[i] = (struct session){
			.parent = NONE,
			.source = NONE,
			.consumer = NONE,
			.spawn = NONE,
			.root = NONE,
		};
	ag->sessions = bigger;
	ag->sessions_cap = cap;
	return number;
}

/* The parent of a session is the first one found in R order (11.1). */
static int take_parent(struct agentic *ag, uint32_t session, struct ts_str name,
		       struct ts_error *err)
{
	uint32_t parent = session_number(ag, name);

	if (parent == NONE)
		return ts_error_nomem(err);
	if (ag->sessions[session].parent == NONE) {
		ag->sessions[session].parent = parent;
	} else if (ag->sessions[session].parent != parent) {
		struct ts_str own = strmap_get(&ag->names, session);
		struct ts_str first = strmap_get(&ag->names, ag->sessions[session].parent);

		return ts_error_set(err, TS_E_CONFLICTING_PARENT,
				    "session \"%.*s\" has the parents \"%.*s\" and \"%.*s\"",
				    QUOTED(own), QUOTED(first), QUOTED(name));
	}
	return 0;
}

static int read_requests(struct replay *r, struct ts_error *err)
{
	struct agentic *ag = r->ag;
	CLEAN(query_closep) struct query *q = NULL;

	if (query_open(r->db, "replay_order", &q, err) < 0)
		return -1;
	for (uint32_t i = 0; i < r->requests; i++) {
		if (step_row(q, err) < 0)
			return -1;
		struct ts_str parent = query_str(q, 3);
		uint32_t session = session_number(ag, query_str(q, 2));

		if (session == NONE)
			return ts_error_nomem(err);
		r->no[i] = (uint32_t)query_u64(q, 0);
		ag->session[i] = session;
		ag->start_ms[i] = query_i64(q, 4);
		ag->end_ms[i] = query_i64(q, 5);
		ag->sessions[session].count++;
		if (ag->left_out)
			ag->left_out[i] = query_u64(q, 6) != 0;
		if (parent.p && take_parent(ag, session, parent, err) < 0)
			return -1;
		if (ag->named.count) {
			uint32_t name = strmap_find(&ag->named, query_str(q, 1));

			if (name != STRMAP_NONE)
				ag->named_requests[name] = i;
		}
	}
	r->origin_ms = ag->start_ms[0];
	return 0;
}

/* Groups the requests by session (11.4). */
static void build_chains(struct replay *r)
{
	struct agentic *ag = r->ag;
	uint32_t n = (uint32_t)r->requests, at = 0;

	for (uint32_t s = 0; s < ag->names.count; s++) {
		ag->sessions[s].chain_at = at;
		at += ag->sessions[s].count;
		ag->sessions[s].count = 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct session *s = &ag->sessions[ag->session[i]];

		ag->previous[i] = s->count ? ag->chain[s->chain_at + s->count - 1] : NONE;
		ag->chain[s->chain_at + s->count++] = i;
	}
}

int agentic_open(struct replay *r, struct ts_error *err)
{
	struct agentic *ag = calloc(1, sizeof(*ag));
	size_t n = r->requests;

	if (!ag)
		return ts_error_nomem(err);
	r->ag = ag;
	ag->start_ms = calloc(n, sizeof(*ag->start_ms));
	ag->end_ms = calloc(n, sizeof(*ag->end_ms));
	ag->session = calloc(n, sizeof(*ag->session));
	ag->previous = calloc(n, sizeof(*ag->previous));
	ag->chain = calloc(n, sizeof(*ag->chain));
	if (!ag->start_ms || !ag->end_ms || !ag->session || !ag->previous || !ag->chain)
		return ts_error_nomem(err);

	ag->typed = r->options.version2 || r->options.graph;
	if (r->options.replayable && r->facts.unreplayable_rows) {
		ag->left_out = calloc(n, sizeof(*ag->left_out));
		if (!ag->left_out)
			return ts_error_nomem(err);
	}

	if (tools_load(r, err) < 0 || read_requests(r, err) < 0)
		return -1;
	build_chains(r);
	if (tools_resolve(r, err) < 0 || waits_find(r, err) < 0)
		return -1;
	if (r->options.version2)
		return versioned_roots(r, err);
	return tools_group(r, err);
}
