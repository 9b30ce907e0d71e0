/* nest.c: puts intervals on tracks such that those of a track nest
 *
 * A track is a stack of open intervals. It fits an interval that ends no later than its innermost
 * open one. A heap over the tracks finds what has ended, a tree of maxima the lowest that fits.
 */
#include "nest.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

#define ROOM_FIRST 16
#define ROOM_MAX ((uint32_t)1 << 30)

void nest_done(struct nest *n)
{
	free(n->open);
	free(n->tracks);
	free(n->heap);
	free(n->fits);
	memset(n, 0, sizeof(*n));
}

void nest_reset(struct nest *n)
{
	n->open_count = n->open_free = n->track_count = n->heap_count = 0;
	if (n->fits)
		memset(n->fits, 0, 2 * (size_t)n->track_room * sizeof(*n->fits));
}

static void set_fits(struct nest *n, uint32_t track, uint64_t end)
{
	size_t i = (size_t)n->track_room + track - 1;

	n->fits[i] = end;
	for (i /= 2; i > 0; i /= 2) {
		uint64_t a = n->fits[2 * i], b = n->fits[2 * i + 1];

		n->fits[i] = a > b ? a : b;
	}
}

/* The lowest track that fits, or 0. Leaves of no track hold 0, and lie behind all tracks. */
static uint32_t find_track(const struct nest *n, uint64_t end)
{
	size_t i = 1;

	if (n->track_count == 0 || n->fits[1] < end)
		return 0;
	while (i < n->track_room)
		i = n->fits[2 * i] >= end ? 2 * i : 2 * i + 1;
	i -= n->track_room;
	return i < n->track_count ? (uint32_t)i + 1 : 0;
}

/* ---- heap ---- */

static uint64_t key(const struct nest *n, uint32_t at)
{
	return n->open[n->tracks[n->heap[at]].top].end;
}

static void swap(struct nest *n, uint32_t a, uint32_t b)
{
	uint32_t track = n->heap[a];

	n->heap[a] = n->heap[b];
	n->heap[b] = track;
	n->tracks[n->heap[a]].heap = a;
	n->tracks[n->heap[b]].heap = b;
}

static void rise(struct nest *n, uint32_t at)
{
	for (; at > 1 && key(n, at) < key(n, at / 2); at /= 2)
		swap(n, at, at / 2);
}

static void sink(struct nest *n, uint32_t at)
{
	for (;;) {
		uint32_t least = at;

		for (uint32_t child = 2 * at; child <= 2 * at + 1; child++)
			if (child <= n->heap_count && key(n, child) < key(n, least))
				least = child;
		if (least == at)
			return;
		swap(n, at, least);
		at = least;
	}
}

/* ---- open intervals ---- */

/* Takes off the first track of the heap what has ended. */
static void end_first(struct nest *n, uint64_t now)
{
	uint32_t track = n->heap[1];
	struct nest_track *t = &n->tracks[track];

	while (t->top && n->open[t->top].end <= now) {
		uint32_t ended = t->top;

		t->top = n->open[ended].below;
		n->open[ended].below = n->open_free;
		n->open_free = ended;
	}
	if (t->top) {
		set_fits(n, track, n->open[t->top].end);
		sink(n, 1);
		return;
	}
	set_fits(n, track, UINT64_MAX);
	swap(n, 1, n->heap_count);
	n->heap_count--;
	t->heap = 0;
	if (n->heap_count)
		sink(n, 1);
}

static void *grown(void *old, size_t count, size_t size)
{
	return reallocarray(old, count, size);
}

static int more_tracks(struct nest *n)
{
	uint32_t room = n->track_room ? n->track_room * 2 : ROOM_FIRST;
	struct nest_track *tracks;
	uint32_t *heap;
	uint64_t *fits;

	if (room > ROOM_MAX)
		return -1;
	tracks = grown(n->tracks, (size_t)room + 1, sizeof(*tracks));
	if (!tracks)
		return -1;
	n->tracks = tracks;
	heap = grown(n->heap, (size_t)room + 1, sizeof(*heap));
	if (!heap)
		return -1;
	n->heap = heap;
	fits = calloc(2 * (size_t)room, sizeof(*fits));
	if (!fits)
		return -1;
	for (uint32_t i = 0; i < n->track_count; i++)
		fits[room + i] = n->fits[n->track_room + i];
	for (size_t i = room - 1; i > 0; i--)
		fits[i] = fits[2 * i] > fits[2 * i + 1] ? fits[2 * i] : fits[2 * i + 1];
	free(n->fits);
	n->fits = fits;
	n->track_room = room;
	return 0;
}

static uint32_t new_open(struct nest *n)
{
	if (n->open_free) {
		uint32_t at = n->open_free;

		n->open_free = n->open[at].below;
		return at;
	}
	if (n->open_count + 1 >= n->open_room) {
		uint32_t room = n->open_room ? n->open_room * 2 : ROOM_FIRST;
		struct nest_open *open =
			room > ROOM_MAX ? NULL : grown(n->open, room, sizeof(*open));

		if (!open)
			return 0;
		n->open = open;
		n->open_room = room;
	}
	return ++n->open_count;
}

static bool fits(const struct nest *n, uint32_t track, uint64_t end)
{
	return track && track <= n->track_count &&
	       n->fits[(size_t)n->track_room + track - 1] >= end;
}

int nest_place(struct nest *n, uint64_t start, uint64_t end, uint32_t prefer, uint32_t *ret_track)
{
	uint32_t track, at;
	struct nest_track *t;

	CHECK(end >= start);
	while (n->heap_count && key(n, 1) <= start)
		end_first(n, start);
	track = fits(n, prefer, end) ? prefer : find_track(n, end);
	if (!track) {
		if (n->track_count == n->track_room && more_tracks(n) < 0)
			return -1;
		track = ++n->track_count;
		n->tracks[track] = (struct nest_track){0};
	}
	at = new_open(n);
	if (!at)
		return -1;
	t = &n->tracks[track];
	n->open[at] = (struct nest_open){.end = end, .below = t->top};
	t->top = at;
	if (!t->heap) {
		t->heap = ++n->heap_count;
		n->heap[t->heap] = track;
	}
	rise(n, t->heap);
	set_fits(n, track, end);
	*ret_track = track;
	return 0;
}
