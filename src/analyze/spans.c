/* spans.c: figures of all spans of a run (candle-trace.md 9, 10, 14.2) and their rows */
#include "spans.h"

#include <stdlib.h>

#include "tracespool/util.h"

static void spans_done(struct spans *s)
{
	void *const all[] = {s->flags,     s->parent,   s->depth,    s->first,    s->order,
			     s->bottom_up, s->pending,  s->size,     s->tree_no,  s->tree_first,
			     s->id_order,  s->start,    s->duration, s->op_count, s->total,
			     s->self,      s->host_self};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		free(all[i]);
}

static int spans_make(struct spans *s, uint64_t n, struct ts_error *err)
{
	uint32_t **const numbers[] = {&s->parent,     &s->depth,   &s->first, &s->order,
				      &s->bottom_up,  &s->pending, &s->size,  &s->tree_no,
				      &s->tree_first, &s->id_order};
	uint64_t **const times[] = {&s->start, &s->duration, &s->op_count,
				    &s->total, &s->self,     &s->host_self};
	bool ok = true;

	if (n > DEPTH_SPANS_MAX)
		return ts_error_set(err, TS_E_INTERNAL, "more than %u spans", DEPTH_SPANS_MAX);
	s->n = (uint32_t)n;
	s->flags = calloc(n + 2, 1);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		ok &= (*numbers[i] = calloc(n + 2, sizeof(uint32_t))) != NULL;
	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		ok &= (*times[i] = calloc(n + 2, sizeof(uint64_t))) != NULL;
	return ok && s->flags ? 0 : ts_error_nomem(err);
}

static uint8_t flags_of(struct query *q)
{
	return (uint8_t)((query_u64(q, 1) ? SPAN_ROOT : 0) | (query_u64(q, 5) ? SPAN_CLOSED : 0) |
			 (query_u64(q, 6) ? SPAN_MEASURED : 0) |
			 (query_u64(q, 7) ? SPAN_KIND_OP : 0) | (query_u64(q, 8) & SPAN_STEPS));
}

/* Goes over the spans once: total, roots, and who is whose parent. */
static int load(struct db *db, struct spans *s, struct execution_figures *f, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	uint32_t at = 0, measured = 0;
	int n;

	if (query_open(db, "span_load", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		uint64_t parent = query_u64(q, 2);

		if (at == s->n || query_u64(q, 0) != at + 1 || parent > s->n)
			return ts_error_set(err, TS_E_INTERNAL, "spans are not numbered in order");
		at++;
		s->start[at] = query_u64(q, 3);
		s->duration[at] = query_u64(q, 4);
		s->flags[at] = flags_of(q);
		if (s->flags[at] & SPAN_ROOT)
			f->root_span_count++;
		else
			s->parent[at] = parent ? (uint32_t)parent : DEPTH_DANGLING;
		if (s->flags[at] & SPAN_MEASURED) {
			f->total_ns = u64_add_sat(f->total_ns, s->duration[at]);
			s->measured = at;
			measured++;
		}
	}
	if (measured != 1)
		s->measured = 0;
	if (n == 0 && at != s->n)
		return ts_error_set(err, TS_E_INTERNAL, "spans without times");
	return n;
}

/* The time of ops by span, where it makes the total. */
static int sum_ops(struct db *db, struct spans *s, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(db, "span_op_sums", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		uint64_t no = query_u64(q, 0);

		if (no > s->n)
			return ts_error_set(err, TS_E_INTERNAL, "a span has no number");
		s->total[no] = u64_add_sat(s->total[no], query_u64(q, 1));
	}
	return n;
}

static int write_rows(struct db *db, const struct spans *s, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "span_figure_insert", &q, err) < 0)
		return -1;
	for (uint32_t i = 1; i <= s->n; i++) {
		bool closed = s->flags[i] & SPAN_CLOSED;

		query_bind_u64(q, 1, i);
		query_bind_u64(q, 2, s->id_order[i]);
		query_bind_u64(q, 3, s->start[i]);
		query_bind_u64(q, 4, s->duration[i]);
		query_bind_u64(q, 5, closed);
		query_bind_u64(q, 6, s->depth[i]);
		query_bind_u64(q, 7, span_child_count(s, i));
		query_bind_u64(q, 8, s->op_count[i]);
		if (closed)
			query_bind_u64(q, 9, s->self[i]);
		else
			query_bind_null(q, 9);
		query_bind_u64(q, 10, s->total[i]);
		query_bind_u64(q, 11, s->host_self[i]);
		query_bind_u64(q, 12, s->tree_no[i]);
		query_bind_u64(q, 13, s->tree_first[i]);
		query_bind_u64(q, 14, span_tree_last(s, i));
		if (query_step(q, err) < 0)
			return -1;
		query_reset(q);
	}
	return 0;
}

/* What the measured subtree did on device clocks (14.4). */
static int pick_slowest_device(struct db *db, const struct spans *s, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (!s->measured)
		return 0;
	if (query_open(db, "slowest_device_pick", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, s->tree_first[s->measured]);
	query_bind_u64(q, 2, span_tree_last(s, s->measured));
	return query_step(q, err) < 0 ? -1 : 0;
}

static int work_out(struct db *db, struct spans *s, struct execution_figures *f,
		    struct ts_error *err)
{
	uint8_t *above CLEAN(free_ptr) = NULL;

	if (spans_make(s, f->span_count, err) < 0 || load(db, s, f, err) < 0)
		return -1;
	depths_fill(s->parent, s->depth, s->n);
	for (uint32_t i = 1; i <= s->n; i++)
		if (s->depth[i] > f->max_depth)
			f->max_depth = s->depth[i];
	if (run_named(db, "span_index_id", err) < 0 || run_named(db, "span_index_ops", err) < 0 ||
	    sum_ops(db, s, err) < 0)
		return -1;
	spans_order_children(s);
	spans_climb(s);
	above = malloc((size_t)s->n + 1);
	if (!above)
		return ts_error_nomem(err);
	spans_steps(s, f->step_ns, above);
	if (spans_self_times(db, s, err) < 0 || write_rows(db, s, err) < 0)
		return -1;
	f->op_span_unknown = s->ops_met != f->op_count;
	f->op_outside_span = s->op_outside;
	return pick_slowest_device(db, s, err);
}

int span_figures(struct db *db, struct execution_figures *f, struct ts_error *err)
{
	struct spans s = {0};
	int rc = work_out(db, &s, f, err);

	spans_done(&s);
	return rc;
}
