/* memory.c: logical memory of an execution run: totals, peaks, thinned points, memory of spans */
#include "memory_kept.h"

#include <stdlib.h>

#include "tracespool/util.h"

int count_rows(struct db *db, const char *statement, uint64_t *ret, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, statement, &q, err) < 0 || query_step(q, err) < 0)
		return -1;
	*ret = query_u64(q, 0);
	return 0;
}

/* All series of one pass over the lifetimes in time order: all storages and each category. */
struct all_series {
	struct flow_user user; /* first */
	struct series of[SERIES_DEVICE];
	struct span_memory *spans;
};

static int all_start(struct flow_user *u, const struct flow_event *e, struct ts_error *err)
{
	struct all_series *a = (struct all_series *)u;

	series_start(&a->of[0], e->bytes);
	series_start(&a->of[SERIES_CATEGORY + e->category], e->bytes);
	return span_memory_add(a->spans, e->time, true, false, e->bytes, e->span_no, err);
}

static int all_end(struct flow_user *u, const struct flow_event *e, struct ts_error *err)
{
	struct all_series *a = (struct all_series *)u;

	series_end(&a->of[0], e->bytes);
	series_end(&a->of[SERIES_CATEGORY + e->category], e->bytes);
	return span_memory_add(a->spans, e->time, false, e->instant, e->bytes, e->span_no, err);
}

static int all_point(struct flow_user *u, uint64_t time, struct ts_error *err)
{
	struct all_series *a = (struct all_series *)u;

	(void)err;
	for (unsigned i = 0; i < SERIES_DEVICE; i++)
		series_point(&a->of[i], time);
	return 0;
}

struct device_series {
	struct flow_user user; /* first */
	struct series s;
};

static int device_start(struct flow_user *u, const struct flow_event *e, struct ts_error *err)
{
	(void)err;
	series_start(&((struct device_series *)u)->s, e->bytes);
	return 0;
}

static int device_end(struct flow_user *u, const struct flow_event *e, struct ts_error *err)
{
	(void)err;
	series_end(&((struct device_series *)u)->s, e->bytes);
	return 0;
}

static int device_point(struct flow_user *u, uint64_t time, struct ts_error *err)
{
	(void)err;
	series_point(&((struct device_series *)u)->s, time);
	return 0;
}

static int write_points(struct db *db, unsigned series, const struct thinner *t,
			struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct buf packed CLEAN(buf_done) = BUF_INIT;
	struct thin_row *rows CLEAN(free_ptr) = malloc((2 * t->count + 2) * sizeof(*rows));

	if (!rows)
		return ts_error_nomem(err);
	if (query_open(db, "memory_point_insert", &q, err) < 0)
		return -1;
	thin_pack(rows, thin_rows(t, rows), &packed);
	if (packed.failed)
		return ts_error_nomem(err);
	query_bind_u64(q, 1, series);
	query_bind_blob(q, 2, packed.data ? packed.data : "", packed.len);
	return query_step(q, err);
}

/* kept: NULL where the records are read from the tables. */
static int in_time_order(struct db *db, const struct memory_kept *kept, struct span_memory *spans,
			 uint64_t records, struct memory_totals *totals, struct ts_error *err)
{
	struct all_series *a = calloc(1, sizeof(*a));
	struct flow f = {0};
	int n = a ? 0 : ts_error_nomem(err);

	if (n < 0)
		return -1;
	a->user = (struct flow_user){all_start, all_end, all_point};
	a->spans = spans;
	for (unsigned i = 0; i < SERIES_DEVICE && n == 0; i++)
		n = thin_init(&a->of[i].thin, records, err);
	if (n == 0 && kept)
		n = memory_kept_flow(kept, kept->order, kept->n, &a->user, err);
	else if (n == 0 && (n = flow_open(db, false, NULL, &f, err)) == 0)
		n = flow_run(&f, &a->user, err);
	flow_done(&f);
	if (n == 0)
		n = span_memory_write(spans, db, err);
	for (unsigned i = 0; i < SERIES_DEVICE && n == 0; i++) {
		totals[i] = a->of[i].totals;
		n = write_points(db, i, &a->of[i].thin, err);
	}
	for (unsigned i = 0; i < SERIES_DEVICE; i++)
		thin_done(&a->of[i].thin);
	free(a);
	return n;
}

static int set_device_peak(struct query *q, uint64_t device, const struct memory_totals *t,
			   struct ts_error *err)
{
	if (!t->peak_live_bytes.has)
		return 0;
	query_bind_u64(q, 1, device);
	query_bind_u64(q, 2, t->peak_live_bytes.v);
	query_bind_u64(q, 3, t->peak_timestamp_ns);
	int n = query_step(q, err);

	query_reset(q);
	return n;
}

/* Where the records of one device after the other come from. */
struct device_flow {
	const struct memory_kept *kept; /* or NULL: the flow */
	uint32_t *order, *begin;
	struct flow flow;
};

static int device_flow_open(struct device_flow *d, struct db *db, const struct memory_kept *kept,
			    struct ts_error *err)
{
	*d = (struct device_flow){.kept = kept};
	if (!kept)
		return flow_open(db, true, NULL, &d->flow, err);
	d->order = malloc(kept->n * sizeof(*d->order));
	d->begin = malloc(((size_t)kept->devices + 1) * sizeof(*d->begin));
	if (!d->order || !d->begin)
		return ts_error_nomem(err);
	memory_kept_by_device(kept, d->order, d->begin);
	return 0;
}

static void device_flow_done(struct device_flow *d)
{
	flow_done(&d->flow);
	free(d->order);
	free(d->begin);
}

/* Those of the device with that number, from 1; they are asked for one after the other. */
static int device_flow_run(struct device_flow *d, uint64_t device, struct flow_user *u,
			   struct ts_error *err)
{
	if (!d->kept)
		return flow_run(&d->flow, u, err);
	uint32_t begin = d->begin[device - 1];

	return memory_kept_flow(d->kept, d->order + begin, d->begin[device] - begin, u, err);
}

/* Device by device. With one device only, all is known. */
static int by_device(struct db *db, const struct memory_kept *kept, uint64_t devices,
		     uint64_t records, struct memory_totals *totals, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct device_series d = {.user = {device_start, device_end, device_point}};
	struct device_flow f = {0};

	if (query_open(db, "memory_device_peak", &q, err) < 0)
		return -1;
	if (devices <= 1)
		return devices ? set_device_peak(q, 1, &totals[0], err) : 0;
	int n = thin_init(&d.s.thin, records, err);

	if (n == 0)
		n = device_flow_open(&f, db, kept, err);
	for (uint64_t i = 1; i <= devices && n == 0; i++) {
		d.s.totals = (struct memory_totals){0};
		d.s.live = 0;
		thin_clear(&d.s.thin);
		n = device_flow_run(&f, i, &d.user, err);
		if (n == 0)
			n = set_device_peak(q, i, &d.s.totals, err);
		if (n == 0 && i <= SERIES_DEVICES) {
			unsigned series = SERIES_DEVICE + (unsigned)i - 1;

			totals[series] = d.s.totals;
			n = write_points(db, series, &d.s.thin, err);
		}
	}
	device_flow_done(&f);
	thin_done(&d.s.thin);
	return n;
}

/* ---- what was live at the peaks ---- */

struct peak_writer {
	struct peak_user user; /* first */
	struct query *part, *largest;
	unsigned series;
	uint64_t rank;
};

static int write_part(struct peak_writer *w, unsigned series, unsigned kind, uint64_t no,
		      uint64_t bytes, struct ts_error *err)
{
	query_bind_u64(w->part, 1, series);
	query_bind_u64(w->part, 2, kind);
	query_bind_u64(w->part, 3, no);
	query_bind_u64(w->part, 4, bytes);
	int n = query_step(w->part, err);

	query_reset(w->part);
	return n;
}

static int write_device(struct peak_user *u, unsigned series, uint64_t no, uint64_t bytes,
			struct ts_error *err)
{
	return write_part((struct peak_writer *)u, series, 0, no, bytes, err);
}

static int write_category(struct peak_user *u, unsigned series, unsigned no, uint64_t bytes,
			  struct ts_error *err)
{
	return write_part((struct peak_writer *)u, series, 1, no, bytes, err);
}

static int write_largest(struct peak_user *u, unsigned series, uint64_t lifetime,
			 struct ts_error *err)
{
	struct peak_writer *w = (struct peak_writer *)u;

	if (w->series != series)
		w->rank = 0;
	w->series = series;
	query_bind_u64(w->largest, 1, series);
	query_bind_u64(w->largest, 2, w->rank++);
	query_bind_u64(w->largest, 3, lifetime);
	int n = query_step(w->largest, err);

	query_reset(w->largest);
	return n;
}

static int write_peaks(struct db *db, struct memory_totals *totals, unsigned series,
		       struct ts_error *err)
{
	struct peak_writer w = {.user = {write_device, write_category, write_largest}};
	int n = -1;

	if (query_open(db, "memory_peak_insert", &w.part, err) == 0 &&
	    query_open(db, "memory_largest_insert", &w.largest, err) == 0)
		n = peaks_find(db, totals, series, NULL, &w.user, err);
	query_close(w.part);
	query_close(w.largest);
	return n;
}

static int write_totals(struct db *db, const struct memory_totals *totals, unsigned series,
			struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "memory_series_insert", &q, err) < 0)
		return -1;
	for (unsigned i = 0; i < series; i++) {
		const struct memory_totals *t = &totals[i];

		query_bind_u64(q, 1, i);
		query_bind_u64(q, 2, t->point_count);
		query_bind_u64(q, 3, t->storage_allocation_count);
		query_bind_u64(q, 4, t->matched_storage_free_count);
		query_bind_u64(q, 5, t->total_allocated_bytes);
		if (t->peak_live_bytes.has)
			query_bind_u64(q, 6, t->peak_live_bytes.v);
		else
			query_bind_null(q, 6);
		query_bind_u64(q, 7, t->peak_timestamp_ns);
		query_bind_u64(q, 8, t->peak_live_count);
		if (query_step(q, err) < 0)
			return -1;
		query_reset(q);
	}
	return 0;
}

/* The figures of at least one record; *ret_devices: how many devices there are. */
static int logical_figures(struct db *db, struct execution_figures *f, uint64_t records,
			   size_t kept_bytes, struct memory_totals *totals, uint64_t *ret_devices,
			   struct ts_error *err)
{
	struct memory_kept columns, *kept = NULL;
	struct span_memory *spans = NULL;
	int n = memory_kept_open(&columns, db, records, kept_bytes, err);

	if (n == 1)
		kept = &columns;
	if (n >= 0)
		n = span_memory_open(db, f->span_count, records, &spans, err);
	if (n == 0 && kept) {
		n = memory_kept_pair(kept, db, spans, f, err);
		*ret_devices = kept->devices;
	} else if (n == 0 && (n = run_named(db, "memory_index_time", err)) == 0) {
		n = memory_pair(db, f, ret_devices, err);
	}
	if (n == 0)
		n = in_time_order(db, kept, spans, records, totals, err);
	span_memory_close(spans);
	if (n == 0)
		n = by_device(db, kept, *ret_devices, records, totals, err);
	if (n == 0)
		n = memory_heaviest(db, f->memory_span_unknown ? NULL : kept, err);
	if (kept)
		memory_kept_done(kept);
	return n;
}

int memory_figures(struct db *db, size_t kept_bytes, struct execution_figures *f,
		   struct ts_error *err)
{
	struct memory_totals totals[SERIES_COUNT] = {0};
	uint64_t devices = 0, records = 0;

	if (count_rows(db, "memory_record_count", &records, err) < 0)
		return -1;
	if (records > 0 && logical_figures(db, f, records, kept_bytes, totals, &devices, err) < 0)
		return -1;
	unsigned series = SERIES_DEVICE;

	if (devices == 0)
		series = 0; /* no such plane */
	else if (devices > 1)
		series += devices < SERIES_DEVICES ? (unsigned)devices : SERIES_DEVICES;
	if (write_peaks(db, totals, series, err) < 0 || write_totals(db, totals, series, err) < 0)
		return -1;
	f->logical_peak_bytes = totals[0].peak_live_bytes;
	return physical_figures(db, f, err);
}
