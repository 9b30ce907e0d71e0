/* spans.c: GET /runs/<id>/spans, /runs/<id>/ops
 */
#include "handlers.h"
#include "rows.h"
#include "server.h"

#define LIGHT_ROWS_MAX 20000 /* of a run; sorting or filtering more goes to a query worker */

static const struct rows_shape span_shape = {.list = &list_spans};
static const struct rows_shape op_shape = {.list = &list_ops};
static const struct rows_shape group_shape = {.list = &list_op_groups};

static bool is_heavy(const struct rows *rows, struct opt_u64 total)
{
	if (rows->rq->form == FORM_NDJSON || rows->count)
		return true;
	return total.has && total.v > LIGHT_ROWS_MAX &&
	       (rows->query.param_count > 0 || rows->query.sort.p);
}

/* Is there a span of that id? */
static int check_root(struct request *rq, struct db *db, struct ts_str id, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(db, "span_known", &q, err) < 0)
		return -1;
	query_bind_str(q, 1, id);
	n = query_step(q, err);
	if (n != 0)
		return n < 0 ? -1 : 0;
	rq->parameter = "root";
	return ts_error_set(err, TS_E_UNKNOWN_SPAN, "the run has no span of this id");
}

static int check_roots(struct request *rq, struct db *db, struct ts_error *err)
{
	for (size_t i = 0; i < rq->target.param_count; i++)
		if (ts_str_is(rq->target.params[i].name, "root") &&
		    check_root(rq, db, rq->target.params[i].value, err) < 0)
			return -1;
	return 0;
}

static enum outcome answer_rows(struct request *rq, const struct rows_shape *shape, char tag,
				struct ts_error *err)
{
	struct db *db = NULL;
	struct rows rows;
	bool lines = rq->form == FORM_NDJSON;
	int result;

	if (rows_prepare(rq, shape, NULL, &rows, err) < 0 ||
	    request_find_run(rq, RUN_EXECUTION, err) < 0)
		return FAILED;
	rq->answer.modified_ms = rq->run.ingested_ms;
	if (answer_is_known(rq, "%.12s.%u.%c1%c", rq->run.digest + 7, rq->run.revision, tag,
			    lines                    ? 'n'
			    : rq->form == FORM_ARRAY ? 'a'
						     : 'j'))
		return ANSWERED;
	if (lines && request_take_place(rq, err) < 0)
		return FAILED;
	if (!rq->on_worker &&
	    is_heavy(&rows, shape == &span_shape ? rq->run.span_count : rq->run.op_count))
		return LATER;
	if (store_run_db(rq->http->store, rq->run.digest, rq->run.revision, request_deadline_ms(rq),
			 &db, err) < 0)
		return FAILED;
	if (shape == &span_shape && check_roots(rq, db, err) < 0) {
		db_release(db);
		return FAILED;
	}
	if (lines)
		return rows_answer_lines(&rows, db, err) < 0 ? FAILED : ANSWERED;
	result = rows_answer_page(&rows, db, err);
	db_release(db);
	return result < 0 ? FAILED : ANSWERED;
}

enum outcome handle_spans(struct request *rq, struct ts_error *err)
{
	return answer_rows(rq, &span_shape, 'p', err);
}

/* Groups are those of the whole run: they were counted when it was ingested. */
static int check_group(struct request *rq, struct ts_str group_by, struct ts_error *err)
{
	for (size_t i = 0; i < rq->target.param_count; i++) {
		struct ts_str name = rq->target.params[i].name;

		if (name.n == 0 || name.p[0] == '_' || !list_knows(&list_ops, name))
			continue;
		rq->parameter = arena_dup(&rq->arena, name.p, name.n);
		return ts_error_set(err, TS_E_BAD_PARAMETER, "%.*s does not go with group_by",
				    (int)name.n, name.p);
	}
	if (group_by.n == 0) {
		rq->parameter = "group_by";
		return ts_error_set(err, TS_E_BAD_PARAMETER, "group_by is empty");
	}
	return 0;
}

enum outcome handle_ops(struct request *rq, struct ts_error *err)
{
	struct ts_str group_by;

	if (request_param(rq, "group_by", &group_by, err) < 0)
		return FAILED;
	if (!group_by.p)
		return answer_rows(rq, &op_shape, 'o', err);
	if (check_group(rq, group_by, err) < 0)
		return FAILED;
	return answer_rows(rq, &group_shape, 'g', err);
}
