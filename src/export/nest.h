/* nest.h: puts intervals on tracks such that those of a track nest */
#ifndef EXPORT_NEST_H
#define EXPORT_NEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nest_open {
	uint64_t end;
	uint32_t below; /* the one around it, from 1; 0: none. Of a free place: the next free one */
};

struct nest_track {
	uint32_t top;  /* innermost open interval, from 1; 0: none */
	uint32_t heap; /* place in the heap, from 1; 0: not in it */
};

struct nest {
	struct nest_open *open; /* from 1 */
	uint32_t open_count, open_room, open_free;
	struct nest_track *tracks; /* from 1 */
	uint32_t track_count, track_room;
	uint32_t *heap; /* tracks with an open interval, the earliest end first */
	uint32_t heap_count;
	uint64_t *fits; /* a tree over the tracks: the latest end that fits below a node */
};

/* Zero-initialized is empty. */
void nest_done(struct nest *n);
void nest_reset(struct nest *n); /* no track; memory is kept */

/* Intervals come by start, the longest first among equal ones. The preferred track is taken if it
 * fits (0: none is preferred), else the lowest that does, else a new one: *ret_track, from 1. Takes
 * O(log n). -1: no memory. */
int nest_place(struct nest *n, uint64_t start, uint64_t end, uint32_t prefer, uint32_t *ret_track);

#endif
