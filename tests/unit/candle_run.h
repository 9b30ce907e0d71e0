/* candle_run.h: an execution trace through lines and format, with a sink that looks at each row */
#ifndef TESTS_CANDLE_RUN_H
#define TESTS_CANDLE_RUN_H

#include <check.h>

#include "tracespool/format.h"

/* What a trace gave. */
struct candle_run {
	struct sink sink; /* first */
	bool ok;
	struct ts_error err;
	struct trace_counts counts;
	uint64_t rows[ROW_KIND_COUNT];
	/* counted from the rows */
	uint64_t closed, roots, allocs, frees, call_edges, data_edges;
	char schema[64], run_id[600], outcome[16];
	/* Sees each row; may be NULL. */
	void (*look)(struct candle_run *run, enum row_kind kind, const void *row);
};

/* run->look is set or NULL; the rest is filled. */
void candle_run_bytes(struct candle_run *run, const void *bytes, size_t n);
void candle_run_text(struct candle_run *run, const char *text);
void candle_run_fd(struct candle_run *run, int fd);

/* Fails the test unless the text ends so. line 0 and event -1: none. */
void assert_refused(const char *text, const char *code, uint64_t line, int64_t event);
void assert_accepted(const char *text);

void add_candle_row_tests(TCase *t);

/* The trace of candle-trace.md 20.1, record by record. */
#define META_HEAD                                                                                  \
	"{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"run-heron-17\","     \
	"\"correlation_id\":\"heron/5\",\"entrypoint\":\"heron::infer\",\"phase\":\"infer\","      \
	"\"timestamp\":\"2026-03-01T10:00:00Z\",\"capture_step\":5,\"warmup_steps\":4,"            \
	"\"device\":\"cpu\",\"timing_mode\":\"host\",\"capture_contract\":{"                       \
	"\"measurement_scope\":\"profiled_work\",\"operations\":\"partial\","                      \
	"\"logical_memory\":\"complete\",\"physical_memory\":\"none\",\"device_timing\":\"none\"}"
#define META META_HEAD ",\"tags\":{}}\n"
#define START0                                                                                     \
	"{\"kind\":\"span_start\",\"id\":\"s0\",\"name\":\"capture\",\"start_ns\":0,"              \
	"\"span_kind\":\"function\"}\n"
#define START1                                                                                     \
	"{\"kind\":\"span_start\",\"id\":\"s1\",\"parent_id\":\"s0\",\"name\":\"call\","           \
	"\"start_ns\":10,\"span_kind\":\"function\",\"measured\":true}\n"
#define OP                                                                                         \
	"{\"kind\":\"op\",\"span_id\":\"s1\",\"op_name\":\"matmul\",\"inputs\":[\"x\",\"w\"],"     \
	"\"output\":\"y\",\"shape\":[8,4],\"dtype\":\"F32\",\"device\":\"cpu\","                   \
	"\"duration_ns\":30,\"timestamp_ns\":20,\"input_dense_bytes\":192}\n"
#define MEMORY(time, action)                                                                       \
	"{\"kind\":\"memory\",\"timestamp_ns\":" time ",\"storage_id\":\"m1\","                    \
	"\"tensor_id\":\"y\",\"span_id\":\"s1\",\"device\":\"cpu\",\"bytes\":128,"                 \
	"\"action\":\"" action "\",\"dtype\":\"f32\"}\n"
#define END1 "{\"kind\":\"span_end\",\"id\":\"s1\",\"duration_ns\":60}\n"
#define END0 "{\"kind\":\"span_end\",\"id\":\"s0\",\"duration_ns\":80}\n"
#define TERMINAL "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":80}\n"
#define BODY START0 START1 OP MEMORY("20", "alloc") MEMORY("60", "free")
#define TRACE META BODY END1 END0 TERMINAL

#define STATS_HEAD "{\"kind\":\"tensor_stats\",\"span_id\":\"s0\",\"dtype\":\"f32\","
#define STATS                                                                                      \
	STATS_HEAD "\"label\":\"out\",\"shape\":[2,3],\"elements\":6,\"non_finite\":6,"            \
		   "\"rms\":0,\"abs_max\":-0.0,\"mean\":-1.5}\n"

#endif
