/* candle_fields.c: field tables of the record kinds of execution traces, tensor size rule
 *
 * The tables are those of candle-trace.md 5, in its order: that is also the order in which
 * broken rules are looked for.
 */
#include "candle.h"

#include "candle_tables.h"

static const char *const span_kinds[] = {"function", "op", "module", NULL};
static const char *const steps[] = {"forward", "backward", "optimizer", NULL};
static const char *const categories[] = {"parameter", "activation", "gradient",
					 "optimizer", "other",      NULL};
static const char *const actions[] = {"alloc", "free", NULL};
static const char *const gradient_states[] = {"present", "missing", "zero", "non_finite", NULL};
static const char *const outcomes[] = {"complete", "failed", NULL};

static const struct field span_start_fields[] = {
	CHOOSER("kind"),
	REQUIRED(FIELD_STRING, struct row_span, id),
	NULLABLE(FIELD_STRING, struct row_span, parent_id),
	REQUIRED(FIELD_STRING, struct row_span, name),
	REQUIRED(FIELD_U64, struct row_span, start_ns),
	WORD(struct row_span, span_kind, span_kinds, FIELD_REQUIRED, NULL),
	OPTIONAL(FIELD_BOOL, struct row_span, measured),
	WORD(struct row_span, step, steps, FIELD_NULLABLE, NULL),
};
static TABLE(span_start, struct row_span);

static const struct field span_end_fields[] = {
	CHOOSER("kind"),
	REQUIRED(FIELD_STRING, struct candle_span_end, id),
	OPTIONAL(FIELD_U64, struct candle_span_end, duration_ns),
};
static TABLE(span_end, struct candle_span_end);

static const struct field op_fields[] = {
	CHOOSER("kind"),
	REQUIRED(FIELD_STRING, struct row_op, span_id),
	REQUIRED(FIELD_STRING, struct row_op, op_name),
	STRINGS(struct row_op, inputs),
	NULLABLE(FIELD_STRING, struct row_op, output),
	REQUIRED(FIELD_SHAPE, struct row_op, shape),
	REQUIRED(FIELD_STRING, struct row_op, dtype),
	REQUIRED(FIELD_STRING, struct row_op, device),
	REQUIRED(FIELD_U64, struct row_op, duration_ns),
	OPTIONAL(FIELD_U64, struct row_op, timestamp_ns),
	NULLABLE(FIELD_OPT_U64, struct row_op, output_dense_bytes),
	REQUIRED(FIELD_U64, struct row_op, input_dense_bytes),
};
static TABLE(op, struct row_op);

static const struct field tensor_fields[] = {
	CHOOSER("kind"),
	REQUIRED(FIELD_STRING, struct row_tensor, span_id),
	REQUIRED(FIELD_STRING, struct row_tensor, tensor_id),
	NULLABLE(FIELD_STRING, struct row_tensor, label),
	REQUIRED(FIELD_SHAPE, struct row_tensor, shape),
	REQUIRED(FIELD_STRING, struct row_tensor, dtype),
	REQUIRED(FIELD_STRING, struct row_tensor, device),
	OPTIONAL(FIELD_BOOL, struct row_tensor, requires_grad),
	NULLABLE(FIELD_OPT_U64, struct row_tensor, dense_bytes),
	WORD(struct row_tensor, category, categories, 0, "other"),
};
static TABLE(tensor, struct row_tensor);

static const struct field tensor_stats_fields[] = {
	CHOOSER("kind"),
	REQUIRED(FIELD_STRING, struct row_tensor_stats, span_id),
	REQUIRED(FIELD_STRING, struct row_tensor_stats, label),
	REQUIRED(FIELD_SHAPE, struct row_tensor_stats, shape),
	REQUIRED(FIELD_STRING, struct row_tensor_stats, dtype),
	REQUIRED(FIELD_U64, struct row_tensor_stats, elements),
	REQUIRED(FIELD_U64, struct row_tensor_stats, non_finite),
	REQUIRED(FIELD_DOUBLE, struct row_tensor_stats, rms),
	REQUIRED(FIELD_DOUBLE, struct row_tensor_stats, abs_max),
	REQUIRED(FIELD_DOUBLE, struct row_tensor_stats, mean),
};
static TABLE(tensor_stats, struct row_tensor_stats);

static const struct field memory_fields[] = {
	CHOOSER("kind"),
	REQUIRED(FIELD_U64, struct row_memory, timestamp_ns),
	REQUIRED(FIELD_STRING, struct row_memory, storage_id),
	REQUIRED(FIELD_STRING, struct row_memory, tensor_id),
	REQUIRED(FIELD_STRING, struct row_memory, span_id),
	NULLABLE(FIELD_STRING, struct row_memory, op_name),
	REQUIRED(FIELD_STRING, struct row_memory, device),
	REQUIRED(FIELD_U64, struct row_memory, bytes),
	WORD(struct row_memory, action, actions, FIELD_REQUIRED, NULL),
	OPTIONAL(FIELD_SHAPE, struct row_memory, shape),
	REQUIRED(FIELD_STRING, struct row_memory, dtype),
	WORD(struct row_memory, category, categories, 0, "other"),
};
static TABLE(memory, struct row_memory);

static const struct field device_memory_fields[] = {
	CHOOSER("kind"),
	REQUIRED(FIELD_U64, struct row_device_memory, timestamp_ns),
	REQUIRED(FIELD_STRING, struct row_device_memory, device),
	NULLABLE(FIELD_OPT_U64, struct row_device_memory, used_bytes),
	NULLABLE(FIELD_OPT_U64, struct row_device_memory, free_bytes),
	NULLABLE(FIELD_OPT_U64, struct row_device_memory, reserved_bytes),
	NULLABLE(FIELD_OPT_U64, struct row_device_memory, capacity_bytes),
};
static TABLE(device_memory, struct row_device_memory);

static const struct field device_interval_fields[] = {
	CHOOSER("kind"),
	REQUIRED(FIELD_STRING, struct row_device_interval, span_id),
	REQUIRED(FIELD_STRING, struct row_device_interval, device),
	REQUIRED(FIELD_STRING, struct row_device_interval, stream_id),
	REQUIRED(FIELD_STRING, struct row_device_interval, clock_id),
	REQUIRED(FIELD_STRING, struct row_device_interval, backend),
	REQUIRED(FIELD_U64, struct row_device_interval, start_ns),
	REQUIRED(FIELD_U64, struct row_device_interval, duration_ns),
};
static TABLE(device_interval, struct row_device_interval);

static const struct field gradient_fields[] = {
	CHOOSER("kind"),
	REQUIRED(FIELD_STRING, struct row_gradient, event_id),
	REQUIRED(FIELD_STRING, struct row_gradient, root),
	REQUIRED(FIELD_STRING, struct row_gradient, key),
	WORD(struct row_gradient, state, gradient_states, FIELD_REQUIRED, NULL),
	NULLABLE(FIELD_OPT_DOUBLE, struct row_gradient, norm),
};
static TABLE(gradient, struct row_gradient);

/* An edge whose edge_kind was not read: only that is looked at. */
static const struct field edge_fields[] = {
	CHOOSER("kind"),
	CHOOSER("edge_kind"),
};
static TABLE(edge, struct row_edge);

static const struct field call_edge_fields[] = {
	CHOOSER("kind"),
	CHOOSER("edge_kind"),
	REQUIRED(FIELD_STRING, struct row_edge, from_span),
	REQUIRED(FIELD_STRING, struct row_edge, to_span),
	REQUIRED(FIELD_OPT_U64, struct row_edge, host_duration_ns),
};
static TABLE(call_edge, struct row_edge);

static const struct field data_edge_fields[] = {
	CHOOSER("kind"),
	CHOOSER("edge_kind"),
	REQUIRED(FIELD_STRING, struct row_edge, from_tensor),
	REQUIRED(FIELD_STRING, struct row_edge, to_tensor),
};
static TABLE(data_edge, struct row_edge);

static const struct field terminal_fields[] = {
	CHOOSER("kind"),
	WORD(struct row_terminal, outcome, outcomes, FIELD_REQUIRED, NULL),
	REQUIRED(FIELD_U64, struct row_terminal, timestamp_ns),
	NULLABLE(FIELD_STRING, struct row_terminal, reason),
};
static TABLE(terminal, struct row_terminal);

const struct candle_record candle_records[CANDLE_KIND_COUNT] = {
	[CANDLE_META] = {"meta", &candle_meta},
	[CANDLE_SPAN_START] = {"span_start", &span_start},
	[CANDLE_SPAN_END] = {"span_end", &span_end},
	[CANDLE_OP] = {"op", &op},
	[CANDLE_TENSOR] = {"tensor", &tensor},
	[CANDLE_TENSOR_STATS] = {"tensor_stats", &tensor_stats},
	[CANDLE_MEMORY] = {"memory", &memory},
	[CANDLE_DEVICE_MEMORY] = {"device_memory", &device_memory},
	[CANDLE_DEVICE_INTERVAL] = {"device_interval", &device_interval},
	[CANDLE_GRADIENT] = {"gradient", &gradient},
	[CANDLE_EDGE] = {"edge", &edge},
	[CANDLE_TERMINAL] = {"terminal", &terminal},
};

const struct candle_record candle_edges[CANDLE_EDGE_KIND_COUNT] = {
	[CANDLE_EDGE_CALL] = {"call", &call_edge},
	[CANDLE_EDGE_DATA] = {"data", &data_edge},
};

uint64_t candle_dtype_bytes(struct ts_str dtype)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} sizes[] = {
		{"f32", 4},  {"bf16", 2}, {"f16", 2}, {"u8", 1},  {"i8", 1},
		{"bool", 1}, {"f8", 1},   {"u16", 2}, {"i16", 2}, {"u32", 4},
		{"i32", 4},  {"u64", 8},  {"i64", 8}, {"f64", 8},
	};
	char lower[8];

	dtype = text_trim(dtype);
	if (dtype.n >= sizeof(lower))
		return 0;
	for (size_t i = 0; i < dtype.n; i++)
		lower[i] = dtype.p[i] >= 'A' && dtype.p[i] <= 'Z' ? (char)(dtype.p[i] + 32)
								  : dtype.p[i];
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (ts_str_is(ts_str(lower, dtype.n), sizes[i].name))
			return sizes[i].bytes;
	return 0;
}
