/* problems.c: errors as problem documents and log lines; GET /problems/<code>
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "tracespool/log.h"
#include "tracespool/writer.h"

#include "handlers.h"
#include "reply.h"
#include "server.h"

#define LOG_LINES_A_SECOND 20 /* of one kind of event that any client can cause */
#define LOG_TARGET_MAX 160
#define RETRY_AFTER_S 2

/* A client that fails in a loop must not fill the journal: what is left out is counted. */
static bool may_log(struct http *h)
{
	int64_t second = time_mono_ms() / 1000, last = atomic_load(&h->log_second);

	if (second != last && atomic_compare_exchange_strong(&h->log_second, &last, second)) {
		unsigned left_out = atomic_exchange(&h->log_left_out, 0);

		atomic_store(&h->log_lines, 0);
		if (left_out > 0)
			log_line(LOG_L_INFO, "http", "%u further problems were not logged",
				 left_out);
	}
	if (atomic_fetch_add(&h->log_lines, 1) < LOG_LINES_A_SECOND)
		return true;
	atomic_fetch_add(&h->log_left_out, 1);
	return false;
}

static void log_problem(struct request *rq, const struct ts_error *err, const char *what)
{
	char line[1024], target[LOG_TARGET_MAX];

	if (!may_log(rq->http))
		return;
	text_name(ts_str_c(rq->sent), target, sizeof(target));
	log_line((enum log_level)err->code->level, "http", "%s %s: %s %s", rq->method, target, what,
		 ts_error_line(err, line, sizeof(line)));
}

void problem_log(struct request *rq, const struct ts_error *err)
{
	log_problem(rq, err, "broken off");
}

/* A code without a status is no answer to a request: then the fault is inside. */
static unsigned problem_status(const struct ts_code *code)
{
	return code->status ? (unsigned)code->status : 500;
}

/* The parameter that a list's error is about, by the name that its message begins with. */
static const char *named_parameter(struct request *rq, const struct ts_error *err)
{
	if (rq->parameter)
		return rq->parameter;
	if (ts_error_is(err, TS_E_BAD_CURSOR))
		return "cursor";
	if (!ts_error_is(err, TS_E_BAD_PARAMETER))
		return NULL;
	for (size_t i = 0; i < rq->target.param_count; i++) {
		struct ts_str name = rq->target.params[i].name;

		if (name.n > 0 && ts_str_starts(ts_str_c(err->message), name.p))
			return name.p;
	}
	return NULL;
}

static void add_headers(struct request *rq, const struct ts_error *err, unsigned status)
{
	if (status == 503 || status == 429)
		answer_header(rq, MHD_HTTP_HEADER_RETRY_AFTER, "%d", RETRY_AFTER_S);
	if (ts_error_is(err, TS_E_METHOD_NOT_ALLOWED))
		answer_header(rq, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (ts_error_is(err, TS_E_BAD_RANGE))
		answer_header(rq, MHD_HTTP_HEADER_CONTENT_RANGE, "bytes */%" PRIu64,
			      rq->range_size);
	if (ts_error_is(err, TS_E_SHUTDOWN))
		answer_header(rq, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* Further members at the end of the document: of a removal (http-api.md 2.10), and the places that
 * do not go together. */
static void add_members(struct request *rq, const struct ts_error *err, struct buf *document)
{
	bool removal = ts_error_is(err, TS_E_RUN_REMOVED) && rq->removed_ms;
	struct json_writer w;

	if ((!removal && !rq->places.p) || document->failed || document->len == 0)
		return;
	document->len--; /* the closing bracket */
	jw_init(&w, document, JSON_NUMBERS_DEFAULT);
	w.comma = true;
	if (removal) {
		jw_kv_time(&w, "removed_at", rq->removed_ms);
		jw_kv_text(&w, "why", rq->removed_why);
	}
	if (rq->places.p) {
		jw_key(&w, "places");
		jw_raw(&w, rq->places);
	}
	jw_close_object(&w);
}

void problem_answer(struct request *rq, const struct ts_error *err)
{
	unsigned status = problem_status(err->code);
	uint32_t random = 0;
	char log_id[9], what[64], instance[TARGET_INSTANCE_MAX];
	struct json_writer w;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint32_t)time_mono_ms();
	snprintf(log_id, sizeof(log_id), "%08" PRIx32, random);
	snprintf(what, sizeof(what), "status=%u log_id=%s", status, log_id);
	log_problem(rq, err, what);

	text_name(rq->target.raw.p ? rq->target.raw : ts_str_c(rq->sent), instance,
		  sizeof(instance));
	answer_reset(&rq->answer);
	jw_init(&w, &rq->answer.body, JSON_NUMBERS_DEFAULT);
	jw_problem(&w, err, instance, named_parameter(rq, err), log_id);
	add_members(rq, err, &rq->answer.body);
	answer_json(rq, status);
	rq->answer.content_type = "application/problem+json";
	rq->answer.cache = CACHE_NEVER;
	add_headers(rq, err, status);
}

enum outcome handle_problem(struct request *rq, struct ts_error *err)
{
	const struct ts_code *code = rq->var.n < 64 ? ts_code_find(rq->var.p) : NULL;
	struct json_writer w;

	if (!code) {
		ts_error_set(err, TS_E_UNKNOWN_PATH, "there is no error code of this name");
		return FAILED;
	}
	jw_init(&w, &rq->answer.body, rq->numbers);
	jw_open_object(&w);
	jw_kv_text(&w, "schema", "tracespool/problem/1");
	jw_kv_text(&w, "code", code->code);
	jw_kv_text(&w, "title", code->title);
	if (code->status)
		jw_kv_u64(&w, "status", (uint64_t)code->status);
	else
		jw_kv_null(&w, "status");
	jw_kv_text(&w, "hint", code->hint);
	jw_close_object(&w);
	answer_json(rq, 200);
	return ANSWERED;
}
