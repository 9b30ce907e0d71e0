/* requests.c: GET /runs/<id>/requests, .../tools, .../sessions, .../replay; also of captures
 */
#include <stdlib.h>
#include <string.h>

#include "tracespool/replay.h"

#include "handlers.h"
#include "merged.h"
#include "rows.h"
#include "server.h"

#define LIGHT_ROWS_MAX 20000 /* of a run; sorting or filtering more goes to a query worker */
#define REPLAY_ROWS_A_STEP 64

/* rows_wanted: those of the replay, which a capture can lack though it has requests. */
static int open_run(struct request *rq, bool rows_wanted, struct db **ret, struct ts_error *err)
{
	if (request_is_capture(rq))
		return merged_open(rq, rows_wanted, ret, err);
	return store_run_db(rq->http->store, rq->run.digest, rq->run.revision,
			    request_deadline_ms(rq), ret, err);
}

/* ---- requests, tools ---- */

static void write_block_size(struct json_writer *w, const struct rows *rows)
{
	struct opt_u64 size = rows->rq->run.trace_block_size;

	if (size.has)
		jw_kv_u64(w, "trace_block_size", size.v);
	else
		jw_kv_null(w, "trace_block_size");
}

static const struct rows_shape request_shape = {
	.list = &list_requests,
	.include = "replay",
	.write_envelope = write_block_size,
};

static const struct rows_shape tool_shape = {.list = &list_tools};

static const struct rows_shape session_shape = {.list = &list_sessions};

static bool is_heavy(const struct rows *rows, struct opt_u64 total)
{
	if (rows->rq->form == FORM_NDJSON || rows->count)
		return true;
	return total.has && total.v > LIGHT_ROWS_MAX &&
	       (rows->query.param_count > 0 || rows->query.sort.p);
}

static char form_letter(enum form form)
{
	return form == FORM_JSON ? 'j' : form == FORM_ARRAY ? 'a' : 'n';
}

static struct opt_u64 row_total(const struct run_record *run, const struct list *list)
{
	if (list == &list_tools)
		return run->tools;
	return list == &list_sessions ? run->sessions : run->requests;
}

static enum outcome answer_rows(struct request *rq, const struct rows_shape *shape, char tag,
				struct ts_error *err)
{
	struct db *db = NULL;
	struct rows rows;
	int result;

	if (rows_prepare(rq, shape, NULL, &rows, err) < 0 ||
	    request_find_run(rq, RUN_REQUESTS, err) < 0)
		return FAILED;
	rq->answer.modified_ms = rq->run.ingested_ms;
	if (answer_is_known(rq, "%.12s.%u.%c1%c", rq->run.digest + 7, rq->run.revision, tag,
			    form_letter(rq->form)))
		return ANSWERED;
	if (rq->form == FORM_NDJSON && request_take_place(rq, err) < 0)
		return FAILED;
	if (!rq->on_worker &&
	    (request_is_capture(rq) || is_heavy(&rows, row_total(&rq->run, shape->list))))
		return LATER;
	if (open_run(rq, false, &db, err) < 0)
		return FAILED;
	if (rq->form == FORM_NDJSON)
		return rows_answer_lines(&rows, db, err) < 0 ? FAILED : ANSWERED;
	result = rows_answer_page(&rows, db, err);
	db_release(db);
	return result < 0 ? FAILED : ANSWERED;
}

enum outcome handle_requests(struct request *rq, struct ts_error *err)
{
	if (rq->form == FORM_DYNAMO)
		return handle_recorded(rq, err);
	return answer_rows(rq, &request_shape, 'q', err);
}

enum outcome handle_tools(struct request *rq, struct ts_error *err)
{
	return answer_rows(rq, &tool_shape, 't', err);
}

enum outcome handle_sessions(struct request *rq, struct ts_error *err)
{
	return answer_rows(rq, &session_shape, 'e', err);
}

/* ---- replay ---- */

enum replay_place { PLACE_HEAD, PLACE_FIRST_ROW, PLACE_ROWS };

struct replay_source {
	struct source source;
	struct request *rq;
	struct db *db;
	struct replay *replay;
	enum replay_place place;
	bool lines;     /* ndjson: rows only */
	struct buf row; /* of an indented document */
};

static const char *mode_name(enum replay_mode mode)
{
	return mode == REPLAY_AGENTIC ? "agentic" : "standard";
}

/* {"schema":...,"rows":[ ; the rows and the end follow. */
static void write_head(struct replay_source *rs, struct buf *out)
{
	const struct replay_facts *facts = replay_facts(rs->replay);
	const char *gap = rs->rq->pretty ? "\n  " : "", *space = rs->rq->pretty ? " " : "";
	struct buf id = BUF_INIT, header = BUF_INIT;
	bool string = rs->rq->numbers == JSON_NUMBERS_STRING;

	json_quote(&id, rs->rq->run.id);
	replay_header(rs->replay, &header, string);
	if (id.failed || header.failed) {
		out->failed = true;
	} else {
		buf_printf(out,
			   "{%s\"schema\":%s\"tracespool/replay/1\",%s\"id\":%s%s,"
			   "%s\"mode\":%s\"%s\",%s\"trace_block_size\":%s%s%llu%s,",
			   gap, space, gap, space, id.data, gap, space, mode_name(facts->mode), gap,
			   space, string ? "\"" : "", (unsigned long long)facts->trace_block_size,
			   string ? "\"" : "");
		if (header.len)
			buf_printf(out, "%s\"header\":%s%s,", gap, space, header.data);
		buf_printf(out, "%s\"rows\":%s[", gap, space);
	}
	buf_done(&id);
	buf_done(&header);
}

static void write_tail(struct replay_source *rs, struct buf *out)
{
	if (!rs->rq->pretty)
		buf_puts(out, "]}\n");
	else
		buf_puts(out, rs->place == PLACE_FIRST_ROW ? "]\n}\n" : "\n  ]\n}\n");
}

/* A row within the indented document; its strings hold no raw line feed. */
static void write_indented(struct ts_str row, struct buf *out)
{
	struct buf text = BUF_INIT;

	json_reformat(&text, row, true, JSON_NUMBERS_DEFAULT);
	buf_puts(out, "\n    ");
	for (size_t i = 0; i < text.len; i++) {
		buf_putc(out, text.data[i]);
		if (text.data[i] == '\n')
			buf_puts(out, "    ");
	}
	if (text.failed)
		out->failed = true;
	buf_done(&text);
}

/* 1 a row, 0 the end. */
static int write_row(struct replay_source *rs, struct buf *out, struct ts_error *err)
{
	bool string = rs->rq->numbers == JSON_NUMBERS_STRING;
	size_t before = out->len;
	int more;

	if (rs->lines) {
		more = replay_next(rs->replay, out, string, err);
		if (more > 0)
			buf_putc(out, '\n');
		return more;
	}
	if (rs->place == PLACE_ROWS)
		buf_putc(out, ',');
	if (!rs->rq->pretty) {
		more = replay_next(rs->replay, out, string, err);
	} else {
		buf_clear(&rs->row);
		more = replay_next(rs->replay, &rs->row, string, err);
		if (more > 0)
			write_indented(ts_str(rs->row.data, rs->row.len), out);
	}
	if (more > 0)
		rs->place = PLACE_ROWS;
	else if (out->len > before)
		out->len = before; /* the comma of a row that did not come */
	return more;
}

static int fill_replay(struct source *source, struct buf *out, struct ts_error *err)
{
	struct replay_source *rs = (struct replay_source *)source;
	int more = 1;

	db_set_deadline(rs->db, request_deadline_ms(rs->rq));
	if (rs->place == PLACE_HEAD) {
		if (!rs->lines)
			write_head(rs, out);
		else if (replay_header(rs->replay, out, rs->rq->numbers == JSON_NUMBERS_STRING))
			buf_putc(out, '\n');
		rs->place = PLACE_FIRST_ROW;
	}
	for (unsigned n = 0; more > 0 && n < REPLAY_ROWS_A_STEP; n++)
		more = write_row(rs, out, err);
	if (more == 0 && !rs->lines)
		write_tail(rs, out);
	return more;
}

static void close_replay(struct source *source)
{
	struct replay_source *rs = (struct replay_source *)source;

	replay_close(rs->replay);
	db_release(rs->db);
	buf_done(&rs->row);
	free(rs);
}

static enum outcome stream_replay(struct request *rq, const struct replay_options *options,
				  struct ts_error *err)
{
	struct replay_source *rs = calloc(1, sizeof(*rs));
	const struct replay_facts *facts;

	if (!rs) {
		ts_error_nomem(err);
		return FAILED;
	}
	rs->source.fill = fill_replay;
	rs->source.close = close_replay;
	rs->rq = rq;
	rs->lines = rq->form == FORM_NDJSON;
	buf_init(&rs->row, SIZE_MAX);
	if (open_run(rq, options->want != REPLAY_AS_STANDARD, &rs->db, err) < 0 ||
	    replay_open_as(rs->db, options, &rs->replay, err) < 0) {
		close_replay(&rs->source);
		return FAILED;
	}
	facts = replay_facts(rs->replay);
	answer_header(rq, "Tracespool-Trace-Block-Size", "%llu",
		      (unsigned long long)facts->trace_block_size);
	answer_header(rq, "Tracespool-Row-Count", "%llu", (unsigned long long)facts->rows);
	answer_header(rq, "Tracespool-Unreplayable-Rows", "%llu",
		      (unsigned long long)facts->unreplayable_rows);
	return answer_stream(rq, &rs->source, err) < 0 ? FAILED : ANSWERED;
}

static int read_replay_options(struct request *rq, struct replay_options *ret, struct ts_error *err)
{
	struct ts_str mode;
	uint64_t version = 1;

	*ret = (struct replay_options){0};
	if (request_param(rq, "mode", &mode, err) < 0 ||
	    request_param_u64(rq, "version", 1, 2, &version, err) < 0 ||
	    request_param_bool(rq, "replayable", &ret->replayable, err) < 0)
		return -1;
	ret->version2 = version == 2;
	if (ts_str_is(mode, "standard")) {
		ret->want = REPLAY_AS_STANDARD;
	} else if (ts_str_is(mode, "agentic")) {
		ret->want = REPLAY_AS_AGENTIC;
	} else if (mode.p) {
		rq->parameter = "mode";
		return ts_error_set(err, TS_E_BAD_PARAMETER,
				    "mode is neither standard nor agentic");
	}
	if (ret->version2 && ret->want == REPLAY_AS_STANDARD) {
		rq->parameter = "version";
		return ts_error_set(err, TS_E_BAD_PARAMETER,
				    "version 2 has agentic rows only, mode is standard");
	}
	return 0;
}

enum outcome handle_replay(struct request *rq, struct ts_error *err)
{
	struct replay_options options;

	if (read_replay_options(rq, &options, err) < 0 ||
	    request_find_run(rq, RUN_REQUESTS, err) < 0)
		return FAILED;
	rq->answer.modified_ms = rq->run.ingested_ms;
	if (answer_is_known(rq, "%.12s.%u.r1%c%u%u%u", rq->run.digest + 7, rq->run.revision,
			    form_letter(rq->form), (unsigned)options.want, options.version2,
			    options.replayable))
		return ANSWERED;
	if (request_take_place(rq, err) < 0)
		return FAILED;
	return rq->on_worker ? stream_replay(rq, &options, err) : LATER;
}
