/* span_views.c: GET /runs/<id>/views/NAME for the views of host and device times
 */
#include <stdlib.h>

#include "tracespool/analyze.h"

#include "handlers.h"
#include "indent.h"
#include "reply.h"
#include "server.h"

#define SLOW_OPS_DEFAULT 50

struct view_source {
	struct source source;
	struct request *rq;
	struct db *db;
	struct view *view;
	struct json_writer w;
	bool begun;
	struct indent indent;
	struct buf piece; /* of an indented document */
};

static int write_piece(struct view_source *vs, struct buf *out, struct ts_error *err)
{
	int more;

	vs->w.out = out;
	if (!vs->begun) {
		vs->begun = true;
		jw_open_object(&vs->w);
		jw_kv_text(&vs->w, "schema", "tracespool/view/1");
		jw_kv_str(&vs->w, "id", vs->rq->run.id);
		jw_key(&vs->w, "result");
	}
	more = view_step(vs->view, &vs->w, err);
	if (more == 0)
		jw_close_object(&vs->w);
	return more;
}

static int fill_view(struct source *source, struct buf *out, struct ts_error *err)
{
	struct view_source *vs = (struct view_source *)source;
	int more;

	db_set_deadline(vs->db, request_deadline_ms(vs->rq));
	if (!vs->rq->pretty) {
		more = write_piece(vs, out, err);
	} else {
		buf_clear(&vs->piece);
		more = write_piece(vs, &vs->piece, err);
		indent_add(&vs->indent, out, vs->piece.data, vs->piece.len);
		out->failed |= vs->piece.failed;
	}
	if (more == 0)
		buf_putc(out, '\n');
	return more;
}

static void close_view(struct source *source)
{
	struct view_source *vs = (struct view_source *)source;

	view_close(vs->view);
	db_release(vs->db);
	buf_done(&vs->piece);
	free(vs);
}

static enum outcome stream_view(struct request *rq, struct ts_str name, uint64_t limit,
				struct ts_error *err)
{
	struct view_source *vs = calloc(1, sizeof(*vs));

	if (!vs) {
		ts_error_nomem(err);
		return FAILED;
	}
	vs->source.fill = fill_view;
	vs->source.close = close_view;
	vs->rq = rq;
	buf_init(&vs->piece, SIZE_MAX);
	jw_init(&vs->w, &vs->piece, rq->numbers);
	if (store_run_db(rq->http->store, rq->run.digest, rq->run.revision, request_deadline_ms(rq),
			 &vs->db, err) < 0 ||
	    view_open(vs->db, name, limit, &vs->view, err) < 0) {
		close_view(&vs->source);
		return FAILED;
	}
	return answer_stream(rq, &vs->source, err) < 0 ? FAILED : ANSWERED;
}

enum outcome handle_span_view(struct request *rq, struct ts_error *err)
{
	struct ts_str name = rq->target.segment[rq->target.segment_count - 1];
	uint64_t limit = SLOW_OPS_DEFAULT;

	if (request_param_u64(rq, "limit", 1, VIEW_SLOW_OPS_MAX, &limit, err) < 0 ||
	    request_find_run(rq, RUN_EXECUTION, err) < 0)
		return FAILED;
	if (view_needs_graph(name) && request_check_graph(rq, err) < 0)
		return FAILED;
	rq->answer.modified_ms = rq->run.ingested_ms;
	if (answer_is_known(rq, "%.12s.%u.v1", rq->run.digest + 7, rq->run.revision))
		return ANSWERED;
	if (request_take_place(rq, err) < 0)
		return FAILED;
	return rq->on_worker ? stream_view(rq, name, limit, err) : LATER;
}
