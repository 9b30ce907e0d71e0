/* memory_thin.c: points of a series thinned to the lowest and the highest of each interval */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"
#include "tracespool/varint.h"

int thin_init(struct thinner *t, uint64_t points, struct ts_error *err)
{
	*t = (struct thinner){.width = 1, .cap = points < THIN_BUCKETS ? points + 1 : THIN_BUCKETS};
	t->buckets = malloc(t->cap * sizeof(*t->buckets));
	return t->buckets ? 0 : ts_error_nomem(err);
}

void thin_done(struct thinner *t)
{
	free(t->buckets);
	t->buckets = NULL;
}

void thin_clear(struct thinner *t)
{
	t->count = 0;
	t->width = 1;
	t->points = 0;
}

/* Of equal ones the first stays. */
static bool is_higher(const struct thin_point *a, const struct thin_point *b)
{
	return a->counts != b->counts ? a->counts : a->value > b->value;
}

static bool is_lower(const struct thin_point *a, const struct thin_point *b)
{
	return a->value < b->value;
}

static void join(struct thin_bucket *to, const struct thin_bucket *with)
{
	struct thin_bucket b = *to;

	if (is_lower(&with->low, &b.low))
		b.low = with->low;
	if (is_higher(&with->high, &b.high))
		b.high = with->high;
	*to = b;
}

static void halve(struct thinner *t)
{
	for (size_t i = 0; i < THIN_BUCKETS / 2; i++) {
		t->buckets[i] = t->buckets[2 * i];
		join(&t->buckets[i], &t->buckets[2 * i + 1]);
	}
	t->count = THIN_BUCKETS / 2;
	t->width *= 2;
}

void thin_add(struct thinner *t, struct thin_point p)
{
	p.no = t->points;
	if (t->points++ == 0)
		t->first = p;
	t->last = p;
	if (p.no / t->width == THIN_BUCKETS)
		halve(t);
	struct thin_bucket alone = {.low = p, .high = p};

	if (p.no / t->width < t->count) {
		join(&t->buckets[t->count - 1], &alone);
	} else {
		CHECK(t->count < t->cap);
		t->buckets[t->count++] = alone;
	}
}

static size_t put(struct thin_row *rows, size_t n, uint64_t bucket, const struct thin_point *p,
		  uint64_t *behind)
{
	if (p->no < *behind)
		return n;
	*behind = p->no + 1;
	rows[n] = (struct thin_row){bucket, p->time, p->value, p->ref, p->counts};
	return n + 1;
}

size_t thin_rows(const struct thinner *t, struct thin_row *rows)
{
	uint64_t behind = 0;
	size_t n = 0;

	if (t->points == 0)
		return 0;
	n = put(rows, n, 0, &t->first, &behind);
	for (size_t i = 0; i < t->count; i++) {
		const struct thin_bucket *b = &t->buckets[i];
		bool low_first = b->low.no < b->high.no;

		n = put(rows, n, i, low_first ? &b->low : &b->high, &behind);
		n = put(rows, n, i, low_first ? &b->high : &b->low, &behind);
	}
	return put(rows, n, t->count - 1, &t->last, &behind);
}

static size_t keep(struct thin_row *rows, size_t n, const struct thin_row *all, size_t at,
		   size_t *behind)
{
	if (at < *behind)
		return n;
	*behind = at + 1;
	rows[n] = all[at];
	return n + 1;
}

static bool is_row_higher(const struct thin_row *a, const struct thin_row *b, uint64_t peak_time)
{
	if (a->counts != b->counts)
		return a->counts;
	return a->value > b->value || (a->value == b->value && a->time == peak_time);
}

void thin_pack(const struct thin_row *rows, size_t n, struct buf *out)
{
	struct thin_row last = {0};

	for (size_t i = 0; i < n; i++) {
		varint_put(out, rows[i].bucket - last.bucket);
		varint_put(out, rows[i].time - last.time);
		varint_put(out, varint_fold(last.value, rows[i].value));
		last = rows[i];
	}
}

int thin_unpack(struct ts_str bytes, struct thin_row *rows)
{
	struct varint_reader in = varint_open(bytes);
	struct thin_row last = {.counts = true};
	size_t n = 0;

	while (in.at < in.end && n < THIN_ROWS_MAX) {
		last.bucket += varint_take(&in);
		last.time += varint_take(&in);
		last.value = varint_unfold(last.value, varint_take(&in));
		rows[n++] = last;
	}
	return in.damaged || in.at < in.end ? -1 : (int)n;
}

size_t thin_cut(struct thin_row *rows, size_t n, uint64_t total, uint64_t want, uint64_t peak_time)
{
	/* What is written stands never behind what is read: at most as many rows were kept. */
	uint64_t groups = (want - 2) / 2;
	size_t kept = 0, behind = 0;

	if (total <= want || n <= want)
		return n;
	uint64_t buckets = rows[n - 1].bucket + 1;
	struct thin_row last = rows[n - 1];

	kept = keep(rows, kept, rows, 0, &behind);
	for (size_t i = 0; i < n;) {
		uint64_t group = rows[i].bucket * groups / buckets;
		size_t low = i, high = i, k = i;

		for (; k < n && rows[k].bucket * groups / buckets == group; k++) {
			if (rows[k].value < rows[low].value)
				low = k;
			if (is_row_higher(&rows[k], &rows[high], peak_time))
				high = k;
		}
		kept = keep(rows, kept, rows, low < high ? low : high, &behind);
		kept = keep(rows, kept, rows, low < high ? high : low, &behind);
		i = k;
	}
	if (behind < n)
		rows[kept++] = last;
	return kept;
}
