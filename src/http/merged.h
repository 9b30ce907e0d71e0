/* merged.h: captures merged into one file each, kept while nothing is added to them
 */
#ifndef HTTP_MERGED_H
#define HTTP_MERGED_H

#include "tracespool/capture.h"

#include "request.h"

struct merged_cache;

int merged_start(struct http *h, struct ts_error *err);
void merged_stop(struct http *h); /* when no request runs any more */

/* For rq->capture, on a query worker; merges what is not merged yet. Errors: duplicate_request_id
 * with both places, and with rows_wanted (replay, summary) what else breaks the capture across its
 * segments. */
int merged_open(struct request *rq, bool rows_wanted, struct db **ret, struct ts_error *err);
/* Appends the summary, compact JSON and a newline. */
int merged_summary(struct request *rq, struct buf *out, struct ts_error *err);

/* Has this state of a capture been seen to have one id twice? From memory. */
bool merged_has_clash(struct http *h, struct ts_str name, uint64_t segments, uint64_t newest_no);

/* captures.c: the capture that the path names, into rq->capture and, as if it were one run,
 * rq->run. Errors: unknown_capture. */
int request_find_capture(struct request *rq, struct ts_error *err);
bool request_is_capture(const struct request *rq);

#endif
