/* left_out.c: what waits for what once rows are left out, so that order stays and nothing is named
 * that is not there
 */
#include "lower.h"

#include <stdlib.h>

/* The nearest requests of the session, i itself included, that are not left out, or NONE. */
struct nearest {
	uint32_t *before, *after;
};

static void find_nearest(const struct agentic *ag, struct nearest *near)
{
	for (uint32_t s = 0; s < ag->names.count; s++) {
		const uint32_t *chain = ag->chain + ag->sessions[s].chain_at;
		uint32_t count = ag->sessions[s].count, last = NONE;

		for (uint32_t k = 0; k < count; k++)
			near->before[chain[k]] = last = ag->left_out[chain[k]] ? last : chain[k];
		last = NONE;
		for (uint32_t k = count; k-- > 0;)
			near->after[chain[k]] = last = ag->left_out[chain[k]] ? last : chain[k];
	}
}

/* `from` and `to` of each pair become what stands for them; a pair without both is dropped. */
static void move_pairs(struct link_pairs *p, const uint32_t *from, const uint32_t *to)
{
	size_t out = 0;

	for (size_t k = 0; k < p->n; k++) {
		struct link_pair moved = {from[p->v[k].from], to[p->v[k].to]};

		if (moved.from != NONE && moved.to != NONE)
			p->v[out++] = moved;
	}
	p->n = out;
}

int left_out_unlink(struct replay *r, struct link_pairs *waits, struct link_pairs *branches,
		    struct ts_error *err)
{
	struct agentic *ag = r->ag;
	CLEAN(free_ptr) uint32_t *before = calloc(r->requests, sizeof(*before));
	CLEAN(free_ptr) uint32_t *after = calloc(r->requests, sizeof(*after));
	struct nearest near = {before, after};

	if (!before || !after)
		return ts_error_nomem(err);
	find_nearest(ag, &near);
	move_pairs(waits, after, before);
	move_pairs(branches, before, after);
	for (uint32_t s = 0; s < ag->names.count; s++)
		if (ag->sessions[s].spawn != NONE)
			ag->sessions[s].spawn = before[ag->sessions[s].spawn];
	for (uint32_t i = 0; i < r->requests; i++)
		if (ag->previous[i] != NONE)
			ag->previous[i] = before[ag->previous[i]];
	return 0;
}
