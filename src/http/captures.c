/* captures.c: GET /captures, /captures/<name>/summary, .../requests, .../replay
 *
 * The latter two are answered by the handlers of runs: a capture is looked up as if it were one
 * run, and its rows are opened in its merged file.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "handlers.h"
#include "merged.h"
#include "rows.h"
#include "server.h"

#define MISSING_MAX 1000 /* numbers listed; missing_segment_count counts all */

bool request_is_capture(const struct request *rq)
{
	return strncmp(rq->route->pattern, "/captures/", strlen("/captures/")) == 0;
}

/* ---- a capture as if it were one run ---- */

static void describe_run(struct request *rq)
{
	const struct capture *c = &rq->capture;
	struct run_record *run = &rq->run;
	struct opt_u64 size = c->segments[0].trace_block_size;

	*run = (struct run_record){
		.id = c->name,
		.kind = RUN_REQUESTS,
		.revision = STORE_RUN_REVISION,
		.capture = c->name,
		.requests = {0, true},
		.tools = {0, true},
		.structurally_valid = -1,
	};
	memcpy(run->digest, c->digest, sizeof(run->digest));
	for (size_t i = 0; i < c->count; i++) {
		const struct capture_segment *s = &c->segments[i];

		run->requests.v = u64_add_sat(run->requests.v, s->requests);
		run->tools.v = u64_add_sat(run->tools.v, s->tools);
		if (s->ingested_ms > run->ingested_ms)
			run->ingested_ms = s->ingested_ms;
		size.has = size.has && s->trace_block_size.has && s->trace_block_size.v == size.v;
	}
	run->trace_block_size = size;
}

int request_find_capture(struct request *rq, struct ts_error *err)
{
	struct db *db CLEAN(db_releasep) = NULL;
	int found;

	capture_done(&rq->capture);
	run_record_done(&rq->run);
	if (request_catalog(rq, &db, err) < 0)
		return -1;
	found = catalog_capture(db, rq->var, &rq->capture, err);
	if (found < 0)
		return -1;
	if (found == 0)
		return ts_error_set(err, TS_E_UNKNOWN_CAPTURE, "no recording has this name");
	describe_run(rq);
	return 0;
}

enum outcome handle_capture_summary(struct request *rq, struct ts_error *err)
{
	struct buf summary CLEAN(buf_done) = BUF_INIT;

	if (request_find_capture(rq, err) < 0)
		return FAILED;
	rq->answer.modified_ms = rq->run.ingested_ms;
	if (answer_is_unchanged(rq, "%.12s.%u.s1", rq->run.digest + 7, rq->run.revision))
		return ANSWERED;
	if (!rq->on_worker)
		return LATER;
	if (merged_summary(rq, &summary, err) < 0)
		return FAILED;
	answer_stored_json(rq, 200, ts_str(summary.data, summary.len));
	return ANSWERED;
}

/* ---- the list ---- */

static int column_of(const char *member)
{
	int i = 0;

	while (list_captures.columns[i].member && strcmp(list_captures.columns[i].member, member))
		i++;
	CHECK(list_captures.columns[i].member);
	return i;
}

/* Calls on_gap for each range of numbers that is missing in front of one that is there; returns how
 * many are missing. A recorder counts from 0. */
static uint64_t each_gap(struct ts_str numbers,
			 void (*on_gap)(void *arg, uint64_t from, uint64_t behind), void *arg)
{
	uint64_t next = 0, missing = 0, number;

	for (size_t at = 0; at < numbers.n;) {
		const char *comma = memchr(numbers.p + at, ',', numbers.n - at);
		size_t n = comma ? (size_t)(comma - numbers.p) - at : numbers.n - at;

		if (text_parse_u64(ts_str(numbers.p + at, n), &number) && number >= next) {
			if (number > next && on_gap)
				on_gap(arg, next, number);
			missing = u64_add_sat(missing, number - next);
			next = number + 1;
		}
		at += n + 1;
	}
	return missing;
}

struct missing {
	struct json_writer *w;
	unsigned written;
};

static void write_gap(void *arg, uint64_t from, uint64_t behind)
{
	struct missing *m = arg;

	for (; from < behind && m->written < MISSING_MAX; from++, m->written++)
		jw_u64(m->w, from);
}

static void write_missing(struct json_writer *w, struct ts_str numbers)
{
	struct missing m = {.w = w};

	jw_open_array(w);
	each_gap(numbers, write_gap, &m);
	jw_close_array(w);
}

static void write_error(struct json_writer *w, const struct rows *rows, struct query *row)
{
	if (merged_has_clash(rows->rq->http, query_str(row, column_of("name")),
			     query_u64(row, column_of("segments")),
			     query_u64(row, column_of(CAPTURE_NEWEST_NO))))
		jw_text(w, "duplicate_request_id");
	else
		jw_str(w, query_str(row, column_of(CAPTURE_BREACH)));
}

enum { MISSING_SEGMENTS, MISSING_SEGMENT_COUNT, IDLE_MS, ERROR };

static const char *const extras[] = {
	[MISSING_SEGMENTS] = "missing_segments",
	[MISSING_SEGMENT_COUNT] = "missing_segment_count",
	[IDLE_MS] = "idle_ms",
	[ERROR] = "error",
	NULL,
};

static void write_extra(struct json_writer *w, const struct rows *rows, unsigned extra,
			struct query *row)
{
	int64_t idle;

	switch (extra) {
	case MISSING_SEGMENTS:
		write_missing(w, query_str(row, column_of(CAPTURE_NUMBERS)));
		break;
	case MISSING_SEGMENT_COUNT:
		jw_u64(w, each_gap(query_str(row, column_of(CAPTURE_NUMBERS)), NULL, NULL));
		break;
	case IDLE_MS:
		idle = time_now_ms() - query_i64(row, column_of(CAPTURE_NEWEST_MS));
		jw_i64(w, idle > 0 ? idle : 0);
		break;
	default:
		write_error(w, rows, row);
	}
}

static const struct rows_shape capture_shape = {
	.list = &list_captures,
	.extras = extras,
	.write_extra = write_extra,
};

/* idle_ms grows with the clock, so no validator holds for this list. */
enum outcome handle_captures(struct request *rq, struct ts_error *err)
{
	struct db *db CLEAN(db_releasep) = NULL;
	struct rows rows;

	rq->answer.cache = CACHE_NEVER;
	if (rows_prepare(rq, &capture_shape, NULL, &rows, err) < 0)
		return FAILED;
	if (rq->form == FORM_NDJSON && request_take_place(rq, err) < 0)
		return FAILED;
	if (!rq->on_worker) /* each page goes through all segments */
		return LATER;
	if (rq->form == FORM_NDJSON)
		return rows_answer_lines(&rows, NULL, err) < 0 ? FAILED : ANSWERED;
	if (request_catalog(rq, &db, err) < 0)
		return FAILED;
	return rows_answer_page(&rows, db, err) < 0 ? FAILED : ANSWERED;
}
