/* health_evidence.c: counts of records, absent evidence, numbers beyond 2^53 (candle-trace.md 12.5,
 * 12.7; http-api.md 2.5)
 */
#include "health.h"

#include <stdio.h>

#include "tracespool/util.h"

static int read_counts(struct health *h, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL, *stats CLEAN(query_closep) = NULL;
	struct health_coverage *c = &h->report.coverage;
	int n;

	if (query_open(h->db, "health_counts", &q, err) < 0 || query_step(q, err) < 0 ||
	    query_open(h->db, "health_non_finite", &stats, err) < 0)
		return -1;
	c->operations = query_u64(q, 0);
	c->tensors = query_u64(q, 1);
	h->report.tensor_stats_count = query_u64(q, 2);
	c->device_memory_samples = query_u64(q, 3);
	c->device_intervals = query_u64(q, 4);
	while ((n = query_step(stats, err)) == 1)
		h->report.non_finite_count =
			u64_add_sat(h->report.non_finite_count, query_u64(stats, 0));
	return n;
}

static int absent(struct health *h, const char *code, const char *noun, struct ts_error *err)
{
	return health_issue(h, HEALTH_WARNING, code, err, "The run has no %s.", noun);
}

int health_evidence(struct health *h, struct ts_error *err)
{
	const struct health_coverage *c = &h->report.coverage;

	if (read_counts(h, err) < 0)
		return -1;
	bool train = ts_str_is(h->phase, "train");
	const struct {
		bool is;
		const char *code, *noun;
	} checks[] = {
		{!c->operations, "operations_absent", "operations"},
		{!c->tensors, "tensors_absent", "tensor records"},
		{!c->memory_events, "logical_memory_absent", "memory records"},
		{!c->device_memory_samples, "physical_memory_absent", "device memory samples"},
		{!c->device_intervals, "device_timing_absent", "device intervals"},
		{train && !c->gradients, "gradients_absent", "gradient records"},
		{train && !c->forward_spans, "forward_absent", "span of the forward step"},
		{train && !c->backward_spans, "backward_absent", "span of the backward step"},
		{train && !c->optimizer_spans, "optimizer_absent", "span of the optimizer step"},
	};

	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		if (checks[i].is && absent(h, checks[i].code, checks[i].noun, err) < 0)
			return -1;
	return 0;
}

/* ---- beyond 2^53 ---- */

enum { LARGE_SHAPE_BYTES = 17 }; /* a shorter one has no dimension of 16 digits in brackets */

static bool has_large_dimension(struct ts_str shape)
{
	uint64_t v = 0;

	for (size_t i = 0; i < shape.n; i++) {
		if (shape.p[i] < '0' || shape.p[i] > '9') {
			v = 0;
			continue;
		}
		v = u64_add_sat(u64_mul_sat(v, 10), (uint64_t)(shape.p[i] - '0'));
		if (v > HEALTH_EXACT_MAX)
			return true;
	}
	return false;
}

/* The first shape with such a dimension; *ret names its record. */
static int find_large_shape(struct health *h, const char **ret, uint64_t *ret_no,
			    struct ts_error *err)
{
	static const char *const kinds[] = {"operation", "tensor record",
					    "tensor statistics record", "memory record"};
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(h->db, "health_long_shapes", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		if (!has_large_dimension(query_str(q, 2)))
			continue;
		CHECK(query_u64(q, 0) < ARRAY_LEN(kinds));
		*ret = kinds[query_u64(q, 0)];
		*ret_no = query_u64(q, 1);
		return 0;
	}
	return n;
}

static bool large_in_meta(const struct health *h)
{
	const struct health_gradient_contract *c = &h->contract.gradient_contract;
	const struct health_family *families = c->families.v;

	for (size_t i = 0; h->contract.has_gradient_contract && i < c->families.n; i++)
		if (families[i].min_present > HEALTH_EXACT_MAX)
			return true;
	return h->capture_step > HEALTH_EXACT_MAX || h->warmup_steps > HEALTH_EXACT_MAX ||
	       (h->has_identity && (h->identity.physical_batch > HEALTH_EXACT_MAX ||
				    h->identity.accumulation_steps > HEALTH_EXACT_MAX));
}

static int large(struct health *h, struct ts_error *err, const char *where)
{
	return health_issue(h, HEALTH_WARNING, "integer_above_2_53", err,
			    "%s is above 2^53-1, which many JSON readers round.", where);
}

/* A number of a column; 1 if there is one. */
static int find_large_number(struct health *h, char *where, size_t size, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (h->seen.number_bits <= HEALTH_EXACT_MAX)
		return 0;
	if (query_open(h->db, "health_large", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, HEALTH_EXACT_MAX);
	int n = query_step(q, err);

	if (n != 1)
		return n;
	/* Spans have no place of their own that an export keeps. */
	if (ts_str_is(query_str(q, 1), "span"))
		snprintf(where, size, "%s of a span", SHOWN(query_str(q, 0)));
	else
		snprintf(where, size, "%s of %s %llu", SHOWN(query_str(q, 0)),
			 SHOWN(query_str(q, 1)), (unsigned long long)query_u64(q, 2));
	return 1;
}

int health_large_numbers(struct health *h, const struct execution_figures *f, struct ts_error *err)
{
	const char *kind = NULL;
	uint64_t no = 0;
	char where[160];

	if (large_in_meta(h))
		return large(h, err, "A number of the meta record");
	int n = find_large_number(h, where, sizeof(where), err);

	if (n != 0)
		return n < 0 ? -1 : large(h, err, where);
	if (h->seen.shape_bytes > LARGE_SHAPE_BYTES && find_large_shape(h, &kind, &no, err) < 0)
		return -1;
	if (kind) {
		snprintf(where, sizeof(where), "A dimension of %s %llu", kind,
			 (unsigned long long)no);
		return large(h, err, where);
	}
	if (f->total_ns > HEALTH_EXACT_MAX ||
	    (f->logical_peak_bytes.has && f->logical_peak_bytes.v > HEALTH_EXACT_MAX) ||
	    h->report.non_finite_count > HEALTH_EXACT_MAX)
		return large(h, err, "A sum of the run");
	return 0;
}
