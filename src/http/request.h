/* request.h: one request from its target to the end of its answer
 */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <stdatomic.h>

#include <microhttpd.h>

#include "tracespool/buf.h"
#include "tracespool/capture.h"
#include "tracespool/error.h"
#include "tracespool/store.h"
#include "tracespool/writer.h"

#include "router.h"
#include "target.h"

struct http;
struct listener;
struct stream;
struct kept;
struct known_run;

enum cache_policy {
	CACHE_ASK,  /* keep, but ask: private, no-cache */
	CACHE_NEVER /* no-store */
};

#define ANSWER_HEADERS_MAX 8

struct answer_header {
	const char *name, *value; /* literals, or in the request's arena */
};

/* What a handler fills; reply.c sends it. */
struct answer {
	unsigned status;
	const char *content_type;
	struct buf body;
	bool body_is_gzip;     /* the body was stored compressed */
	struct stream *stream; /* in place of a body; owned until it is sent */
	struct opt_u64 length; /* of the stream, where it is known */
	const char *etag;      /* without quotes and coding; NULL: none */
	bool etag_gzip;        /* with 304: the form that the client has */
	enum cache_policy cache;
	int64_t modified_ms; /* 0: not said */
	struct answer_header headers[ANSWER_HEADERS_MAX];
	unsigned header_count;
};

enum request_state {
	REQUEST_NEW,     /* its head is not there yet */
	REQUEST_BODY,    /* a body that nobody asked for is passed over */
	REQUEST_QUEUED,  /* suspended, with a query worker */
	REQUEST_WAITING, /* suspended, waits for a receipt */
	REQUEST_READY,   /* the answer only has to be sent */
	REQUEST_SENT,
};

struct request {
	struct http *http;
	const struct listener *listener;
	struct MHD_Connection *connection;
	atomic_uint refs; /* MHD's and that of a stream */
	enum request_state state;
	bool counted;     /* among the running ones */
	bool holds_place; /* among limits.streams */
	size_t body_bytes;

	struct arena arena; /* lives as long as the request */
	char *sent;         /* the target as it came */
	struct target target;
	const char *method;
	bool head;
	struct ts_str accept, accept_encoding, if_none_match, host, content_length;
	struct ts_str range, if_range;
	unsigned host_count;
	bool has_body, expects;

	const struct route *route;
	struct ts_str var; /* what stands for {...} */
	enum form form;
	const char *content_type; /* of that form, as the client named it */
	bool gzip, pretty;
	enum json_numbers numbers;
	uint64_t range_size;   /* with bad_range: what there is */
	const char *parameter; /* the parameter that an error is about, or NULL */

	struct run_record run;   /* of a path below /runs/; a capture as if it were one run */
	struct known_run *known; /* whose strings run borrows, or NULL */
	uint64_t run_counter;    /* of the catalog before run was looked up */
	bool run_settled;        /* no commit went through just then */
	struct capture capture;  /* of a path below /captures/ */
	struct ts_str places;    /* of the problem, JSON; or no value */
	int64_t removed_ms;      /* with run_removed: when and why; 0: not known */
	const char *removed_why;

	bool on_worker;
	struct request *next; /* in the workers' queue */

	struct request *wait_next, *wait_before; /* among those that wait */
	int64_t wait_until_ms;                   /* monotonic; 0: not begun */
	int64_t wait_look_ms;                    /* monotonic: looks again at the latest */
	uint64_t wait_seen;                      /* the change it has looked at */

	struct answer answer;
	bool keepable;     /* the answer depends on run and target only */
	struct kept *kept; /* in place of answer; or NULL */
	struct MHD_Response *kept_response;
	unsigned kept_status;
};

/* MHD's callbacks. cls is the struct listener. */
void *request_on_target(void *cls, const char *uri, struct MHD_Connection *connection);
enum MHD_Result request_on_call(void *cls, struct MHD_Connection *connection, const char *url,
				const char *method, const char *version, const char *upload_data,
				size_t *upload_data_size, void **con_cls);
void request_on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
			  enum MHD_RequestTerminationCode toe);

struct request *request_ref(struct request *rq);
void request_unref(struct request *rq); /* takes NULL */

/* Runs the handler and turns a failure into a problem; on a pool thread or a query worker. */
enum outcome request_run(struct request *rq);

/* Takes one of the limits.streams places, kept until the request is freed. */
int request_take_place(struct request *rq, struct ts_error *err);

/* The value of a parameter, or no value. Twice the same one is an error. */
int request_param(struct request *rq, const char *name, struct ts_str *ret, struct ts_error *err);
/* The same for booleans and for integers from low to high; *ret is untouched if it is not there. */
int request_param_bool(struct request *rq, const char *name, bool *ret, struct ts_error *err);
int request_param_u64(struct request *rq, const char *name, uint64_t low, uint64_t high,
		      uint64_t *ret, struct ts_error *err);

/* Looks up the run that the path names, into rq->run. Errors: unknown_run, ambiguous_id,
 * run_removed, wrong_kind if it is not of that kind (-1: any will do). */
int request_find_run(struct request *rq, int kind, struct ts_error *err);
/* graph_unavailable unless the run is complete, which a salvaged one never is, and structurally
 * valid. */
int request_check_graph(struct request *rq, struct ts_error *err);

/* A connection to the catalog with the deadline of a page. */
int request_catalog(struct request *rq, struct db **ret, struct ts_error *err);
int64_t request_deadline_ms(const struct request *rq);

#endif
