/* memory_view.c: documents about memory, stage by stage (candle-trace.md 11, 14.5, 14.6)
 */
#include "memory_view.h"

#include <stdlib.h>

#include "tracespool/util.h"

int device_name(struct memory_document *d, uint64_t no, struct query **ret, struct ts_error *err)
{
	if (query_open(d->db, "memory_device_name", ret, err) < 0)
		return -1;
	query_bind_u64(*ret, 1, no);
	int n = query_step(*ret, err);

	if (n == 0)
		return ts_error_set(err, TS_E_INTERNAL, "no row of a device");
	return n < 0 ? -1 : 0;
}

void write_totals(struct json_writer *w, const struct memory_totals *t)
{
	jw_kv_u64(w, "storage_allocation_count", t->storage_allocation_count);
	jw_kv_u64(w, "matched_storage_free_count", t->matched_storage_free_count);
	jw_kv_u64(w, "total_allocated_bytes", t->total_allocated_bytes);
}

int stage_head(struct memory_document *d, struct ts_error *err)
{
	(void)err;
	jw_open_object(&d->w);
	jw_kv_text(&d->w, "schema", d->ask.schema);
	jw_kv_str(&d->w, "id", d->ask.id);
	if (d->ask.what != MEMORY_PICTURE)
		jw_key(&d->w, "result");
	return 0;
}

int stage_tail(struct memory_document *d, struct ts_error *err)
{
	(void)err;
	jw_close_object(&d->w);
	return 0;
}

/* ---- the result of section 11 ---- */

static int stage_open_result(struct memory_document *d, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL, *s CLEAN(query_closep) = NULL;

	if (query_open(d->db, "memory_series", &q, err) < 0 ||
	    query_open(d->db, "device_figure_any", &s, err) < 0)
		return -1;
	query_bind_u64(q, 1, 0);
	int n = query_step(q, err), samples = query_step(s, err);

	if (n < 0 || samples < 0)
		return -1;
	d->logical = n == 1;
	d->physical = samples == 1;
	jw_open_object(&d->w);
	if (!d->logical)
		return 0;
	d->totals = (struct memory_totals){
		.storage_allocation_count = query_u64(q, 1),
		.matched_storage_free_count = query_u64(q, 2),
		.total_allocated_bytes = query_u64(q, 3),
		.peak_live_bytes = query_opt_u64(q, 4),
		.peak_timestamp_ns = query_u64(q, 5),
	};
	jw_key(&d->w, "logical");
	jw_open_object(&d->w);
	write_totals(&d->w, &d->totals);
	return 0;
}

static int write_peak_parts(struct memory_document *d, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	bool in_categories = false;
	int n;

	if (query_open(d->db, "memory_peak_parts", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, 0);
	jw_key(&d->w, "live_bytes_by_device");
	jw_open_object(&d->w);
	while ((n = query_step(q, err)) == 1) {
		uint64_t no = query_u64(q, 1);

		if (query_u64(q, 0) == 0) {
			struct query *name CLEAN(query_closep) = NULL;

			if (device_name(d, no, &name, err) < 0)
				return -1;
			jw_key_str(&d->w, query_str(name, 0));
		} else {
			if (!in_categories) {
				jw_close_object(&d->w);
				jw_key(&d->w, "live_bytes_by_category");
				jw_open_object(&d->w);
			}
			in_categories = true;
			jw_key(&d->w, memory_category_names[no % MEMORY_CATEGORIES]);
		}
		jw_u64(&d->w, query_u64(q, 2));
	}
	if (!in_categories) { /* nothing was live */
		jw_close_object(&d->w);
		jw_key(&d->w, "live_bytes_by_category");
		jw_open_object(&d->w);
	}
	jw_close_object(&d->w);
	return n;
}

static int stage_peak(struct memory_document *d, struct ts_error *err)
{
	if (!d->logical || !d->totals.peak_live_bytes.has)
		return 0;
	if (!d->begun) {
		jw_key(&d->w, "peak");
		jw_open_object(&d->w);
		jw_kv_u64(&d->w, "timestamp_ns", d->totals.peak_timestamp_ns);
		jw_kv_u64(&d->w, "live_bytes", d->totals.peak_live_bytes.v);
		if (write_peak_parts(d, err) < 0 ||
		    query_open(d->db, "view_lifetimes_at", &d->q, err) < 0)
			return -1;
		query_bind_u64(d->q, 1, d->totals.peak_timestamp_ns);
		jw_key(&d->w, "live_allocations");
	}
	int n = lifetimes_write(d, true, d->totals.peak_timestamp_ns, err);

	if (n == 0)
		jw_close_object(&d->w);
	return n;
}

static int stage_lifetimes(struct memory_document *d, struct ts_error *err)
{
	if (!d->logical)
		return 0;
	if (!d->begun) {
		if (query_open(d->db, "view_lifetimes", &d->q, err) < 0)
			return -1;
		jw_key(&d->w, "lifetimes");
	}
	return lifetimes_write(d, false, UINT64_MAX, err);
}

static void write_device(struct json_writer *w, struct query *q)
{
	jw_open_object(w);
	jw_kv_str(w, "device", query_str(q, 1));
	write_totals(w, &(struct memory_totals){
				.storage_allocation_count = query_u64(q, 2),
				.matched_storage_free_count = query_u64(q, 3),
				.total_allocated_bytes = query_u64(q, 4),
			});
	if (!query_is_null(q, 5)) {
		jw_kv_u64(w, "peak_live_bytes", query_u64(q, 5));
		jw_kv_u64(w, "peak_timestamp_ns", query_u64(q, 6));
	}
	jw_close_object(w);
}

int stage_by_device(struct memory_document *d, struct ts_error *err)
{
	if (!d->logical)
		return 0;
	if (!d->begun) {
		d->begun = true;
		if (query_open(d->db, "memory_device_from", &d->q, err) < 0)
			return -1;
		query_bind_u64(d->q, 1, 0);
		jw_key(&d->w, "by_device");
		jw_open_array(&d->w);
	}
	for (unsigned i = 0; i < ROWS_A_PIECE; i++) {
		int n = query_step(d->q, err);

		if (n < 0)
			return -1;
		if (n == 0) {
			jw_close_array(&d->w);
			jw_close_object(&d->w); /* of the plane */
			return 0;
		}
		struct memory_choice devices = d->picture.choice;

		devices.categories = 1;
		if (choice_has(d->ask.what == MEMORY_PICTURE ? &devices : NULL, query_u64(d->q, 0),
			       0))
			write_device(&d->w, d->q);
	}
	return 1;
}

static int stage_open_physical(struct memory_document *d, struct ts_error *err)
{
	(void)err;
	if (!d->physical)
		return 0;
	jw_key(&d->w, "physical");
	jw_open_object(&d->w);
	return 0;
}

static stage_fn *const result_stages[] = {
	stage_head,           stage_open_result, stage_peak,          stage_timeline,
	stage_lifetimes,      stage_by_device,   stage_open_physical, stage_samples,
	stage_device_figures, stage_tail,        stage_tail,          NULL,
};

static int stage_footprints(struct memory_document *d, struct ts_error *err)
{
	if (!d->begun) {
		if (query_open(d->db, "view_footprints", &d->q, err) < 0)
			return -1;
		query_bind_u64(d->q, 1, d->ask.limit);
	}
	return lifetimes_write(d, false, UINT64_MAX, err);
}

static stage_fn *const footprint_stages[] = {stage_head, stage_footprints, stage_tail, NULL};

/* ---- documents ---- */

static stage_fn *const *stages_of(enum memory_what what)
{
	switch (what) {
	case MEMORY_PICTURE:
		return picture_stages;
	case MEMORY_FOOTPRINTS:
		return footprint_stages;
	case MEMORY_HEAVIEST:
		return heaviest_stages;
	case MEMORY_RESULT:
		break;
	}
	return result_stages;
}

int memory_document_open(struct db *db, const struct memory_ask *ask, enum json_numbers numbers,
			 struct memory_document **ret, struct ts_error *err)
{
	struct memory_document *d = calloc(1, sizeof(*d));

	if (!d)
		return ts_error_nomem(err);
	d->db = db;
	d->ask = *ask;
	d->stages = stages_of(ask->what);
	jw_init(&d->w, NULL, numbers);
	if (ask->what == MEMORY_PICTURE && picture_load(d, err) < 0) {
		memory_document_close(d);
		return -1;
	}
	*ret = d;
	return 0;
}

void memory_document_close(struct memory_document *d)
{
	if (!d)
		return;
	query_close(d->q);
	query_close(d->tensors);
	live_free(d->live);
	picture_done(d);
	free(d);
}

int memory_document_next(struct memory_document *d, struct buf *out, struct ts_error *err)
{
	d->w.out = out;
	int n = d->stages[d->stage](d, err);

	if (n == 0) {
		d->stage++;
		d->begun = false;
		d->at = 0;
		query_close(TAKE(d->q));
	}
	if (out->failed)
		return ts_error_nomem(err);
	return n < 0 ? -1 : d->stages[d->stage] != NULL;
}
