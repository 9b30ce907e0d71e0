/* test_export.c: exports read back to the same run and the same bytes; trace events are strict
 * JSON, nest on every track and have the right times; intervals on tracks
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "candle_random.h"
#include "candle_run.h"
#include "memory_file.h"
#include "request_case.h"
#include "store_bench.h"
#include "tracespool/analyze.h"
#include "tracespool/export.h"
#include "tracespool/util.h"

#include "../../src/export/nest.h"
#include "../../src/store/db.h"

struct loaded {
	struct runfile *rf;
	struct db *db;
	struct buf summary;
};

static struct ts_error err;

static void load(struct loaded *l, const char *text, size_t n, const char *place)
{
	struct input *in = NULL;
	struct lines *lines = NULL;
	struct format_state *st = NULL;
	struct trace_counts counts = {0};
	struct run_record record = {.id = TS_STR("random"), .kind = RUN_EXECUTION};
	struct arena keep = {0};
	struct line line;
	int fd = memory_file(text, n), more;

	ts_error_init(&err);
	*l = (struct loaded){.summary = BUF_INIT};
	l->rf = bench_runfile(NULL, RUN_EXECUTION);
	assert_fine(input_open(fd, false, &test_limits, &in, &err), &err);
	assert_fine(lines_open(in, &test_limits, &lines, &err), &err);
	assert_fine(format_candle.begin(&st, &counts, &err), &err);
	while ((more = lines_next(lines, &line, &err)) > 0)
		if (format_candle.record(st, &line, runfile_sink(l->rf), &err) < 0)
			break;
	ck_assert_msg(!err.code, "%s: line %llu: %s", place, (unsigned long long)err.line,
		      err.message);
	ck_assert_int_eq(more, 0);
	ck_assert_msg(format_candle.finish(st, runfile_sink(l->rf), &err) == 0, "%s: %s", place,
		      err.message);
	format_candle.end(st);
	lines_close(lines);
	input_close(in);
	close(fd);
	assert_fine(runfile_flush(l->rf, &err), &err);
	l->db = runfile_db(l->rf);
	assert_fine(analyze_execution(l->db, &counts, &record, &keep, &l->summary, &err), &err);
	arena_done(&keep);
	assert_fine(runfile_index(l->rf, &err), &err);
}

static void unload(struct loaded *l)
{
	runfile_free(l->rf);
	buf_done(&l->summary);
}

static void export_of(struct loaded *l, struct buf *out)
{
	struct export *x = NULL;
	uint64_t lines = 0;
	int more;

	assert_fine(export_open(l->db, &x, &err), &err);
	while ((more = export_next(x, out, &err)) > 0)
		continue;
	assert_fine(more, &err);
	for (size_t i = 0; i < out->len; i++)
		lines += out->data[i] == '\n';
	ck_assert_uint_eq(lines, export_lines(x));
	export_close(x);
}

/* All rows of a statement, every value with its type and bytes. */
static void dump(struct loaded *l, const char *sql, struct buf *out)
{
	sqlite3_stmt *s;

	ck_assert_msg(sqlite3_prepare_v2(l->db->h, sql, -1, &s, NULL) == SQLITE_OK, "%s: %s", sql,
		      sqlite3_errmsg(l->db->h));
	while (sqlite3_step(s) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(s); i++) {
			int type = sqlite3_column_type(s, i);
			double d = sqlite3_column_double(s, i);

			buf_printf(out, "|%d:", type);
			if (type == SQLITE_FLOAT) {
				buf_add(out, &d, sizeof(d));
			} else if (type != SQLITE_NULL) {
				const void *p = sqlite3_column_blob(s, i);

				buf_add(out, p, (size_t)sqlite3_column_bytes(s, i));
			}
		}
		buf_putc(out, '\n');
	}
	sqlite3_finalize(s);
}

/* The number of a span is that of its place in the file, which an export does not keep. */
static const char *const contents[] = {
	"select * from meta_rows",
	"select id, parent_id, name, span_kind, measured, step, start_ns from span_rows order by "
	"id",
	"select s.id, p.id, t.closed, t.duration_ns from span_rows s "
	"join span_time_rows t on t.no = s.no left join span_rows p on p.no = t.parent_no "
	"order by s.id",
	"select * from op_rows order by rowid",
	"select * from tensor_rows order by rowid",
	"select * from tensor_stats_rows order by rowid",
	"select * from memory_rows order by rowid",
	"select * from device_memory_rows order by rowid",
	"select * from device_interval_rows order by rowid",
	"select * from gradient_rows order by rowid",
	"select * from edge_rows order by rowid",
	"select * from terminal_rows",
	"select * from lifetime_rows order by alloc",
};

static void same_run(struct loaded *a, struct loaded *b, const char *place)
{
	for (size_t i = 0; i < ARRAY_LEN(contents); i++) {
		struct buf one CLEAN(buf_done) = BUF_INIT, two CLEAN(buf_done) = BUF_INIT;

		dump(a, contents[i], &one);
		dump(b, contents[i], &two);
		ck_assert_msg(one.len == two.len &&
				      (one.len == 0 || memcmp(one.data, two.data, one.len) == 0),
			      "%s: other rows: %s", place, contents[i]);
	}
	ck_assert_msg(strcmp(a->summary.data, b->summary.data) == 0, "%s: other figures:\n%s%s",
		      place, a->summary.data, b->summary.data);
}

/* ---- trace events ---- */

struct slice {
	unsigned __int128 start, end;
};

/* "12.345" in nanoseconds; the form is checked to the letter. */
static unsigned __int128 ns_of(const struct node *n, const char *place)
{
	unsigned __int128 v = 0;
	size_t dot;

	ck_assert_msg(n && n->type == JSON_NUMBER, "%s: a time is no decimal", place);
	dot = n->raw.n - 4;
	ck_assert_msg(n->raw.n > 4 && n->raw.p[dot] == '.', "%s: %.*s", place, (int)n->raw.n,
		      n->raw.p);
	for (size_t i = 0; i < n->raw.n; i++) {
		if (i == dot)
			continue;
		ck_assert_msg(n->raw.p[i] >= '0' && n->raw.p[i] <= '9', "%s: %.*s", place,
			      (int)n->raw.n, n->raw.p);
		v = v * 10 + (unsigned)(n->raw.p[i] - '0');
	}
	return v;
}

#define TRACKS_MAX 4096
#define DEPTH_MAX 512

static struct track {
	uint64_t pid, tid;
	unsigned depth;
	unsigned __int128 last;
	struct slice open[DEPTH_MAX];
} * tracks;
static size_t track_count;

static struct track *track_of(uint64_t pid, uint64_t tid)
{
	for (size_t i = 0; i < track_count; i++)
		if (tracks[i].pid == pid && tracks[i].tid == tid)
			return &tracks[i];
	ck_assert_uint_lt(track_count, TRACKS_MAX);
	tracks[track_count] = (struct track){.pid = pid, .tid = tid};
	return &tracks[track_count++];
}

static void check_nests(const struct node *event, const char *place)
{
	struct track *t = track_of(tree_get(event, "pid")->u64, tree_get(event, "tid")->u64);
	struct slice s = {.start = ns_of(tree_get(event, "ts"), place)};

	s.end = s.start + ns_of(tree_get(event, "dur"), place);
	ck_assert_msg(t->depth == 0 || s.start >= t->last, "%s: not in the order of starts", place);
	t->last = s.start;
	while (t->depth && t->open[t->depth - 1].end <= s.start)
		t->depth--;
	ck_assert_msg(t->depth == 0 || s.end <= t->open[t->depth - 1].end, "%s: overlap on %llu",
		      place, (unsigned long long)t->tid);
	ck_assert_uint_lt(t->depth, DEPTH_MAX);
	t->open[t->depth++] = s;
}

/* Times of the span of this id, as recorded. */
static void check_span(struct loaded *l, const struct node *event, const char *place)
{
	const struct node *args = tree_get(event, "args"), *closed = tree_get(args, "closed");
	struct query *q = NULL;
	uint64_t start, duration;
	static const char sql[] = "select s.start_ns, t.closed, t.duration_ns from span_rows s "
				  "join span_time_rows t on t.no = s.no where s.id = ?1";

	q = calloc(1, sizeof(*q));
	q->db = l->db;
	q->number = SIZE_MAX;
	ck_assert_int_eq(sqlite3_prepare_v2(l->db->h, sql, -1, &q->stmt, NULL), SQLITE_OK);
	query_bind_str(q, 1, tree_get(args, "id")->str);
	ck_assert_msg(query_step(q, &err) == 1, "%s: unknown span", place);
	start = query_u64(q, 0);
	duration = query_u64(q, 2);
	ck_assert(ns_of(tree_get(event, "ts"), place) == start);
	ck_assert_int_eq(closed != NULL, query_u64(q, 1) == 0);
	if (closed)
		ck_assert_int_eq(closed->type, JSON_FALSE);
	else
		ck_assert(ns_of(tree_get(event, "dur"), place) ==
			  (UINT64_MAX - start < duration ? UINT64_MAX - start : duration));
	query_close(q);
}

struct seen {
	size_t events, spans, ops, device, flows, counters, tracks;
};

static void events_text(struct loaded *l, enum run_kind kind, const struct trace_options *o,
			struct buf *out)
{
	struct trace_events *t = NULL;
	int more;

	ts_error_init(&err);
	assert_fine(trace_events_open(l->db, kind, o, &t, &err), &err);
	while ((more = trace_events_next(t, out, &err)) > 0)
		continue;
	assert_fine(more, &err);
	trace_events_close(t);
}

static struct seen check_events(struct loaded *l, const struct trace_options *o, const char *place)
{
	struct buf text CLEAN(buf_done) = BUF_INIT;
	struct arena arena = {0};
	struct seen seen = {0};
	const struct node *all;

	events_text(l, RUN_EXECUTION, o, &text);
	all = tree_parse(text.data, text.len - 1, &arena);
	ck_assert(ts_str_is(tree_get(all, "displayTimeUnit")->str, "ns"));
	ck_assert_int_eq(tree_get(all, "otherData")->type, JSON_OBJECT);
	tracks = calloc(TRACKS_MAX, sizeof(*tracks));
	track_count = 0;
	for (const struct node *e = tree_get(all, "traceEvents")->child; e; e = e->next) {
		struct ts_str ph = tree_get(e, "ph")->str;
		const struct node *cat = tree_get(e, "cat");

		ck_assert_uint_gt(tree_count(e), 3);
		seen.events++;
		if (ts_str_is(ph, "X")) {
			check_nests(e, place);
			seen.spans += ts_str_is(cat->str, "span");
			seen.ops += ts_str_is(cat->str, "op");
			seen.device += ts_str_is(cat->str, "device");
			if (ts_str_is(cat->str, "span"))
				check_span(l, e, place);
		} else if (ts_str_is(ph, "C")) {
			seen.counters++;
			ck_assert_uint_gt(tree_count(tree_get(e, "args")), 0);
			ns_of(tree_get(e, "ts"), place);
		} else if (ts_str_is(ph, "s") || ts_str_is(ph, "f")) {
			seen.flows++;
		} else {
			ck_assert(ts_str_is(ph, "M"));
		}
	}
	seen.tracks = track_count;
	free(tracks);
	arena_done(&arena);
	return seen;
}

static uint64_t rows_of(struct loaded *l, const char *table)
{
	char sql[80];
	uint64_t n;

	snprintf(sql, sizeof(sql), "select count(*) from %s", table);
	assert_fine(db_number(l->db, sql, &n, &err), &err);
	return n;
}

static const struct trace_options everything = {
	.id = {"r", 1}, .schema = {"s", 1}, .parts = TRACE_ALL};

static void check_trace(const char *text, size_t n, const char *place)
{
	struct buf first CLEAN(buf_done) = BUF_INIT, second CLEAN(buf_done) = BUF_INIT;
	struct loaded a, b;
	struct seen seen;

	load(&a, text, n, place);
	export_of(&a, &first);
	load(&b, first.data, first.len, place);
	same_run(&a, &b, place);
	export_of(&b, &second);
	ck_assert_msg(first.len == second.len && memcmp(first.data, second.data, first.len) == 0,
		      "%s: the second export differs", place);
	seen = check_events(&a, &everything, place);
	ck_assert_uint_eq(seen.spans, rows_of(&a, "span_rows"));
	ck_assert_uint_eq(seen.ops, rows_of(&a, "op_rows"));
	ck_assert_uint_eq(seen.device, rows_of(&a, "device_interval_rows"));
	unload(&a);
	unload(&b);
}

START_TEST(generated_traces_come_back_from_their_export)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct buf text CLEAN(buf_done) = BUF_INIT;
		char place[32];

		snprintf(place, sizeof(place), "seed %llu", (unsigned long long)seed);
		random_trace(seed, &text);
		check_trace(text.data, text.len, place);
	}
}
END_TEST

START_TEST(corpus_files_come_back_from_their_export)
{
	char path[600];
	unsigned count = 0;
	struct dirent *d;
	DIR *dir;

	if (!corpus_path()) {
		printf("test_export: corpus absent, its files are skipped\n");
		return;
	}
	snprintf(path, sizeof(path), "%s/candle/valid", corpus_path());
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((d = readdir(dir))) {
		char *text;
		struct stat st;
		int fd;

		if (d->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), d->d_name, O_RDONLY);
		ck_assert_int_eq(fstat(fd, &st), 0);
		text = malloc((size_t)st.st_size + 1);
		ck_assert_int_eq(read(fd, text, (size_t)st.st_size), st.st_size);
		close(fd);
		check_trace(text, (size_t)st.st_size, d->d_name);
		free(text);
		count++;
	}
	closedir(dir);
	ck_assert_uint_gt(count, 20);
}
END_TEST

START_TEST(export_has_the_canonical_order_and_form)
{
	struct buf out CLEAN(buf_done) = BUF_INIT;
	struct loaded l;

	/* The ends come late and the second span first by id; explicit defaults appear. */
	load(&l, META START1 START0 STATS OP END0 TERMINAL,
	     strlen(META START1 START0 STATS OP END0 TERMINAL), "order");
	export_of(&l, &out);
	ck_assert_ptr_nonnull(strstr(
		out.data,
		"\"tags\":{}}\n"
		"{\"kind\":\"span_start\",\"id\":\"s0\",\"name\":\"capture\",\"start_ns\":0,"
		"\"span_kind\":\"function\",\"measured\":false}\n"
		"{\"kind\":\"span_end\",\"id\":\"s0\",\"duration_ns\":80}\n"
		"{\"kind\":\"span_start\",\"id\":\"s1\",\"parent_id\":\"s0\",\"name\":\"call\","
		"\"start_ns\":10,\"span_kind\":\"function\",\"measured\":true}\n"
		"{\"kind\":\"op\",\"span_id\":\"s1\",\"op_name\":\"matmul\",\"inputs\":[\"x\","
		"\"w\"],"
		"\"output\":\"y\",\"shape\":[8,4],\"dtype\":\"F32\",\"device\":\"cpu\","
		"\"duration_ns\":30,\"timestamp_ns\":20,\"output_dense_bytes\":128,"
		"\"input_dense_bytes\":192}\n"
		"{\"kind\":\"tensor_stats\",\"span_id\":\"s0\",\"label\":\"out\",\"shape\":[2,3],"
		"\"dtype\":\"f32\",\"elements\":6,\"non_finite\":6,\"rms\":0.0,\"abs_max\":-0.0,"
		"\"mean\":-1.5}\n"
		"{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":80}\n"));
	unload(&l);
}
END_TEST

#define SPAN(id, parent, start, duration)                                                          \
	"{\"kind\":\"span_start\",\"id\":\"" id "\"," parent "\"name\":\"" id                      \
	"\",\"start_ns\":" #start ",\"span_kind\":\"function\"}\n"                                 \
	"{\"kind\":\"span_end\",\"id\":\"" id "\",\"duration_ns\":" #duration "}\n"
#define BELOW(parent) "\"parent_id\":\"" parent "\","
#define LAST                                                                                       \
	"{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":18446744073709551615}\n"

static struct seen seen_of(const char *text, const struct trace_options *o)
{
	struct loaded l;
	struct seen seen;

	load(&l, text, strlen(text), "text");
	seen = check_events(&l, o, "text");
	unload(&l);
	return seen;
}

START_TEST(c30_spans_that_overlap_partly_go_to_further_tracks)
{
	struct trace_options o = everything;
	struct seen seen;

	seen = seen_of(META SPAN("p", "", 0, 100) SPAN("a", BELOW("p"), 10, 50)
			       SPAN("b", BELOW("p"), 40, 50) SPAN("c", BELOW("b"), 65, 5) LAST,
		       &o);
	ck_assert_uint_eq(seen.spans, 4);
	ck_assert_uint_eq(seen.tracks, 2);
	/* One after another, and one within another at both borders: one track. */
	seen = seen_of(META SPAN("p", "", 0, 100) SPAN("a", BELOW("p"), 0, 50)
			       SPAN("b", BELOW("p"), 50, 50) SPAN("z", BELOW("b"), 100, 0) LAST,
		       &o);
	ck_assert_uint_eq(seen.tracks, 1);
}
END_TEST

START_TEST(c33_a_run_without_anything_has_no_empty_event)
{
	struct buf out CLEAN(buf_done) = BUF_INIT;
	struct loaded l;

	load(&l, META TERMINAL, strlen(META TERMINAL), "nothing");
	check_events(&l, &everything, "nothing");
	events_text(&l, RUN_EXECUTION, &everything, &out);
	ck_assert_ptr_null(strstr(out.data, "{}"));
	ck_assert_ptr_null(strstr(out.data, ",\n]"));
	unload(&l);
}
END_TEST

START_TEST(times_are_exact_to_the_last_of_64_bits_and_open_spans_end_with_the_run)
{
	struct buf out CLEAN(buf_done) = BUF_INIT;
	struct loaded l;
	static const char text[] =
		META START0 SPAN("x", "", 9223372036854775809, 18446744073709551615)
			SPAN("y", "", 7, 1234) LAST;

	load(&l, text, strlen(text), "exact");
	events_text(&l, RUN_EXECUTION, &everything, &out);
	ck_assert_ptr_nonnull(strstr(out.data,
				     "\"ts\":0.000,\"dur\":18446744073709551.615,\"args\":"
				     "{\"id\":\"s0\",\"span_kind\":\"function\","
				     "\"closed\":false}"));
	ck_assert_ptr_nonnull(
		strstr(out.data, "\"ts\":9223372036854775.809,\"dur\":9223372036854775.806,"));
	ck_assert_ptr_nonnull(strstr(out.data, "\"ts\":0.007,\"dur\":1.234,"));
	unload(&l);
}
END_TEST

START_TEST(windows_and_parts_choose_what_is_shown)
{
	static const char text[] = META SPAN("p", "", 0, 100) SPAN("a", BELOW("p"), 10, 20)
		SPAN("b", BELOW("p"), 60, 0) MEMORY("20", "alloc")
			MEMORY("60", "free") "{\"kind\":\"edge\",\"edge_kind\":\"call\",\"from_"
					     "span\":\"p\",\"to_span\":"
					     "\"a\",\"host_duration_ns\":20}\n" LAST;
	struct trace_options o = everything;
	struct seen seen = seen_of(text, &o);

	ck_assert_uint_eq(seen.spans, 3);
	ck_assert_uint_eq(seen.counters, 2);
	ck_assert_uint_eq(seen.flows, 2);
	o.min_duration_ns = 1;
	ck_assert_uint_eq(seen_of(text, &o).spans, 2);
	o.min_duration_ns = 0;
	o.from_ns = 30;
	seen = seen_of(text, &o);
	ck_assert_uint_eq(seen.spans, 2); /* a ended at 30 */
	ck_assert_uint_eq(seen.flows, 0);
	ck_assert_uint_eq(seen.counters, 1);
	o.has_to = true;
	o.to_ns = 60;
	seen = seen_of(text, &o);
	ck_assert_uint_eq(seen.spans, 1);
	ck_assert_uint_eq(seen.counters, 0);
	o = everything;
	o.parts = TRACE_MEMORY | TRACE_EDGES;
	seen = seen_of(text, &o);
	ck_assert_uint_eq(seen.events, 2);
}
END_TEST

/* ---- request runs ---- */

START_TEST(requests_stand_in_their_session_with_the_phases_that_were_recorded)
{
	struct buf out CLEAN(buf_done) = BUF_INIT;
	struct loaded l = {.rf = bench_runfile(NULL, RUN_REQUESTS), .summary = BUF_INIT};
	struct sink *sink = runfile_sink(l.rf);
	struct row_request r = {.no = 1,
				.request_id = TS_STR("q\"1"),
				.model = TS_STR("m"),
				.session_id = TS_STR("s"),
				.start_ms = 1000,
				.end_ms = 1100,
				.prefill_wait_time_ms = {1.5, true},
				.prefill_time_ms = {10, true},
				.ttft_ms = {12.25, true}};
	struct row_tool tool = {.session_id = TS_STR("s"),
				.tool_call_id = TS_STR("t"),
				.tool_class = TS_STR("ls"),
				.status = TS_STR("succeeded"),
				.start_ms = 990,
				.end_ms = 1120};

	ts_error_init(&err);
	assert_fine(sink->row(sink, ROW_REQUEST, &r, &err), &err);
	r = (struct row_request){.no = 2,
				 .request_id = TS_STR("q2"),
				 .model = TS_STR("m"),
				 .session_id = TS_STR("a"),
				 .start_ms = 1200,
				 .end_ms = 1200,
				 .prefill_time_ms = {10, true}};
	assert_fine(sink->row(sink, ROW_REQUEST, &r, &err), &err);
	assert_fine(sink->row(sink, ROW_TOOL, &tool, &err), &err);
	assert_fine(runfile_flush(l.rf, &err), &err);
	l.db = runfile_db(l.rf);
	events_text(&l, RUN_REQUESTS, &everything, &out);
#define AT(ph, cat, name, id, pid, ts)                                                             \
	"{\"ph\":\"" ph "\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"id\":\"" id                \
	"\",\"pid\":" pid ",\"tid\":" pid ",\"ts\":" ts
#define NAMED(name, pid)                                                                           \
	"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" pid                                     \
	",\"tid\":0,\"args\":{\"name\":\"" name                                                    \
	"\"}},\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" pid ",\"tid\":" pid               \
	",\"args\":{\"name\":\"" name "\"}},\n"
	ck_assert_str_eq(
		out.data, "{\"traceEvents\":[\n" NAMED("a", "1") AT("b", "request", "request", "r2", "1", "200000.000") ",\"args\":{\"request_id\":\"q2\",\"model\":\"m\",\"input_length\":0,"
															"\"output_tokens\":0}},\n" AT("e", "request", "request", "r2", "1", "200000.000") "},\n" NAMED("s", "2") AT("b",
																												    "request", "request", "r1", "2", "0.000") ",\"args\":{\"request_id\":\"q\\\"1\",\"model\":\"m\","
																																	      "\"input_length\":0,\"output_tokens\":0}},\n" AT("b",
																																							       "request", "wait", "r1", "2", "0.000") "},\n" AT("e",
																																														"request",
																																														"wait", "r1", "2", "1500.000") "},\n" AT("b", "request", "prefill", "r1", "2", "1500.000") "},\n" AT("e",
																																																										     "request", "prefill", "r1",
																																																										     "2",
																																																										     "11500.000") "},\n" AT("b", "request", "decode", "r1", "2", "12250.000") "},\n" AT("e",
																																																																					"request", "decode", "r1", "2",
																																																																					"100000.000") "},\n" AT("e",
																																																																								"request",
																																																																								"request", "r1", "2", "100000.000") "},\n" AT("b",
																																																																													      "tool",
																																																																													      "ls",
																																																																													      "t1",
																																																																													      "2",
																																																																													      "-10000.000") ",\"args\":{\"tool_call_id\":\"t\",\"status\":\"succeeded\"}},\n" AT("e",
																																																																																								 "tool",
																																																																																								 "ls",
																																																																																								 "t1",
																																																																																								 "2",
																																																																																								 "120000.000") "}\n"
																																																																																									       "],\"displayTimeUnit\":\"ns\",\"otherData\":{\"id\":\"r\",\"schema\":\"s\","
																																																																																									       "\"captured_at\":null,\"epoch_ms\":1000}}\n");
	unload(&l);
}
END_TEST

/* ---- tracks ---- */

START_TEST(a_hundred_thousand_overlapping_intervals_take_n_log_n)
{
	enum { COUNT = 100000 };
	struct nest n = {0};
	clock_t begun = clock();
	uint32_t track;

	/* None lies in another: each has a track of its own. */
	for (uint64_t i = 0; i < COUNT; i++) {
		ck_assert_int_eq(nest_place(&n, i, COUNT + i, 0, &track), 0);
		ck_assert_uint_eq(track, i + 1);
	}
	/* All have ended: the lowest track again, the preferred one where it fits. */
	ck_assert_int_eq(nest_place(&n, 3 * COUNT, 3 * COUNT + 9, 0, &track), 0);
	ck_assert_uint_eq(track, 1);
	ck_assert_int_eq(nest_place(&n, 3 * COUNT + 1, 3 * COUNT + 2, 77, &track), 0);
	ck_assert_uint_eq(track, 77);
	ck_assert_int_eq(nest_place(&n, 3 * COUNT + 1, 3 * COUNT + 9, 1, &track), 0);
	ck_assert_uint_eq(track, 1);
	nest_reset(&n);
	ck_assert_int_eq(nest_place(&n, 0, 0, 5, &track), 0);
	ck_assert_uint_eq(track, 1);
	nest_done(&n);
	printf("test_export: 100000 overlapping intervals: %.3f s\n",
	       (double)(clock() - begun) / CLOCKS_PER_SEC);
	ck_assert_int_lt(clock() - begun, 5 * CLOCKS_PER_SEC);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("export");
	TCase *t = tcase_create("export");

	tcase_set_timeout(t, 240);
	tcase_add_test(t, generated_traces_come_back_from_their_export);
	tcase_add_test(t, corpus_files_come_back_from_their_export);
	tcase_add_test(t, export_has_the_canonical_order_and_form);
	tcase_add_test(t, c30_spans_that_overlap_partly_go_to_further_tracks);
	tcase_add_test(t, c33_a_run_without_anything_has_no_empty_event);
	tcase_add_test(t, times_are_exact_to_the_last_of_64_bits_and_open_spans_end_with_the_run);
	tcase_add_test(t, windows_and_parts_choose_what_is_shown);
	tcase_add_test(t, requests_stand_in_their_session_with_the_phases_that_were_recorded);
	tcase_add_test(t, a_hundred_thousand_overlapping_intervals_take_n_log_n);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
