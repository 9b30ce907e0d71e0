/* tools.c: tool spans of an agentic run: exact causality, and which spans a request waited for */
#include "lower.h"

#include <stdlib.h>

static enum tool_mode mode_of(struct ts_str word)
{
	if (ts_str_is(word, "blocking"))
		return MODE_BLOCKING;
	return ts_str_is(word, "background") ? MODE_BACKGROUND : MODE_UNKNOWN;
}

static int load_one(struct agentic *ag, struct query *q, struct tool_span *t, struct ts_error *err)
{
	struct ts_str consumer = query_str(q, 6), child = query_str(q, 7);

	*t = (struct tool_span){
		.no = (uint32_t)query_u64(q, 0),
		.session = session_number(ag, query_str(q, 1)),
		.start_ms = query_i64(q, 2),
		.end_ms = query_i64(q, 3),
		.source = NONE,
		.consumer = NONE,
		.child = NONE,
		.mode = MODE_FOREGROUND,
	};
	if (t->session == NONE)
		return ts_error_nomem(err);
	if (!query_u64(q, 4))
		return 0;
	t->mode = (uint8_t)mode_of(query_str(q, 8));
	t->source = strmap_add(&ag->named, query_str(q, 5), NULL);
	if (t->source == STRMAP_NONE)
		return ts_error_nomem(err);
	if (consumer.p) {
		t->consumer = strmap_add(&ag->named, consumer, NULL);
		if (t->consumer == STRMAP_NONE)
			return ts_error_nomem(err);
	}
	if (child.p) {
		t->child = session_number(ag, child);
		if (t->child == NONE)
			return ts_error_nomem(err);
	}
	return 0;
}

int tools_load(struct replay *r, struct ts_error *err)
{
	struct agentic *ag = r->ag;
	CLEAN(query_closep) struct query *q = NULL;
	int more;

	if (query_open(r->db, "replay_tools", &q, err) < 0)
		return -1;
	while ((more = query_step(q, err)) > 0) {
		if (ag->tool_count >= NONE || query_u64(q, 0) >= NONE)
			return ts_error_set(err, TS_E_INTERNAL,
					    "more tool spans than can be numbered");
		if (ag->tool_count == ag->tools_cap) {
			size_t cap = ag->tools_cap ? ag->tools_cap + ag->tools_cap / 2 : 256;
			struct tool_span *bigger = reallocarray(ag->tools, cap, sizeof(*bigger));

			if (!bigger)
				return ts_error_nomem(err);
			ag->tools = bigger;
			ag->tools_cap = cap;
		}
		if (load_one(ag, q, &ag->tools[ag->tool_count], err) < 0)
			return -1;
		ag->tool_count++;
	}
	if (more < 0)
		return -1;
	if (ag->tool_count) {
		/* What is left of the last growth. */
		struct tool_span *exact = reallocarray(ag->tools, ag->tool_count, sizeof(*exact));

		if (!exact)
			return ts_error_nomem(err);
		ag->tools = exact;
		ag->tools_cap = ag->tool_count;
	}
	ag->named_requests = malloc((ag->named.count + 1) * sizeof(*ag->named_requests));
	if (!ag->named_requests)
		return ts_error_nomem(err);
	for (size_t i = 0; i < ag->named.count; i++)
		ag->named_requests[i] = NONE;
	return 0;
}

/* Sets the error of a span; column of replay_tool is the text that the message quotes. */
static int refuse(struct replay *r, const struct tool_span *t, enum ts_code_id id, int column,
		  const char *what, struct ts_error *err)
{
	query_reset(r->tool);
	query_bind_u64(r->tool, 1, t->no);
	if (step_row(r->tool, err) < 0)
		return -1;
	struct ts_str call = query_str(r->tool, 0), text = query_str(r->tool, column);

	return ts_error_set(err, id, "tool call \"%.*s\": %s \"%.*s\"", QUOTED(call), what,
			    QUOTED(text));
}

enum { COLUMN_MODE = 9, COLUMN_SOURCE, COLUMN_CONSUMER, COLUMN_CHILD };

/* The request that a span names (11.3 step 2). */
static int resolve(struct replay *r, const struct tool_span *t, uint32_t *name, int column,
		   struct ts_error *err)
{
	uint32_t request = r->ag->named_requests[*name];

	if (request == NONE)
		return refuse(r, t, TS_E_UNKNOWN_TOOL_REQUEST, column, "the run has no request",
			      err);
	if (r->ag->session[request] != t->session)
		return refuse(r, t, TS_E_TOOL_SESSION_MISMATCH, column,
			      "another session has the request", err);
	*name = request;
	return 0;
}

int tools_resolve(struct replay *r, struct ts_error *err)
{
	struct agentic *ag = r->ag;

	for (size_t i = 0; i < ag->tool_count; i++) {
		struct tool_span *t = &ag->tools[i];

		if (t->mode == MODE_FOREGROUND)
			continue;
		if (t->mode == MODE_UNKNOWN)
			return refuse(r, t, TS_E_UNSUPPORTED_EXECUTION_MODE, COLUMN_MODE,
				      "execution_mode is", err);
		if (resolve(r, t, &t->source, COLUMN_SOURCE, err) < 0)
			return -1;
		if (t->consumer != NONE && resolve(r, t, &t->consumer, COLUMN_CONSUMER, err) < 0)
			return -1;
		if (t->child == NONE || !ag->sessions[t->child].count)
			continue;
		struct session *child = &ag->sessions[t->child];

		if (child->source != NONE)
			return refuse(r, t, TS_E_DUPLICATE_CHILD_TOOL, COLUMN_CHILD,
				      "another call started the session", err);
		child->source = t->source;
		child->consumer = t->consumer;
		if (t->mode == MODE_BACKGROUND)
			child->background = true;
	}
	strmap_done(&ag->named);
	free(TAKE(ag->named_requests));
	return 0;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_session_and_start(const void *x, const void *y)
{
	const struct tool_span *a = x, *b = y;
	int c = COMPARE(a->session, b->session);

	if (!c)
		c = COMPARE(a->start_ms, b->start_ms);
	if (!c)
		c = COMPARE(a->end_ms, b->end_ms);
	return c ? c : COMPARE(a->no, b->no);
}

static int by_session_and_end(const void *x, const void *y, void *arg)
{
	const struct tool_span *tools = arg;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	int c = COMPARE(tools[i].session, tools[j].session);

	if (!c)
		c = COMPARE(tools[i].end_ms, tools[j].end_ms);
	return c ? c : COMPARE(i, j);
}

static int by_rank(const void *x, const void *y)
{
	return COMPARE(*(const uint32_t *)x, *(const uint32_t *)y);
}

int tools_group(struct replay *r, struct ts_error *err)
{
	struct agentic *ag = r->ag;
	CLEAN(pairs_done) struct link_pairs consumed = {0};
	size_t kept = 0;

	/* Spans of sessions without requests belong to no row. */
	for (size_t i = 0; i < ag->tool_count; i++)
		if (ag->sessions[ag->tools[i].session].count)
			ag->tools[kept++] = ag->tools[i];
	ag->tool_count = kept;
	if (!kept)
		return 0;
	qsort(ag->tools, kept, sizeof(*ag->tools), by_session_and_start);
	ag->by_end = malloc(kept * sizeof(*ag->by_end));
	if (!ag->by_end)
		return ts_error_nomem(err);
	for (uint32_t rank = 0; rank < kept; rank++) {
		const struct tool_span *t = &ag->tools[rank];

		if (t->consumer != NONE) {
			if (pairs_add(&consumed, t->consumer, rank, err) < 0)
				return -1;
		} else if (t->mode != MODE_BACKGROUND) {
			ag->by_end[ag->by_end_count++] = rank;
		}
	}
	qsort_r(ag->by_end, ag->by_end_count, sizeof(*ag->by_end), by_session_and_end, ag->tools);
	return links_build(&ag->consumed, &consumed, (uint32_t)r->requests, err);
}

/* Index in by_end of the first span of the session, or a later one, that ends after ms. */
static size_t first_ending_after(const struct agentic *ag, uint32_t session, int64_t ms)
{
	size_t low = 0, high = ag->by_end_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct tool_span *t = &ag->tools[ag->by_end[mid]];

		if (t->session < session || (t->session == session && t->end_ms <= ms))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int tools_kept(struct replay *r, uint32_t i, int64_t from, size_t *ret_count, struct ts_error *err)
{
	struct agentic *ag = r->ag;
	uint32_t named = links_count(&ag->consumed, i);
	size_t first = first_ending_after(ag, ag->session[i], from), end = first, n = 0, sorted = 0;

	while (end < ag->by_end_count) {
		const struct tool_span *t = &ag->tools[ag->by_end[end]];

		if (t->session != ag->session[i] || t->end_ms > ag->start_ms[i])
			break;
		end++;
	}
	if (named + (end - first) > r->kept_cap) {
		size_t cap = named + (end - first);
		uint32_t *bigger = reallocarray(r->kept, cap, sizeof(*bigger));

		if (!bigger)
			return ts_error_nomem(err);
		r->kept = bigger;
		r->kept_cap = cap;
	}
	for (uint32_t k = 0; k < named; k++)
		r->kept[n++] = ag->consumed.to[ag->consumed.at[i] + k];
	for (size_t k = first; k < end; k++)
		r->kept[n++] = ag->by_end[k];
	/* Spans end in the order in which they start, as a rule. */
	while (sorted < n && (!sorted || r->kept[sorted - 1] < r->kept[sorted]))
		sorted++;
	if (sorted < n)
		qsort(r->kept, n, sizeof(*r->kept), by_rank);
	*ret_count = n;
	return 0;
}
