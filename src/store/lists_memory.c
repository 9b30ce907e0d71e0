/* lists_memory.c: the list of memory records of an execution run (http-api.md 3.6) */
#include "tracespool/list.h"

static const char *const categories[] = {"parameter", "activation", "gradient",
					 "optimizer", "other",      NULL};
static const char *const actions[] = {"alloc", "free", NULL};

static const struct list_column memory_columns[] = {
	{"timestamp_ns", LIST_U64, "m.timestamp_ns", NULL, false},
	{"storage_id", LIST_TEXT, "m.storage_id", NULL, false},
	{"tensor_id", LIST_TEXT, "m.tensor_id", NULL, false},
	{"span_id", LIST_TEXT, "m.span_id", NULL, false},
	{"op_name", LIST_TEXT, "m.op_name", NULL, false},
	{"device", LIST_TEXT, "m.device", NULL, false},
	{"bytes", LIST_U64, "m.bytes", NULL, false},
	{"action", LIST_TEXT, "m.action", NULL, false},
	{"shape", LIST_JSON, "m.shape", NULL, false},
	{"dtype", LIST_TEXT, "m.dtype", NULL, false},
	{"category", LIST_TEXT, "m.category", NULL, false},
	{NULL, LIST_HIDDEN, NULL, NULL, false},
};

static const struct list_filter memory_filters[] = {
	{"device", LIST_EQ, LIST_TEXT, "m.device", NULL, NULL},
	{"category", LIST_EQ, LIST_TEXT, "m.category", categories, NULL},
	{"action", LIST_EQ, LIST_TEXT, "m.action", actions, NULL},
	{"span_id", LIST_EQ, LIST_TEXT, "m.span_id", NULL, NULL},
	{NULL, LIST_EQ, LIST_TEXT, NULL, NULL, NULL},
};

static const struct list_sort memory_sorts[] = {
	{"timestamp_ns", {"m.timestamp_ns", "m.rowid"}, false},
	{NULL, {NULL}, false},
};

const struct list list_memory_events = {
	.name = "memory",
	.schema = "tracespool/memory-event-list/1",
	.from = "memory_rows m",
	.columns = memory_columns,
	.filters = memory_filters,
	.sorts = memory_sorts,
	.row_number = "m.rowid",
};
