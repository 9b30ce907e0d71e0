/* memory_tree.c: spans as a forest in preorder with heavy paths, without recursion
 *
 * A ring of parents becomes one node: each of its spans is an ancestor of all others, so they have
 * one subtree. The heavy child comes first, so the spans of a heavy path have places in a row, and
 * a way to the root meets at most log2(n) + 1 paths.
 */
#include "memory.h"

#include <stdlib.h>

#include "tracespool/util.h"

/* Finds rings by walking unmarked ways; makes each one node. mark[1..n] is scratch. */
static void contract_rings(struct span_forest *f, uint32_t *mark)
{
	for (uint32_t i = 1; i <= f->n; i++)
		mark[i] = 0;
	for (uint32_t i = 1; i <= f->n; i++) {
		uint32_t at = i;

		while (at && !mark[at]) {
			mark[at] = i;
			at = f->parent[at];
		}
		if (!at || mark[at] != i || f->member[at])
			continue;
		/* `at` is on a ring that was not seen before. */
		uint32_t node = at, last = at;

		for (uint32_t m = f->parent[node]; m != node;) {
			uint32_t next = f->parent[m];

			f->parent[m] = node;
			f->member[last] = m;
			last = m;
			m = next;
		}
		f->parent[node] = 0;
		f->member[last] = UINT32_MAX; /* seen, and the end */
	}
}

static bool is_node(const struct span_forest *f, uint32_t i)
{
	/* A member points to its node with parent and has a member mark. */
	return !f->member[i] || f->parent[i] == 0;
}

/* The node above i. */
static uint32_t above(const struct span_forest *f, uint32_t i)
{
	uint32_t p = f->parent[i];

	return p && !is_node(f, p) ? f->parent[p] : p;
}

/* Sizes and heavy children, leaves first; returns the nodes in that order. */
static uint32_t measure(struct span_forest *f, uint32_t *order, uint32_t *waiting)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i <= f->n; i++) {
		waiting[i] = 0;
		f->size[i] = 1;
		f->heavy[i] = 0;
	}
	for (uint32_t i = 1; i <= f->n; i++)
		if (is_node(f, i))
			waiting[above(f, i)]++;
	for (uint32_t i = 1; i <= f->n; i++)
		if (is_node(f, i) && waiting[i] == 0)
			order[n++] = i;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = order[k], p = above(f, i);

		if (!p)
			continue;
		f->size[p] += f->size[i];
		if (!f->heavy[p] || f->size[i] > f->size[f->heavy[p]])
			f->heavy[p] = i;
		if (--waiting[p] == 0)
			order[n++] = p;
	}
	return n;
}

/* Places from the roots down; cursor[i]: where the next light child of i goes. */
static void lay_out(struct span_forest *f, const uint32_t *order, uint32_t nodes, uint32_t *cursor)
{
	uint32_t next_root = 0;

	for (uint32_t k = nodes; k-- > 0;) {
		uint32_t i = order[k], p = above(f, i);

		if (!p) {
			f->place[i] = next_root;
			next_root += f->size[i];
			f->top[i] = i;
		} else if (f->heavy[p] == i) {
			f->place[i] = f->place[p] + 1;
			f->top[i] = f->top[p];
		} else {
			f->place[i] = cursor[p];
			cursor[p] += f->size[i];
			f->top[i] = i;
		}
		cursor[i] = f->place[i] + 1 + (f->heavy[i] ? f->size[f->heavy[i]] : 0);
	}
}

int span_forest_build(struct span_forest *f, uint32_t *parent, uint32_t n, struct ts_error *err)
{
	size_t bytes = ((size_t)n + 1) * sizeof(uint32_t);

	*f = (struct span_forest){.n = n, .parent = parent};
	f->at = malloc(bytes);
	f->place = malloc(bytes);
	f->size = malloc(bytes);
	f->heavy = malloc(bytes);
	f->top = malloc(bytes);
	f->member = calloc((size_t)n + 1, sizeof(uint32_t));
	if (!f->at || !f->place || !f->size || !f->heavy || !f->top || !f->member) {
		span_forest_done(f);
		return ts_error_nomem(err);
	}
	contract_rings(f, f->at);
	/* `top` and `at` serve as scratch until they are filled. */
	uint32_t *cursor CLEAN(free_ptr) = malloc(bytes);

	if (!cursor) {
		span_forest_done(f);
		return ts_error_nomem(err);
	}
	cursor[0] = 0;
	uint32_t nodes = measure(f, f->at, cursor);

	lay_out(f, f->at, nodes, cursor);
	for (uint32_t i = 1; i <= n; i++) {
		if (is_node(f, i)) {
			f->at[f->place[i]] = i;
		} else {
			f->place[i] = f->place[f->parent[i]];
			f->top[i] = f->top[f->parent[i]];
		}
	}
	return 0;
}

void span_forest_done(struct span_forest *f)
{
	free(f->parent);
	free(f->at);
	free(f->place);
	free(f->size);
	free(f->heavy);
	free(f->top);
	free(f->member);
	*f = (struct span_forest){0};
}
