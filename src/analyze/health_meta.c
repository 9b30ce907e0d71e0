/* health_meta.c: contract, identity and provenance of a run, as its health asks for them (12.2) */
#include "health.h"

#include <stddef.h>

#include "tracespool/util.h"

/* The texts were checked when they were read from the trace, so these tables only pick. */
#define MEMBER(type_, row, member)                                                                 \
	{                                                                                          \
		.name = #member, .type = (type_), .flags = FIELD_NULLABLE,                         \
		.offset = offsetof(row, member)                                                    \
	}
#define LABELS(name_, member)                                                                      \
	{                                                                                          \
		.name = (name_), .type = FIELD_STRINGS,                                            \
		.offset = offsetof(struct health_contract, member), .fallback = "[]"               \
	}
#define TABLE(name, row)                                                                           \
	const struct field_table name = {name##_fields, ARRAY_LEN(name##_fields), sizeof(row), true}

static const struct field expected_fields[] = {
	MEMBER(FIELD_STRING, struct health_expected, root),
	MEMBER(FIELD_STRING, struct health_expected, key),
	MEMBER(FIELD_STRING, struct health_expected, family),
};
static TABLE(expected, struct health_expected);

static const struct field family_fields[] = {
	MEMBER(FIELD_STRING, struct health_family, family),
	MEMBER(FIELD_STRING, struct health_family, expectation),
	MEMBER(FIELD_U64, struct health_family, min_present),
};
static TABLE(family, struct health_family);

static const struct field gradient_contract_fields[] = {
	MEMBER(FIELD_STRING, struct health_gradient_contract, manifest_sha256),
	{.name = "expected",
	 .type = FIELD_OBJECTS,
	 .offset = offsetof(struct health_gradient_contract, expected),
	 .arg = &expected},
	{.name = "families",
	 .type = FIELD_OBJECTS,
	 .offset = offsetof(struct health_gradient_contract, families),
	 .arg = &family},
};
static TABLE(gradient_contract, struct health_gradient_contract);

enum { CONTRACT_GRADIENTS = 1 }; /* place of gradient_contract in the table */

static const struct field contract_fields[] = {
	MEMBER(FIELD_STRING, struct health_contract, gradients),
	[CONTRACT_GRADIENTS] = {.name = "gradient_contract",
				.type = FIELD_OBJECT,
				.flags = FIELD_NULLABLE,
				.offset = offsetof(struct health_contract, gradient_contract),
				.arg = &gradient_contract},
	LABELS("required_semantic_labels", required),
	LABELS("gpu_expected_semantic_labels", gpu_expected),
	LABELS("cpu_only_semantic_labels", cpu_only),
};
static TABLE(contract, struct health_contract);

static const struct field identity_fields[] = {
	MEMBER(FIELD_STRING, struct health_identity, workload_id),
	MEMBER(FIELD_STRING, struct health_identity, model_id),
	MEMBER(FIELD_STRING, struct health_identity, config_id),
	MEMBER(FIELD_STRING, struct health_identity, data_id),
	MEMBER(FIELD_STRING, struct health_identity, seed_policy),
	MEMBER(FIELD_STRING, struct health_identity, precision),
	MEMBER(FIELD_STRING, struct health_identity, device_state),
	MEMBER(FIELD_U64, struct health_identity, physical_batch),
	MEMBER(FIELD_U64, struct health_identity, accumulation_steps),
	MEMBER(FIELD_STRING, struct health_identity, implementation_id),
	MEMBER(FIELD_STRING, struct health_identity, pair_id),
};
static TABLE(identity, struct health_identity);

/* text ends in a 0 (arena_dup), as the reader wants it. */
static int read_object(const struct field_table *t, struct ts_str text, void *record,
		       struct field_space *space, const char *what, struct ts_error *err)
{
	struct json_value v;
	struct json j;

	fields_begin(space);
	json_begin(&j, text.p, text.n, &space->scratch);
	if (json_value(&j, &v) != JSON_OBJECT || !fields_read(&j, t, record, space) ||
	    json_end(&j) < 0)
		return space->scratch.failed ? ts_error_nomem(err)
					     : ts_error_set(err, TS_E_INTERNAL, "%s: %s", what,
							    j.error ? j.error : "no object");
	return fields_check(t, record, what, err);
}

static struct ts_str keep_str(struct health *h, struct query *q, int i)
{
	struct ts_str s = query_str(q, i);

	if (s.p)
		s.p = arena_dup(&h->keep, s.p, s.n);
	return s;
}

int health_read_meta(struct health *h, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(h->db, "health_meta", &q, err) < 0 || (n = query_step(q, err)) < 0)
		return -1;
	if (n == 0)
		return ts_error_set(err, TS_E_INTERNAL, "no meta row");
	h->run_id = keep_str(h, q, 0);
	h->correlation_id = keep_str(h, q, 1);
	h->entrypoint = keep_str(h, q, 2);
	h->timestamp = keep_str(h, q, 3);
	h->device = keep_str(h, q, 4);
	h->capture_step = query_u64(q, 5);
	h->warmup_steps = query_u64(q, 6);
	h->phase = keep_str(h, q, 7);
	struct ts_str contract_text = keep_str(h, q, 8), identity_text = keep_str(h, q, 9);

	h->outcome = keep_str(h, q, 10);
	h->reason = keep_str(h, q, 11);
	if (!h->outcome.p && !h->salvaged.p)
		return ts_error_set(err, TS_E_INTERNAL, "no terminal row");
	h->failed = !h->outcome.p || ts_str_is(h->outcome, "failed");
	if (h->keep.failed)
		return ts_error_nomem(err);
	if (read_object(&contract, contract_text, &h->contract, &h->contract_space,
			"capture_contract", err) < 0)
		return -1;
	h->contract.has_gradient_contract = fields_has(&h->contract.marks, CONTRACT_GRADIENTS);
	h->has_identity = identity_text.p != NULL;
	return h->has_identity ? read_object(&identity, identity_text, &h->identity,
					     &h->identity_space, "comparison_identity", err)
			       : 0;
}

/* The first member that is blank, of those listed; no value is as good as a text if `optional`. */
struct text_member {
	const char *name;
	struct ts_str value;
	bool optional;
};

static const char *first_blank(const struct text_member *members, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(members[i].optional && !members[i].value.p) &&
		    text_is_blank(members[i].value))
			return members[i].name;
	return NULL;
}

static int invalid(struct health *h, const char *name, const char *what, struct ts_error *err)
{
	return health_issue(h, HEALTH_ERROR, "run_provenance_invalid", err, "Member %s %s.", name,
			    what);
}

int health_provenance(struct health *h, struct ts_error *err)
{
	const struct health_identity *id = &h->identity;
	const struct text_member run[] = {
		{"run_id", h->run_id, false},         {"correlation_id", h->correlation_id, false},
		{"entrypoint", h->entrypoint, false}, {"timestamp", h->timestamp, false},
		{"device", h->device, false},
	};
	const struct text_member conditions[] = {
		{"comparison_identity.workload_id", id->workload_id, false},
		{"comparison_identity.model_id", id->model_id, false},
		{"comparison_identity.config_id", id->config_id, false},
		{"comparison_identity.data_id", id->data_id, false},
		{"comparison_identity.seed_policy", id->seed_policy, false},
		{"comparison_identity.precision", id->precision, false},
		{"comparison_identity.device_state", id->device_state, false},
		{"comparison_identity.implementation_id", id->implementation_id, true},
		{"comparison_identity.pair_id", id->pair_id, true},
	};
	const char *blank = first_blank(run, ARRAY_LEN(run));

	if (blank)
		return invalid(h, blank, "is blank", err);
	if (h->capture_step == 0)
		return invalid(h, "capture_step", "is 0, and steps count from 1", err);
	if (h->warmup_steps >= h->capture_step)
		return invalid(h, "warmup_steps", "is not below capture_step", err);
	if (!h->has_identity)
		return 0;
	blank = first_blank(conditions, ARRAY_LEN(conditions));
	if (blank)
		return invalid(h, blank, "is blank", err);
	if (id->physical_batch == 0)
		return invalid(h, "comparison_identity.physical_batch", "is 0", err);
	if (id->accumulation_steps == 0)
		return invalid(h, "comparison_identity.accumulation_steps", "is 0", err);
	return 0;
}
