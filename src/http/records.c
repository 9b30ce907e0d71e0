/* records.c: lists of the records of an execution run (http-api.md 3.7) */
#include "handlers.h"
#include "rows.h"
#include "server.h"

/* Pages in file order are quick anywhere; what has to look at all rows goes to a query worker. */
static bool is_heavy(const struct rows *rows)
{
	return rows->rq->form == FORM_NDJSON || rows->count || rows->query.param_count > 0;
}

static char form_letter(enum form form)
{
	return form == FORM_JSON ? 'j' : form == FORM_ARRAY ? 'a' : 'n';
}

static enum outcome answer_records(struct request *rq, const struct rows_shape *shape,
				   struct ts_error *err)
{
	struct db *db = NULL;
	struct rows rows;
	int result;

	if (rows_prepare(rq, shape, NULL, &rows, err) < 0 ||
	    request_find_run(rq, RUN_EXECUTION, err) < 0)
		return FAILED;
	rq->answer.modified_ms = rq->run.ingested_ms;
	if (answer_is_known(rq, "%.12s.%u.l1%c", rq->run.digest + 7, rq->run.revision,
			    form_letter(rq->form)))
		return ANSWERED;
	if (rq->form == FORM_NDJSON && request_take_place(rq, err) < 0)
		return FAILED;
	if (!rq->on_worker && is_heavy(&rows))
		return LATER;
	if (store_run_db(rq->http->store, rq->run.digest, rq->run.revision, request_deadline_ms(rq),
			 &db, err) < 0)
		return FAILED;
	if (rq->form == FORM_NDJSON)
		return rows_answer_lines(&rows, db, err) < 0 ? FAILED : ANSWERED;
	result = rows_answer_page(&rows, db, err);
	db_release(db);
	return result < 0 ? FAILED : ANSWERED;
}

static const struct rows_shape tensors_shape = {.list = &list_tensors};

enum outcome handle_tensors(struct request *rq, struct ts_error *err)
{
	return answer_records(rq, &tensors_shape, err);
}

static const struct rows_shape tensor_stats_shape = {.list = &list_tensor_stats};

enum outcome handle_tensor_stats(struct request *rq, struct ts_error *err)
{
	return answer_records(rq, &tensor_stats_shape, err);
}

static const struct rows_shape gradients_shape = {.list = &list_gradients};

enum outcome handle_gradients(struct request *rq, struct ts_error *err)
{
	return answer_records(rq, &gradients_shape, err);
}

static const struct rows_shape edges_shape = {.list = &list_edges};

enum outcome handle_edges(struct request *rq, struct ts_error *err)
{
	return answer_records(rq, &edges_shape, err);
}

static const struct rows_shape device_intervals_shape = {.list = &list_device_intervals};

enum outcome handle_device_intervals(struct request *rq, struct ts_error *err)
{
	return answer_records(rq, &device_intervals_shape, err);
}
