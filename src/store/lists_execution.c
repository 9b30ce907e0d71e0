/* lists_execution.c: the lists of spans, ops and groups of ops of an execution run
 * (http-api.md 3.4, 3.5)
 */
#include "tracespool/list.h"

static const struct list_column span_columns[] = {
	{"id", LIST_TEXT, "s.id", NULL, false},
	{"parent_id", LIST_TEXT, "s.parent_id", NULL, false},
	{"name", LIST_TEXT, "s.name", NULL, false},
	{"span_kind", LIST_TEXT, "s.span_kind", NULL, false},
	{"measured", LIST_BOOL, "s.measured", NULL, false},
	{"step", LIST_TEXT, "s.step", NULL, false},
	{"start_ns", LIST_U64, "f.start_ns", NULL, false},
	{"duration_ns", LIST_U64, "f.duration_ns", NULL, false},
	{"closed", LIST_BOOL, "f.closed", NULL, false},
	{"depth", LIST_U64, "f.depth", NULL, false},
	{"child_count", LIST_U64, "f.child_count", NULL, false},
	{"op_count", LIST_U64, "f.op_count", NULL, false},
	{"self_ns", LIST_U64, "f.self_ns", NULL, false},
	{"allocated_bytes", LIST_U64, "m.allocated_bytes", NULL, false},
	{"peak_live_bytes", LIST_U64, "m.peak_live_bytes", NULL, false},
	{"residual_bytes", LIST_U64, "m.residual_bytes", NULL, false},
	{NULL, LIST_HIDDEN, NULL, NULL, false},
};

static const char *const span_kinds[] = {"function", "op", "module", NULL};
static const char *const steps[] = {"forward", "backward", "optimizer", NULL};

/* What is below a span has a range of numbers. */
#define BORDER(column)                                                                             \
	"(select r." column " from span_rows q join span_figure_rows r on r.no = q.no "            \
	"where q.id = ?)"

static const struct list_filter span_filters[] = {
	{"root", LIST_SQL, LIST_TEXT,
	 "f.tree_no between " BORDER("tree_first") " and " BORDER("tree_last"), NULL, NULL},
	{"max_depth", LIST_MAX, LIST_U64, "f.depth", NULL, NULL},
	{"min_duration_ns", LIST_MIN, LIST_U64, "f.duration_ns", NULL, NULL},
	{"name", LIST_EQ, LIST_TEXT, "s.name", NULL, NULL},
	{"name_prefix", LIST_PREFIX, LIST_TEXT, "s.name", NULL, NULL},
	{"span_kind", LIST_EQ, LIST_TEXT, "s.span_kind", span_kinds, NULL},
	{"step", LIST_EQ, LIST_TEXT, "s.step", steps, NULL},
	{"measured", LIST_SQL, LIST_BOOL, "s.measured", NULL, NULL},
	{NULL, LIST_EQ, LIST_TEXT, NULL, NULL, NULL},
};

static const struct list_sort span_sorts[] = {
	{"start_ns", {"f.start_ns", "f.depth", "f.id_order"}, false},
	{"-duration_ns", {"f.duration_ns", "f.id_order"}, false},
	{"-self_ns", {"f.self_ns", "f.id_order"}, true},
	{NULL, {NULL}, false},
};

const struct list list_spans = {
	.name = "spans",
	.schema = "tracespool/span-list/1",
	.from = "span_figure_rows f join span_rows s on s.no = f.no "
		"left join span_memory_rows m on m.no = f.no",
	.count_from = "span_figure_rows",
	.columns = span_columns,
	.filters = span_filters,
	.sorts = span_sorts,
	.row_number = "f.no",
};

static const struct list_column op_columns[] = {
	{"span_id", LIST_TEXT, "o.span_id", NULL, false},
	{"op_name", LIST_TEXT, "o.op_name", NULL, false},
	{"inputs", LIST_JSON, "o.inputs", NULL, false},
	{"output", LIST_TEXT, "o.output", NULL, false},
	{"shape", LIST_JSON, "o.shape", NULL, false},
	{"dtype", LIST_TEXT, "o.dtype", NULL, false},
	{"device", LIST_TEXT, "o.device", NULL, false},
	{"timestamp_ns", LIST_U64, "o.timestamp_ns", NULL, false},
	{"duration_ns", LIST_U64, "o.duration_ns", NULL, false},
	{"output_dense_bytes", LIST_U64, "o.output_dense_bytes", NULL, false},
	{"input_dense_bytes", LIST_U64, "o.input_dense_bytes", NULL, false},
	{NULL, LIST_HIDDEN, NULL, NULL, false},
};

static const struct list_filter op_filters[] = {
	{"op_name", LIST_EQ, LIST_TEXT, "o.op_name", NULL, NULL},
	{"span_id", LIST_EQ, LIST_TEXT, "o.span_id", NULL, NULL},
	{"device", LIST_EQ, LIST_TEXT, "o.device", NULL, NULL},
	{"dtype", LIST_EQ, LIST_TEXT, "o.dtype", NULL, NULL},
	{"min_duration_ns", LIST_MIN, LIST_U64, "o.duration_ns", NULL, NULL},
	{NULL, LIST_EQ, LIST_TEXT, NULL, NULL, NULL},
};

/* Equal durations stand as in the view slow-ops. */
static const struct list_sort op_sorts[] = {
	{"timestamp_ns", {"o.timestamp_ns", "o.rowid"}, false},
	{"-duration_ns", {"o.duration_ns", "o.span_id", "o.rowid"}, false},
	{NULL, {NULL}, false},
};

const struct list list_ops = {
	.name = "ops",
	.schema = "tracespool/op-list/1",
	.from = "op_rows o",
	.columns = op_columns,
	.filters = op_filters,
	.sorts = op_sorts,
	.row_number = "o.rowid",
};

static const struct list_column group_columns[] = {
	{"key", LIST_TEXT, "g.key", NULL, false},
	{"op_count", LIST_U64, "g.op_count", NULL, false},
	{"total_ns", LIST_U64, "g.total_ns", NULL, false},
	{"mean_ns", LIST_DOUBLE, "g.mean_ns", NULL, false},
	{"max_ns", LIST_U64, "g.max_ns", NULL, false},
	{"share_ratio", LIST_DOUBLE, "g.share_ratio", NULL, false},
	{"output_dense_bytes", LIST_U64, "g.output_dense_bytes", NULL, false},
	{NULL, LIST_HIDDEN, NULL, NULL, false},
};

static const char *const dimensions[] = {"op_name", "device", "dtype", "span_id", "shape", NULL};

static const struct list_filter group_filters[] = {
	{"group_by", LIST_EQ, LIST_TEXT, "g.dimension", dimensions, NULL},
	{NULL, LIST_EQ, LIST_TEXT, NULL, NULL, NULL},
};

static const struct list_sort group_sorts[] = {
	{"-total_ns", {"g.total_ns", "g.key"}, false},
	{"-op_count", {"g.op_count", "g.key"}, false},
	{"-max_ns", {"g.max_ns", "g.key"}, false},
	{"-mean_ns", {"g.mean_ns", "g.key"}, false},
	{"key", {"g.key"}, false},
	{NULL, {NULL}, false},
};

const struct list list_op_groups = {
	.name = "op_groups",
	.schema = "tracespool/op-group-list/1",
	.from = "op_group_rows g",
	.columns = group_columns,
	.filters = group_filters,
	.sorts = group_sorts,
	.row_number = "g.no",
};
