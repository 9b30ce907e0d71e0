/* spans_tree.c: children in start order, host totals, subtrees as ranges of numbers, step sums
 *
 * Nothing here recurses: spans are taken off from the leaves up, each when all its children are.
 * What is left lies on rings, since a span has one parent. Rings occur in accepted traces, though
 * never where a graph is served; a link of a ring adds nothing to totals, and the subtree of a span
 * on a ring is the ring and all that hangs from it.
 */
#include "spans.h"

#include <stdlib.h>

static int by_start(const void *a, const void *b, void *arg)
{
	const struct spans *s = arg;
	uint64_t x = s->start[*(const uint32_t *)a], y = s->start[*(const uint32_t *)b];

	return x < y ? -1 : x > y;
}

/* The starts mostly rise in a file: then there is nothing to sort. */
static bool is_sorted(const struct spans *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from + 1; i < to; i++)
		if (s->start[s->order[i - 1]] > s->start[s->order[i]])
			return false;
	return true;
}

void spans_order_children(struct spans *s)
{
	/* Counting sort by parent: first[p + 1] counts, then moves along. */
	for (uint32_t i = 0; i <= s->n + 1; i++)
		s->first[i] = 0;
	for (uint32_t i = 1; i <= s->n; i++)
		if (has_parent_span(s, i))
			s->first[s->parent[i] + 1]++;
	for (uint32_t i = 1; i <= s->n + 1; i++)
		s->first[i] += s->first[i - 1];
	for (uint32_t i = 1; i <= s->n; i++)
		s->pending[i] = s->first[i];
	for (uint32_t i = 1; i <= s->n; i++)
		if (has_parent_span(s, i))
			s->order[s->pending[s->parent[i]]++] = i;
	for (uint32_t i = 1; i <= s->n; i++)
		if (!is_sorted(s, s->first[i], s->first[i + 1]))
			qsort_r(s->order + s->first[i], span_child_count(s, i), sizeof(*s->order),
				by_start, s);
}

/* Takes spans off from the leaves up, handing totals and sizes to their parents. */
static void take_off(struct spans *s)
{
	uint32_t done = 0, known = 0;

	for (uint32_t i = 1; i <= s->n; i++) {
		s->size[i] = 1;
		s->pending[i] = span_child_count(s, i);
		if (s->duration[i])
			s->total[i] = s->duration[i];
		if (s->pending[i] == 0)
			s->bottom_up[known++] = i;
	}
	while (done < known) {
		uint32_t i = s->bottom_up[done++], p = s->parent[i];

		if (!has_parent_span(s, i))
			continue;
		if (s->duration[p] == 0)
			s->total[p] = u64_add_sat(s->total[p], s->total[i]);
		s->size[p] += s->size[i];
		if (--s->pending[p] == 0)
			s->bottom_up[known++] = p;
	}
	s->bottom_up_count = known;
	for (uint32_t i = 1; i <= s->n; i++)
		if (s->pending[i] > 0)
			s->flags[i] |= SPAN_ON_RING;
}

/* Numbers a ring from `next` on, its spans first; returns the number behind all below it. */
static uint32_t number_ring(struct spans *s, uint32_t at, uint32_t next)
{
	uint32_t first = next, below, i = at;

	do {
		s->tree_no[i] = next++;
		i = s->parent[i];
	} while (i != at);
	below = next;
	do {
		s->pending[i] = below;
		below += s->size[i] - 1;
		i = s->parent[i];
	} while (i != at);
	do {
		s->tree_first[i] = first;
		s->size[i] = below - first;
		i = s->parent[i];
	} while (i != at);
	return below;
}

static void number_tree(struct spans *s)
{
	uint32_t next = 1;

	for (uint32_t i = 1; i <= s->n; i++)
		s->tree_no[i] = 0;
	for (uint32_t i = 1; i <= s->n; i++)
		if ((s->flags[i] & SPAN_ON_RING) && s->tree_no[i] == 0)
			next = number_ring(s, i, next);
	for (uint32_t k = s->bottom_up_count; k-- > 0;) {
		uint32_t i = s->bottom_up[k];
		uint32_t *free_no = has_parent_span(s, i) ? &s->pending[s->parent[i]] : &next;

		s->tree_no[i] = s->tree_first[i] = *free_no;
		*free_no += s->size[i];
		s->pending[i] = s->tree_no[i] + 1;
	}
}

void spans_climb(struct spans *s)
{
	take_off(s);
	number_tree(s);
}

/* above[i]: the steps of i and its ancestors; none of them when the walk meets a ring. */
void spans_steps(const struct spans *s, struct opt_u64 step_ns[static 3], uint8_t *above)
{
	for (uint32_t i = 1; i <= s->n; i++)
		above[i] = SPAN_ON_RING;
	for (uint32_t k = s->bottom_up_count; k-- > 0;) {
		uint32_t i = s->bottom_up[k];
		uint8_t from = has_parent_span(s, i) ? above[s->parent[i]] : 0;

		above[i] = from & SPAN_ON_RING ? from : from | (s->flags[i] & SPAN_STEPS);
	}
	for (uint32_t i = 1; i <= s->n; i++) {
		uint8_t step = s->flags[i] & SPAN_STEPS;
		uint8_t ancestors = has_parent_span(s, i) ? above[s->parent[i]] : 0;

		if (!step || !(s->flags[i] & SPAN_CLOSED) || (ancestors & step))
			continue;
		struct opt_u64 *sum = &step_ns[step >> 1];

		*sum = (struct opt_u64){.v = u64_add_sat(sum->v, s->duration[i]), .has = true};
	}
}
