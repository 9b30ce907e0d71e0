/* request_figures.c: figures of a request run that need no order: distributions, concurrency */
#include "request.h"

#include <stdlib.h>

static const unsigned percent[PERCENTILES] = {50, 90, 95, 99};

/* One array a figure, 8 bytes a request each. */
struct columns {
	uint64_t *input, *output, *latency, *start, *end;
	double *ttft;
	size_t n, ttft_count;
};

static void columns_done(struct columns *c)
{
	free(c->input);
	free(c->output);
	free(c->latency);
	free(c->start);
	free(c->end);
	free(c->ttft);
}

static int compare_u64(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

static int compare_double(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* Index of a percentile by nearest rank in n sorted values. */
static size_t rank_of(unsigned p, size_t n)
{
	return (size_t)(((unsigned __int128)p * n + 99) / 100) - 1;
}

/* Sorts v. sum is the saturated sum of v. */
static void distribute(uint64_t *v, size_t n, uint64_t sum, struct distribution *d)
{
	*d = (struct distribution){.any = n > 0};
	if (!n)
		return;
	qsort(v, n, sizeof(*v), compare_u64);
	d->min = v[0];
	d->max = v[n - 1];
	d->mean = (double)sum / (double)n;
	for (unsigned i = 0; i < PERCENTILES; i++)
		d->at[i] = v[rank_of(percent[i], n)];
}

static void distribute_doubles(double *v, size_t n, struct double_distribution *d)
{
	*d = (struct double_distribution){.any = n > 0};
	if (!n)
		return;
	qsort(v, n, sizeof(*v), compare_double);
	d->min = v[0];
	d->max = v[n - 1];
	for (unsigned i = 0; i < PERCENTILES; i++)
		d->at[i] = v[rank_of(percent[i], n)];
}

/* Largest number of half-open intervals over one point: at equal times ends come first. Both
 * arrays are sorted here. */
static uint64_t peak_of(uint64_t *start, uint64_t *end, size_t n)
{
	size_t ended = 0;
	uint64_t peak = 0;

	qsort(start, n, sizeof(*start), compare_u64);
	qsort(end, n, sizeof(*end), compare_u64);
	for (size_t i = 0; i < n; i++) {
		while (end[ended] <= start[i])
			ended++;
		if (i + 1 - ended > peak)
			peak = i + 1 - ended;
	}
	return peak;
}

static int columns_init(struct columns *c, size_t n, struct ts_error *err)
{
	c->input = calloc(n + 1, sizeof(*c->input));
	c->output = calloc(n + 1, sizeof(*c->output));
	c->latency = calloc(n + 1, sizeof(*c->latency));
	c->start = calloc(n + 1, sizeof(*c->start));
	c->end = calloc(n + 1, sizeof(*c->end));
	c->ttft = calloc(n + 1, sizeof(*c->ttft));
	if (!c->input || !c->output || !c->latency || !c->start || !c->end || !c->ttft)
		return ts_error_nomem(err);
	return 0;
}

static int columns_read(struct db *db, struct columns *c, size_t n, struct request_figures *f,
			struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;
	int more;

	if (query_open(db, "analyze_requests_scan", &q, err) < 0)
		return -1;
	f->first_start = UINT64_MAX;
	while ((more = query_step(q, err)) > 0) {
		size_t i = c->n++;

		if (i == n)
			return ts_error_set(err, TS_E_INTERNAL,
					    "the run has more requests than "
					    "its file had");
		/* Times of requests are never negative, and no end lies before its start. */
		uint64_t start = (uint64_t)query_i64(q, 2), end = (uint64_t)query_i64(q, 3);
		uint64_t size = query_u64(q, 5);

		c->input[i] = query_u64(q, 0);
		c->output[i] = query_u64(q, 1);
		c->start[i] = start;
		c->end[i] = end > start ? end : start + 1;
		c->latency[i] = end - start;
		if (!query_is_null(q, 4))
			c->ttft[c->ttft_count++] = query_double(q, 4);
		f->unreplayable += !c->input[i];
		f->with_context += query_u64(q, 6);
		if (i == 0)
			f->block_size = (struct opt_u64){.v = size, .has = true};
		else if (f->block_size.v != size)
			f->block_size.has = false;
		if (start < f->first_start)
			f->first_start = start;
		if (start > f->last_start)
			f->last_start = start;
		if (end > f->last_end)
			f->last_end = end;
		f->input_total = u64_add_sat(f->input_total, c->input[i]);
		f->output_total = u64_add_sat(f->output_total, c->output[i]);
	}
	return more < 0 ? -1 : 0;
}

int figures_of_requests(struct db *db, uint64_t requests, struct request_figures *f,
			struct ts_error *err)
{
	CLEAN(columns_done) struct columns c = {0};
	uint64_t latencies = 0, span;

	if (columns_init(&c, (size_t)requests, err) < 0 ||
	    columns_read(db, &c, (size_t)requests, f, err) < 0)
		return -1;
	f->requests = c.n;
	if (!c.n)
		return ts_error_set(err, TS_E_NO_REQUESTS, "the run has no requests");
	for (size_t i = 0; i < c.n; i++)
		latencies = u64_add_sat(latencies, c.latency[i]);
	distribute(c.input, c.n, f->input_total, &f->input);
	distribute(c.output, c.n, f->output_total, &f->output);
	distribute(c.latency, c.n, latencies, &f->latency);
	distribute_doubles(c.ttft, c.ttft_count, &f->ttft);

	span = f->last_start - f->first_start;
	if (c.n > 1 && span)
		f->arrival_rate = (struct opt_double){
			.v = ((double)(c.n - 1) * 1000.0) / (double)span,
			.has = true,
		};
	f->concurrency_mean = ratio_of(latencies, f->last_end - f->first_start);
	f->concurrency_peak = peak_of(c.start, c.end, c.n);
	return 0;
}
