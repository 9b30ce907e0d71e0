/* memory_kept_heaviest.c: bytes that lifetimes count for ops, with the records in memory
 *
 * A lifetime counts for the only op of its name in its span. The groups of a span are looked at
 * together: where one of them can be among the first, its ops are gone over twice: to find those
 * that are alone with their name, and to find which ops they are. So a span costs two walks over
 * its ops, whatever their order.
 */
#include "memory_kept.h"

#include <stdlib.h>

#include "tracespool/util.h"

struct group {
	uint64_t bytes; /* saturated */
	uint64_t op;    /* rowid of the first op of the name */
	uint64_t index; /* of that op in its span, from 0 */
	uint16_t name, count;
};

struct heaviest {
	const struct memory_kept *k;
	struct heavy_list *list;
	struct query *ops;
	uint32_t *order; /* records that begin a lifetime and have a name, by span */
	size_t count;
	struct group *groups; /* of a span */
	size_t group_count;
	uint16_t *group_of; /* a name: number in groups + 1, or 0 */
};

static bool is_named_lifetime(const struct memory_kept *k, uint32_t i)
{
	return (k->flags[i] & KEPT_BEGINS) && k->name[i] != KEPT_NO_NAME;
}

static int prepare(struct heaviest *h, struct db *db, struct ts_error *err)
{
	const struct memory_kept *k = h->k;
	uint32_t *scratch CLEAN(free_ptr) = malloc(k->n * sizeof(*scratch));

	h->order = malloc(k->n * sizeof(*h->order));
	h->groups = malloc((k->names.count + 1) * sizeof(*h->groups));
	h->group_of = calloc(k->names.count + 1, sizeof(*h->group_of));
	if (!scratch || !h->order || !h->groups || !h->group_of)
		return ts_error_nomem(err);
	for (uint32_t i = 0; i < k->n; i++)
		if (is_named_lifetime(k, i))
			h->order[h->count++] = i;
	order_by_numbers(k->span, h->order, scratch, h->count);
	return query_open(db, "heaviest_ops_of", &h->ops, err);
}

static void clear_groups(struct heaviest *h)
{
	for (size_t i = 0; i < h->group_count; i++)
		h->group_of[h->groups[i].name] = 0;
	h->group_count = 0;
}

static void add_lifetime(struct heaviest *h, uint32_t at)
{
	uint16_t name = h->k->name[at];

	if (!h->group_of[name]) {
		h->groups[h->group_count++] = (struct group){.name = name};
		h->group_of[name] = (uint16_t)h->group_count;
	}
	struct group *g = &h->groups[h->group_of[name] - 1];

	g->bytes = u64_add_sat(g->bytes, h->k->bytes[at]);
}

static bool can_enter(const struct heaviest *h, struct ts_str span)
{
	for (size_t i = 0; i < h->group_count; i++)
		if (heavy_can_enter(h->list, span, h->groups[i].bytes))
			return true;
	return false;
}

/* Columns of heaviest_ops_of: rowid, op_name. */
static int count_ops(struct heaviest *h, struct ts_error *err)
{
	int n;

	while ((n = query_step(h->ops, err)) == 1) {
		uint32_t name = strmap_find(&h->k->names, query_str(h->ops, 1));

		if (name == STRMAP_NONE || !h->group_of[name])
			continue;
		struct group *g = &h->groups[h->group_of[name] - 1];

		if (g->count == 0)
			g->op = query_u64(h->ops, 0);
		if (g->count < 2)
			g->count++;
	}
	query_reset(h->ops);
	return n;
}

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return (x->op > y->op) - (x->op < y->op);
}

/* The groups of single ops that can enter come first, by op; their number. */
static size_t pick(struct heaviest *h, struct ts_str span)
{
	size_t n = 0;

	for (size_t i = 0; i < h->group_count; i++) {
		struct group g = h->groups[i];

		if (g.count != 1 || !heavy_can_enter(h->list, span, g.bytes))
			continue;
		h->groups[i] = h->groups[n];
		h->groups[n++] = g;
	}
	qsort(h->groups, n, sizeof(*h->groups), compare_groups);
	return n;
}

/* index: first the ops between it and the one before, then all in front of it. */
static int find_indexes(struct heaviest *h, size_t picked, struct ts_error *err)
{
	int n;

	while ((n = query_step(h->ops, err)) == 1) {
		uint64_t op = query_u64(h->ops, 0);
		size_t low = 0, high = picked;

		while (low < high) {
			size_t mid = low + (high - low) / 2;

			if (h->groups[mid].op <= op)
				low = mid + 1;
			else
				high = mid;
		}
		if (low < picked)
			h->groups[low].index++;
	}
	query_reset(h->ops);
	for (size_t i = 1; i < picked; i++)
		h->groups[i].index += h->groups[i - 1].index;
	return n;
}

static int look_at_ops(struct heaviest *h, struct ts_str span, struct ts_error *err)
{
	const struct memory_kept *k = h->k;

	query_bind_str(h->ops, 1, span);
	if (count_ops(h, err) < 0)
		return -1;
	size_t picked = pick(h, span);

	if (picked > 0 && find_indexes(h, picked, err) < 0)
		return -1;
	for (size_t i = 0; i < picked; i++)
		if (heavy_add_op(h->list, span, h->groups[i].index,
				 strmap_get(&k->names, h->groups[i].name), h->groups[i].bytes,
				 err) < 0)
			return -1;
	return 0;
}

static int take_spans(struct heaviest *h, struct ts_error *err)
{
	const struct memory_kept *k = h->k;

	for (size_t i = 0; i < h->count;) {
		uint32_t no = k->span[h->order[i]];
		struct ts_str span = strmap_get(&k->spans, no - 1);

		clear_groups(h);
		for (; i < h->count && k->span[h->order[i]] == no; i++)
			add_lifetime(h, h->order[i]);
		if (can_enter(h, span) && look_at_ops(h, span, err) < 0)
			return -1;
	}
	return 0;
}

int memory_kept_heaviest(const struct memory_kept *k, struct db *db, struct heavy_list *list,
			 struct ts_error *err)
{
	struct heaviest h = {.k = k, .list = list};
	int n = prepare(&h, db, err);

	if (n == 0)
		n = take_spans(&h, err);
	query_close(h.ops);
	free(h.order);
	free(h.groups);
	free(h.group_of);
	return n;
}
