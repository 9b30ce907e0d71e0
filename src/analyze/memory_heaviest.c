/* memory_heaviest.c: the spans and operations that allocated most (candle-trace.md 14.5) */
#include "memory_view.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

enum { SPANS_SHOWN = 8, OPS_SHOWN = 50, NEW = 0, OUTSIDE, INSIDE, ON_WAY };

/* state[1..n]: is the span the measured one or below it? The graph has no rings, but a walk that
 * meets itself ends all the same. */
static void find_inside(const uint32_t *parent, uint8_t *state, uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t at = i;

		while (at && state[at] == NEW) {
			state[at] = ON_WAY;
			at = parent[at];
		}
		uint8_t found = at && state[at] == INSIDE ? INSIDE : OUTSIDE;

		for (uint32_t k = i; k && state[k] == ON_WAY; k = parent[k])
			state[k] = found;
	}
}

static int read_inside(struct db *db, uint8_t **ret, uint32_t *ret_n, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	uint32_t *parent CLEAN(free_ptr) = NULL, n = 0, cap = 0;
	uint8_t *state CLEAN(free_ptr) = NULL;
	int more;

	if (query_open(db, "heaviest_parents", &q, err) < 0)
		return -1;
	while ((more = query_step(q, err)) == 1) {
		if (n + 1 >= cap) {
			uint32_t grown = cap ? cap + cap / 2 : 1024;
			uint32_t *p = reallocarray(parent, grown, sizeof(*p));
			uint8_t *s = realloc(state, grown);

			parent = p ? p : parent;
			state = s ? s : state;
			if (!p || !s)
				return ts_error_nomem(err);
			cap = grown;
		}
		n++;
		parent[n] = (uint32_t)query_u64(q, 0);
		state[n] = query_u64(q, 1) ? INSIDE : NEW;
	}
	if (more < 0)
		return -1;
	if (n > 0)
		find_inside(parent, state, n);
	*ret = TAKE(state);
	*ret_n = n;
	return 0;
}

static int stage_spans(struct memory_document *d, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	uint8_t *state CLEAN(free_ptr) = NULL;
	unsigned shown = 0;
	uint32_t count = 0;
	int n;

	jw_open_object(&d->w);
	jw_kv_str(&d->w, "entrypoint", d->ask.entrypoint);
	jw_key(&d->w, "heaviest_spans");
	jw_open_array(&d->w);
	if (read_inside(d->db, &state, &count, err) < 0 ||
	    query_open(d->db, "heaviest_spans", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		uint64_t no = query_u64(q, 0);

		if (no > count || state[no] != INSIDE)
			continue;
		jw_open_object(&d->w);
		jw_kv_str(&d->w, "id", query_str(q, 1));
		jw_kv_str(&d->w, "name", query_str(q, 2));
		jw_kv_u64(&d->w, "allocated_bytes", query_u64(q, 3));
		if (!query_is_null(q, 4))
			jw_kv_u64(&d->w, "peak_live_bytes", query_u64(q, 4));
		jw_close_object(&d->w);
		if (++shown == SPANS_SHOWN)
			break;
	}
	jw_close_array(&d->w);
	return n < 0 ? -1 : 0;
}

/* ---- operations ---- */

struct heavy {
	struct buf id, name;
	uint64_t bytes;
};

struct heavy_list {
	struct heavy of[OPS_SHOWN + 1]; /* one more, for what falls out */
	size_t count;
};

static int add_heavy(struct heavy_list *l, struct ts_str id, struct ts_str name, uint64_t bytes,
		     struct ts_error *err)
{
	size_t at = l->count;

	while (at > 0 &&
	       (l->of[at - 1].bytes < bytes ||
		(l->of[at - 1].bytes == bytes &&
		 ts_str_cmp(id, ts_str(l->of[at - 1].id.data, l->of[at - 1].id.len)) < 0)))
		at--;
	if (at == OPS_SHOWN)
		return 0;
	struct heavy spare = l->of[l->count];

	for (size_t i = l->count; i > at; i--)
		l->of[i] = l->of[i - 1];
	buf_clear(&spare.id);
	buf_clear(&spare.name);
	buf_add(&spare.id, id.p, id.n);
	buf_add(&spare.name, name.p, name.n);
	spare.bytes = bytes;
	l->of[at] = spare;
	if (l->count < OPS_SHOWN)
		l->count++;
	return spare.id.failed || spare.name.failed ? ts_error_nomem(err) : 0;
}

/* Rows of (span id, op name, ...) in order, one group of equal ones at a time. */
struct grouped {
	struct query *q;
	bool more;
	struct buf span, name;
	uint64_t first, rows; /* third column of the first row, number of rows */
	uint64_t sum;         /* of the third column, saturated */
};

static bool in_group(struct grouped *g)
{
	return ts_str_eq(query_str(g->q, 0), ts_str(g->span.data, g->span.len)) &&
	       ts_str_eq(query_str(g->q, 1), ts_str(g->name.data, g->name.len));
}

static int grouped_step(struct grouped *g, struct ts_error *err)
{
	int n = query_step(g->q, err);

	g->more = n == 1;
	return n < 0 ? -1 : 0;
}

/* 1: the next group is in g; 0: there is none. */
static int grouped_next(struct grouped *g, struct ts_error *err)
{
	struct ts_str span, name;

	g->rows = g->sum = 0;
	if (!g->more)
		return 0;
	span = query_str(g->q, 0);
	name = query_str(g->q, 1);
	buf_clear(&g->span);
	buf_clear(&g->name);
	/* Added even if empty, so that data is there. */
	if (!buf_reserve(&g->span, span.n + 1) || !buf_reserve(&g->name, name.n + 1))
		return ts_error_nomem(err);
	buf_add(&g->span, span.p, span.n);
	buf_add(&g->name, name.p, name.n);
	g->first = query_u64(g->q, 2);
	while (g->more && in_group(g)) {
		g->rows++;
		g->sum = u64_add_sat(g->sum, query_u64(g->q, 2));
		if (grouped_step(g, err) < 0)
			return -1;
	}
	return 1;
}

static int compare_groups(const struct grouped *a, const struct grouped *b)
{
	int n = ts_str_cmp(ts_str(a->span.data, a->span.len), ts_str(b->span.data, b->span.len));

	return n ? n
		 : ts_str_cmp(ts_str(a->name.data, a->name.len), ts_str(b->name.data, b->name.len));
}

static int merge_ops(struct grouped *lifetimes, struct grouped *ops, struct heavy_list *list,
		     struct ts_error *err)
{
	struct buf id CLEAN(buf_done) = BUF_INIT;
	int have = grouped_next(lifetimes, err), op = have == 1 ? grouped_next(ops, err) : 0;

	while (have == 1 && op == 1) {
		int order = compare_groups(lifetimes, ops);

		if (order == 0 && ops->rows == 1) {
			buf_clear(&id);
			buf_add(&id, ops->span.data, ops->span.len);
			buf_printf(&id, "/op/%llu", (unsigned long long)ops->first);
			if (id.failed)
				return ts_error_nomem(err);
			if (add_heavy(list, ts_str(id.data, id.len),
				      ts_str(ops->name.data, ops->name.len), lifetimes->sum,
				      err) < 0)
				return -1;
		}
		if (order <= 0)
			have = grouped_next(lifetimes, err);
		if (order >= 0 && have >= 0)
			op = grouped_next(ops, err);
	}
	return have < 0 || op < 0 ? -1 : 0;
}

static int find_ops(struct db *db, struct grouped *lifetimes, struct grouped *ops,
		    struct heavy_list *list, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(db, "heaviest_lifetimes", &lifetimes->q, err) < 0 ||
	    query_open(db, "heaviest_ops", &ops->q, err) < 0 ||
	    query_open(db, "heaviest_op_spans", &q, err) < 0 || grouped_step(lifetimes, err) < 0 ||
	    grouped_step(ops, err) < 0 || merge_ops(lifetimes, ops, list, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1)
		if (add_heavy(list, query_str(q, 0), query_str(q, 1), query_u64(q, 2), err) < 0)
			return -1;
	return n;
}

static int stage_ops(struct memory_document *d, struct ts_error *err)
{
	struct grouped lifetimes = {.span = BUF_INIT, .name = BUF_INIT};
	struct grouped ops = {.span = BUF_INIT, .name = BUF_INIT};
	struct heavy_list *list = calloc(1, sizeof(*list));

	if (!list)
		return ts_error_nomem(err);
	for (size_t i = 0; i < ARRAY_LEN(list->of); i++)
		list->of[i].id.max = list->of[i].name.max = SIZE_MAX;
	int n = find_ops(d->db, &lifetimes, &ops, list, err);

	jw_key(&d->w, "heaviest_ops");
	jw_open_array(&d->w);
	for (size_t i = 0; i < list->count && n == 0; i++) {
		struct heavy *h = &list->of[i];

		jw_open_object(&d->w);
		jw_kv_str(&d->w, "id", ts_str(h->id.data ? h->id.data : "", h->id.len));
		jw_kv_str(&d->w, "name", ts_str(h->name.data ? h->name.data : "", h->name.len));
		jw_kv_u64(&d->w, "allocated_bytes", h->bytes);
		jw_close_object(&d->w);
	}
	jw_close_array(&d->w);
	jw_close_object(&d->w);
	for (size_t i = 0; i < ARRAY_LEN(list->of); i++) {
		buf_done(&list->of[i].id);
		buf_done(&list->of[i].name);
	}
	free(list);
	query_close(lifetimes.q);
	query_close(ops.q);
	buf_done(&lifetimes.span);
	buf_done(&lifetimes.name);
	buf_done(&ops.span);
	buf_done(&ops.name);
	return n;
}

stage_fn *const heaviest_stages[] = {stage_head, stage_spans, stage_ops, stage_tail, NULL};
