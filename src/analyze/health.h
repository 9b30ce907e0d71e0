/* health.h: what the files of the health report share (candle-trace.md 12, 13)
 *
 * Issues are written to issue_rows as they are found, so each step looks at its records in the
 * order in which its issues stand. A step holds at most some bytes a span, or the contract.
 */
#ifndef ANALYZE_HEALTH_H
#define ANALYZE_HEALTH_H

#include "candle.h"
#include "tracespool/fields.h"
#include "tracespool/writer.h"

enum {
	HEALTH_ISSUES_SHOWN = 200,       /* in summary and receipt (http-api.md 3.3) */
	HEALTH_ISSUES_BYTES = 28 * 1024, /* of them: the summary stays below 64 KiB */
	HEALTH_REASON_MAX = 1024,        /* bytes of the recorded reason in a message */
};

/* What the pairing of memory records finds, by number in health_found_rows. */
enum memory_fault { FAULT_ALLOC_SIZE, FAULT_DUPLICATE, FAULT_UNPAIRED, FAULT_FREE_SIZE };

#define HEALTH_EXACT_MAX 9007199254740991u /* 2^53-1 */

struct health_expected {
	struct field_marks marks;
	struct ts_str root, key, family;
};

struct health_family {
	struct field_marks marks;
	struct ts_str family, expectation;
	uint64_t min_present;
};

struct health_gradient_contract {
	struct field_marks marks;
	struct ts_str manifest_sha256;
	struct field_list expected; /* of struct health_expected */
	struct field_list families; /* of struct health_family */
};

/* Of the capture contract what the report asks for. */
struct health_contract {
	struct field_marks marks;
	struct ts_str gradients; /* coverage */
	struct health_gradient_contract gradient_contract;
	struct ts_str required, gpu_expected, cpu_only; /* JSON arrays of strings */
	bool has_gradient_contract;
};

struct health_identity {
	struct field_marks marks;
	struct ts_str workload_id, model_id, config_id, data_id, seed_policy, precision,
		device_state;
	uint64_t physical_batch, accumulation_steps;
	struct ts_str implementation_id, pair_id;
};

/* candle-trace.md 12.7. */
struct health_coverage {
	uint64_t spans, closed_spans, root_spans, measured_spans, operations, tensors,
		memory_events, device_memory_samples, device_intervals, gradients, call_edges,
		data_edges, forward_spans, backward_spans, optimizer_spans;
};

enum { GRADIENT_PRESENT, GRADIENT_MISSING, GRADIENT_ZERO, GRADIENT_NON_FINITE, GRADIENT_STATES };

/* The report. shown is borrowed from the struct health that made it. */
struct health_report {
	bool structurally_valid, capture_complete;
	struct health_coverage coverage;
	uint64_t issue_count;
	struct ts_str shown; /* JSON array of the first issues */
	bool cut;            /* there are further ones */
	/* candle-trace.md 10 */
	uint64_t tensor_stats_count, non_finite_count;
	uint64_t gradient_states[GRADIENT_STATES];
};

struct health {
	struct db *db;
	size_t kept_bytes; /* for what is looked up, in memory */
	struct rows_seen seen;
	struct query *insert; /* into issue_rows */
	struct health_report report;
	bool failed;            /* so says the outcome, or a salvage left none (http-api.md 6.1) */
	struct ts_str salvaged; /* of the record: no value: the trace is whole */
	uint64_t errors;
	bool always; /* show further issues even if there were too many before */
	struct buf shown;
	struct json_writer shown_writer;

	struct arena keep; /* texts of meta and terminal */
	struct ts_str run_id, correlation_id, entrypoint, timestamp, device, phase, outcome, reason;
	uint64_t capture_step, warmup_steps;
	struct field_space contract_space, identity_space;
	struct health_contract contract;
	struct health_identity identity;
	bool has_identity;
};

/* Weight of an issue: SOFT is an error, and a warning in a failed run (marked F in the format). */
enum health_weight { HEALTH_WARNING, HEALTH_ERROR, HEALTH_SOFT };

/* Writes one issue. */
int health_issue(struct health *h, enum health_weight weight, const char *code,
		 struct ts_error *err, const char *fmt, ...) PRINTF_LIKE(5, 6);

/* A text for a message: cut at a character, control bytes replaced. */
struct shown {
	char text[64];
};
struct shown health_shown(struct ts_str s);
#define SHOWN(s) (health_shown(s).text)

/* One of GRADIENT_*; GRADIENT_STATES if it is none. */
unsigned health_gradient_state(struct ts_str word);

/* The elements of a JSON array of strings, one after the other. */
struct health_labels {
	struct json json;
	struct arena scratch;
	struct buf text; /* a copy with the final 0 that the reader wants */
	bool first;
};
#define HEALTH_LABELS_INIT                                                                         \
	{                                                                                          \
		.text = BUF_INIT                                                                   \
	}
/* May be called again for another array. */
int health_labels_open(struct health_labels *l, struct ts_str array, struct ts_error *err);
bool health_labels_next(struct health_labels *l, struct ts_str *ret);
void health_labels_done(struct health_labels *l);

/* The steps, in the order of the format. */
int health_read_meta(struct health *h, struct ts_error *err);
int health_provenance(struct health *h, struct ts_error *err);
int health_spans(struct health *h, struct ts_error *err);
int health_records(struct health *h, const struct execution_figures *f, struct ts_error *err);
int health_edges(struct health *h, struct ts_error *err);
/* health_tensors.c: fills health_asked_rows. */
int health_tensors(struct health *h, struct ts_error *err);
int health_memory(struct health *h, const struct execution_figures *f, struct ts_error *err);
int health_gradients(struct health *h, struct ts_error *err);
int health_gradient_contract(struct health *h, struct ts_error *err);
int health_evidence(struct health *h, struct ts_error *err);
int health_semantic_labels(struct health *h, struct ts_error *err);
/* tracespool's own: a warning if a quantity goes beyond what a double holds. */
int health_large_numbers(struct health *h, const struct execution_figures *f, struct ts_error *err);

/* The whole report; also writes health_rows. salvaged: as in the record. h is to be given to
 * health_done in any case. */
int health_run(struct health *h, struct db *db, const struct execution_figures *f,
	       struct ts_str salvaged, const struct trace_counts *counts, size_t kept_bytes,
	       struct ts_error *err);
void health_done(struct health *h);

/* Members of the summary: figures, and the report with the first issues. */
void health_put_figures(struct json_writer *w, const struct health_report *r);
void health_put(struct json_writer *w, const struct health_report *r);
void health_put_coverage(struct json_writer *w, const struct health_coverage *c);

#endif
