/* kept.h: small answers about runs, finished, in memory: what is asked again is only sent
 *
 * A run never changes, so an answer that was made from it stays right as long as the path leads to
 * the same run: entries know the run and the catalog's change counter at which that was last found
 * out. While the counter stands they are sent at once; after a change the handler looks up the run
 * and finds the entry again by it. They hold limits.kept_bytes at most, those used longest ago go
 * first. Kept are status 200 and 304 without streams, never problems, lists of the catalog,
 * captures (they grow) or sources. Access is to be checked before.
 */
#ifndef HTTP_KEPT_H
#define HTTP_KEPT_H

#include "request.h"

int kept_start(struct http *h, struct ts_error *err);
void kept_stop(struct http *h); /* when no request runs any more */

/* Is the answer there, and surely that of this moment? Then rq->kept is it. Needs the head only. */
bool kept_find(struct request *rq);
/* The same after the run was found and If-None-Match compared: the catalog may have changed. */
bool kept_find_of_run(struct request *rq);
/* Hands rq->kept to the library. */
enum MHD_Result kept_send(struct request *rq);

/* Keeps what was just sent for rq->run, if it is small enough. The caller's reference goes over.
 * bytes: of the body. */
void kept_add(struct request *rq, struct MHD_Response *response, size_t bytes);
/* Would an answer of so many bytes be kept? */
bool kept_wants(const struct request *rq, size_t bytes);

struct kept;
void kept_unref(struct kept *k); /* takes NULL */

#endif
