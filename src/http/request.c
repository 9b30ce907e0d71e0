/* request.c: the life of one request: head, checks, handler, answer, end
 */
#include "request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "checks.h"
#include "kept.h"
#include "known.h"
#include "reply.h"
#include "server.h"

#define BODY_IGNORED_MAX 1048576 /* bytes of a body that nobody asked for */
#define ARENA_MAX 1048576

void *request_on_target(void *cls, const char *uri, struct MHD_Connection *connection)
{
	struct request *rq = calloc(1, sizeof(*rq));

	if (!rq)
		return NULL;
	rq->listener = cls;
	rq->http = rq->listener->http;
	rq->connection = connection;
	rq->arena.limit = ARENA_MAX;
	atomic_init(&rq->refs, 1);
	buf_init(&rq->answer.body, SIZE_MAX);
	rq->sent = strdup(uri ? uri : "");
	if (!rq->sent) {
		free(rq);
		return NULL;
	}
	return rq;
}

struct request *request_ref(struct request *rq)
{
	atomic_fetch_add(&rq->refs, 1);
	return rq;
}

void request_unref(struct request *rq)
{
	if (!rq || atomic_fetch_sub(&rq->refs, 1) != 1)
		return;
	if (rq->holds_place)
		atomic_fetch_sub(&rq->http->streams, 1);
	answer_reset(&rq->answer);
	run_record_done(&rq->run);
	known_unref(rq->known);
	kept_unref(rq->kept);
	capture_done(&rq->capture);
	arena_done(&rq->arena);
	free(rq->sent);
	free(rq);
}

int request_take_place(struct request *rq, struct ts_error *err)
{
	if (rq->holds_place)
		return 0;
	if (atomic_fetch_add(&rq->http->streams, 1) >= rq->http->conf->limits.streams) {
		atomic_fetch_sub(&rq->http->streams, 1);
		return ts_error_set(err, TS_E_TOO_MANY_STREAMS,
				    "%llu streams and waits are open, no more are served at once",
				    (unsigned long long)rq->http->conf->limits.streams);
	}
	rq->holds_place = true;
	return 0;
}

static void begin_running(struct request *rq)
{
	atomic_fetch_add(&rq->http->running, 1);
	rq->counted = true;
}

static void end_running(struct request *rq)
{
	struct http *h = rq->http;

	if (!rq->counted)
		return;
	rq->counted = false;
	/* Who waits for this has set stopping before it looked. */
	if (atomic_fetch_sub(&h->running, 1) != 1 || !atomic_load(&h->stopping))
		return;
	pthread_mutex_lock(&h->lock);
	pthread_cond_broadcast(&h->idle);
	pthread_mutex_unlock(&h->lock);
}

void request_on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
			  enum MHD_RequestTerminationCode toe)
{
	struct request *rq = *con_cls;

	(void)cls;
	(void)connection;
	(void)toe;
	*con_cls = NULL;
	if (!rq)
		return;
	end_running(rq);
	request_unref(rq);
}

/* Headers that may come more than once: then they are one list. */
struct lists {
	struct request *rq;
	struct buf accept, accept_encoding, if_none_match, range,
		if_range; /* empty as long as it came once */
};

static void join(struct buf *list, struct ts_str *first, struct ts_str value)
{
	if (!first->p) {
		*first = value;
		return;
	}
	if (!list->len)
		buf_add(list, first->p, first->n);
	buf_add(list, ", ", 2);
	buf_add(list, value.p, value.n);
}

/* The list takes the place of its first part, as long as the request lives. */
static void keep(struct request *rq, struct buf *list, struct ts_str *first)
{
	char *copy =
		list->len && !list->failed ? arena_dup(&rq->arena, list->data, list->len) : NULL;

	if (copy)
		*first = ts_str(copy, list->len);
	buf_done(list);
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *key,
				 size_t key_size, const char *value, size_t value_size)
{
	struct lists *lists = cls;
	struct request *rq = lists->rq;
	struct ts_str text = ts_str(value ? value : "", value ? value_size : 0);

	(void)kind;
	(void)key_size;
	if (strcasecmp(key, MHD_HTTP_HEADER_ACCEPT) == 0)
		join(&lists->accept, &rq->accept, text);
	else if (strcasecmp(key, MHD_HTTP_HEADER_ACCEPT_ENCODING) == 0)
		join(&lists->accept_encoding, &rq->accept_encoding, text);
	else if (strcasecmp(key, MHD_HTTP_HEADER_IF_NONE_MATCH) == 0)
		join(&lists->if_none_match, &rq->if_none_match, text);
	else if (strcasecmp(key, MHD_HTTP_HEADER_RANGE) == 0)
		join(&lists->range, &rq->range, text);
	else if (strcasecmp(key, MHD_HTTP_HEADER_IF_RANGE) == 0)
		join(&lists->if_range, &rq->if_range, text);
	else if (strcasecmp(key, MHD_HTTP_HEADER_EXPECT) == 0)
		rq->expects = true;
	else if (strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0)
		rq->has_body = true;
	else if (strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0)
		rq->content_length = text;
	else if (strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0) {
		rq->host = text;
		rq->host_count++;
	}
	return MHD_YES;
}

static void take_head(struct request *rq, const char *method)
{
	struct lists lists = {rq, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT};

	rq->method = method;
	rq->head = strcmp(method, "HEAD") == 0;
	MHD_get_connection_values_n(rq->connection, MHD_HEADER_KIND, on_header, &lists);
	keep(rq, &lists.accept, &rq->accept);
	keep(rq, &lists.accept_encoding, &rq->accept_encoding);
	keep(rq, &lists.if_none_match, &rq->if_none_match);
	keep(rq, &lists.range, &rq->range);
	keep(rq, &lists.if_range, &rq->if_range);
	target_split(&rq->target, ts_str_c(rq->sent), rq->http->conf->http.base_path);
	begin_running(rq);
}

static bool is_reading(const struct request *rq)
{
	return rq->head || strcmp(rq->method, "GET") == 0;
}

/* A body that is large or of unknown size is not passed over: the refusal goes out at once, and
 * MHD closes behind it. */
static bool refuses_body(const struct request *rq)
{
	uint64_t length = 0;

	if (is_reading(rq))
		return false;
	text_parse_u64(rq->content_length, &length);
	return rq->has_body || rq->expects || length > BODY_IGNORED_MAX;
}

/* One call of the handler, and what has to happen after it. */
static enum MHD_Result go_on(struct request *rq)
{
	struct ts_error err = TS_ERROR_INIT;

	switch (request_run(rq)) {
	case WAITING:
		return MHD_YES;
	case LATER:
		if (queries_add(rq->http, rq))
			return MHD_YES;
		ts_error_set(&err, TS_E_SHUTDOWN, "the service is stopping");
		problem_answer(rq, &err);
		break;
	case ANSWERED:
	case FAILED:
		break;
	}
	return reply_send(rq);
}

static enum MHD_Result begin(struct request *rq)
{
	struct ts_error err = TS_ERROR_INIT;

	if (request_check_head(rq, &err) == 0) {
		if (is_reading(rq) && kept_find(rq))
			return reply_send(rq);
		if (request_check_target(rq, &err) == 0)
			return go_on(rq);
	}
	problem_answer(rq, &err);
	return reply_send(rq);
}

enum MHD_Result request_on_call(void *cls, struct MHD_Connection *connection, const char *url,
				const char *method, const char *version, const char *upload_data,
				size_t *upload_data_size, void **con_cls)
{
	struct request *rq = *con_cls;

	(void)cls;
	(void)connection;
	(void)url;
	(void)version;
	(void)upload_data;
	if (!rq)
		return MHD_NO;
	switch (rq->state) {
	case REQUEST_NEW:
		take_head(rq, method);
		rq->state = REQUEST_BODY;
		return refuses_body(rq) ? begin(rq) : MHD_YES;
	case REQUEST_BODY:
		if (*upload_data_size == 0)
			return begin(rq);
		rq->body_bytes += *upload_data_size;
		*upload_data_size = 0;
		return rq->body_bytes > BODY_IGNORED_MAX ? MHD_NO : MHD_YES;
	case REQUEST_WAITING:
		return go_on(rq);
	case REQUEST_READY:
		return reply_send(rq);
	case REQUEST_QUEUED:
	case REQUEST_SENT:
		break;
	}
	return MHD_YES;
}

static enum outcome call_handler(struct request *rq, struct ts_error *err)
{
	answer_reset(&rq->answer);
	kept_unref(TAKE(rq->kept));
	rq->keepable = false;
	rq->parameter = NULL;
	rq->places = ts_str(NULL, 0);
	return rq->route->handler(rq, err);
}

enum outcome request_run(struct request *rq)
{
	struct ts_error err = TS_ERROR_INIT;
	enum outcome outcome = call_handler(rq, &err);

	/* A run that was found and then went away, replaced perhaps: what is there now? */
	if (outcome == FAILED && rq->run.no && ts_error_is(&err, TS_E_UNKNOWN_RUN)) {
		err = (struct ts_error)TS_ERROR_INIT;
		outcome = call_handler(rq, &err);
	}
	if (outcome == ANSWERED && rq->answer.body.failed) {
		ts_error_nomem(&err);
		outcome = FAILED;
	}
	if (outcome == FAILED)
		problem_answer(rq, &err);
	return outcome;
}

int request_param(struct request *rq, const char *name, struct ts_str *ret, struct ts_error *err)
{
	struct ts_str found = {NULL, 0};

	for (size_t i = 0; i < rq->target.param_count; i++) {
		if (!ts_str_is(rq->target.params[i].name, name))
			continue;
		if (found.p) {
			rq->parameter = name;
			return ts_error_set(err, TS_E_BAD_PARAMETER, "%s is given twice", name);
		}
		found = rq->target.params[i].value;
	}
	*ret = found;
	return 0;
}

int request_param_bool(struct request *rq, const char *name, bool *ret, struct ts_error *err)
{
	struct ts_str text;

	if (request_param(rq, name, &text, err) < 0)
		return -1;
	if (!text.p)
		return 0;
	if (ts_str_is(text, "true") || ts_str_is(text, "1")) {
		*ret = true;
	} else if (ts_str_is(text, "false") || ts_str_is(text, "0")) {
		*ret = false;
	} else {
		rq->parameter = name;
		return ts_error_set(err, TS_E_BAD_PARAMETER, "%s is neither true nor false", name);
	}
	return 0;
}

int request_param_u64(struct request *rq, const char *name, uint64_t low, uint64_t high,
		      uint64_t *ret, struct ts_error *err)
{
	struct ts_str text;
	uint64_t value;

	if (request_param(rq, name, &text, err) < 0)
		return -1;
	if (!text.p)
		return 0;
	if (!text_parse_u64(text, &value) || value < low || value > high) {
		rq->parameter = name;
		return ts_error_set(err, TS_E_BAD_PARAMETER,
				    "%s is not an integer from %llu to %llu", name,
				    (unsigned long long)low, (unsigned long long)high);
	}
	*ret = value;
	return 0;
}

int64_t request_deadline_ms(const struct request *rq)
{
	return time_mono_ms() + (int64_t)rq->http->conf->limits.page_ms;
}

int request_catalog(struct request *rq, struct db **ret, struct ts_error *err)
{
	return store_catalog_db(rq->http->store, request_deadline_ms(rq), ret, err);
}
