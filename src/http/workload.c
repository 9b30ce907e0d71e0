/* workload.c: GET /runs/<id>/dag, /runs/<id>/arrivals
 */
#include "tracespool/analyze.h"
#include "tracespool/replay.h"

#include "handlers.h"
#include "reply.h"
#include "server.h"

#define GRAPH_NODES_MAX 2000

static int open_run(struct request *rq, struct db **ret, struct ts_error *err)
{
	return store_run_db(rq->http->store, rq->run.digest, rq->run.revision,
			    request_deadline_ms(rq), ret, err);
}

/* Finds the run; *ret_outcome is ANSWERED with a 304, LATER off a query worker, else the work is to
 * be done now. */
static bool is_due(struct request *rq, char tag, enum outcome *ret_outcome, struct ts_error *err)
{
	*ret_outcome = FAILED;
	if (request_find_run(rq, RUN_REQUESTS, err) < 0)
		return false;
	rq->answer.modified_ms = rq->run.ingested_ms;
	*ret_outcome = ANSWERED;
	if (answer_is_known(rq, "%.12s.%u.%c1.%016llx", rq->run.digest + 7, rq->run.revision, tag,
			    (unsigned long long)target_hash(&rq->target)))
		return false;
	*ret_outcome = LATER;
	return rq->on_worker;
}

static void begin(struct request *rq, struct json_writer *w, const char *schema)
{
	jw_init(w, &rq->answer.body, rq->numbers);
	jw_open_object(w);
	jw_kv_text(w, "schema", schema);
	jw_kv_str(w, "id", rq->run.id);
}

static int write_graph(struct request *rq, struct ts_str session, struct ts_error *err)
{
	static const struct replay_options options = {.graph = true};
	CLEAN(db_releasep) struct db *db = NULL;
	CLEAN(replay_closep) struct replay *replay = NULL;
	struct json_writer w;
	uint64_t total;

	if (open_run(rq, &db, err) < 0)
		return -1;
	/* What only the rows themselves bring to light is known since ingest. */
	if (rq->run.replay_error.p)
		return replay_open(db, &replay, err) < 0
			       ? -1
			       : ts_error_set(err, TS_E_INTERNAL, "the run has rows after all");
	if (replay_open_as(db, &options, &replay, err) < 0)
		return -1;
	begin(rq, &w, "tracespool/dag/1");
	jw_kv_text(&w, "mode",
		   replay_facts(replay)->mode == REPLAY_AGENTIC ? "agentic" : "standard");
	jw_kv_str(&w, "session", session);
	if (replay_graph(replay, session, GRAPH_NODES_MAX, &w, &total, err) < 0)
		return -1;
	if (total == 0) {
		rq->parameter = "session";
		return ts_error_set(err, TS_E_BAD_PARAMETER, "no request has this session");
	}
	jw_close_object(&w);
	return 0;
}

enum outcome handle_graph(struct request *rq, struct ts_error *err)
{
	struct ts_str session;
	enum outcome outcome;

	if (request_param(rq, "session", &session, err) < 0)
		return FAILED;
	if (!is_due(rq, 'g', &outcome, err))
		return outcome;
	if (write_graph(rq, session, err) < 0)
		return FAILED;
	answer_json(rq, 200);
	return ANSWERED;
}

static int write_arrivals(struct request *rq, struct opt_u64 bucket_ms, uint64_t interval_s,
			  struct ts_error *err)
{
	CLEAN(db_releasep) struct db *db = NULL;
	struct json_writer w;

	if (open_run(rq, &db, err) < 0)
		return -1;
	rq->parameter = interval_s ? "interval_s" : "bucket_ms";
	begin(rq, &w, interval_s ? "tracespool/intervals/1" : "tracespool/arrivals/1");
	if (interval_s) {
		jw_kv_u64(&w, "interval_s", interval_s);
		if (analyze_intervals(db, interval_s, &w, err) < 0)
			return -1;
	} else if (analyze_arrivals(db, bucket_ms, &w, err) < 0) {
		return -1;
	}
	rq->parameter = NULL;
	jw_close_object(&w);
	return 0;
}

enum outcome handle_arrivals(struct request *rq, struct ts_error *err)
{
	struct opt_u64 bucket_ms = {0};
	uint64_t interval_s = 0;
	enum outcome outcome;

	if (request_param_u64(rq, "bucket_ms", 1, UINT64_MAX, &bucket_ms.v, err) < 0 ||
	    request_param_u64(rq, "interval_s", 1, ARRIVALS_INTERVAL_MAX_S, &interval_s, err) < 0)
		return FAILED;
	bucket_ms.has = bucket_ms.v > 0;
	if (bucket_ms.has && interval_s) {
		rq->parameter = "interval_s";
		ts_error_set(err, TS_E_BAD_PARAMETER,
			     "bucket_ms and interval_s exclude each other");
		return FAILED;
	}
	if (!is_due(rq, 'a', &outcome, err))
		return outcome;
	if (write_arrivals(rq, bucket_ms, interval_s, err) < 0)
		return FAILED;
	answer_json(rq, 200);
	return ANSWERED;
}
