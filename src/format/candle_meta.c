/* candle_meta.c: the meta record of execution traces: its tables, and its nested objects as text */
#include "candle.h"

#include "candle_tables.h"
#include "tracespool/writer.h"

static const char *const phases[] = {"train", "infer", NULL};
static const char *const timing_modes[] = {"host", "device_synchronized", NULL};
static const char *const scopes[] = {"unknown", "profiled_work", "production_equivalent", NULL};
static const char *const coverages[] = {"none", "partial", "complete", NULL};
static const char *const expectations[] = {"active", "inactive", "data_conditional", NULL};

static const struct field expected_fields[] = {
	REQUIRED(FIELD_STRING, struct candle_expected, root),
	REQUIRED(FIELD_STRING, struct candle_expected, key),
	REQUIRED(FIELD_STRING, struct candle_expected, family),
};
static TABLE(expected, struct candle_expected);

static const struct field family_fields[] = {
	REQUIRED(FIELD_STRING, struct candle_family, family),
	WORD(struct candle_family, expectation, expectations, FIELD_REQUIRED, NULL),
	REQUIRED(FIELD_U64, struct candle_family, min_present),
};
static TABLE(family, struct candle_family);

static const struct field gradient_contract_fields[] = {
	REQUIRED(FIELD_STRING, struct candle_gradient_contract, manifest_sha256),
	NESTED(FIELD_OBJECTS, struct candle_gradient_contract, expected, "expected", &expected,
	       FIELD_REQUIRED),
	NESTED(FIELD_OBJECTS, struct candle_gradient_contract, families, "families", &family,
	       FIELD_REQUIRED),
};
static TABLE(gradient_contract, struct candle_gradient_contract);

enum { CONTRACT_GRADIENTS = 4 }; /* place of gradient_contract in the table */

static const struct field contract_fields[] = {
	WORD(struct candle_contract, measurement_scope, scopes, FIELD_REQUIRED, NULL),
	WORD(struct candle_contract, operations, coverages, FIELD_REQUIRED, NULL),
	WORD(struct candle_contract, tensors, coverages, 0, "none"),
	WORD(struct candle_contract, gradients, coverages, 0, "none"),
	[CONTRACT_GRADIENTS] = NESTED(FIELD_OBJECT, struct candle_contract, gradient_contract,
				      "gradient_contract", &gradient_contract, FIELD_NULLABLE),
	WORD(struct candle_contract, logical_memory, coverages, FIELD_REQUIRED, NULL),
	WORD(struct candle_contract, physical_memory, coverages, FIELD_REQUIRED, NULL),
	WORD(struct candle_contract, device_timing, coverages, FIELD_REQUIRED, NULL),
	STRINGS(struct candle_contract, required_semantic_labels),
	STRINGS(struct candle_contract, gpu_expected_semantic_labels),
	STRINGS(struct candle_contract, cpu_only_semantic_labels),
};
static TABLE(contract, struct candle_contract);

static const struct field identity_fields[] = {
	REQUIRED(FIELD_STRING, struct candle_identity, workload_id),
	REQUIRED(FIELD_STRING, struct candle_identity, model_id),
	REQUIRED(FIELD_STRING, struct candle_identity, config_id),
	REQUIRED(FIELD_STRING, struct candle_identity, data_id),
	REQUIRED(FIELD_STRING, struct candle_identity, seed_policy),
	REQUIRED(FIELD_STRING, struct candle_identity, precision),
	REQUIRED(FIELD_STRING, struct candle_identity, device_state),
	REQUIRED(FIELD_U64, struct candle_identity, physical_batch),
	REQUIRED(FIELD_U64, struct candle_identity, accumulation_steps),
	NULLABLE(FIELD_STRING, struct candle_identity, implementation_id),
	NULLABLE(FIELD_STRING, struct candle_identity, pair_id),
};
static TABLE(identity, struct candle_identity);

enum { META_IDENTITY = 14 }; /* place of comparison_identity in the table */

static const struct field candle_meta_fields[] = {
	CHOOSER("kind"),
	REQUIRED(FIELD_STRING, struct row_meta, schema),
	REQUIRED(FIELD_STRING, struct row_meta, run_id),
	REQUIRED(FIELD_STRING, struct row_meta, correlation_id),
	REQUIRED(FIELD_STRING, struct row_meta, entrypoint),
	WORD(struct row_meta, phase, phases, FIELD_REQUIRED, NULL),
	REQUIRED(FIELD_STRING, struct row_meta, timestamp),
	REQUIRED(FIELD_U64, struct row_meta, capture_step),
	REQUIRED(FIELD_U64, struct row_meta, warmup_steps),
	REQUIRED(FIELD_STRING, struct row_meta, device),
	OPTIONAL(FIELD_BOOL, struct row_meta, measured_region_device_synchronized),
	WORD(struct row_meta, timing_mode, timing_modes, FIELD_REQUIRED, NULL),
	NESTED(FIELD_OBJECT, struct candle_meta_record, contract, "capture_contract", &contract,
	       FIELD_REQUIRED),
	REQUIRED(FIELD_MAP, struct row_meta, tags),
	[META_IDENTITY] = NESTED(FIELD_OBJECT, struct candle_meta_record, identity,
				 "comparison_identity", &identity, FIELD_NULLABLE),
	NULLABLE(FIELD_STRING, struct row_meta, candle_version),
};
TABLE(candle_meta, struct candle_meta_record);

static void write_optional(struct json_writer *w, const char *key, struct ts_str value)
{
	if (value.p)
		jw_kv_str(w, key, value);
}

static void write_labels(struct json_writer *w, const char *key, struct ts_str labels)
{
	jw_key(w, key);
	jw_raw(w, labels);
}

static void write_gradient_contract(struct json_writer *w, const struct candle_gradient_contract *g)
{
	const struct candle_expected *expects = g->expected.v;
	const struct candle_family *families = g->families.v;

	jw_open_object(w);
	jw_kv_str(w, "manifest_sha256", g->manifest_sha256);
	jw_key(w, "expected");
	jw_open_array(w);
	for (size_t i = 0; i < g->expected.n; i++) {
		jw_open_object(w);
		jw_kv_str(w, "root", expects[i].root);
		jw_kv_str(w, "key", expects[i].key);
		jw_kv_str(w, "family", expects[i].family);
		jw_close_object(w);
	}
	jw_close_array(w);
	jw_key(w, "families");
	jw_open_array(w);
	for (size_t i = 0; i < g->families.n; i++) {
		jw_open_object(w);
		jw_kv_str(w, "family", families[i].family);
		jw_kv_str(w, "expectation", families[i].expectation);
		jw_kv_u64(w, "min_present", families[i].min_present);
		jw_close_object(w);
	}
	jw_close_array(w);
	jw_close_object(w);
}

static void write_contract(struct json_writer *w, const struct candle_contract *c)
{
	jw_open_object(w);
	jw_kv_str(w, "measurement_scope", c->measurement_scope);
	jw_kv_str(w, "operations", c->operations);
	jw_kv_str(w, "tensors", c->tensors);
	jw_kv_str(w, "gradients", c->gradients);
	if (fields_has(&c->marks, CONTRACT_GRADIENTS)) {
		jw_key(w, "gradient_contract");
		write_gradient_contract(w, &c->gradient_contract);
	}
	jw_kv_str(w, "logical_memory", c->logical_memory);
	jw_kv_str(w, "physical_memory", c->physical_memory);
	jw_kv_str(w, "device_timing", c->device_timing);
	write_labels(w, "required_semantic_labels", c->required_semantic_labels);
	if (!ts_str_is(c->gpu_expected_semantic_labels, "[]"))
		write_labels(w, "gpu_expected_semantic_labels", c->gpu_expected_semantic_labels);
	if (!ts_str_is(c->cpu_only_semantic_labels, "[]"))
		write_labels(w, "cpu_only_semantic_labels", c->cpu_only_semantic_labels);
	jw_close_object(w);
}

static void write_identity(struct json_writer *w, const struct candle_identity *i)
{
	jw_open_object(w);
	jw_kv_str(w, "workload_id", i->workload_id);
	jw_kv_str(w, "model_id", i->model_id);
	jw_kv_str(w, "config_id", i->config_id);
	jw_kv_str(w, "data_id", i->data_id);
	jw_kv_str(w, "seed_policy", i->seed_policy);
	jw_kv_str(w, "precision", i->precision);
	jw_kv_str(w, "device_state", i->device_state);
	jw_kv_u64(w, "physical_batch", i->physical_batch);
	jw_kv_u64(w, "accumulation_steps", i->accumulation_steps);
	write_optional(w, "implementation_id", i->implementation_id);
	write_optional(w, "pair_id", i->pair_id);
	jw_close_object(w);
}

int candle_meta_texts(struct candle_meta_record *meta, struct buf *out, struct ts_error *err)
{
	bool has_identity = fields_has(&meta->row.marks, META_IDENTITY);
	struct json_writer w;
	size_t contract_len;

	buf_clear(out);
	jw_init(&w, out, JSON_NUMBERS_EXACT);
	write_contract(&w, &meta->contract);
	contract_len = out->len;
	jw_init(&w, out, JSON_NUMBERS_EXACT);
	if (has_identity)
		write_identity(&w, &meta->identity);
	if (out->failed)
		return ts_error_nomem(err);
	/* Only now: the buffer may have moved while it grew. */
	meta->row.capture_contract = ts_str(out->data, contract_len);
	meta->row.comparison_identity =
		has_identity ? ts_str(out->data + contract_len, out->len - contract_len)
			     : ts_str_c(NULL);
	return 0;
}
