/* health_records.c: spans that records name, and whether they lie within them (candle-trace.md
 * 12.3)
 */
#include "health.h"

#include "tracespool/util.h"

/* A record kind that has a place in its span. */
struct placed {
	const char *query; /* no, span_id, begin, duration, span's no, start, closed, duration */
	const char *noun;  /* for sentences */
	const char *code;
};

static const struct placed ops = {"health_ops", "Operation", "operation_outside_span"};
static const struct placed memory = {"health_memory_places", "Memory record",
				     "memory_outside_span"};

static int unknown_span(struct health *h, const char *noun, struct query *q, struct ts_error *err)
{
	return health_issue(h, HEALTH_ERROR, "unknown_span", err,
			    "%s %llu names span \"%s\", which is not there.", noun,
			    (unsigned long long)query_u64(q, 0), SHOWN(query_str(q, 1)));
}

static bool is_outside(struct query *q)
{
	uint64_t at = query_u64(q, 2), start = query_u64(q, 5);

	return !query_is_null(q, 4) && query_u64(q, 6) &&
	       (at < start ||
		u64_add_sat(at, query_u64(q, 3)) > u64_add_sat(start, query_u64(q, 7)));
}

/* Reports the records whose span is unknown, and notes whether any lies outside its span. */
static int find_unknown(struct health *h, const struct placed *kind, bool *ret_outside,
			struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	*ret_outside = false;
	if (query_open(h->db, kind->query, &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		*ret_outside |= is_outside(q);
		if (query_is_null(q, 4) && unknown_span(h, kind->noun, q, err) < 0)
			return -1;
	}
	return n;
}

static int report_outside(struct health *h, const struct placed *kind, bool any,
			  struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (!any)
		return 0;
	if (query_open(h->db, kind->query, &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1)
		if (is_outside(q) &&
		    health_issue(h, HEALTH_ERROR, kind->code, err,
				 "%s %llu is not within its span \"%s\".", kind->noun,
				 (unsigned long long)query_u64(q, 0), SHOWN(query_str(q, 1))) < 0)
			return -1;
	return n;
}

static int each_unknown(struct health *h, const char *query, const char *noun, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(h->db, query, &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1)
		if (unknown_span(h, noun, q, err) < 0)
			return -1;
	return n;
}

/* One issue for each row (its number) of a statement. */
static int each_empty(struct health *h, const char *query, const char *code, const char *noun,
		      const char *what, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(h->db, query, &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1)
		if (health_issue(h, HEALTH_ERROR, code, err, "%s %llu of \"%s\" %s", noun,
				 (unsigned long long)query_u64(q, 0), SHOWN(query_str(q, 1)),
				 what) < 0)
			return -1;
	return n;
}

int health_records(struct health *h, const struct execution_figures *f, struct ts_error *err)
{
	bool ops_outside = f->op_outside_span, memory_outside = f->memory_outside_span;

	if ((f->op_span_unknown && find_unknown(h, &ops, &ops_outside, err) < 0) ||
	    each_unknown(h, "health_unknown_tensors", "Tensor record", err) < 0 ||
	    each_unknown(h, "health_unknown_tensor_stats", "Tensor statistics record", err) < 0 ||
	    (f->memory_span_unknown && find_unknown(h, &memory, &memory_outside, err) < 0) ||
	    each_unknown(h, "health_unknown_intervals", "Device interval", err) < 0)
		return -1;
	if (each_empty(h, "health_empty_intervals", "empty_device_interval", "Device interval",
		       "has duration 0.", err) < 0 ||
	    report_outside(h, &ops, ops_outside, err) < 0 ||
	    report_outside(h, &memory, memory_outside, err) < 0)
		return -1;
	return each_empty(h, "health_empty_samples", "empty_device_memory_sample",
			  "Device memory sample", "has none of the four sizes.", err);
}
