/* spans.h: all spans of a run in arrays, and unions of intervals, for the files of span figures
 *
 * Spans are numbered from 1, as in span_rows. 89 bytes a span.
 */
#ifndef ANALYZE_SPANS_H
#define ANALYZE_SPANS_H

#include "candle.h"

enum span_flag {
	SPAN_FORWARD = 1,
	SPAN_BACKWARD = 2,
	SPAN_OPTIMIZER = 4,
	SPAN_STEPS = 7,
	SPAN_CLOSED = 8,
	SPAN_ROOT = 16,
	SPAN_KIND_OP = 32,
	SPAN_ON_RING = 64,   /* on a cycle of parents */
	SPAN_MEASURED = 128, /* until the measured one is known */
};

struct spans {
	uint32_t n;
	uint32_t measured; /* the measured span if there is exactly one, else 0 */
	uint8_t *flags;
	uint32_t *parent, *depth;
	uint32_t *first, *order; /* children of i: order[first[i]] to order[first[i + 1] - 1], by
				    start */
	uint32_t *bottom_up;     /* those on no ring, children in front of parents */
	uint32_t bottom_up_count;
	uint32_t *pending; /* children not met yet; later the next free number below a span */
	uint32_t *size;    /* of the subtree */
	uint32_t *tree_no, *tree_first, *id_order;
	uint64_t *start, *duration;
	uint64_t *op_count;
	uint64_t *total; /* host total (14.2) */
	uint64_t *self, *host_self;
	uint64_t ops_met; /* ops of spans that are there */
	bool op_outside;  /* one of them lies outside its span (12.3) */
};

static inline bool has_parent_span(const struct spans *s, uint32_t i)
{
	return s->parent[i] != 0 && s->parent[i] != DEPTH_DANGLING;
}

static inline uint32_t span_child_count(const struct spans *s, uint32_t i)
{
	return s->first[i + 1] - s->first[i];
}

static inline uint32_t span_tree_last(const struct spans *s, uint32_t i)
{
	return s->tree_first[i] + (s->size[i] - 1);
}

/* spans_tree.c: needs flags, parent, start, duration and, in total, the summed durations of ops.
 * Fills first and order, then totals, sizes and tree numbers. */
void spans_order_children(struct spans *s);
void spans_climb(struct spans *s);
/* Sums of closed spans by step (10). */
void spans_steps(const struct spans *s, struct opt_u64 step_ns[static 3], uint8_t *above);

/* spans_self.c: self times, id_order and op_count, along the ops of all spans; the rows of
 * slowest-host. */
int spans_self_times(struct db *db, struct spans *s, struct ts_error *err);

/* Length of the union of intervals that are added by rising start, each clipped to [low, high). */
struct cover {
	uint64_t low, high;
	uint64_t start, end; /* of the joined interval that may still grow */
	uint64_t sum;        /* of those before it */
};

static inline void cover_begin(struct cover *c, uint64_t low, uint64_t high)
{
	*c = (struct cover){.low = low, .high = high, .start = low, .end = low};
}

static inline void cover_add(struct cover *c, uint64_t start, uint64_t end)
{
	if (start < c->low)
		start = c->low;
	if (end > c->high)
		end = c->high;
	if (start >= end)
		return;
	if (start > c->end) {
		c->sum += c->end - c->start;
		c->start = start;
	}
	if (end > c->end)
		c->end = end;
}

static inline uint64_t cover_length(const struct cover *c)
{
	return c->sum + (c->end - c->start);
}

#endif
