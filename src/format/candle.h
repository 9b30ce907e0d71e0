/* candle.h: what the files of the execution trace format share
 *
 * candle.c holds the state machine, candle_decode.c reads a line, candle_fields.c has the field
 * tables, candle_meta.c those of the meta record, candle_spans.c what is known of each span.
 */
#ifndef FORMAT_CANDLE_H
#define FORMAT_CANDLE_H

#include "line_json.h"
#include "tracespool/buf.h"
#include "tracespool/map.h"
#include "tracespool/rows.h"

enum candle_kind {
	CANDLE_META,
	CANDLE_SPAN_START,
	CANDLE_SPAN_END,
	CANDLE_OP,
	CANDLE_TENSOR,
	CANDLE_TENSOR_STATS,
	CANDLE_MEMORY,
	CANDLE_DEVICE_MEMORY,
	CANDLE_DEVICE_INTERVAL,
	CANDLE_GRADIENT,
	CANDLE_EDGE,
	CANDLE_TERMINAL,
	CANDLE_KIND_COUNT
};

/* The record kinds, in the order of enum candle_kind. That of an edge has no fields but
 * `edge_kind`: candle_edges has those of the two edge kinds. */
struct candle_record {
	const char *kind;
	const struct field_table *table;
};

extern const struct candle_record candle_records[CANDLE_KIND_COUNT];

enum candle_edge_kind { CANDLE_EDGE_CALL, CANDLE_EDGE_DATA, CANDLE_EDGE_KIND_COUNT };

extern const struct candle_record candle_edges[CANDLE_EDGE_KIND_COUNT];

struct candle_span_end {
	struct field_marks marks;
	struct ts_str id;
	uint64_t duration_ns;
};

/* Meta with its nested objects, before they become JSON texts. */
struct candle_gradient_contract {
	struct field_marks marks;
	struct ts_str manifest_sha256;
	struct field_list expected; /* of struct candle_expected */
	struct field_list families; /* of struct candle_family */
};

struct candle_expected {
	struct field_marks marks;
	struct ts_str root, key, family;
};

struct candle_family {
	struct field_marks marks;
	struct ts_str family, expectation;
	uint64_t min_present;
};

struct candle_contract {
	struct field_marks marks;
	struct ts_str measurement_scope, operations, tensors, gradients;
	struct candle_gradient_contract gradient_contract;
	struct ts_str logical_memory, physical_memory, device_timing;
	struct ts_str required_semantic_labels, gpu_expected_semantic_labels,
		cpu_only_semantic_labels;
};

struct candle_identity {
	struct field_marks marks;
	struct ts_str workload_id, model_id, config_id, data_id, seed_policy, precision,
		device_state;
	uint64_t physical_batch, accumulation_steps;
	struct ts_str implementation_id, pair_id;
};

struct candle_meta_record {
	struct row_meta row; /* first: its marks are those of the table */
	struct candle_contract contract;
	struct candle_identity identity;
};

extern const struct field_table candle_meta;

/* A record of any kind. */
union candle_row {
	struct candle_meta_record meta;
	struct row_span span_start;
	struct candle_span_end span_end;
	struct row_op op;
	struct row_tensor tensor;
	struct row_tensor_stats tensor_stats;
	struct row_memory memory;
	struct row_device_memory device_memory;
	struct row_device_interval device_interval;
	struct row_gradient gradient;
	struct row_edge edge;
	struct row_terminal terminal;
};

/* Reads the line's record. Errors are those of candle-trace.md 3 and 4, without the line's place
 * but for bad_json. The values live in space, or in the line. */
int candle_decode(const struct line_json *text, struct field_space *space,
		  enum candle_kind *ret_kind, union candle_row *ret, struct ts_error *err);

/* Fills the two JSON texts of meta->row, the contract and the identity in the form of an export
 * (candle-trace.md 15). They live in out. 0, or -1 without memory. */
int candle_meta_texts(struct candle_meta_record *meta, struct buf *out, struct ts_error *err);

/* The element size of a dtype, 0 if it is not known (candle-trace.md 8). */
uint64_t candle_dtype_bytes(struct ts_str dtype);

/* What is known of each span, by id (candle-trace.md 6). */
struct candle_spans {
	struct strmap ids; /* of spans and of parents that were named */
	struct candle_span *of;
	size_t cap;
	uint64_t started;
};

void candle_spans_done(struct candle_spans *s);

/* span_start: sets row->no. Errors: duplicate_span_start, no memory. */
int candle_spans_start(struct candle_spans *s, struct row_span *row, struct ts_error *err);

/* span_end. Errors: span_end_unknown, duplicate_span_end. */
int candle_spans_end(struct candle_spans *s, const struct candle_span_end *end,
		     struct ts_error *err);

/* The latest time of a span, 0 without spans (candle-trace.md 7.3). */
uint64_t candle_spans_latest(const struct candle_spans *s);

/* One ROW_SPAN_TIME for each span, in the order of no. */
int candle_spans_finish(const struct candle_spans *s, struct sink *sink, struct ts_error *err);

#endif
