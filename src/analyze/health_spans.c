/* health_spans.c: roots, measured spans, and the issues of each span (candle-trace.md 12.1) */
#include "health.h"

#include <stdlib.h>

#include "tracespool/util.h"

enum {
	SPAN_CLOSED = 1,
	SPAN_ORPHAN = 2, /* names a parent that is not there */
	SPAN_OUTSIDE = 4,
	SPAN_CYCLE = 8, /* on a cycle or leads into one */
	SPAN_ON_PATH = 16,
	SPAN_WALKED = 32,
};

/* 21 bytes a span, from [1] on. */
struct spans {
	uint64_t *start, *end;
	uint32_t *parent; /* 0: none that is there */
	uint8_t *flags;
	uint32_t n;
};

static void spans_done(struct spans *s)
{
	free(s->start);
	free(s->end);
	free(s->parent);
	free(s->flags);
}

static int make_room(struct health *h, struct spans *s, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(h->db, "health_span_count", &q, err) < 0 || query_step(q, err) < 0)
		return -1;
	if (query_u64(q, 0) > DEPTH_SPANS_MAX)
		return ts_error_set(err, TS_E_INTERNAL, "more than %u spans", DEPTH_SPANS_MAX);
	s->n = (uint32_t)query_u64(q, 0);
	size_t room = (size_t)s->n + 1;

	s->start = malloc(room * sizeof(*s->start));
	s->end = malloc(room * sizeof(*s->end));
	s->parent = malloc(room * sizeof(*s->parent));
	s->flags = malloc(room * sizeof(*s->flags));
	return s->start && s->end && s->parent && s->flags ? 0 : ts_error_nomem(err);
}

static void count_span(struct health_coverage *c, struct query *q, bool root, bool closed)
{
	struct ts_str step = query_str(q, 2);

	c->spans++;
	c->closed_spans += closed;
	c->root_spans += root;
	c->measured_spans += query_u64(q, 1) != 0;
	c->forward_spans += ts_str_is(step, "forward");
	c->backward_spans += ts_str_is(step, "backward");
	c->optimizer_spans += ts_str_is(step, "optimizer");
}

static int read_spans(struct health *h, struct spans *s, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	uint32_t at = 0;
	int n;

	if (query_open(h->db, "health_spans", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		bool root = query_u64(q, 0) != 0, closed = query_u64(q, 4) != 0;
		uint64_t parent = query_u64(q, 6);

		if (++at > s->n || parent > s->n)
			return ts_error_set(err, TS_E_INTERNAL, "spans are not numbered in order");
		count_span(&h->report.coverage, q, root, closed);
		s->start[at] = query_u64(q, 3);
		s->end[at] = u64_add_sat(s->start[at], query_u64(q, 5));
		s->parent[at] = root ? 0 : (uint32_t)parent;
		s->flags[at] = (uint8_t)((closed ? SPAN_CLOSED : 0) |
					 (!root && parent == 0 ? SPAN_ORPHAN : 0));
	}
	if (n == 0 && at != s->n)
		return ts_error_set(err, TS_E_INTERNAL, "spans without times");
	return n;
}

/* Each span is walked over once: a path ends at a root, at a span walked before, or on itself. */
static void mark_cycles(struct spans *s)
{
	for (uint32_t i = 1; i <= s->n; i++) {
		uint32_t at = i;

		while (at && !(s->flags[at] & (SPAN_WALKED | SPAN_ON_PATH))) {
			s->flags[at] |= SPAN_ON_PATH;
			at = s->parent[at];
		}
		uint8_t cycle = at && (s->flags[at] & (SPAN_ON_PATH | SPAN_CYCLE)) ? SPAN_CYCLE : 0;

		for (at = i; at && (s->flags[at] & SPAN_ON_PATH); at = s->parent[at])
			s->flags[at] =
				(uint8_t)((s->flags[at] & ~SPAN_ON_PATH) | SPAN_WALKED | cycle);
	}
}

/* Marks spans outside their parents; tells whether any span has an issue. */
static bool mark_places(struct spans *s)
{
	bool any = false;

	for (uint32_t i = 1; i <= s->n; i++) {
		uint32_t p = s->parent[i];

		if (p && (s->flags[i] & s->flags[p] & SPAN_CLOSED) &&
		    (s->start[i] < s->start[p] || s->end[i] > s->end[p]))
			s->flags[i] |= SPAN_OUTSIDE;
		any |= !(s->flags[i] & SPAN_CLOSED) ||
		       (s->flags[i] & (SPAN_ORPHAN | SPAN_OUTSIDE | SPAN_CYCLE));
	}
	return any;
}

static int span_issues(struct health *h, uint8_t flags, struct ts_str id, struct ts_str parent,
		       struct ts_error *err)
{
	if (!(flags & SPAN_CLOSED) && health_issue(h, HEALTH_SOFT, "open_span", err,
						   "Span \"%s\" never ended.", SHOWN(id)) < 0)
		return -1;
	if ((flags & SPAN_ORPHAN) &&
	    health_issue(h, HEALTH_ERROR, "unknown_parent", err,
			 "Span \"%s\" names parent \"%s\", which is not there.", SHOWN(id),
			 SHOWN(parent)) < 0)
		return -1;
	if ((flags & SPAN_OUTSIDE) && health_issue(h, HEALTH_ERROR, "child_outside_parent", err,
						   "Span \"%s\" is not within its parent \"%s\".",
						   SHOWN(id), SHOWN(parent)) < 0)
		return -1;
	if ((flags & SPAN_CYCLE) &&
	    health_issue(h, HEALTH_ERROR, "span_cycle", err,
			 "Ancestors of span \"%s\" form a cycle.", SHOWN(id)) < 0)
		return -1;
	return 0;
}

static int issues_by_id(struct health *h, const struct spans *s, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(h->db, "health_spans_by_id", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		uint64_t no = query_u64(q, 0);

		CHECK(no >= 1 && no <= s->n);
		if (span_issues(h, s->flags[no], query_str(q, 1), query_str(q, 2), err) < 0)
			return -1;
	}
	return n;
}

int health_spans(struct health *h, struct ts_error *err)
{
	struct spans s CLEAN(spans_done) = {0};
	const struct health_coverage *c = &h->report.coverage;

	if (make_room(h, &s, err) < 0 || read_spans(h, &s, err) < 0)
		return -1;
	if (c->root_spans != 1 && health_issue(h, HEALTH_ERROR, "root_count", err,
					       "The run has %llu root spans instead of 1.",
					       (unsigned long long)c->root_spans) < 0)
		return -1;
	if (c->measured_spans != 1 && !h->failed &&
	    health_issue(h, HEALTH_ERROR, "measurement_count", err,
			 "The run has %llu measured spans instead of 1.",
			 (unsigned long long)c->measured_spans) < 0)
		return -1;
	mark_cycles(&s);
	return mark_places(&s) ? issues_by_id(h, &s, err) : 0;
}
