/* memory_series.c: counts, live bytes and peak of a choice of storages, point by point */
#include "memory.h"

const char *const memory_category_names[MEMORY_CATEGORIES] = {
	"parameter", "activation", "gradient", "optimizer", "other",
};

int memory_category(struct ts_str word)
{
	for (int i = 0; i < MEMORY_CATEGORIES; i++)
		if (ts_str_is(word, memory_category_names[i]))
			return i;
	return -1;
}

bool choice_has(const struct memory_choice *c, uint64_t device_no, uint64_t category)
{
	size_t low = 0, high;

	if (!c)
		return true;
	if (!(c->categories >> category & 1))
		return false;
	if (!c->some_devices)
		return true;
	for (high = c->device_count; low < high;) {
		size_t mid = low + (high - low) / 2;

		if (c->devices[mid] < device_no)
			low = mid + 1;
		else
			high = mid;
	}
	return low < c->device_count && c->devices[low] == device_no;
}

void series_start(struct series *s, uint64_t bytes)
{
	s->totals.storage_allocation_count++;
	s->totals.total_allocated_bytes = u64_add_sat(s->totals.total_allocated_bytes, bytes);
	s->live += bytes;
}

void series_end(struct series *s, uint64_t bytes)
{
	/* In front of the start when both are at one time: it comes back before anyone looks. */
	s->totals.matched_storage_free_count++;
	s->live -= bytes;
}

/* Live bytes stay exact in 128 bits and saturate in a point only. */
void series_point(struct series *s, uint64_t time)
{
	uint64_t value = s->live > UINT64_MAX ? UINT64_MAX : (uint64_t)s->live;
	bool any = s->totals.storage_allocation_count > 0;
	struct opt_u64 *peak = &s->totals.peak_live_bytes;

	if (any && (!peak->has || value > peak->v)) {
		*peak = (struct opt_u64){.v = value, .has = true};
		s->totals.peak_timestamp_ns = time;
	}
	s->totals.point_count++;
	if (s->thin.buckets)
		thin_add(&s->thin,
			 (struct thin_point){.time = time, .value = value, .counts = any});
}
