/* memory_heaviest.c: the spans and operations that allocated most (candle-trace.md 14.5): found
 * once, after the analysis of memory, and shown from their tables */
#include "memory_view.h"

#include <stdlib.h>

#include "memory_kept.h"
#include "tracespool/util.h"

enum { OPS_SHOWN = 50 };

struct heavy {
	struct buf id, name;
	uint64_t bytes;
};

struct heavy_list {
	struct heavy of[OPS_SHOWN + 1]; /* one more, for what falls out */
	size_t count;
	struct buf id;
};

bool heavy_can_enter(const struct heavy_list *list, struct ts_str span, uint64_t bytes)
{
	const struct heavy *last = &list->of[OPS_SHOWN - 1];

	if (list->count < OPS_SHOWN || bytes > last->bytes)
		return true;
	return bytes == last->bytes && ts_str_cmp(span, ts_str(last->id.data, last->id.len)) <= 0;
}

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

int heavy_add_op(struct heavy_list *list, struct ts_str span, uint64_t index, struct ts_str name,
		 uint64_t bytes, struct ts_error *err)
{
	buf_clear(&list->id);
	buf_add(&list->id, span.p, span.n);
	buf_printf(&list->id, "/op/%llu", (unsigned long long)index);
	if (list->id.failed)
		return ts_error_nomem(err);
	return add_heavy(list, ts_str(list->id.data, list->id.len), name, bytes, err);
}

/* Lifetimes by span and op name: one group after the other. */
struct groups {
	struct query *q;
	bool more;
	struct buf span_text, name_text;
	struct ts_str span, name; /* of the group */
	uint64_t bytes;           /* of the group, saturated */
	bool new_span;
};

static int groups_step(struct groups *g, struct ts_error *err)
{
	int n = query_step(g->q, err);

	g->more = n == 1;
	return n < 0 ? -1 : 0;
}

static int keep(struct buf *b, struct ts_str s, struct ts_str *ret, struct ts_error *err)
{
	buf_clear(b);
	/* One more, so that data is there for an empty one too. */
	if (!buf_reserve(b, s.n + 1))
		return ts_error_nomem(err);
	buf_add(b, s.p, s.n);
	*ret = ts_str(b->data, b->len);
	return 0;
}

/* 1: the next group is in g; 0: there is none. */
static int groups_next(struct groups *g, struct ts_error *err)
{
	if (!g->more)
		return 0;
	g->new_span = !ts_str_eq(query_str(g->q, 0), g->span);
	if ((g->new_span && keep(&g->span_text, query_str(g->q, 0), &g->span, err) < 0) ||
	    keep(&g->name_text, query_str(g->q, 1), &g->name, err) < 0)
		return -1;
	g->bytes = 0;
	while (g->more && ts_str_eq(query_str(g->q, 0), g->span) &&
	       ts_str_eq(query_str(g->q, 1), g->name)) {
		g->bytes = u64_add_sat(g->bytes, query_u64(g->q, 2));
		if (groups_step(g, err) < 0)
			return -1;
	}
	return 1;
}

/* The ops of the span of the groups, by name, read as far as its groups have come. They are asked
 * for only when a group may be among the first, so a span costs one sort of its ops at most. */
struct span_ops {
	struct query *q;
	bool begun, more;
};

static int ops_step(struct span_ops *o, struct ts_error *err)
{
	int n = query_step(o->q, err);

	o->more = n == 1;
	return n < 0 ? -1 : 0;
}

/* The index in its span of the only op with the group's name; *ret_count other than 1: there is no
 * such op. */
static int find_op(struct span_ops *o, const struct groups *g, uint64_t *ret_index,
		   unsigned *ret_count, struct ts_error *err)
{
	*ret_count = 0;
	if (!o->begun) {
		query_bind_str(o->q, 1, g->span);
		o->begun = true;
		if (ops_step(o, err) < 0)
			return -1;
	}
	while (o->more && ts_str_cmp(query_str(o->q, 0), g->name) < 0)
		if (ops_step(o, err) < 0)
			return -1;
	while (o->more && ts_str_eq(query_str(o->q, 0), g->name)) {
		if ((*ret_count)++ == 0)
			*ret_index = query_u64(o->q, 1);
		if (ops_step(o, err) < 0)
			return -1;
	}
	return 0;
}

static int take_group(struct span_ops *o, const struct groups *g, struct heavy_list *list,
		      struct ts_error *err)
{
	uint64_t index;
	unsigned count;

	if (!heavy_can_enter(list, g->span, g->bytes))
		return 0;
	if (find_op(o, g, &index, &count, err) < 0)
		return -1;
	return count == 1 ? heavy_add_op(list, g->span, index, g->name, g->bytes, err) : 0;
}

static int take_groups(struct groups *g, struct span_ops *o, struct heavy_list *list,
		       struct ts_error *err)
{
	int n;

	while ((n = groups_next(g, err)) == 1) {
		if (g->new_span) {
			query_reset(o->q);
			*o = (struct span_ops){.q = o->q};
		}
		if (take_group(o, g, list, err) < 0)
			return -1;
	}
	return n;
}

static int take_lifetimes(struct db *db, struct heavy_list *list, struct ts_error *err)
{
	struct groups g = {.span_text = {.max = SIZE_MAX}, .name_text = {.max = SIZE_MAX}};
	struct span_ops o = {0};
	int n = -1;

	if (query_open(db, "heaviest_lifetimes", &g.q, err) == 0 &&
	    query_open(db, "heaviest_ops_of_span", &o.q, err) == 0 && groups_step(&g, err) == 0)
		n = take_groups(&g, &o, list, err);
	query_close(g.q);
	query_close(o.q);
	buf_done(&g.span_text);
	buf_done(&g.name_text);
	return n;
}

/* Those that lifetimes count for, and the spans that are ops themselves. */
static int find_ops(struct db *db, const struct memory_kept *kept, struct heavy_list *list,
		    struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n = kept ? memory_kept_heaviest(kept, db, list, err) : take_lifetimes(db, list, err);

	if (n < 0 || query_open(db, "heaviest_op_spans", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1)
		if (add_heavy(list, query_str(q, 0), query_str(q, 1), query_u64(q, 2), err) < 0)
			return -1;
	return n;
}

static int write_ops(struct db *db, const struct heavy_list *list, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "heaviest_op_insert", &q, err) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++) {
		const struct heavy *h = &list->of[i];

		query_bind_str(q, 1, ts_str(h->id.data ? h->id.data : "", h->id.len));
		query_bind_str(q, 2, ts_str(h->name.data ? h->name.data : "", h->name.len));
		query_bind_u64(q, 3, h->bytes);
		if (query_step(q, err) < 0)
			return -1;
		query_reset(q);
	}
	return 0;
}

int memory_heaviest(struct db *db, const struct memory_kept *kept, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct heavy_list *list = calloc(1, sizeof(*list));

	if (!list)
		return ts_error_nomem(err);
	list->id.max = SIZE_MAX;
	for (size_t i = 0; i < ARRAY_LEN(list->of); i++)
		list->of[i].id.max = list->of[i].name.max = SIZE_MAX;
	int n = query_open(db, "heaviest_span_pick", &q, err);

	if (n == 0)
		n = query_step(q, err);
	if (n == 0)
		n = find_ops(db, kept, list, err);
	if (n == 0)
		n = write_ops(db, list, err);
	for (size_t i = 0; i < ARRAY_LEN(list->of); i++) {
		buf_done(&list->of[i].id);
		buf_done(&list->of[i].name);
	}
	buf_done(&list->id);
	free(list);
	return n;
}

/* ---- the view ---- */

/* Rows of id, name, allocated_bytes and, if there is a fourth column, peak_live_bytes. */
static int show(struct memory_document *d, const char *member, const char *statement, bool peaks,
		struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(d->db, statement, &q, err) < 0)
		return -1;
	jw_key(&d->w, member);
	jw_open_array(&d->w);
	while ((n = query_step(q, err)) == 1) {
		jw_open_object(&d->w);
		jw_kv_str(&d->w, "id", query_str(q, 0));
		jw_kv_str(&d->w, "name", query_str(q, 1));
		jw_kv_u64(&d->w, "allocated_bytes", query_u64(q, 2));
		if (peaks && !query_is_null(q, 3))
			jw_kv_u64(&d->w, "peak_live_bytes", query_u64(q, 3));
		jw_close_object(&d->w);
	}
	jw_close_array(&d->w);
	return n;
}

static int stage_heaviest(struct memory_document *d, struct ts_error *err)
{
	jw_open_object(&d->w);
	jw_kv_str(&d->w, "entrypoint", d->ask.entrypoint);
	if (show(d, "heaviest_spans", "heaviest_spans", true, err) < 0 ||
	    show(d, "heaviest_ops", "heaviest_ops", false, err) < 0)
		return -1;
	jw_close_object(&d->w);
	return 0;
}

stage_fn *const heaviest_stages[] = {stage_head, stage_heaviest, stage_tail, NULL};
