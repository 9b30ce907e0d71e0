/* checks.h: what is checked of a request before its handler sees it
 */
#ifndef HTTP_CHECKS_H
#define HTTP_CHECKS_H

#include "request.h"

/* Sizes, host, path, method, parameters that all answers know, form. Fills route, var, form and
 * the rest of the request. */
int request_check_head(struct request *rq, struct ts_error *err);
int request_check_target(struct request *rq, struct ts_error *err);

#endif
