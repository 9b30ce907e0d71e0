/* memory_physical.c: samples of devices: extrema by device and thinned points
 * (candle-trace.md 11.2)
 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

/* Of the four members, and of those that have an extremum with a time: the value. */
enum { USED, FREE, RESERVED, CAPACITY, MEMBERS };

struct physical {
	struct query *insert, *point;
	struct buf device;
	uint64_t no, samples, counts[MEMBERS], best[MEMBERS], when[MEMBERS];
	struct thinner thin;
	struct thin_row *rows;
	struct execution_figures *f;
};

static int write_points(struct physical *p, uint64_t series, struct ts_error *err)
{
	size_t n = thin_rows(&p->thin, p->rows);

	for (size_t i = 0; i < n; i++) {
		query_bind_u64(p->point, 1, series);
		query_bind_u64(p->point, 2, i);
		query_bind_u64(p->point, 3, p->rows[i].bucket);
		query_bind_u64(p->point, 4, p->rows[i].ref);
		if (query_step(p->point, err) < 0)
			return -1;
		query_reset(p->point);
	}
	return 0;
}

static void bind_best(struct physical *p, int i, int member, bool timed)
{
	bool has = p->counts[member] > 0;

	if (has)
		query_bind_u64(p->insert, i, p->best[member]);
	else
		query_bind_null(p->insert, i);
	if (timed && has)
		query_bind_u64(p->insert, i + 1, p->when[member]);
	else if (timed)
		query_bind_null(p->insert, i + 1);
}

static int end_device(struct physical *p, struct ts_error *err)
{
	struct opt_u64 *peak = &p->f->device_peak_used_bytes;

	if (p->no == 0)
		return 0;
	query_bind_u64(p->insert, 1, p->no);
	query_bind_str(p->insert, 2, ts_str(p->device.data ? p->device.data : "", p->device.len));
	query_bind_u64(p->insert, 3, p->samples);
	for (int i = 0; i < MEMBERS; i++)
		query_bind_u64(p->insert, 4 + i, p->counts[i]);
	bind_best(p, 8, USED, true);
	bind_best(p, 10, RESERVED, true);
	bind_best(p, 12, FREE, true);
	bind_best(p, 14, CAPACITY, false);
	if (p->counts[USED] && (!peak->has || p->best[USED] > peak->v))
		*peak = (struct opt_u64){.v = p->best[USED], .has = true};
	int n = query_step(p->insert, err);

	query_reset(p->insert);
	return n < 0 ? -1 : p->no <= SERIES_DEVICES ? write_points(p, p->no, err) : 0;
}

static int go_to_device(struct physical *p, struct ts_str device, struct ts_error *err)
{
	if (p->no > 0 && p->device.len == device.n &&
	    (device.n == 0 || memcmp(p->device.data, device.p, device.n) == 0))
		return 0;
	if (end_device(p, err) < 0)
		return -1;
	buf_clear(&p->device);
	buf_add(&p->device, device.p, device.n);
	p->no++;
	p->samples = 0;
	memset(p->counts, 0, sizeof(p->counts));
	thin_clear(&p->thin);
	return p->device.failed ? ts_error_nomem(err) : 0;
}

static void take_point(struct thinner *t, struct query *q)
{
	struct opt_u64 used = query_opt_u64(q, 3);

	/* A sample that does not say is neither the lowest nor the highest. */
	thin_add(t, (struct thin_point){.time = query_u64(q, 1),
					.value = used.has ? used.v : UINT64_MAX,
					.ref = query_u64(q, 0),
					.counts = used.has});
}

static int read_devices(struct db *db, struct physical *p, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(db, "device_samples_by_device", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		if (go_to_device(p, query_str(q, 2), err) < 0)
			return -1;
		p->samples++;
		for (int i = 0; i < MEMBERS; i++) {
			struct opt_u64 v = query_opt_u64(q, 3 + i);
			bool better = i == FREE ? v.v < p->best[i] : v.v > p->best[i];

			if (!v.has)
				continue;
			if (p->counts[i]++ == 0 || better) {
				p->best[i] = v.v;
				p->when[i] = query_u64(q, 1);
			}
		}
		take_point(&p->thin, q);
	}
	return n < 0 ? -1 : end_device(p, err);
}

static int read_all(struct db *db, struct physical *p, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	thin_clear(&p->thin);
	if (query_open(db, "device_samples", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1)
		take_point(&p->thin, q);
	return n < 0 ? -1 : write_points(p, 0, err);
}

int physical_figures(struct db *db, struct execution_figures *f, struct ts_error *err)
{
	struct physical p = {.device = BUF_INIT, .f = f};
	uint64_t samples = 0;

	if (count_rows(db, "device_sample_count", &samples, err) < 0)
		return -1;
	if (samples == 0)
		return 0;
	int n = thin_init(&p.thin, samples, err);

	p.rows = malloc((2 * p.thin.cap + 2) * sizeof(*p.rows));
	if (n == 0 && !p.rows)
		n = ts_error_nomem(err);
	if (n == 0)
		n = query_open(db, "device_figure_insert", &p.insert, err);
	if (n == 0)
		n = query_open(db, "device_point_insert", &p.point, err);
	if (n == 0)
		n = read_devices(db, &p, err);
	if (n == 0)
		n = read_all(db, &p, err);
	query_close(p.insert);
	query_close(p.point);
	free(p.rows);
	thin_done(&p.thin);
	buf_done(&p.device);
	return n;
}
