/* waits.c: spawn and join points between sessions; that no request waits for itself */
#include "lower.h"

#include <stdlib.h>

static int by_name(const void *a, const void *b, void *arg)
{
	const struct strmap *names = arg;

	return ts_str_cmp(strmap_get(names, *(const uint32_t *)a),
			  strmap_get(names, *(const uint32_t *)b));
}

/* Position in the chain of session s of the first request that starts at or after ms; with `past`
 * strictly after. Starts do not fall along a chain. */
static uint32_t chain_search(const struct agentic *ag, const struct session *s, int64_t ms,
			     bool past)
{
	uint32_t low = 0, high = s->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int64_t start = ag->start_ms[ag->chain[s->chain_at + mid]];

		if (start < ms || (past && start == ms))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The request of s that is largest by (end, start, request id): R order settles the last two. */
static uint32_t last_to_end(const struct agentic *ag, const struct session *s)
{
	uint32_t last = ag->chain[s->chain_at];

	for (uint32_t k = 1; k < s->count; k++) {
		uint32_t i = ag->chain[s->chain_at + k];

		if (ag->end_ms[i] >= ag->end_ms[last])
			last = i;
	}
	return last;
}

static int add_spawn(struct agentic *ag, uint32_t session, uint32_t first, uint32_t source,
		     struct link_pairs *waits, struct link_pairs *branches, struct ts_error *err)
{
	ag->sessions[session].spawn = source;
	if (!ag->typed && pairs_add(waits, first, source, err) < 0)
		return -1;
	return pairs_add(branches, source, first, err);
}

/* 11.5 for one session. waits: (waiter, awaited); branches: (source, first). */
static int link_session(struct replay *r, uint32_t number, struct link_pairs *waits,
			struct link_pairs *branches, struct ts_error *err)
{
	struct agentic *ag = r->ag;
	const struct session *s = &ag->sessions[number], *parent = &ag->sessions[s->parent];
	uint32_t first, last, at;

	if (!parent->count)
		return 0;
	first = ag->chain[s->chain_at];
	last = last_to_end(ag, s);
	if (s->source != NONE) {
		if (ag->session[s->source] != s->parent) {
			struct ts_str child = strmap_get(&ag->names, number);
			struct ts_str id;

			if (request_id_text(r, s->source, &id, err) < 0)
				return -1;
			return ts_error_set(err, TS_E_TOOL_SOURCE_NOT_IN_PARENT,
					    "request \"%.*s\" starts session \"%.*s\" but is not "
					    "of its parent session",
					    QUOTED(id), QUOTED(child));
		}
		if (add_spawn(ag, number, first, s->source, waits, branches, err) < 0)
			return -1;
		/* In version 2 only what blocks is waited for (16). */
		if (s->consumer == NONE || (r->options.version2 && s->background))
			return 0;
		return pairs_add(waits, s->consumer, last, err);
	}

	at = chain_search(ag, parent, ag->start_ms[first], true);
	if (at > 0) {
		uint32_t spawn = ag->chain[parent->chain_at + at - 1];

		if (add_spawn(ag, number, first, spawn, waits, branches, err) < 0)
			return -1;
	}
	at = chain_search(ag, parent, ag->end_ms[last], false);
	if (at < parent->count)
		return pairs_add(waits, ag->chain[parent->chain_at + at], last, err);
	return 0;
}

/* Takes out of each list what is in it twice, or is the previous request of the session, which
 * stands in front of the list (typed: which is another relation). seen has an entry a request. */
static void drop_doubles(struct agentic *ag, uint32_t n, uint32_t *seen)
{
	uint32_t out = 0;

	if (!ag->waits.at)
		return;
	for (uint32_t i = 0; i < n; i++)
		seen[i] = NONE;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = ag->waits.at[i], to = ag->waits.at[i + 1];

		ag->waits.at[i] = out;
		for (uint32_t k = from; k < to; k++) {
			uint32_t awaited = ag->waits.to[k];

			if ((!ag->typed && awaited == ag->previous[i]) || seen[awaited] == i)
				continue;
			seen[awaited] = i;
			ag->waits.to[out++] = awaited;
		}
	}
	ag->waits.at[n] = out;
}

uint32_t waits_ahead(const struct agentic *ag, uint32_t i)
{
	if (ag->previous[i] != NONE)
		return ag->previous[i];
	return ag->typed ? ag->sessions[ag->session[i]].spawn : NONE;
}

/* Names a request of a cycle: what is left over is waited for by something that is left over, so
 * going from each to a waiter of it ends in a cycle. */
static int report_cycle(struct replay *r, const uint32_t *waiters, uint32_t *waiter_of,
			struct ts_error *err)
{
	struct agentic *ag = r->ag;
	uint32_t n = (uint32_t)r->requests, at = NONE;
	struct ts_str id;

	for (uint32_t i = 0; i < n; i++) {
		if (!waiters[i])
			continue;
		at = i;
		if (waits_ahead(ag, i) != NONE)
			waiter_of[waits_ahead(ag, i)] = i;
		for (uint32_t k = 0; k < links_count(&ag->waits, i); k++)
			waiter_of[ag->waits.to[ag->waits.at[i] + k]] = i;
	}
	CHECK(at != NONE);
	for (uint32_t step = 0; step < n; step++)
		at = waiter_of[at];
	if (request_id_text(r, at, &id, err) < 0)
		return -1;
	return ts_error_set(err, TS_E_DEPENDENCY_CYCLE,
			    "request \"%.*s\" waits, over others or at once, for itself",
			    QUOTED(id));
}

/* Takes away requests that nothing waits for until none is left (11.6). */
static int check_cycles(struct replay *r, uint32_t *queue, struct ts_error *err)
{
	struct agentic *ag = r->ag;
	uint32_t n = (uint32_t)r->requests, head = 0, tail = 0;
	CLEAN(free_ptr) uint32_t *waiters = calloc(n, sizeof(*waiters));

	if (!waiters)
		return ts_error_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		if (waits_ahead(ag, i) != NONE)
			waiters[waits_ahead(ag, i)]++;
	if (ag->waits.at)
		for (uint32_t k = 0; k < ag->waits.at[n]; k++)
			waiters[ag->waits.to[k]]++;
	for (uint32_t i = 0; i < n; i++)
		if (!waiters[i])
			queue[tail++] = i;
	while (head < tail) {
		uint32_t i = queue[head++], awaited = waits_ahead(ag, i);

		if (awaited != NONE && --waiters[awaited] == 0)
			queue[tail++] = awaited;
		for (uint32_t k = 0; k < links_count(&ag->waits, i); k++) {
			awaited = ag->waits.to[ag->waits.at[i] + k];
			if (--waiters[awaited] == 0)
				queue[tail++] = awaited;
		}
	}
	return tail == n ? 0 : report_cycle(r, waiters, queue, err);
}

int waits_find(struct replay *r, struct ts_error *err)
{
	struct agentic *ag = r->ag;
	CLEAN(pairs_done) struct link_pairs waits = {0};
	CLEAN(pairs_done) struct link_pairs branches = {0};
	CLEAN(free_ptr) uint32_t *children = NULL, *scratch = NULL;
	uint32_t n = (uint32_t)r->requests, count = 0;

	scratch = calloc(n, sizeof(*scratch));
	children = calloc(ag->names.count + 1, sizeof(*children));
	if (!scratch || !children)
		return ts_error_nomem(err);
	for (uint32_t s = 0; s < ag->names.count; s++)
		if (ag->sessions[s].count && ag->sessions[s].parent != NONE)
			children[count++] = s;
	qsort_r(children, count, sizeof(*children), by_name, &ag->names);
	for (uint32_t k = 0; k < count; k++)
		if (link_session(r, children[k], &waits, &branches, err) < 0)
			return -1;

	if (links_build(&ag->waits, &waits, n, err) < 0)
		return -1;
	drop_doubles(ag, n, scratch);
	if (check_cycles(r, scratch, err) < 0)
		return -1;
	if (ag->left_out) {
		links_done(&ag->waits);
		if (left_out_unlink(r, &waits, &branches, err) < 0 ||
		    links_build(&ag->waits, &waits, n, err) < 0)
			return -1;
		drop_doubles(ag, n, scratch);
	}
	pairs_done(&waits);
	return links_build(&ag->branches, &branches, n, err);
}
