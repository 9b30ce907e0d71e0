/* summary_top.h: the stored summary with another number of slowest spans and ops
 */
#ifndef HTTP_SUMMARY_TOP_H
#define HTTP_SUMMARY_TOP_H

#include "request.h"

#define SUMMARY_TOP_STORED 10

/* Fills the answer. The run is an execution run; stored is its summary, with a 0 behind it. */
int summary_with_top(struct request *rq, struct ts_str stored, uint64_t top, struct ts_error *err);

#endif
