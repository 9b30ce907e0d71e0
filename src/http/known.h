/* known.h: the runs asked for last, as the catalog had them, while it does not change
 */
#ifndef HTTP_KNOWN_H
#define HTTP_KNOWN_H

#include "request.h"

int known_start(struct http *h, struct ts_error *err);
void known_stop(struct http *h); /* when no request runs any more */

/* The run of rq->var, if it was read at the catalog's state rq->run_counter: then rq->run borrows
 * from rq->known. */
bool known_find(struct request *rq);
/* Remembers rq->run, which was just read; rq->run then borrows from rq->known. */
void known_add(struct request *rq);
void known_unref(struct known_run *k); /* takes NULL */

#endif
