/* lists_records.c: the lists of the records of an execution run, in file order (http-api.md 3.7) */
#include "tracespool/list.h"

/* One order, the file's; it goes along the rows, so a page costs the same anywhere in a run. */
#define FILE_ORDER(name, rowid)                                                                    \
	static const struct list_sort name[] = {                                                   \
		{"file", {rowid}, false},                                                          \
		{NULL, {NULL}, false},                                                             \
	}
#define COLUMNS_END                                                                                \
	{                                                                                          \
		NULL, LIST_HIDDEN, NULL, NULL, false                                               \
	}
#define FILTERS_END                                                                                \
	{                                                                                          \
		NULL, LIST_EQ, LIST_TEXT, NULL, NULL, NULL                                         \
	}

static const struct list_column tensor_columns[] = {
	{"span_id", LIST_TEXT, "t.span_id", NULL, false},
	{"tensor_id", LIST_TEXT, "t.tensor_id", NULL, false},
	{"label", LIST_TEXT, "t.label", NULL, false},
	{"shape", LIST_JSON, "t.shape", NULL, false},
	{"dtype", LIST_TEXT, "t.dtype", NULL, false},
	{"device", LIST_TEXT, "t.device", NULL, false},
	{"requires_grad", LIST_BOOL, "t.requires_grad", NULL, false},
	{"dense_bytes", LIST_U64, "t.dense_bytes", NULL, false},
	{"category", LIST_TEXT, "t.category", NULL, false},
	COLUMNS_END,
};

static const struct list_filter tensor_filters[] = {
	{"label", LIST_EQ, LIST_TEXT, "coalesce(t.label, t.tensor_id)", NULL, NULL},
	{"label_prefix", LIST_PREFIX, LIST_TEXT, "coalesce(t.label, t.tensor_id)", NULL, NULL},
	{"span_id", LIST_EQ, LIST_TEXT, "t.span_id", NULL, NULL},
	{"device", LIST_EQ, LIST_TEXT, "t.device", NULL, NULL},
	FILTERS_END,
};

FILE_ORDER(tensor_sorts, "t.rowid");

const struct list list_tensors = {
	.name = "tensors",
	.schema = "tracespool/tensor-list/1",
	.from = "tensor_rows t",
	.columns = tensor_columns,
	.filters = tensor_filters,
	.sorts = tensor_sorts,
	.row_number = "t.rowid",
	.one_way = true,
};

static const struct list_column stats_columns[] = {
	{"span_id", LIST_TEXT, "s.span_id", NULL, false},
	{"label", LIST_TEXT, "s.label", NULL, false},
	{"shape", LIST_JSON, "s.shape", NULL, false},
	{"dtype", LIST_TEXT, "s.dtype", NULL, false},
	{"elements", LIST_U64, "s.elements", NULL, false},
	{"non_finite", LIST_U64, "s.non_finite", NULL, false},
	{"rms", LIST_DOUBLE, "s.rms", NULL, false},
	{"abs_max", LIST_DOUBLE, "s.abs_max", NULL, false},
	{"mean", LIST_DOUBLE, "s.mean", NULL, false},
	COLUMNS_END,
};

static const struct list_filter stats_filters[] = {
	{"label", LIST_EQ, LIST_TEXT, "s.label", NULL, NULL},
	{"label_prefix", LIST_PREFIX, LIST_TEXT, "s.label", NULL, NULL},
	{"non_finite", LIST_SQL, LIST_BOOL, "s.non_finite <> 0", NULL, NULL},
	FILTERS_END,
};

FILE_ORDER(stats_sorts, "s.rowid");

const struct list list_tensor_stats = {
	.name = "tensor-stats",
	.schema = "tracespool/tensor-stats-list/1",
	.from = "tensor_stats_rows s",
	.columns = stats_columns,
	.filters = stats_filters,
	.sorts = stats_sorts,
	.row_number = "s.rowid",
	.one_way = true,
};

static const struct list_column gradient_columns[] = {
	{"event_id", LIST_TEXT, "g.event_id", NULL, false},
	{"root", LIST_TEXT, "g.root", NULL, false},
	{"key", LIST_TEXT, "g.key", NULL, false},
	{"state", LIST_TEXT, "g.state", NULL, false},
	{"norm", LIST_DOUBLE, "g.norm", NULL, false},
	COLUMNS_END,
};

static const char *const gradient_states[] = {"present", "missing", "zero", "non_finite", NULL};

/* The key or the text root/key begins with the value; as blobs, since texts may hold U+0000. */
static const char key_prefix[] = "exists (select 1 from (select cast(? as blob) as v) where "
				 "substr(cast(g.key as blob), 1, length(v)) = v or "
				 "substr(cast(g.root || '/' || g.key as blob), 1, length(v)) = v)";

static const struct list_filter gradient_filters[] = {
	{"state", LIST_EQ, LIST_TEXT, "g.state", gradient_states, NULL},
	{"root", LIST_EQ, LIST_TEXT, "g.root", NULL, NULL},
	{"key_prefix", LIST_SQL, LIST_TEXT, key_prefix, NULL, NULL},
	FILTERS_END,
};

FILE_ORDER(gradient_sorts, "g.rowid");

const struct list list_gradients = {
	.name = "gradients",
	.schema = "tracespool/gradient-list/1",
	.from = "gradient_rows g",
	.columns = gradient_columns,
	.filters = gradient_filters,
	.sorts = gradient_sorts,
	.row_number = "g.rowid",
	.one_way = true,
};

static const struct list_column edge_columns[] = {
	{"edge_kind", LIST_TEXT, "e.edge_kind", NULL, false},
	{"from_span", LIST_TEXT, "e.from_span", NULL, false},
	{"to_span", LIST_TEXT, "e.to_span", NULL, false},
	{"from_tensor", LIST_TEXT, "e.from_tensor", NULL, false},
	{"to_tensor", LIST_TEXT, "e.to_tensor", NULL, false},
	{"host_duration_ns", LIST_U64, "e.host_duration_ns", NULL, false},
	COLUMNS_END,
};

static const char *const edge_kinds[] = {"call", "data", NULL};

static const struct list_filter edge_filters[] = {
	{"edge_kind", LIST_EQ, LIST_TEXT, "e.edge_kind", edge_kinds, NULL},
	FILTERS_END,
};

FILE_ORDER(edge_sorts, "e.rowid");

const struct list list_edges = {
	.name = "edges",
	.schema = "tracespool/edge-list/1",
	.from = "edge_rows e",
	.columns = edge_columns,
	.filters = edge_filters,
	.sorts = edge_sorts,
	.row_number = "e.rowid",
	.one_way = true,
};

static const struct list_column interval_columns[] = {
	{"span_id", LIST_TEXT, "i.span_id", NULL, false},
	{"device", LIST_TEXT, "i.device", NULL, false},
	{"stream_id", LIST_TEXT, "i.stream_id", NULL, false},
	{"clock_id", LIST_TEXT, "i.clock_id", NULL, false},
	{"backend", LIST_TEXT, "i.backend", NULL, false},
	{"start_ns", LIST_U64, "i.start_ns", NULL, false},
	{"duration_ns", LIST_U64, "i.duration_ns", NULL, false},
	COLUMNS_END,
};

static const struct list_filter interval_filters[] = {
	{"device", LIST_EQ, LIST_TEXT, "i.device", NULL, NULL},
	{"stream_id", LIST_EQ, LIST_TEXT, "i.stream_id", NULL, NULL},
	FILTERS_END,
};

FILE_ORDER(interval_sorts, "i.rowid");

const struct list list_device_intervals = {
	.name = "device-intervals",
	.schema = "tracespool/device-interval-list/1",
	.from = "device_interval_rows i",
	.columns = interval_columns,
	.filters = interval_filters,
	.sorts = interval_sorts,
	.row_number = "i.rowid",
	.one_way = true,
};
