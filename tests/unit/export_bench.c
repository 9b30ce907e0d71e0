/* export_bench.c: execution traces loaded into run files, and a strict look at their trace events
 */
#include "export_bench.h"

#include <stdlib.h>
#include <string.h>

#include "memory_file.h"
#include "request_case.h"
#include "tracespool/analyze.h"
#include "tracespool/format.h"
#include "tracespool/util.h"

#include "../../src/store/db.h"

struct ts_error export_err;
#define err export_err

const struct trace_options everything = {.id = {"r", 1}, .schema = {"s", 1}, .parts = TRACE_ALL};

void load(struct loaded *l, const char *text, size_t n, const char *place)
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
	format_candle.salvage(st);
	while ((more = lines_next(lines, &line, &err)) > 0)
		if (format_candle.record(st, &line, runfile_sink(l->rf), &err) < 0)
			break;
	ck_assert_msg(!err.code, "%s: line %llu: %s", place, (unsigned long long)err.line,
		      err.message);
	ck_assert_int_eq(more, 0);
	ck_assert_msg(format_candle.finish(st, runfile_sink(l->rf), &err) == 0, "%s: %s", place,
		      err.message);
	format_candle.end(st);
	if (counts.no_terminal)
		record.salvaged = TS_STR("missing_terminal: the trace has no terminal record");
	lines_close(lines);
	input_close(in);
	close(fd);
	assert_fine(runfile_flush(l->rf, &err), &err);
	counts.seen = runfile_seen(l->rf);
	l->db = runfile_db(l->rf);
	assert_fine(analyze_execution(l->db, &counts, ANALYZE_KEPT_BYTES, &record, &keep,
				      &l->summary, &err),
		    &err);
	arena_done(&keep);
	assert_fine(runfile_index(l->rf, &err), &err);
}

void unload(struct loaded *l)
{
	runfile_free(l->rf);
	buf_done(&l->summary);
}

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

void events_text(struct loaded *l, enum run_kind kind, const struct trace_options *o,
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

struct seen check_events(struct loaded *l, const struct trace_options *o, const char *place)
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
