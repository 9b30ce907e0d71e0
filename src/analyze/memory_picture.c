/* memory_picture.c: memory as columns for a picture (http-api.md 3.6): stored, or worked out */
#include "memory_view.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

#define ALL_CATEGORIES ((1u << MEMORY_CATEGORIES) - 1)

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int series_of(const struct memory_choice *c, uint64_t devices)
{
	bool one_category = c->categories && (c->categories & (c->categories - 1)) == 0;
	bool all = c->categories == ALL_CATEGORIES;

	if (!c->some_devices || (devices == 1 && c->device_count == 1))
		return all ? 0 : one_category ? SERIES_CATEGORY + __builtin_ctz(c->categories) : -1;
	if (all && c->device_count == 1 && c->devices[0] <= SERIES_DEVICES)
		return SERIES_DEVICE + (int)c->devices[0] - 1;
	return -1;
}

/* The numbers of the devices that are asked for, and the series if one is stored. */
static int choose(struct db *db, const struct memory_ask *ask, struct picture *p,
		  struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL, *count CLEAN(query_closep) = NULL;
	size_t n = 0;

	p->choice.categories = ask->categories;
	p->choice.some_devices = ask->device_name_count > 0;
	p->devices = calloc(ask->device_name_count + 1, sizeof(*p->devices));
	if (!p->devices)
		return ts_error_nomem(err);
	if (query_open(db, "memory_device_no", &q, err) < 0 ||
	    query_open(db, "memory_device_count", &count, err) < 0)
		return -1;
	for (size_t i = 0; i < ask->device_name_count; i++) {
		query_reset(q);
		query_bind_str(q, 1, ask->device_names[i]);
		int found = query_step(q, err);

		if (found < 0)
			return -1;
		if (found == 1)
			p->devices[n++] = query_u64(q, 0);
	}
	qsort(p->devices, n, sizeof(*p->devices), compare_numbers);
	p->choice.devices = p->devices;
	for (size_t i = 0; i < n; i++)
		if (i == 0 || p->devices[i] != p->devices[p->choice.device_count - 1])
			p->devices[p->choice.device_count++] = p->devices[i];
	if (query_step(count, err) < 0)
		return -1;
	p->series = series_of(&p->choice, query_u64(count, 0));
	return 0;
}

static int physical_series(struct db *db, const struct memory_ask *ask, uint64_t *ret_total,
			   struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	const char *name = ask->device_name_count ? "device_figure_no" : "device_sample_count";

	*ret_total = 0;
	if (ask->device_name_count > 1)
		return SERIES_COUNT;
	if (query_open(db, name, &q, err) < 0)
		return -1;
	if (ask->device_name_count)
		query_bind_str(q, 1, ask->device_names[0]);
	int n = query_step(q, err);

	if (n < 0)
		return -1;
	*ret_total = n == 0 ? 0 : query_u64(q, ask->device_name_count ? 1 : 0);
	uint64_t no = n == 1 && ask->device_name_count ? query_u64(q, 0) : 0;

	return no <= SERIES_DEVICES ? (int)no : SERIES_COUNT;
}

int memory_is_ready(struct db *db, const struct memory_ask *ask, struct ts_error *err)
{
	struct picture p = {0};
	uint64_t total;
	int n = choose(db, ask, &p, err), physical = 0;

	if (n == 0 && ask->physical)
		physical = physical_series(db, ask, &total, err);
	free(p.devices);
	if (n < 0 || physical < 0)
		return -1;
	return (!ask->logical || p.series >= 0 ||
		(p.choice.some_devices && !p.choice.device_count)) &&
	       physical < SERIES_COUNT;
}

/* ---- the logical plane ---- */

static int add_part(struct picture *p, uint64_t no, uint64_t bytes, struct ts_error *err)
{
	if (p->part_count == p->part_cap) {
		size_t cap = p->part_cap ? 2 * p->part_cap : 16;
		struct part *parts = reallocarray(p->parts, cap, sizeof(*parts));

		if (!parts)
			return ts_error_nomem(err);
		p->parts = parts;
		p->part_cap = cap;
	}
	p->parts[p->part_count++] = (struct part){no, bytes};
	return 0;
}

static int load_parts(struct memory_document *d, struct ts_error *err)
{
	struct picture *p = &d->picture;
	struct query *q CLEAN(query_closep) = NULL, *l CLEAN(query_closep) = NULL;
	int n;

	if (query_open(d->db, "memory_peak_parts", &q, err) < 0 ||
	    query_open(d->db, "memory_largest", &l, err) < 0)
		return -1;
	query_bind_u64(q, 1, (uint64_t)p->series);
	while ((n = query_step(q, err)) == 1) {
		uint64_t no = query_u64(q, 1), bytes = query_u64(q, 2);

		if (query_u64(q, 0) == 0) {
			if (add_part(p, no, bytes, err) < 0)
				return -1;
		} else {
			p->category_live[no % MEMORY_CATEGORIES] = true;
			p->category_bytes[no % MEMORY_CATEGORIES] = bytes;
		}
	}
	query_bind_u64(l, 1, (uint64_t)p->series);
	query_bind_u64(l, 2, d->ask.top);
	while (n == 0 && (n = query_step(l, err)) == 1) {
		p->largest[p->largest_count++] = query_u64(l, 0);
		n = 0;
	}
	return n;
}

static int load_stored(struct memory_document *d, struct ts_error *err)
{
	struct picture *p = &d->picture;
	struct query *q CLEAN(query_closep) = NULL, *points CLEAN(query_closep) = NULL;

	if (query_open(d->db, "memory_series", &q, err) < 0 ||
	    query_open(d->db, "memory_points", &points, err) < 0)
		return -1;
	query_bind_u64(q, 1, (uint64_t)p->series);
	int n = query_step(q, err);

	if (n != 1)
		return n; /* no such plane */
	d->logical = true;
	p->totals = (struct memory_totals){
		.point_count = query_u64(q, 0),
		.storage_allocation_count = query_u64(q, 1),
		.matched_storage_free_count = query_u64(q, 2),
		.total_allocated_bytes = query_u64(q, 3),
		.peak_live_bytes = query_opt_u64(q, 4),
		.peak_timestamp_ns = query_u64(q, 5),
		.peak_live_count = query_u64(q, 6),
	};
	query_bind_u64(points, 1, (uint64_t)p->series);
	n = query_step(points, err);
	if (n <= 0)
		return n < 0 ? -1 : ts_error_set(err, TS_E_INTERNAL, "a series without points");
	n = thin_unpack(query_str(points, 0), p->rows);
	if (n < 0)
		return ts_error_set(err, TS_E_STORE_DAMAGED, "the points of series %d", p->series);
	p->row_count = (size_t)n;
	return load_parts(d, err);
}

struct chosen_series {
	struct flow_user user; /* first */
	struct series s;
};

static int chosen_start(struct flow_user *u, const struct flow_event *e, struct ts_error *err)
{
	(void)err;
	series_start(&((struct chosen_series *)u)->s, e->bytes);
	return 0;
}

static int chosen_end(struct flow_user *u, const struct flow_event *e, struct ts_error *err)
{
	(void)err;
	series_end(&((struct chosen_series *)u)->s, e->bytes);
	return 0;
}

static int chosen_point(struct flow_user *u, uint64_t time, struct ts_error *err)
{
	(void)err;
	series_point(&((struct chosen_series *)u)->s, time);
	return 0;
}

struct peak_taker {
	struct peak_user user; /* first */
	struct memory_document *d;
};

static int take_device(struct peak_user *u, unsigned series, uint64_t no, uint64_t bytes,
		       struct ts_error *err)
{
	(void)series;
	return add_part(&((struct peak_taker *)u)->d->picture, no, bytes, err);
}

static int take_category(struct peak_user *u, unsigned series, unsigned c, uint64_t bytes,
			 struct ts_error *err)
{
	struct picture *p = &((struct peak_taker *)u)->d->picture;

	(void)series, (void)err;
	p->category_live[c] = true;
	p->category_bytes[c] = bytes;
	return 0;
}

static int take_largest(struct peak_user *u, unsigned series, uint64_t lifetime,
			struct ts_error *err)
{
	struct memory_document *d = ((struct peak_taker *)u)->d;

	(void)series, (void)err;
	if (d->picture.largest_count < d->ask.top)
		d->picture.largest[d->picture.largest_count++] = lifetime;
	return 0;
}

static int work_out(struct memory_document *d, struct ts_error *err)
{
	struct picture *p = &d->picture;
	struct chosen_series c = {.user = {chosen_start, chosen_end, chosen_point}};
	struct peak_taker taker = {{take_device, take_category, take_largest}, d};
	struct flow f = {0};
	int n = thin_init(&c.s.thin, UINT64_MAX, err);

	if (n == 0)
		n = flow_open(d->db, false, &p->choice, &f, err);
	if (n == 0)
		n = flow_run(&f, &c.user, err);
	flow_done(&f);
	if (n == 0) {
		p->totals = c.s.totals;
		d->logical = p->totals.point_count > 0;
		p->row_count = thin_rows(&c.s.thin, p->rows);
		n = peaks_find(d->db, &p->totals, 1, &p->choice, &taker.user, err);
	}
	thin_done(&c.s.thin);
	return n;
}

/* ---- the physical plane ---- */

static int work_out_samples(struct memory_document *d, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct thinner t;
	int n = thin_init(&t, UINT64_MAX, err);

	if (n == 0)
		n = query_open(d->db, "device_samples", &q, err);
	while (n == 0 && (n = query_step(q, err)) == 1) {
		struct opt_u64 used = query_opt_u64(q, 3);
		struct ts_str device = query_str(q, 2);

		for (size_t i = 0; i < d->ask.device_name_count; i++) {
			if (!ts_str_eq(device, d->ask.device_names[i]))
				continue;
			thin_add(&t, (struct thin_point){.time = query_u64(q, 1),
							 .value = used.has ? used.v : UINT64_MAX,
							 .ref = query_u64(q, 0),
							 .counts = used.has});
			break;
		}
		n = 0;
	}
	d->physical_total = t.points;
	if (n == 0)
		d->sample_count = thin_rows(&t, d->samples);
	thin_done(&t);
	return n;
}

static int load_samples(struct memory_document *d, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int series = physical_series(d->db, &d->ask, &d->physical_total, err), n;

	if (series < 0)
		return -1;
	if (series == SERIES_COUNT) {
		if (work_out_samples(d, err) < 0)
			return -1;
	} else if (d->physical_total > 0) {
		if (query_open(d->db, "device_points", &q, err) < 0)
			return -1;
		query_bind_u64(q, 1, (uint64_t)series);
		while ((n = query_step(q, err)) == 1 && d->sample_count < THIN_ROWS_MAX) {
			struct opt_u64 used = query_opt_u64(q, 3);

			d->samples[d->sample_count++] =
				(struct thin_row){.bucket = query_u64(q, 0),
						  .ref = query_u64(q, 1),
						  .time = query_u64(q, 2),
						  .value = used.has ? used.v : UINT64_MAX,
						  .counts = used.has};
		}
		if (n < 0)
			return -1;
	}
	d->physical = d->physical_total > 0;
	d->sample_count =
		thin_cut(d->samples, d->sample_count, d->physical_total, d->ask.points, UINT64_MAX);
	return 0;
}

int picture_load(struct memory_document *d, struct ts_error *err)
{
	struct picture *p = &d->picture;

	p->rows = malloc(THIN_ROWS_MAX * sizeof(*p->rows));
	d->samples = malloc(THIN_ROWS_MAX * sizeof(*d->samples));
	p->largest = calloc(MEMORY_TOP_MAX, sizeof(*p->largest));
	if (!p->rows || !d->samples || !p->largest)
		return ts_error_nomem(err);
	if (choose(d->db, &d->ask, p, err) < 0)
		return -1;
	bool none = p->choice.some_devices && p->choice.device_count == 0;

	if (d->ask.logical && !none &&
	    (p->series >= 0 ? load_stored(d, err) : work_out(d, err)) < 0)
		return -1;
	p->row_count = thin_cut(p->rows, p->row_count, p->totals.point_count, d->ask.points,
				p->totals.peak_timestamp_ns);
	return d->ask.physical ? load_samples(d, err) : 0;
}

void picture_done(struct memory_document *d)
{
	free(d->picture.devices);
	free(d->picture.parts);
	free(d->picture.largest);
	free(d->picture.rows);
	free(d->samples);
}

/* ---- stages ---- */

static int stage_logical(struct memory_document *d, struct ts_error *err)
{
	(void)err;
	jw_key(&d->w, "logical");
	if (!d->logical) {
		jw_null(&d->w);
		return 0;
	}
	jw_open_object(&d->w);
	write_totals(&d->w, &d->picture.totals);
	jw_key(&d->w, "peak");
	if (!d->picture.totals.peak_live_bytes.has) {
		jw_null(&d->w);
		return 0;
	}
	jw_open_object(&d->w);
	jw_kv_u64(&d->w, "timestamp_ns", d->picture.totals.peak_timestamp_ns);
	jw_kv_u64(&d->w, "live_bytes", d->picture.totals.peak_live_bytes.v);
	return 0;
}

static bool has_peak(const struct memory_document *d)
{
	return d->logical && d->picture.totals.peak_live_bytes.has;
}

static int stage_peak_devices(struct memory_document *d, struct ts_error *err)
{
	const struct picture *p = &d->picture;

	if (!has_peak(d))
		return 0;
	if (!d->begun) {
		d->begun = true;
		jw_key(&d->w, "live_bytes_by_device");
		jw_open_object(&d->w);
	}
	for (unsigned i = 0; i < ROWS_A_PIECE && d->at < p->part_count; i++, d->at++) {
		struct query *name CLEAN(query_closep) = NULL;

		if (device_name(d, p->parts[d->at].no, &name, err) < 0)
			return -1;
		jw_key_str(&d->w, query_str(name, 0));
		jw_u64(&d->w, p->parts[d->at].bytes);
	}
	if (d->at < p->part_count)
		return 1;
	jw_close_object(&d->w);
	jw_key(&d->w, "live_bytes_by_category");
	jw_open_object(&d->w);
	for (unsigned c = 0; c < MEMORY_CATEGORIES; c++)
		if (p->category_live[c])
			jw_kv_u64(&d->w, memory_category_names[c], p->category_bytes[c]);
	jw_close_object(&d->w);
	jw_kv_u64(&d->w, "live_allocation_count", p->totals.peak_live_count);
	return 0;
}

static int stage_largest(struct memory_document *d, struct ts_error *err)
{
	const struct picture *p = &d->picture;

	if (!has_peak(d))
		return 0;
	if (!d->begun) {
		d->begun = true;
		if (query_open(d->db, "view_lifetime", &d->q, err) < 0)
			return -1;
		jw_key(&d->w, "live_allocations");
		jw_open_array(&d->w);
	}
	if (d->at == p->largest_count) {
		jw_close_array(&d->w);
		jw_close_object(&d->w);
		return 0;
	}
	if (!d->in_item) {
		query_reset(d->q);
		query_bind_u64(d->q, 1, p->largest[d->at]);
		int n = query_step(d->q, err);

		if (n != 1)
			return n < 0 ? -1 : ts_error_set(err, TS_E_INTERNAL, "no such lifetime");
	}
	int n = lifetime_write(d, true, p->totals.peak_timestamp_ns, err);

	if (n == 0)
		d->at++;
	return n < 0 ? -1 : 1;
}

static int stage_columns(struct memory_document *d, struct ts_error *err)
{
	const struct picture *p = &d->picture;
	struct json_writer *w = &d->w;

	(void)err;
	if (!d->logical)
		return 0;
	jw_key(w, "timeline");
	jw_open_object(w);
	jw_key(w, "timestamp_ns");
	jw_open_array(w);
	for (size_t i = 0; i < p->row_count; i++)
		jw_u64(w, p->rows[i].time);
	jw_close_array(w);
	jw_key(w, "live_bytes");
	jw_open_array(w);
	for (size_t i = 0; i < p->row_count; i++)
		jw_u64(w, p->rows[i].value);
	jw_close_array(w);
	jw_close_object(w);
	jw_kv_bool(w, "thinned", p->row_count < p->totals.point_count);
	return 0;
}

stage_fn *const picture_stages[] = {
	stage_head,      stage_logical,        stage_peak_devices,   stage_largest, stage_columns,
	stage_by_device, stage_sample_columns, stage_device_figures, stage_tail,    NULL,
};
