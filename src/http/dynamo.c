/* dynamo.c: GET /runs/<id>/requests?format=dynamo, also of captures: the recorded objects, from the
 * kept source, or from those of the segments one after another
 */
#include <stdlib.h>
#include <string.h>

#include "tracespool/ingest.h"
#include "tracespool/json.h"

#include "handlers.h"
#include "merged.h"
#include "reply.h"
#include "server.h"

#define BYTES_A_STEP ((size_t)64 << 10)
#define LINES_A_STEP 64

struct recorded_source {
	struct source source;
	struct request *rq;
	struct kept *kept; /* of part `part` */
	size_t part;
	struct arena scratch;
};

/* ---- a run, or the segments of a capture ---- */

static size_t part_count(const struct request *rq)
{
	return request_is_capture(rq) ? rq->capture.count : 1;
}

static int open_part(struct request *rq, struct db *catalog, size_t part, struct kept **ret,
		     struct ts_error *err)
{
	struct run_record run = {0};
	int result;

	if (!request_is_capture(rq))
		return kept_open(rq->http->conf, rq->http->options.spool, catalog, &rq->run, ret,
				 err);
	result = catalog_run_by_digest(catalog, rq->capture.segments[part].digest, &run, err);
	if (result <= 0)
		return result < 0
			       ? -1
			       : ts_error_set(err, TS_E_STORE_BUSY, "a segment is being removed");
	result = kept_open(rq->http->conf, rq->http->options.spool, catalog, &run, ret, err);
	run_record_done(&run);
	return result;
}

/* All have to be there before the first byte: a stream that breaks tells nobody why. */
static int look_for_parts(struct request *rq, struct db *catalog, struct ts_error *err)
{
	for (size_t part = 1; part < part_count(rq); part++) {
		struct kept *kept = NULL;

		db_set_deadline(catalog, request_deadline_ms(rq));
		if (open_part(rq, catalog, part, &kept, err) < 0)
			return -1;
		kept_close(kept);
	}
	return 0;
}

/* ---- lines ---- */

/* Which of its members `event` counts: the last one (request-trace.md 4.1); 0: it has none. */
static unsigned count_events(struct ts_str line, struct arena *scratch)
{
	struct json_value value;
	struct ts_str key;
	struct json j;
	unsigned n = 0;

	json_begin(&j, line.p, line.n, scratch);
	if (json_value(&j, &value) != JSON_OBJECT)
		return 0;
	for (bool first = true; json_key(&j, first, &key); first = false) {
		n += ts_str_is(key, "event");
		json_skip(&j);
	}
	return n;
}

/* Moves into the event; false: it is no object. */
static bool enter_event(struct json *j, struct ts_str line, struct arena *scratch)
{
	unsigned wanted = count_events(line, scratch);
	struct json_value value;
	struct ts_str key;

	json_begin(j, line.p, line.n, scratch);
	if (json_value(j, &value) != JSON_OBJECT)
		return false;
	if (!wanted)
		return true;
	for (bool first = true; json_key(j, first, &key); first = false)
		if (ts_str_is(key, "event") && --wanted == 0)
			return json_value(j, &value) == JSON_OBJECT;
		else
			json_skip(j);
	return false;
}

/* Copies the members but `payload` as they stand; false: the record is one of a payload. */
static bool copy_members(struct json *j, struct buf *out)
{
	struct json_value value;
	struct ts_str key;
	bool payload = false, any = false;

	buf_putc(out, '{');
	for (bool first = true;; first = false) {
		const char *from = j->at;

		if (!json_key(j, first, &key))
			break;
		from += strspn(from, ", \t\r");
		if (ts_str_is(key, "payload")) {
			json_skip(j);
			continue;
		}
		if (ts_str_is(key, "event_type")) {
			struct json ahead = *j;

			payload = json_value(&ahead, &value) == JSON_STRING &&
				  ts_str_is(value.str, "request_payload");
		}
		json_skip(j);
		if (any)
			buf_putc(out, ',');
		any = true;
		buf_add(out, from, (size_t)(j->at - from));
	}
	buf_puts(out, "}\n");
	return !payload;
}

static void write_line(struct recorded_source *rs, struct ts_str line, struct buf *out)
{
	size_t before = out->len;
	struct json j;

	arena_reset(&rs->scratch);
	if (enter_event(&j, line, &rs->scratch) && !copy_members(&j, out) && !out->failed)
		out->len = before;
}

static int open_next(struct recorded_source *rs, struct ts_error *err)
{
	struct db *catalog CLEAN(db_releasep) = NULL;

	kept_close(TAKE(rs->kept));
	if (request_catalog(rs->rq, &catalog, err) < 0)
		return -1;
	return open_part(rs->rq, catalog, ++rs->part, &rs->kept, err);
}

static int fill_recorded(struct source *source, struct buf *out, struct ts_error *err)
{
	struct recorded_source *rs = (struct recorded_source *)source;
	size_t before = out->len;
	struct ts_str line;
	int more = 1;

	for (unsigned n = 0; n < LINES_A_STEP && out->len - before < BYTES_A_STEP; n++) {
		more = kept_next(rs->kept, &line, err);
		if (more < 0)
			return -1;
		if (more == 0) {
			if (rs->part + 1 == part_count(rs->rq))
				return 0;
			if (open_next(rs, err) < 0)
				return -1;
			more = 1;
			continue;
		}
		write_line(rs, line, out);
		if (rs->scratch.failed)
			return ts_error_nomem(err);
	}
	return more;
}

static void close_recorded(struct source *source)
{
	struct recorded_source *rs = (struct recorded_source *)source;

	kept_close(rs->kept);
	arena_done(&rs->scratch);
	free(rs);
}

/* Adds the number of the records that were read, from `lines` of the summary. */
static int count_records(struct db *catalog, uint64_t run_no, uint64_t *ret, struct ts_error *err)
{
	struct buf summary CLEAN(buf_done) = BUF_INIT;
	struct arena scratch CLEAN(arena_done) = {0};
	struct json_value value;
	struct ts_str key;
	struct json j;
	bool gzip;

	if (catalog_summary(catalog, run_no, false, &summary, &gzip, err) < 0)
		return -1;
	if (summary.failed)
		return ts_error_nomem(err);
	json_begin(&j, summary.data, summary.len, &scratch);
	if (json_value(&j, &value) != JSON_OBJECT)
		return 0;
	for (bool first = true; json_key(&j, first, &key); first = false) {
		if (!ts_str_is(key, "lines")) {
			json_skip(&j);
			continue;
		}
		if (json_value(&j, &value) != JSON_OBJECT)
			return 0;
		for (bool inner = true; json_key(&j, inner, &key); inner = false) {
			bool counts = ts_str_is(key, "request_end") ||
				      ts_str_is(key, "tool_start") ||
				      ts_str_is(key, "tool_terminal");

			if (json_value(&j, &value) == JSON_U64 && counts)
				*ret += value.u64;
		}
		return 0;
	}
	return 0;
}

/* All of the recording or nothing: no part of it is chosen here. */
static int check_params(struct request *rq, struct ts_error *err)
{
	static const char *const known[] = {"format", "pretty", "numbers", NULL};

	for (size_t i = 0; i < rq->target.param_count; i++) {
		struct ts_str name = rq->target.params[i].name;
		bool fits = name.n > 0 && name.p[0] == '_';

		for (unsigned k = 0; known[k]; k++)
			fits = fits || ts_str_is(name, known[k]);
		if (!fits) {
			rq->parameter = arena_dup(&rq->arena, name.p, name.n);
			return ts_error_set(err, TS_E_BAD_PARAMETER,
					    "format=dynamo gives the whole recording as it is");
		}
	}
	if (rq->numbers == JSON_NUMBERS_STRING || rq->pretty) {
		rq->parameter = rq->pretty ? "pretty" : "numbers";
		return ts_error_set(err, TS_E_BAD_PARAMETER,
				    "format=dynamo gives the whole recording as it is");
	}
	return 0;
}

static int stream_recorded(struct request *rq, struct ts_error *err)
{
	struct db *catalog CLEAN(db_releasep) = NULL;
	struct recorded_source *rs;
	uint64_t count = 0;

	if (request_catalog(rq, &catalog, err) < 0)
		return -1;
	for (size_t part = 0; part < part_count(rq); part++) {
		db_set_deadline(catalog, request_deadline_ms(rq));
		if (count_records(catalog,
				  request_is_capture(rq) ? rq->capture.segments[part].run_no
							 : rq->run.no,
				  &count, err) < 0)
			return -1;
	}
	rs = calloc(1, sizeof(*rs));
	if (!rs)
		return ts_error_nomem(err);
	rs->source.fill = fill_recorded;
	rs->source.close = close_recorded;
	rs->rq = rq;
	if (look_for_parts(rq, catalog, err) < 0 || open_part(rq, catalog, 0, &rs->kept, err) < 0) {
		close_recorded(&rs->source);
		return -1;
	}
	answer_header(rq, "Tracespool-Row-Count", "%llu", (unsigned long long)count);
	return answer_stream(rq, &rs->source, err);
}

enum outcome handle_recorded(struct request *rq, struct ts_error *err)
{
	if (check_params(rq, err) < 0 || request_find_run(rq, RUN_REQUESTS, err) < 0)
		return FAILED;
	rq->answer.modified_ms = rq->run.ingested_ms;
	if (answer_is_known(rq, "%.12s.%u.d1", rq->run.digest + 7, rq->run.revision))
		return ANSWERED;
	if (request_take_place(rq, err) < 0)
		return FAILED;
	if (!rq->on_worker)
		return LATER;
	return stream_recorded(rq, err) < 0 ? FAILED : ANSWERED;
}
