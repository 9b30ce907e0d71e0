/* checks.c: sizes, host, path, method, common parameters and form, before a handler is called
 */
#include "checks.h"

#include <string.h>

#include "negotiate.h"
#include "server.h"

#define HEAD_MAX 16384 /* bytes of request line and headers */

static int check_sizes(struct request *rq, struct ts_error *err)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(rq->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	if (target_query_size(&rq->target) > TARGET_QUERY_MAX)
		return ts_error_set(err, TS_E_URI_TOO_LONG,
				    "the query has %zu bytes, at most %d are read",
				    target_query_size(&rq->target), TARGET_QUERY_MAX);
	if (info && info->header_size > HEAD_MAX)
		return ts_error_set(err, TS_E_HEAD_TOO_LARGE,
				    "the request head has %zu bytes, at most %d are read",
				    info->header_size, HEAD_MAX);
	return 0;
}

/* A foreign page must not reach the daemon under a name of its own (http-api.md 2.11). */
static int check_host(struct request *rq, struct ts_error *err)
{
	char shown[128];
	struct ts_str host = rq->target.authority.p ? rq->target.authority : rq->host;

	if (rq->listener->local)
		return 0;
	if (rq->host_count > 1)
		return ts_error_set(err, TS_E_UNKNOWN_HOST, "the request has %u Host headers",
				    rq->host_count);
	if (!host.p)
		return ts_error_set(err, TS_E_UNKNOWN_HOST, "the request has no Host header");
	if (negotiate_host(host, rq->listener->address, rq->http->conf->http.hosts))
		return 0;
	text_name(host, shown, sizeof(shown));
	return ts_error_set(err, TS_E_UNKNOWN_HOST, "\"%s\" is no name of this service", shown);
}

static int check_path(struct request *rq, struct ts_error *err)
{
	if (target_decode_path(&rq->target, &rq->arena, err) < 0)
		return -1;
	rq->route = route_find(http_routes, &rq->target, &rq->var);
	if (!rq->route)
		return ts_error_set(err, TS_E_UNKNOWN_PATH, "nothing is served under this path");
	if (strcmp(rq->method, "GET") != 0 && !rq->head)
		return ts_error_set(err, TS_E_METHOD_NOT_ALLOWED, "this path answers GET and HEAD");
	return 0;
}

static int refuse_unknown(struct request *rq, struct ts_str name, struct ts_error *err)
{
	struct buf known = BUF_INIT;
	char shown[64];
	char *copy = arena_dup(&rq->arena, name.p, name.n);

	text_name(name, shown, sizeof(shown));
	route_list_params(rq->route, &known);
	rq->parameter = copy;
	ts_error_set(err, TS_E_UNKNOWN_PARAMETER,
		     "%s is not a parameter of this path; known are %s", shown,
		     known.failed ? "others" : known.data);
	buf_done(&known);
	return -1;
}

static int check_query(struct request *rq, struct ts_error *err)
{
	if (target_decode_query(&rq->target, &rq->arena, err) < 0)
		return -1;
	for (size_t i = 0; i < rq->target.param_count; i++)
		if (!route_knows(rq->route, rq->target.params[i].name))
			return refuse_unknown(rq, rq->target.params[i].name, err);
	return 0;
}

static int check_numbers(struct request *rq, struct ts_error *err)
{
	struct ts_str text;

	if (request_param_bool(rq, "pretty", &rq->pretty, err) < 0 ||
	    request_param(rq, "numbers", &text, err) < 0)
		return -1;
	rq->numbers = JSON_NUMBERS_DEFAULT;
	if (!text.p)
		return 0;
	if (ts_str_is(text, "string")) {
		rq->numbers = JSON_NUMBERS_STRING;
	} else if (ts_str_is(text, "exact")) {
		rq->numbers = JSON_NUMBERS_EXACT;
	} else {
		rq->parameter = "numbers";
		return ts_error_set(err, TS_E_BAD_PARAMETER, "numbers is neither string nor exact");
	}
	return 0;
}

static const struct {
	enum form form;
	const char *name;
} form_names[] = {{FORM_JSON, "json"},
		  {FORM_ARRAY, "array"},
		  {FORM_NDJSON, "ndjson"},
		  {FORM_DYNAMO, "dynamo"}};

static const char ndjson_type[] = "application/x-ndjson";
static const char json_type[] = "application/json";

/* ?format= is stronger than Accept. */
static int form_by_param(struct request *rq, struct ts_str text, struct ts_error *err)
{
	char known[40] = "";

	for (unsigned i = 0; i < ARRAY_LEN(form_names); i++) {
		if (!(rq->route->forms & form_names[i].form))
			continue;
		if (ts_str_is(text, form_names[i].name)) {
			rq->form = form_names[i].form;
			rq->content_type = rq->form == FORM_NDJSON || rq->form == FORM_DYNAMO
						   ? ndjson_type
						   : json_type;
			return 0;
		}
		if (known[0])
			strcat(known, ", ");
		strcat(known, form_names[i].name);
	}
	rq->parameter = "format";
	return ts_error_set(err, TS_E_BAD_PARAMETER, "format is not one of: %s", known);
}

static int check_form(struct request *rq, struct ts_error *err)
{
	static const char *const json_only[] = {json_type, NULL};
	static const char *const with_lines[] = {json_type, ndjson_type, "application/jsonl", NULL};
	static const char *const bytes[] = {"application/octet-stream", ndjson_type,
					    "application/jsonl", "application/gzip", NULL};
	const char *const *types = rq->route->forms & FORM_BYTES     ? bytes
				   : !(rq->route->forms & FORM_JSON) ? with_lines + 1
				   : rq->route->forms & FORM_NDJSON  ? with_lines
								     : json_only;
	struct ts_str text;
	int chosen;

	if (request_param(rq, "format", &text, err) < 0)
		return -1;
	if (text.p)
		return form_by_param(rq, text, err);
	chosen = negotiate_type(rq->accept, types);
	if (chosen < 0)
		return ts_error_set(err, TS_E_NOT_ACCEPTABLE, "this path answers as %s%s", types[0],
				    types[1] ? " or application/x-ndjson" : "");
	if (rq->route->forms & FORM_BYTES)
		rq->form = FORM_BYTES;
	else
		rq->form = types[chosen] == json_type ? FORM_JSON : FORM_NDJSON;
	rq->content_type = types[chosen];
	return 0;
}

int request_check_head(struct request *rq, struct ts_error *err)
{
	rq->gzip = negotiate_gzip(rq->accept_encoding);
	if (atomic_load(&rq->http->stopping))
		return ts_error_set(err, TS_E_SHUTDOWN, "the service is stopping");
	return check_sizes(rq, err) < 0 || check_host(rq, err) < 0 ? -1 : 0;
}

int request_check_target(struct request *rq, struct ts_error *err)
{
	if (check_path(rq, err) < 0 || check_query(rq, err) < 0 || check_numbers(rq, err) < 0)
		return -1;
	return check_form(rq, err);
}
