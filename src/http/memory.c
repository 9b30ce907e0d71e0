/* memory.c: GET /runs/<id>/memory, .../memory/events, .../views/memory, footprints, heaviest
 */
#include <stdlib.h>
#include <string.h>

#include "tracespool/memory.h"

#include "handlers.h"
#include "indent.h"
#include "rows.h"
#include "server.h"

#define BODY_MAX (256 * 1024) /* a larger picture is streamed */
#define FOOTPRINTS_DEFAULT 50
#define POINTS_DEFAULT 500
#define TOP_DEFAULT 20

static int open_run(struct request *rq, struct db **ret, struct ts_error *err)
{
	return store_run_db(rq->http->store, rq->run.digest, rq->run.revision,
			    request_deadline_ms(rq), ret, err);
}

/* Finds the execution run; *ret: the answer is 304. */
static int find_run(struct request *rq, char tag, bool *ret, struct ts_error *err)
{
	if (request_find_run(rq, RUN_EXECUTION, err) < 0)
		return -1;
	rq->answer.modified_ms = rq->run.ingested_ms;
	*ret = answer_is_known(rq, "%.12s.%u.m%c1", rq->run.digest + 7, rq->run.revision, tag);
	return 0;
}

/* ---- documents as streams ---- */

struct document_source {
	struct source source;
	struct request *rq;
	struct db *db;
	struct memory_document *d;
	struct indent indent;
	struct buf piece; /* to be indented */
};

static int fill_document(struct source *source, struct buf *out, struct ts_error *err)
{
	struct document_source *ds = (struct document_source *)source;
	int more;

	db_set_deadline(ds->db, request_deadline_ms(ds->rq));
	if (!ds->rq->pretty) {
		more = memory_document_next(ds->d, out, err);
	} else {
		buf_clear(&ds->piece);
		more = memory_document_next(ds->d, &ds->piece, err);
		if (more >= 0)
			indent_add(&ds->indent, out, ds->piece.data, ds->piece.len);
	}
	if (more == 0)
		buf_putc(out, '\n');
	return more;
}

static void close_document(struct source *source)
{
	struct document_source *ds = (struct document_source *)source;

	memory_document_close(ds->d);
	db_release(ds->db);
	buf_done(&ds->piece);
	free(ds);
}

static enum outcome stream_document(struct request *rq, const struct memory_ask *ask,
				    struct ts_error *err)
{
	struct document_source *ds;

	if (request_take_place(rq, err) < 0)
		return FAILED;
	if (!rq->on_worker)
		return LATER;
	ds = calloc(1, sizeof(*ds));
	if (!ds) {
		ts_error_nomem(err);
		return FAILED;
	}
	ds->source.fill = fill_document;
	ds->source.close = close_document;
	ds->rq = rq;
	buf_init(&ds->piece, SIZE_MAX);
	if (open_run(rq, &ds->db, err) < 0 ||
	    memory_document_open(ds->db, ask, rq->numbers, &ds->d, err) < 0) {
		close_document(&ds->source);
		return FAILED;
	}
	return answer_stream(rq, &ds->source, err) < 0 ? FAILED : ANSWERED;
}

static enum outcome answer_view(struct request *rq, char tag, struct memory_ask *ask,
				struct ts_error *err)
{
	bool unchanged;

	if (find_run(rq, tag, &unchanged, err) < 0)
		return FAILED;
	if (ask->what == MEMORY_HEAVIEST && request_check_graph(rq, err) < 0)
		return FAILED;
	if (unchanged)
		return ANSWERED;
	ask->schema = "tracespool/view/1";
	ask->id = rq->run.id;
	ask->entrypoint = rq->run.entrypoint;
	return stream_document(rq, ask, err);
}

enum outcome handle_view_memory(struct request *rq, struct ts_error *err)
{
	return answer_view(rq, 'v', &(struct memory_ask){.what = MEMORY_RESULT}, err);
}

enum outcome handle_view_footprints(struct request *rq, struct ts_error *err)
{
	struct memory_ask ask = {.what = MEMORY_FOOTPRINTS, .limit = FOOTPRINTS_DEFAULT};

	if (request_param_u64(rq, "limit", 1, INT64_MAX, &ask.limit, err) < 0)
		return FAILED;
	return answer_view(rq, 'f', &ask, err);
}

enum outcome handle_view_heaviest(struct request *rq, struct ts_error *err)
{
	return answer_view(rq, 'h', &(struct memory_ask){.what = MEMORY_HEAVIEST}, err);
}

/* ---- the picture ---- */

static int bad(struct request *rq, const char *parameter, const char *message, struct ts_error *err)
{
	rq->parameter = parameter;
	return ts_error_set(err, TS_E_BAD_PARAMETER, "%s", message);
}

static int read_plane(struct request *rq, struct memory_ask *ask, struct ts_error *err)
{
	struct ts_str plane;

	if (request_param(rq, "plane", &plane, err) < 0)
		return -1;
	ask->logical = !plane.p || ts_str_is(plane, "logical");
	ask->physical = !plane.p || ts_str_is(plane, "physical");
	if (!ask->logical && !ask->physical)
		return bad(rq, "plane", "plane is logical or physical", err);
	return 0;
}

/* Repeated ones mean any of these. */
static int read_choice(struct request *rq, struct memory_ask *ask, struct ts_error *err)
{
	struct ts_str *names =
		arena_alloc(&rq->arena, (rq->target.param_count + 1) * sizeof(*names));

	if (!names)
		return ts_error_nomem(err);
	ask->device_names = names;
	for (size_t i = 0; i < rq->target.param_count; i++) {
		struct list_param p = rq->target.params[i];
		int category;

		if (ts_str_is(p.name, "device")) {
			if (ask->device_name_count == LIST_FILTERS_MAX)
				return bad(rq, "device", "too many devices", err);
			names[ask->device_name_count++] = p.value;
		} else if (ts_str_is(p.name, "category")) {
			category = memory_category(p.value);
			if (category < 0)
				return bad(rq, "category",
					   "category is parameter, activation, gradient, optimizer "
					   "or other",
					   err);
			ask->categories |= 1u << category;
		}
	}
	if (!ask->categories)
		ask->categories = (1u << MEMORY_CATEGORIES) - 1;
	return 0;
}

/* Fills the body: 1, or 0 if it becomes too large for one. */
static int fill_body(struct request *rq, struct db *db, const struct memory_ask *ask,
		     struct ts_error *err)
{
	struct memory_document *d = NULL;
	int more = 1;

	if (memory_document_open(db, ask, rq->numbers, &d, err) < 0)
		return -1;
	while (more == 1 && rq->answer.body.len <= BODY_MAX)
		more = memory_document_next(d, &rq->answer.body, err);
	memory_document_close(d);
	if (more == 1)
		buf_clear(&rq->answer.body);
	return more < 0 ? -1 : more == 0;
}

enum outcome handle_memory(struct request *rq, struct ts_error *err)
{
	struct memory_ask ask = {.what = MEMORY_PICTURE,
				 .schema = "tracespool/memory/1",
				 .points = POINTS_DEFAULT,
				 .top = TOP_DEFAULT};
	struct db *db CLEAN(db_releasep) = NULL;
	bool unchanged;
	int n;

	if (request_param_u64(rq, "points", MEMORY_POINTS_MIN, MEMORY_POINTS_MAX, &ask.points,
			      err) < 0 ||
	    request_param_u64(rq, "top", 0, MEMORY_TOP_MAX, &ask.top, err) < 0 ||
	    read_plane(rq, &ask, err) < 0 || read_choice(rq, &ask, err) < 0 ||
	    find_run(rq, 'p', &unchanged, err) < 0)
		return FAILED;
	if (unchanged)
		return ANSWERED;
	ask.id = rq->run.id;
	if (open_run(rq, &db, err) < 0)
		return FAILED;
	n = rq->on_worker ? 1 : memory_is_ready(db, &ask, err);
	if (n < 0)
		return FAILED;
	if (n == 0)
		return LATER;
	n = fill_body(rq, db, &ask, err);
	if (n < 0)
		return FAILED;
	if (n == 0)
		return stream_document(rq, &ask, err);
	answer_json(rq, 200);
	return ANSWERED;
}

/* ---- records ---- */

static const struct rows_shape event_shape = {.list = &list_memory_events};

enum outcome handle_memory_events(struct request *rq, struct ts_error *err)
{
	struct db *db = NULL;
	struct rows rows;
	bool unchanged, lines = rq->form == FORM_NDJSON;
	int result;

	if (rows_prepare(rq, &event_shape, NULL, &rows, err) < 0 ||
	    find_run(rq,
		     lines                    ? 'n'
		     : rq->form == FORM_ARRAY ? 'a'
					      : 'j',
		     &unchanged, err) < 0)
		return FAILED;
	if (unchanged)
		return ANSWERED;
	if (lines && request_take_place(rq, err) < 0)
		return FAILED;
	/* The first page in the default order goes along an index, as do those behind it. */
	if (!rq->on_worker &&
	    (lines || rows.count || rows.query.param_count > 0 || rows.query.sort.p))
		return LATER;
	if (open_run(rq, &db, err) < 0)
		return FAILED;
	if (lines)
		return rows_answer_lines(&rows, db, err) < 0 ? FAILED : ANSWERED;
	result = rows_answer_page(&rows, db, err);
	db_release(db);
	return result < 0 ? FAILED : ANSWERED;
}
