/* export.c: GET /runs/<id>/export, /runs/<id>/trace.json
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/export.h"

#include "handlers.h"
#include "reply.h"
#include "server.h"

#define PREPARE_MS 60000 /* for what has to be sorted before the first byte */
#define FILE_NAME_MAX 80
#define PIECES_A_STEP 32 /* lines or events between two looks at the clock */

struct document {
	struct source source;
	struct request *rq;
	struct db *db;
	struct export *lines; /* one of the two */
	struct trace_events *events;
};

static int fill_document(struct source *source, struct buf *out, struct ts_error *err)
{
	struct document *d = (struct document *)source;
	int more = 1;

	db_set_deadline(d->db, request_deadline_ms(d->rq));
	for (unsigned n = 0; more > 0 && n < PIECES_A_STEP; n++)
		more = d->lines ? export_next(d->lines, out, err)
				: trace_events_next(d->events, out, err);
	return more;
}

static void close_document(struct source *source)
{
	struct document *d = (struct document *)source;

	export_close(d->lines);
	trace_events_close(d->events);
	db_release(d->db);
	free(d);
}

static struct document *open_document(struct request *rq, struct ts_error *err)
{
	struct document *d = calloc(1, sizeof(*d));

	if (!d) {
		ts_error_nomem(err);
		return NULL;
	}
	d->source.fill = fill_document;
	d->source.close = close_document;
	d->rq = rq;
	if (store_run_db(rq->http->store, rq->run.digest, rq->run.revision,
			 time_mono_ms() + PREPARE_MS, &d->db, err) == 0)
		return d;
	close_document(&d->source);
	return NULL;
}

/* ---- export ---- */

static enum outcome stream_export(struct request *rq, struct ts_error *err)
{
	struct document *d = open_document(rq, err);

	if (!d)
		return FAILED;
	if (export_open(d->db, &d->lines, err) < 0) {
		close_document(&d->source);
		return FAILED;
	}
	answer_header(rq, "Tracespool-Row-Count", "%" PRIu64, export_lines(d->lines));
	return answer_stream(rq, &d->source, err) < 0 ? FAILED : ANSWERED;
}

enum outcome handle_export(struct request *rq, struct ts_error *err)
{
	if (request_find_run(rq, RUN_EXECUTION, err) < 0)
		return FAILED;
	rq->answer.modified_ms = rq->run.ingested_ms;
	if (answer_is_known(rq, "%.12s.%u.x1", rq->run.digest + 7, rq->run.revision))
		return ANSWERED;
	if (request_take_place(rq, err) < 0)
		return FAILED;
	return rq->on_worker ? stream_export(rq, err) : LATER;
}

/* ---- trace.json ---- */

static const struct {
	const char *name;
	enum trace_part part;
} part_names[] = {
	{"spans", TRACE_SPANS}, {"ops", TRACE_OPS},       {"memory", TRACE_MEMORY},
	{"edges", TRACE_EDGES}, {"device", TRACE_DEVICE},
};

static unsigned part_of(struct ts_str name)
{
	for (size_t i = 0; i < ARRAY_LEN(part_names); i++)
		if (ts_str_is(name, part_names[i].name))
			return part_names[i].part;
	return 0;
}

static int read_include(struct request *rq, unsigned *ret, struct ts_error *err)
{
	struct ts_str text;
	unsigned parts = 0;

	if (request_param(rq, "include", &text, err) < 0)
		return -1;
	for (size_t at = 0; text.p && at <= text.n;) {
		const char *comma = at < text.n ? memchr(text.p + at, ',', text.n - at) : NULL;
		size_t n = comma ? (size_t)(comma - text.p) - at : text.n - at;
		unsigned part = part_of(ts_str(text.p + at, n));

		if (!part) {
			rq->parameter = "include";
			return ts_error_set(
				err, TS_E_BAD_PARAMETER,
				"include is a list of spans, ops, memory, edges, device");
		}
		parts |= part;
		at += n + 1;
	}
	*ret = text.p ? parts : TRACE_ALL;
	return 0;
}

static int read_trace_options(struct request *rq, struct trace_options *o, bool *ret_download,
			      struct ts_error *err)
{
	struct ts_str to;

	memset(o, 0, sizeof(*o));
	*ret_download = false;
	if (request_param_u64(rq, "from_ns", 0, UINT64_MAX, &o->from_ns, err) < 0 ||
	    request_param(rq, "to_ns", &to, err) < 0 ||
	    request_param_u64(rq, "to_ns", 0, UINT64_MAX, &o->to_ns, err) < 0 ||
	    request_param_u64(rq, "min_duration_ns", 0, UINT64_MAX, &o->min_duration_ns, err) < 0 ||
	    request_param_bool(rq, "download", ret_download, err) < 0 ||
	    read_include(rq, &o->parts, err) < 0)
		return -1;
	o->has_to = to.p != NULL;
	if (rq->numbers == JSON_NUMBERS_STRING) {
		rq->parameter = "numbers";
		return ts_error_set(err, TS_E_BAD_PARAMETER,
				    "numbers of trace events are numbers, viewers want them so");
	}
	return 0;
}

/* FNV-1a of the target: its parameters choose what the document holds. */
static uint64_t options_hash(const struct request *rq)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < rq->target.raw.n; i++)
		hash = (hash ^ (unsigned char)rq->target.raw.p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* The run's id with what a file name or a header could stumble over replaced. */
static void name_download(struct request *rq)
{
	char name[FILE_NAME_MAX + 1];
	size_t n = 0;

	for (; n < rq->run.id.n && n < FILE_NAME_MAX; n++) {
		char c = rq->run.id.p[n];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '-' || (c == '.' && n > 0);

		name[n] = plain ? c : '_';
	}
	name[n] = 0;
	answer_header(rq, MHD_HTTP_HEADER_CONTENT_DISPOSITION,
		      "attachment; filename=\"%s.trace.json\"", n ? name : "run");
}

static enum outcome stream_trace(struct request *rq, struct trace_options *o, struct ts_error *err)
{
	struct document *d = open_document(rq, err);

	if (!d)
		return FAILED;
	o->id = rq->run.id;
	o->schema = rq->run.trace_schema;
	o->has_captured = rq->run.has_captured;
	o->captured_ms = rq->run.captured_ms;
	if (trace_events_open(d->db, rq->run.kind, o, &d->events, err) < 0) {
		close_document(&d->source);
		return FAILED;
	}
	return answer_stream(rq, &d->source, err) < 0 ? FAILED : ANSWERED;
}

enum outcome handle_trace(struct request *rq, struct ts_error *err)
{
	struct trace_options options;
	bool download;

	if (read_trace_options(rq, &options, &download, err) < 0 ||
	    request_find_run(rq, -1, err) < 0)
		return FAILED;
	rq->answer.modified_ms = rq->run.ingested_ms;
	if (download)
		name_download(rq);
	if (answer_is_known(rq, "%.12s.%u.c1.%016" PRIx64, rq->run.digest + 7, rq->run.revision,
			    options_hash(rq)))
		return ANSWERED;
	if (request_take_place(rq, err) < 0)
		return FAILED;
	return rq->on_worker ? stream_trace(rq, &options, err) : LATER;
}
