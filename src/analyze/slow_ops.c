/* slow_ops.c: the slowest ops with their index in the span (candle-trace.md 14.6)
 *
 * The index counts the ops of a span in file order. It is worked out for the ops picked only: the
 * ops of a span are gone through once, whatever their order, and each is counted for the picked
 * ones behind it.
 */
#include "candle.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

struct picked {
	uint64_t place, op,
		before; /* before: ops of the span between the picked one before and it */
};

/* Counts an op for the first picked one of the span at or behind it. */
static void count_op(struct picked *picked, size_t n, uint64_t op)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (picked[middle].op < op)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < n)
		picked[low].before++;
}

static int number_span(struct db *db, struct ts_str span, struct picked *picked, size_t n,
		       struct ts_error *err)
{
	struct query *ops CLEAN(query_closep) = NULL, *update CLEAN(query_closep) = NULL;
	uint64_t index = 0;
	int more;

	if (query_open(db, "slow_op_of_span", &ops, err) < 0 ||
	    query_open(db, "slow_op_index", &update, err) < 0)
		return -1;
	query_bind_str(ops, 1, span);
	while ((more = query_step(ops, err)) == 1)
		count_op(picked, n, query_u64(ops, 0));
	if (more < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		index += picked[i].before; /* the op itself counted */
		query_bind_u64(update, 1, picked[i].place);
		query_bind_u64(update, 2, index - 1);
		if (query_step(update, err) < 0)
			return -1;
		query_reset(update);
	}
	return 0;
}

static int number_picked(struct db *db, struct picked *picked, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct buf span CLEAN(buf_done) = BUF_INIT;
	size_t n = 0;
	int more;

	if (query_open(db, "slow_op_picked", &q, err) < 0)
		return -1;
	do {
		more = query_step(q, err);
		if (more < 0)
			return -1;
		struct ts_str next = more ? query_str(q, 2) : ts_str(NULL, 0);

		if (n > 0 && !ts_str_eq(next, ts_str(span.data, span.len))) {
			if (number_span(db, ts_str(span.data, span.len), picked, n, err) < 0)
				return -1;
			n = 0;
		}
		if (more && n == 0) {
			buf_clear(&span);
			if (!buf_reserve(&span, next.n))
				return ts_error_nomem(err);
			buf_add(&span, next.p, next.n);
		}
		if (more)
			picked[n++] =
				(struct picked){.place = query_u64(q, 0), .op = query_u64(q, 1)};
	} while (more);
	return 0;
}

int slow_ops(struct db *db, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct picked *picked CLEAN(free_ptr) = malloc(VIEW_SLOW_OPS_MAX * sizeof(*picked));

	if (!picked)
		return ts_error_nomem(err);
	if (run_named(db, "slow_op_index_made", err) < 0 ||
	    query_open(db, "slow_op_pick", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, VIEW_SLOW_OPS_MAX);
	if (query_step(q, err) < 0)
		return -1;
	return number_picked(db, picked, err);
}
