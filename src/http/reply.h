/* reply.h: sends what a handler filled: JSON, validators, gzip, streams
 */
#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

#include "request.h"

/* Where the bytes of a stream come from. fill appends one or a few rows to out: 1 there may be
 * more, 0 that was the end, -1 error. It is called by one thread at a time. */
struct source {
	int (*fill)(struct source *source, struct buf *out, struct ts_error *err);
	void (*close)(struct source *source);
};

/* Adds a header; the value is copied. */
void answer_header(struct request *rq, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The compact JSON in answer.body is the answer; it is indented if the request says so. */
void answer_json(struct request *rq, unsigned status);

/* JSON that was made before (no line end): integers and indenting as the request says. */
void answer_stored_json(struct request *rq, unsigned status, struct ts_str json);

/* A stream of rows. Owns source in any case. The first block is made here, so that what fails at
 * once is still answered by a problem. Needs a place among the streams. */
int answer_stream(struct request *rq, struct source *source, struct ts_error *err);

/* Sets the validator, printf-like, and compares it with If-None-Match: true if the answer is 304,
 * which is then filled. */
bool answer_is_unchanged(struct request *rq, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The same for what depends on nothing but rq->run and the target: true also if the answer is in
 * memory (kept.h), and if it is not, it will be. */
bool answer_is_known(struct request *rq, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Forgets all that was filled. */
void answer_reset(struct answer *answer);

/* Hands the answer to MHD. */
enum MHD_Result reply_send(struct request *rq);

#endif
