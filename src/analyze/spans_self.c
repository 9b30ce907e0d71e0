/* spans_self.c: self times (candle-trace.md 10, 14.2), and the slowest spans of the host (14.3)
 *
 * One pass over the spans by id with the ops of each in time order, merged with its children in
 * start order: three unions of the same sequence, clipped differently.
 */
#include "spans.h"

#include <string.h>

#include "tracespool/util.h"

enum { SLOWEST_HOST = 8 };

struct slow_span {
	uint32_t no;
	bool below; /* in the measured subtree */
	uint64_t overlap_self, overlap;
};

struct walk {
	struct spans *s;
	uint32_t at, child, child_end; /* the span; its next child in s->order */
	struct cover self, host, overlap;
	uint64_t low, high; /* the measured span, with its total */
	struct slow_span slowest[SLOWEST_HOST];
	unsigned slowest_count;
};

static void begin_span(struct walk *w, uint32_t no)
{
	struct spans *s = w->s;

	w->at = no;
	w->child = s->first[no];
	w->child_end = s->first[no + 1];
	cover_begin(&w->self, s->start[no], u64_add_sat(s->start[no], s->duration[no]));
	cover_begin(&w->host, 0, UINT64_MAX);
	cover_begin(&w->overlap, w->low, w->high);
	s->op_count[no] = 0;
}

/* The children that start at or before that time. */
static void add_children(struct walk *w, uint64_t until)
{
	struct spans *s = w->s;

	for (; w->child < w->child_end; w->child++) {
		uint32_t c = s->order[w->child];
		uint64_t start = s->start[c], end = u64_add_sat(start, s->total[c]);

		if (start > until)
			break;
		if (s->flags[c] & SPAN_CLOSED)
			cover_add(&w->self, start, u64_add_sat(start, s->duration[c]));
		cover_add(&w->host, start, end);
		cover_add(&w->overlap, start, end);
	}
}

static void add_op(struct walk *w, uint64_t start, uint64_t duration)
{
	uint64_t end = u64_add_sat(start, duration);

	add_children(w, start);
	w->s->op_count[w->at]++;
	cover_add(&w->self, start, end);
	cover_add(&w->host, start, end);
	cover_add(&w->overlap, start, end);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Does a stand before b? Equal ones stay in the order of the ids, in which they come. */
static bool is_slower(const struct spans *s, const struct slow_span *a, const struct slow_span *b)
{
	if (a->overlap_self != b->overlap_self)
		return a->overlap_self > b->overlap_self;
	return s->host_self[a->no] > s->host_self[b->no];
}

static void offer_slowest(struct walk *w, const struct slow_span *x)
{
	unsigned at = w->slowest_count;

	while (at > 0 && is_slower(w->s, x, &w->slowest[at - 1]))
		at--;
	if (at == SLOWEST_HOST)
		return;
	if (w->slowest_count < SLOWEST_HOST)
		w->slowest_count++;
	memmove(&w->slowest[at + 1], &w->slowest[at],
		(w->slowest_count - at - 1) * sizeof(*w->slowest));
	w->slowest[at] = *x;
}

/* Is b in the subtree of a? */
static bool is_below(const struct spans *s, uint32_t a, uint32_t b)
{
	return s->tree_no[b] >= s->tree_first[a] && s->tree_no[b] <= span_tree_last(s, a);
}

static void look_at_overlap(struct walk *w)
{
	const struct spans *s = w->s;
	uint32_t i = w->at, m = s->measured;
	struct slow_span x = {.no = i, .below = is_below(s, m, i)};
	struct cover all;

	if ((s->flags[i] & SPAN_KIND_OP) && !(s->flags[i] & SPAN_ROOT))
		return;
	if (!x.below && is_below(s, i, m))
		return;
	cover_begin(&all, w->low, w->high);
	cover_add(&all, s->start[i], u64_add_sat(s->start[i], s->total[i]));
	x.overlap = cover_length(&all);
	if (x.overlap == 0)
		return;
	x.overlap_self = less(x.overlap, cover_length(&w->overlap));
	offer_slowest(w, &x);
}

static void end_span(struct walk *w)
{
	struct spans *s = w->s;

	add_children(w, UINT64_MAX);
	s->self[w->at] = s->duration[w->at] - cover_length(&w->self);
	s->host_self[w->at] = less(s->total[w->at], cover_length(&w->host));
	if (s->measured)
		look_at_overlap(w);
}

static int write_slowest(struct db *db, const struct walk *w, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "slowest_host_insert", &q, err) < 0)
		return -1;
	for (unsigned i = 0; i < w->slowest_count; i++) {
		const struct slow_span *x = &w->slowest[i];

		query_bind_u64(q, 1, i + 1);
		query_bind_u64(q, 2, x->no);
		query_bind_str(
			q, 3, x->below ? TS_STR("measured_subtree") : TS_STR("concurrent_overlap"));
		query_bind_u64(q, 4, x->overlap_self);
		query_bind_u64(q, 5, x->overlap);
		if (query_step(q, err) < 0)
			return -1;
		query_reset(q);
	}
	return 0;
}

static void look_at_place(struct spans *s, uint64_t no, uint64_t at, uint64_t duration)
{
	s->ops_met++;
	if (s->flags[no] & SPAN_CLOSED)
		s->op_outside |=
			at < s->start[no] ||
			u64_add_sat(at, duration) > u64_add_sat(s->start[no], s->duration[no]);
}

int spans_self_times(struct db *db, struct spans *s, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct walk w = {.s = s};
	uint32_t met = 0;
	int n;

	if (s->measured) {
		w.low = s->start[s->measured];
		w.high = u64_add_sat(w.low, s->total[s->measured]);
	}
	if (query_open(db, "span_ops", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		uint64_t no = query_u64(q, 0);

		if (no == 0 || no > s->n)
			return ts_error_set(err, TS_E_INTERNAL, "a span has no number");
		if (no != w.at) {
			if (w.at)
				end_span(&w);
			begin_span(&w, (uint32_t)no);
			s->id_order[no] = ++met;
		}
		if (query_is_null(q, 1))
			continue;
		look_at_place(s, no, query_u64(q, 1), query_u64(q, 2));
		add_op(&w, query_u64(q, 1), query_u64(q, 2));
	}
	if (n < 0)
		return -1;
	if (w.at)
		end_span(&w);
	return write_slowest(db, &w, err);
}
