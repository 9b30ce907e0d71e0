/* arrivals.c: arrivals, requests in flight and completions by time, and the interval series of
 * request-trace.md 14; computed when they are asked for
 */
#include <stdlib.h>

#include "tracespool/analyze.h"
#include "tracespool/writer.h"

/* Times are saturated to i64, and ends do not lie before starts: differences are exact in u64. */
struct span {
	int64_t first_start, last_start, last_end;
};

static int read_span(struct db *db, struct span *ret, struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;
	int found;

	if (query_open(db, "analyze_arrivals_span", &q, err) < 0)
		return -1;
	found = query_step(q, err);
	if (found < 0)
		return -1;
	if (!found || query_is_null(q, 0))
		return ts_error_set(err, TS_E_STORE_DAMAGED, "the run file has no request");
	*ret = (struct span){query_i64(q, 0), query_i64(q, 1), query_i64(q, 2)};
	return 0;
}

/* The smallest width with which span / width stays below the bound. */
static uint64_t smallest_width(uint64_t span)
{
	return span / ARRIVALS_BUCKETS_MAX + 1;
}

struct buckets {
	uint64_t *arrivals, *completed;
	size_t n;
};

static void buckets_done(struct buckets *b)
{
	free(b->arrivals);
	free(b->completed);
}

static int count(struct db *db, int64_t origin, uint64_t width, struct buckets *b,
		 struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;
	int more;

	if (query_open(db, "analyze_arrivals_times", &q, err) < 0)
		return -1;
	while ((more = query_step(q, err)) > 0) {
		b->arrivals[(uint64_t)(query_i64(q, 0) - origin) / width]++;
		b->completed[(uint64_t)(query_i64(q, 1) - origin) / width]++;
	}
	return more;
}

static void write_column(struct json_writer *w, const char *name, const uint64_t *v, size_t n)
{
	jw_key(w, name);
	jw_open_array(w);
	for (size_t i = 0; i < n; i++)
		jw_u64(w, v[i]);
	jw_close_array(w);
}

int analyze_arrivals(struct db *db, struct opt_u64 bucket_ms, struct json_writer *w,
		     struct ts_error *err)
{
	CLEAN(buckets_done) struct buckets b = {0};
	uint64_t length, width, least, in_flight = 0;
	struct span span;

	if (read_span(db, &span, err) < 0)
		return -1;
	length = (uint64_t)(span.last_end - span.first_start);
	least = smallest_width(length);
	width = bucket_ms.has                ? bucket_ms.v
		: least > ARRIVALS_BUCKET_MS ? least
					     : ARRIVALS_BUCKET_MS;
	if (width < least)
		return ts_error_set(err, TS_E_BAD_PARAMETER,
				    "bucket_ms must be at least %llu here, for at most %d buckets",
				    (unsigned long long)least, ARRIVALS_BUCKETS_MAX);
	b.n = length / width + 1;
	b.arrivals = calloc(b.n, sizeof(*b.arrivals));
	b.completed = calloc(b.n, sizeof(*b.completed));
	if (!b.arrivals || !b.completed)
		return ts_error_nomem(err);
	if (count(db, span.first_start, width, &b, err) < 0)
		return -1;
	jw_kv_u64(w, "bucket_width_ms", width);
	jw_kv_i64(w, "first_start_ms", span.first_start);
	jw_key(w, "bucket_ms");
	jw_open_array(w);
	for (size_t i = 0; i < b.n; i++)
		jw_u64(w, i * width);
	jw_close_array(w);
	write_column(w, "arrivals", b.arrivals, b.n);
	jw_key(w, "in_flight");
	jw_open_array(w);
	for (size_t i = 0; i < b.n; i++) {
		in_flight += b.arrivals[i] - b.completed[i];
		jw_u64(w, in_flight);
	}
	jw_close_array(w);
	write_column(w, "completed", b.completed, b.n);
	return 0;
}

struct interval {
	uint64_t requests, input, output;
};

static double mean(uint64_t sum, uint64_t n)
{
	return n ? (double)sum / (double)n : 0.0;
}

int analyze_intervals(struct db *db, uint64_t interval_s, struct json_writer *w,
		      struct ts_error *err)
{
	CLEAN(free_ptr) struct interval *v = NULL;
	CLEAN(query_closep) struct query *q = NULL;
	uint64_t length, width;
	struct span span;
	size_t n;
	int more;

	CHECK(interval_s > 0 && interval_s <= ARRIVALS_INTERVAL_MAX_S);
	if (read_span(db, &span, err) < 0)
		return -1;
	width = interval_s * 1000;
	length = (uint64_t)(span.last_start - span.first_start);
	if (length / width >= ARRIVALS_BUCKETS_MAX)
		return ts_error_set(
			err, TS_E_BAD_PARAMETER,
			"interval_s must be at least %llu here, for at most %d intervals",
			(unsigned long long)(smallest_width(length) + 999) / 1000,
			ARRIVALS_BUCKETS_MAX);
	n = length / width + 1;
	v = calloc(n, sizeof(*v));
	if (!v)
		return ts_error_nomem(err);
	if (query_open(db, "analyze_arrivals_lengths", &q, err) < 0)
		return -1;
	while ((more = query_step(q, err)) > 0) {
		struct interval *i = &v[(uint64_t)(query_i64(q, 0) - span.first_start) / width];

		i->requests++;
		i->input = u64_add_sat(i->input, query_u64(q, 1));
		i->output = u64_add_sat(i->output, query_u64(q, 2));
	}
	if (more < 0)
		return -1;
	jw_kv_i64(w, "first_start_ms", span.first_start);
	jw_key(w, "intervals");
	jw_open_array(w);
	for (size_t i = 0; i < n; i++) {
		jw_open_object(w);
		jw_kv_u64(w, "interval_start", i * interval_s);
		jw_kv_u64(w, "request_count", v[i].requests);
		jw_kv_double(w, "avg_isl", mean(v[i].input, v[i].requests));
		jw_kv_double(w, "avg_osl", mean(v[i].output, v[i].requests));
		jw_close_object(w);
	}
	jw_close_array(w);
	return 0;
}
