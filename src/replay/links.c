/* links.c: pairs of numbers grouped by the first, in the order in which they were added */
#include "lower.h"

#include <stdlib.h>

int pairs_add(struct link_pairs *p, uint32_t from, uint32_t to, struct ts_error *err)
{
	if (p->n == p->cap) {
		size_t cap = p->cap ? p->cap + p->cap / 2 : 256;
		struct link_pair *bigger = reallocarray(p->v, cap, sizeof(*bigger));

		if (!bigger)
			return ts_error_nomem(err);
		p->v = bigger;
		p->cap = cap;
	}
	p->v[p->n++] = (struct link_pair){from, to};
	return 0;
}

void pairs_done(struct link_pairs *p)
{
	free(p->v);
	*p = (struct link_pairs){0};
}

int links_build(struct links *l, const struct link_pairs *p, uint32_t n, struct ts_error *err)
{
	if (!p->n)
		return 0;
	if (p->n >= UINT32_MAX)
		return ts_error_nomem(err);
	l->at = calloc((size_t)n + 1, sizeof(*l->at));
	l->to = malloc(p->n * sizeof(*l->to));
	if (!l->at || !l->to) {
		links_done(l);
		return ts_error_nomem(err);
	}
	/* Counting sort: at[i] first holds the end of group i, and going backwards through the
	 * pairs moves it to the group's start while each group keeps its order. */
	for (size_t i = 0; i < p->n; i++)
		l->at[p->v[i].from]++;
	for (uint32_t i = 1; i <= n; i++)
		l->at[i] += l->at[i - 1];
	for (size_t i = p->n; i-- > 0;)
		l->to[--l->at[p->v[i].from]] = p->v[i].to;
	return 0;
}

void links_done(struct links *l)
{
	free(l->at);
	free(l->to);
	*l = (struct links){0};
}
