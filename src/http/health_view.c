/* health_view.c: GET /runs/<id>/views/health: all issues of a run, streamed (http-api.md 3.7) */
#include <stdlib.h>

#include "handlers.h"
#include "reply.h"
#include "server.h"

#define ISSUES_A_STEP 200

enum health_place { PLACE_HEAD, PLACE_FIRST_ISSUE, PLACE_ISSUES };

struct health_source {
	struct source source;
	struct request *rq;
	struct db *db;
	struct query *issues;
	enum health_place place;
	struct buf item, text, coverage; /* the first two are scratch */
	bool valid, complete;
};

/* Compact JSON within the document, below `depth` levels of it. */
static void write_inner(struct health_source *hs, struct buf *out, struct ts_str json,
			unsigned depth)
{
	buf_clear(&hs->text);
	json_reformat(&hs->text, json, hs->rq->pretty, hs->rq->numbers);
	for (size_t i = 0; i < hs->text.len; i++) {
		buf_putc(out, hs->text.data[i]);
		/* Strings hold no raw line feed. */
		if (hs->text.data[i] == '\n')
			buf_printf(out, "%*s", (int)(2 * depth), "");
	}
	if (hs->text.failed)
		out->failed = true;
}

/* A new line and its indent, if the document is indented. */
static void write_gap(const struct health_source *hs, struct buf *out, unsigned depth)
{
	if (hs->rq->pretty)
		buf_printf(out, "\n%*s", (int)(2 * depth), "");
}

static void write_key(const struct health_source *hs, struct buf *out, unsigned depth,
		      const char *key)
{
	write_gap(hs, out, depth);
	buf_printf(out, "\"%s\":%s", key, hs->rq->pretty ? " " : "");
}

static void write_head(struct health_source *hs, struct buf *out)
{
	buf_putc(out, '{');
	write_key(hs, out, 1, "schema");
	buf_puts(out, "\"tracespool/view/1\",");
	write_key(hs, out, 1, "id");
	json_quote(out, hs->rq->run.id);
	buf_putc(out, ',');
	write_key(hs, out, 1, "result");
	buf_putc(out, '{');
	write_key(hs, out, 2, "structurally_valid");
	buf_puts(out, hs->valid ? "true," : "false,");
	write_key(hs, out, 2, "capture_complete");
	buf_puts(out, hs->complete ? "true," : "false,");
	write_key(hs, out, 2, "issues");
	buf_putc(out, '[');
}

static void write_tail(struct health_source *hs, struct buf *out)
{
	if (hs->place == PLACE_ISSUES)
		write_gap(hs, out, 2);
	buf_puts(out, "],");
	write_key(hs, out, 2, "coverage");
	write_inner(hs, out, ts_str(hs->coverage.data, hs->coverage.len), 2);
	write_gap(hs, out, 1);
	buf_putc(out, '}');
	write_gap(hs, out, 0);
	buf_puts(out, "}\n");
}

static void write_issue(struct health_source *hs, struct buf *out)
{
	struct json_writer w;

	buf_clear(&hs->item);
	jw_init(&w, &hs->item, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	jw_kv_str(&w, "severity", query_str(hs->issues, 0));
	jw_kv_str(&w, "code", query_str(hs->issues, 1));
	jw_kv_str(&w, "message", query_str(hs->issues, 2));
	jw_close_object(&w);
	if (hs->place == PLACE_ISSUES)
		buf_putc(out, ',');
	hs->place = PLACE_ISSUES;
	write_gap(hs, out, 3);
	if (hs->item.failed)
		out->failed = true;
	else
		write_inner(hs, out, ts_str(hs->item.data, hs->item.len), 3);
}

static int fill_health(struct source *source, struct buf *out, struct ts_error *err)
{
	struct health_source *hs = (struct health_source *)source;
	int more = 1;

	db_set_deadline(hs->db, request_deadline_ms(hs->rq));
	if (hs->place == PLACE_HEAD) {
		write_head(hs, out);
		hs->place = PLACE_FIRST_ISSUE;
	}
	for (unsigned n = 0; more > 0 && n < ISSUES_A_STEP; n++) {
		more = query_step(hs->issues, err);
		if (more > 0)
			write_issue(hs, out);
	}
	if (more == 0)
		write_tail(hs, out);
	return more;
}

static void close_health(struct source *source)
{
	struct health_source *hs = (struct health_source *)source;

	query_close(hs->issues);
	db_release(hs->db);
	buf_done(&hs->item);
	buf_done(&hs->text);
	buf_done(&hs->coverage);
	free(hs);
}

static int open_health(struct health_source *hs, struct ts_error *err)
{
	struct request *rq = hs->rq;
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (store_run_db(rq->http->store, rq->run.digest, rq->run.revision, request_deadline_ms(rq),
			 &hs->db, err) < 0 ||
	    query_open(hs->db, "health_report", &q, err) < 0 || (n = query_step(q, err)) < 0)
		return -1;
	if (n == 0)
		return ts_error_set(err, TS_E_STORE_DAMAGED, "the run's file has no health report");
	struct ts_str coverage = query_str(q, 2);

	hs->valid = query_u64(q, 0) != 0;
	hs->complete = query_u64(q, 1) != 0;
	buf_add(&hs->coverage, coverage.p, coverage.n);
	if (hs->coverage.failed)
		return ts_error_nomem(err);
	return query_open(hs->db, "health_issues", &hs->issues, err);
}

static enum outcome stream_health(struct request *rq, struct ts_error *err)
{
	struct health_source *hs = calloc(1, sizeof(*hs));

	if (!hs) {
		ts_error_nomem(err);
		return FAILED;
	}
	hs->source.fill = fill_health;
	hs->source.close = close_health;
	hs->rq = rq;
	hs->item = hs->text = hs->coverage = (struct buf)BUF_INIT;
	if (open_health(hs, err) < 0) {
		close_health(&hs->source);
		return FAILED;
	}
	return answer_stream(rq, &hs->source, err) < 0 ? FAILED : ANSWERED;
}

enum outcome handle_health_view(struct request *rq, struct ts_error *err)
{
	if (request_find_run(rq, RUN_EXECUTION, err) < 0)
		return FAILED;
	rq->answer.modified_ms = rq->run.ingested_ms;
	if (answer_is_known(rq, "%.12s.%u.h1j", rq->run.digest + 7, rq->run.revision))
		return ANSWERED;
	if (request_take_place(rq, err) < 0)
		return FAILED;
	return rq->on_worker ? stream_health(rq, err) : LATER;
}
