/* router.h: the table of routes, and how a path finds its route
 */
#ifndef HTTP_ROUTER_H
#define HTTP_ROUTER_H

#include <stdbool.h>

#include "tracespool/list.h"

#include "target.h"

struct request;

/* Forms of an answer, by ?format= or Accept. */
enum form { FORM_JSON = 1, FORM_ARRAY = 2, FORM_NDJSON = 4, FORM_DYNAMO = 8, FORM_BYTES = 32 };

enum outcome {
	ANSWERED, /* request->answer is filled */
	LATER,    /* to be called again on a query worker */
	WAITING,  /* suspended: called again when something changed or the time is over */
	FAILED,   /* err says why */
};

typedef enum outcome handler_fn(struct request *rq, struct ts_error *err);

struct route {
	const char *pattern; /* "/runs/{id}/summary" */
	handler_fn *handler;
	unsigned forms;            /* of enum form */
	const char *const *params; /* besides those that all answers know; NULL-ended, or NULL */
	const struct list *list;   /* its filters are parameters too; or NULL */
};

/* The routes of this program, ended by pattern NULL. */
extern const struct route http_routes[];

/* The route of a decoded path, with what stands for {...} in *ret_var; NULL: unknown path. */
const struct route *route_find(const struct route *routes, const struct target *t,
			       struct ts_str *ret_var);

/* Is this parameter one that the route knows? Names that begin with '_' are. */
bool route_knows(const struct route *route, struct ts_str param);

/* The names that the route knows, for people: "limit, cursor, ...". */
void route_list_params(const struct route *route, struct buf *out);

#endif
