/* memory_span.h: the state of the spans' memory, and a slice of the events of all lifetimes
 *
 * What an event does to the live bytes v of a span is v + s for a start and max(0, v - e) for an
 * end; a chain of them is max(low, v + sum). The clamp matters where a lifetime begins and ends at
 * one inner moment: the format takes its bytes away before it adds them.
 */
#ifndef ANALYZE_MEMORY_SPAN_H
#define ANALYZE_MEMORY_SPAN_H

#include "memory.h"

typedef __int128 wide;

struct chain {
	wide sum, low;           /* v becomes max(low, v + sum) */
	wide peak_sum, peak_low; /* and is at most max(peak_low, v + peak_sum) on the way */
};

struct slice_event {
	uint64_t time, bytes;
	uint32_t place;
	bool start, instant;
};

struct span_state {
	uint64_t begin, end;
	wide plain;    /* bytes begun minus bytes ended, up to the end of the span */
	wide live;     /* as the format counts them, within the span */
	uint64_t peak; /* saturated */
	bool closed, met;
};

struct span_memory {
	struct span_forest forest;
	struct span_state *spans; /* from 1 */
	uint8_t *touched;         /* bit of a path's top: has events in this slice */
	struct slice_event *events;
	uint64_t *by_place; /* place and number of the event */
	uint32_t cap, count;
	/* Of the path at hand: the events of its subtree in time order, and where each stands. */
	uint32_t *mine, *rank, mine_count;
	struct chain *tree; /* one leaf for each of them, from `leaves` on; zero between paths */
	uint32_t leaves;
};

/* A value that the live bytes of the span have. */
void span_note_peak(struct span_state *s, wide v);
/* Takes the events of the slice into the states of the spans; the slice is empty then. */
void slice_end(struct span_memory *m);

#endif
