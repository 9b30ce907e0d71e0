/* lists_captures.c: the list of recordings (http-api.md 4.4) */
#include "tracespool/capture.h"

/* The sum is one of counts of requests, each below 2^32. A segment that is broken in itself is not
 * broken across segments: those count with a mode, or a block size, of their own only. */
#define CAPTURES                                                                                   \
	"(select s.capture as name, count(*) as segments, sum(r.requests) as requests, "           \
	"min(r.first_start_ms) as first_start_ms, max(s.last_end_ms) as last_end_ms, "             \
	"max(r.ingested_ms) as newest_ms, min(s.run_no) as no, max(s.run_no) as newest_no, "       \
	"case when sum(r.mode = 'mixed') = 0 and count(distinct r.mode) > 1 "                      \
	"then 'mixed_agent_context' "                                                              \
	"when count(r.trace_block_size) = count(*) and count(distinct r.trace_block_size) > 1 "    \
	"then 'mixed_block_size' end as breach "                                                   \
	"from segments s join runs r on r.no = s.run_no group by s.capture) c"

static const struct list_column columns[] = {
	{"name", LIST_TEXT, "c.name", NULL, false},
	{"segments", LIST_U64, "c.segments", NULL, false},
	{"requests", LIST_U64, "c.requests", NULL, false},
	{"first_start_ms", LIST_U64, "c.first_start_ms", NULL, false},
	{"last_end_ms", LIST_U64, "c.last_end_ms", NULL, false},
	{CAPTURE_NUMBERS, LIST_HIDDEN,
	 "(select group_concat(n.number) from (select s.number from segments s "
	 "where s.capture = c.name and s.run_no is not null order by s.number) n)",
	 NULL, false},
	{CAPTURE_NEWEST_MS, LIST_HIDDEN, "c.newest_ms", NULL, false},
	{CAPTURE_NEWEST_NO, LIST_HIDDEN, "c.newest_no", NULL, false},
	{CAPTURE_BREACH, LIST_HIDDEN, "c.breach", NULL, false},
	{NULL, LIST_HIDDEN, NULL, NULL, false},
};

static const struct list_filter filters[] = {
	{NULL, LIST_EQ, LIST_TEXT, NULL, NULL, NULL},
};

static const struct list_sort sorts[] = {
	{"name", {"c.name"}, false},
	{"segments", {"c.segments", "c.name"}, false},
	{"requests", {"c.requests", "c.name"}, false},
	{"first_start_ms", {"c.first_start_ms", "c.name"}, false},
	{"last_end_ms", {"c.last_end_ms", "c.name"}, true},
	{NULL, {NULL}, false},
};

const struct list list_captures = {
	.name = "captures",
	.schema = "tracespool/capture-list/1",
	.from = CAPTURES,
	.columns = columns,
	.filters = filters,
	.sorts = sorts,
	.row_number = "c.no",
};
