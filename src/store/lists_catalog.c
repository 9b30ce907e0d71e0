/* lists_catalog.c: the lists of the catalog: runs and receipts (http-api.md 3.1, 6.1) */
#include "tracespool/list.h"

static const char *const kinds[] = {"execution", "requests", NULL};
static const char *const phases[] = {"train", "infer", NULL};
static const char *const outcomes[] = {"complete", "failed", NULL};
static const char *const times[] = {"captured", "ingested", NULL};
static const char *const states[] = {"ingested", "duplicate", "quarantined", "failed", NULL};

static const struct list_column run_columns[] = {
	{"id", LIST_TEXT, "r.id", NULL, false},
	{"kind", LIST_TEXT, "r.kind", NULL, false},
	{"digest", LIST_TEXT, "r.digest", NULL, false},
	{"entrypoint", LIST_TEXT, "r.entrypoint", NULL, false},
	{"phase", LIST_TEXT, "r.phase", NULL, false},
	{"device", LIST_TEXT, "r.device", NULL, false},
	{"outcome", LIST_TEXT, "r.outcome", NULL, false},
	{"structurally_valid", LIST_BOOL, "r.structurally_valid", NULL, false},
	{"captured_at", LIST_TIME, "r.captured_ms", NULL, false},
	{"ingested_at", LIST_TIME, "r.ingested_ms", NULL, false},
	{"owner", LIST_TEXT, "r.owner", NULL, false},
	{"tags", LIST_JSON, "r.tags", NULL, false},
	{"total_ns", LIST_U64, "r.total_ns", NULL, false},
	{"span_count", LIST_U64, "r.span_count", NULL, false},
	{"op_count", LIST_U64, "r.op_count", NULL, false},
	{"logical_peak_bytes", LIST_U64, "r.logical_peak_bytes", NULL, false},
	{"requests", LIST_U64, "r.requests", NULL, false},
	{"tools", LIST_U64, "r.tools", NULL, false},
	{"sessions", LIST_U64, "r.sessions", NULL, false},
	{"capture", LIST_TEXT, "r.capture", NULL, false},
	{"pinned", LIST_BOOL, "r.pinned", NULL, false},
	{"no", LIST_HIDDEN, "r.no", NULL, false},
	{NULL, LIST_HIDDEN, NULL, NULL, false},
};

static const struct list_filter run_filters[] = {
	{"kind", LIST_EQ, LIST_TEXT, "r.kind", kinds, NULL},
	{"entrypoint", LIST_EQ, LIST_TEXT, "r.entrypoint", NULL, NULL},
	{"entrypoint_prefix", LIST_PREFIX, LIST_TEXT, "r.entrypoint", NULL, NULL},
	{"phase", LIST_EQ, LIST_TEXT, "r.phase", phases, NULL},
	{"device", LIST_EQ, LIST_TEXT, "r.device", NULL, NULL},
	{"outcome", LIST_EQ, LIST_TEXT, "r.outcome", outcomes, NULL},
	{"valid", LIST_EQ, LIST_BOOL, "r.structurally_valid", NULL, NULL},
	{"tag.", LIST_SQL, LIST_TEXT,
	 "r.no in (select t.run_no from run_tags t where t.key = ? and t.value = ?)", NULL, NULL},
	{"has_tag", LIST_SQL, LIST_TEXT,
	 "r.no in (select t.run_no from run_tags t where t.key = ?)", NULL, NULL},
	{"correlation_id", LIST_EQ, LIST_TEXT, "r.correlation_id", NULL, NULL},
	{"id_prefix", LIST_PREFIX, LIST_TEXT, "r.id", NULL, NULL},
	{"model", LIST_SQL, LIST_TEXT,
	 "r.no in (select m.run_no from run_models m where m.model = ?)", NULL, NULL},
	{"capture", LIST_EQ, LIST_TEXT, "r.capture", NULL, NULL},
	{"owner", LIST_EQ, LIST_TEXT, "r.owner", NULL, NULL},
	{"time", LIST_CHOICE, LIST_TEXT, "", times, NULL},
	{"from", LIST_MIN, LIST_TIME, "r.captured_ms", NULL, "r.ingested_ms"},
	{"to", LIST_BELOW, LIST_TIME, "r.captured_ms", NULL, "r.ingested_ms"},
	{"from_ms", LIST_MIN, LIST_I64, "r.captured_ms", NULL, "r.ingested_ms"},
	{"to_ms", LIST_BELOW, LIST_I64, "r.captured_ms", NULL, "r.ingested_ms"},
	{"min_total_ns", LIST_MIN, LIST_U64, "r.total_ns", NULL, NULL},
	{"max_total_ns", LIST_MAX, LIST_U64, "r.total_ns", NULL, NULL},
	{NULL, LIST_EQ, LIST_TEXT, NULL, NULL, NULL},
};

static const struct list_sort run_sorts[] = {
	{"-captured_at", {"r.captured_ms", "r.id"}, true},
	{"-ingested_at", {"r.ingested_ms", "r.id"}, false},
	{"total_ns", {"r.total_ns", "r.id"}, true},
	{"span_count", {"r.span_count", "r.id"}, true},
	{"op_count", {"r.op_count", "r.id"}, true},
	{"logical_peak_bytes", {"r.logical_peak_bytes", "r.id"}, true},
	{"requests", {"r.requests", "r.id"}, true},
	{"first_start_ms", {"r.first_start_ms", "r.id"}, true},
	{"entrypoint", {"r.entrypoint", "r.id"}, true},
	{"id", {"r.id"}, false},
	{NULL, {NULL}, false},
};

const struct list list_runs = {
	.name = "runs",
	.schema = "tracespool/run-list/1",
	.from = "runs r",
	.columns = run_columns,
	.filters = run_filters,
	.sorts = run_sorts,
	.row_number = "r.no",
};

static const struct list_column receipt_columns[] = {
	{"json", LIST_HIDDEN, "r.json", NULL, false},
	{NULL, LIST_HIDDEN, NULL, NULL, false},
};

static const struct list_filter receipt_filters[] = {
	{"state", LIST_EQ, LIST_TEXT, "r.state", states, NULL},
	{"owner", LIST_EQ, LIST_TEXT, "r.owner", NULL, NULL},
	{"name", LIST_SQL, LIST_TEXT, "r.name = cast(? as blob)", NULL, NULL},
	{"from", LIST_MIN, LIST_TIME, "r.seen_ms", NULL, NULL},
	{"to", LIST_BELOW, LIST_TIME, "r.seen_ms", NULL, NULL},
	{"from_ms", LIST_MIN, LIST_I64, "r.seen_ms", NULL, NULL},
	{"to_ms", LIST_BELOW, LIST_I64, "r.seen_ms", NULL, NULL},
	{NULL, LIST_EQ, LIST_TEXT, NULL, NULL, NULL},
};

/* Numbers are given in the order of the commits. */
static const struct list_sort receipt_sorts[] = {
	{"-no", {"r.no"}, false},
	{NULL, {NULL}, false},
};

const struct list list_receipts = {
	.name = "receipts",
	.schema = "tracespool/receipt-list/1",
	.from = "receipts r",
	.columns = receipt_columns,
	.filters = receipt_filters,
	.sorts = receipt_sorts,
	.row_number = "r.no",
	.one_way = true,
};
