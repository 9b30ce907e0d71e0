/* merging.h: what becomes of a capture when its segments are read as one run
 */
#ifndef HTTP_MERGING_H
#define HTTP_MERGING_H

#include "tracespool/capture.h"

#include "request.h"

struct merged {
	struct merge *file; /* NULL: there is none, or it went to make room */
	struct buf summary;
	bool clash;            /* error is duplicate_request_id: the requests have no order */
	struct ts_error error; /* no code: nothing is broken across segments */
	struct buf places;     /* of the error: JSON array */
};

void merged_done(struct merged *m);

/* Merges the segments of rq->capture and computes their figures. What is wrong with the capture is
 * a result; -1: it could not be found out (err). */
int merged_make(struct request *rq, struct merged *ret, struct ts_error *err);

#endif
