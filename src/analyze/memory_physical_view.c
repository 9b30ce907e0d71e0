/* memory_physical_view.c: samples of devices, all of them or as thinned columns, and their extrema
 */
#include "memory_view.h"

#include "tracespool/util.h"

static const char *const members[] = {"used_bytes", "free_bytes", "reserved_bytes",
				      "capacity_bytes"};

int stage_samples(struct memory_document *d, struct ts_error *err)
{
	struct json_writer *w = &d->w;

	if (!d->physical)
		return 0;
	if (!d->begun) {
		d->begun = true;
		if (query_open(d->db, "device_samples", &d->q, err) < 0)
			return -1;
		jw_key(w, "timeline");
		jw_open_array(w);
	}
	for (unsigned i = 0; i < ROWS_A_PIECE; i++) {
		int n = query_step(d->q, err);

		if (n == 0)
			jw_close_array(w);
		if (n != 1)
			return n;
		jw_open_object(w);
		jw_kv_u64(w, "timestamp_ns", query_u64(d->q, 1));
		jw_kv_str(w, "device", query_str(d->q, 2));
		for (int k = 0; k < 4; k++)
			if (!query_is_null(d->q, 3 + k))
				jw_kv_u64(w, members[k], query_u64(d->q, 3 + k));
		jw_close_object(w);
	}
	return 1;
}

static bool is_wanted(const struct memory_document *d, struct ts_str device)
{
	for (size_t i = 0; i < d->ask.device_name_count; i++)
		if (ts_str_eq(d->ask.device_names[i], device))
			return true;
	return d->ask.device_name_count == 0;
}

int stage_device_figures(struct memory_document *d, struct ts_error *err)
{
	static const char *const names[] = {
		"sample_count",
		"used_sample_count",
		"free_sample_count",
		"reserved_sample_count",
		"capacity_sample_count",
		"peak_used_bytes",
		"peak_used_timestamp_ns",
		"peak_reserved_bytes",
		"peak_reserved_timestamp_ns",
		"minimum_free_bytes",
		"minimum_free_timestamp_ns",
		"maximum_observed_capacity_bytes",
	};
	struct json_writer *w = &d->w;

	if (!d->physical)
		return 0;
	if (!d->begun) {
		d->begun = true;
		if (query_open(d->db, "device_figures", &d->q, err) < 0)
			return -1;
		jw_key(w, "by_device");
		jw_open_array(w);
	}
	for (unsigned i = 0; i < ROWS_A_PIECE; i++) {
		int n = query_step(d->q, err);

		if (n == 0) {
			jw_close_array(w);
			jw_close_object(w); /* of the plane */
		}
		if (n != 1)
			return n;
		if (!is_wanted(d, query_str(d->q, 0)))
			continue;
		jw_open_object(w);
		jw_kv_str(w, "device", query_str(d->q, 0));
		for (int k = 0; k < (int)ARRAY_LEN(names); k++)
			if (!query_is_null(d->q, 1 + k))
				jw_kv_u64(w, names[k], query_u64(d->q, 1 + k));
		jw_close_object(w);
	}
	return 1;
}

/* One column of the samples that were kept. */
static int write_column(struct memory_document *d, const char *name, int column,
			struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(d->db, "device_sample", &q, err) < 0)
		return -1;
	jw_key(&d->w, name);
	jw_open_array(&d->w);
	for (size_t i = 0; i < d->sample_count; i++) {
		query_reset(q);
		query_bind_u64(q, 1, d->samples[i].ref);
		if (query_step(q, err) < 0)
			return -1;
		if (column == 1)
			jw_str(&d->w, query_str(q, column));
		else if (query_is_null(q, column))
			jw_null(&d->w);
		else
			jw_u64(&d->w, query_u64(q, column));
	}
	jw_close_array(&d->w);
	return 0;
}

int stage_sample_columns(struct memory_document *d, struct ts_error *err)
{
	jw_key(&d->w, "physical");
	if (!d->physical) {
		jw_null(&d->w);
		return 0;
	}
	jw_open_object(&d->w);
	jw_key(&d->w, "timeline");
	jw_open_object(&d->w);
	if (write_column(d, "timestamp_ns", 0, err) < 0 || write_column(d, "device", 1, err) < 0)
		return -1;
	for (int k = 0; k < 4; k++)
		if (write_column(d, members[k], 2 + k, err) < 0)
			return -1;
	jw_close_object(&d->w);
	jw_kv_bool(&d->w, "thinned", d->sample_count < d->physical_total);
	return 0;
}
