/* memory_peak.c: what was live at the peaks: by device, by category, and the largest lifetimes
 *
 * One pass over the lifetimes, which come device by device, so that one sum a series is enough.
 */
#include "memory.h"

#include <stdlib.h>

#include "tracespool/util.h"

struct rank {
	uint64_t bytes, start_ns, no;
};

struct found {
	struct memory_totals *totals;
	unsigned __int128 device_bytes, categories[MEMORY_CATEGORIES];
	bool device_live, category_live[MEMORY_CATEGORIES];
	struct rank *heap; /* the root goes first; made with the first one */
	size_t ranked;
};

struct scan {
	struct found of[SERIES_COUNT];
	unsigned n;
	uint64_t device_no;
	struct peak_user *u;
};

/* Does a stand behind b in the list of the largest? */
static bool is_behind(const struct rank *a, const struct rank *b)
{
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes;
	return a->start_ns != b->start_ns ? a->start_ns > b->start_ns : a->no > b->no;
}

static void sink_down(struct rank *heap, size_t n, size_t at)
{
	struct rank r = heap[at];

	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && is_behind(&heap[child + 1], &heap[child]))
			child++;
		if (!is_behind(&heap[child], &r))
			break;
		heap[at] = heap[child];
	}
	heap[at] = r;
}

static int rank_add(struct found *f, struct rank r, struct ts_error *err)
{
	if (!f->heap) {
		f->heap = malloc(MEMORY_TOP_MAX * sizeof(*f->heap));
		if (!f->heap)
			return ts_error_nomem(err);
	}
	if (f->ranked == MEMORY_TOP_MAX) {
		if (is_behind(&r, &f->heap[0]))
			return 0;
		f->heap[0] = r;
		sink_down(f->heap, f->ranked, 0);
		return 0;
	}
	size_t at = f->ranked++;

	for (; at > 0 && is_behind(&r, &f->heap[(at - 1) / 2]); at = (at - 1) / 2)
		f->heap[at] = f->heap[(at - 1) / 2];
	f->heap[at] = r;
	return 0;
}

static uint64_t saturated(unsigned __int128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static int end_device(struct scan *s, struct ts_error *err)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct found *f = &s->of[i];

		if (f->device_live &&
		    s->u->device(s->u, i, s->device_no, saturated(f->device_bytes), err) < 0)
			return -1;
		f->device_live = false;
		f->device_bytes = 0;
	}
	return 0;
}

static int look(struct found *f, struct query *q, uint64_t category, struct ts_error *err)
{
	struct rank r = {
		.no = query_u64(q, 0), .start_ns = query_u64(q, 3), .bytes = query_u64(q, 5)};
	struct opt_u64 end = query_opt_u64(q, 4);
	uint64_t peak = f->totals->peak_timestamp_ns;

	if (!f->totals->peak_live_bytes.has || r.start_ns > peak || (end.has && end.v <= peak))
		return 0;
	f->totals->peak_live_count++;
	f->device_live = f->category_live[category] = true;
	f->device_bytes += r.bytes;
	f->categories[category] += r.bytes;
	return rank_add(f, r, err);
}

static int scan_rows(struct scan *s, struct db *db, const struct memory_choice *choice,
		     struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(db, "memory_lifetimes_by_no", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		uint64_t device = query_u64(q, 1), category = query_u64(q, 2);

		if (device != s->device_no && end_device(s, err) < 0)
			return -1;
		s->device_no = device;
		if (choice) {
			if (choice_has(choice, device, category) &&
			    look(&s->of[0], q, category, err) < 0)
				return -1;
			continue;
		}
		if (look(&s->of[0], q, category, err) < 0 ||
		    look(&s->of[SERIES_CATEGORY + category], q, category, err) < 0)
			return -1;
		uint64_t own = SERIES_DEVICE + device - 1;

		if (own < s->n && look(&s->of[own], q, category, err) < 0)
			return -1;
	}
	return n < 0 ? -1 : end_device(s, err);
}

static int give(struct scan *s, unsigned series, struct ts_error *err)
{
	struct found *f = &s->of[series];

	for (unsigned c = 0; c < MEMORY_CATEGORIES; c++)
		if (f->category_live[c] &&
		    s->u->category(s->u, series, c, saturated(f->categories[c]), err) < 0)
			return -1;
	/* The root is always the one furthest behind: taken out, the heap becomes a sorted list. */
	for (size_t n = f->ranked; n > 1; n--) {
		struct rank r = f->heap[0];

		f->heap[0] = f->heap[n - 1];
		sink_down(f->heap, n - 1, 0);
		f->heap[n - 1] = r;
	}
	for (size_t i = 0; i < f->ranked; i++)
		if (s->u->largest(s->u, series, f->heap[i].no, err) < 0)
			return -1;
	return 0;
}

int peaks_find(struct db *db, struct memory_totals *totals, unsigned n,
	       const struct memory_choice *choice, struct peak_user *u, struct ts_error *err)
{
	struct scan *s = calloc(1, sizeof(*s));

	if (!s)
		return ts_error_nomem(err);
	s->n = n;
	s->u = u;
	for (unsigned i = 0; i < n; i++)
		s->of[i].totals = &totals[i];
	int result = scan_rows(s, db, choice, err);

	for (unsigned i = 0; i < n && result == 0; i++)
		result = give(s, i, err);
	for (unsigned i = 0; i < n; i++)
		free(s->of[i].heap);
	free(s);
	return result;
}
