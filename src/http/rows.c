/* rows.c: list parameters to a struct list_request
 */
#include "rows.h"

#include <string.h>

static int bad(struct request *rq, const char *parameter, enum ts_code_id id, struct ts_error *err,
	       const char *message)
{
	rq->parameter = parameter;
	return ts_error_set(err, id, "%s", message);
}

static int read_limit(struct request *rq, struct rows *rows, struct ts_error *err)
{
	bool lines = rq->form == FORM_NDJSON;
	uint64_t limit = lines ? 0 : ROWS_LIMIT_DEFAULT, given;
	struct ts_str text;

	if (request_param(rq, "limit", &text, err) < 0)
		return -1;
	if (!lines && text.p && text_parse_u64(text, &given) && given > ROWS_LIMIT_MAX)
		return bad(rq, "limit", TS_E_LIMIT_TOO_LARGE, err, "limit is at most 1000 here");
	if (request_param_u64(rq, "limit", 1, lines ? UINT64_MAX : ROWS_LIMIT_MAX, &limit, err) < 0)
		return -1;
	rows->query.limit = limit;
	return 0;
}

static bool names_column(const struct list_column *column, struct ts_str name)
{
	size_t n = rows_top_length(column->member);

	return column->type != LIST_HIDDEN && name.n == n && memcmp(name.p, column->member, n) == 0;
}

/* Marks what the name selects; false if no item has such a member. */
static bool select_member(struct rows *rows, struct ts_str name)
{
	const struct rows_shape *shape = rows->shape;
	bool found = false;

	for (unsigned i = 0; shape->list->columns[i].member; i++) {
		if (names_column(&shape->list->columns[i], name)) {
			rows->columns |= UINT64_C(1) << i;
			found = true;
		}
	}
	for (unsigned i = 0; shape->extras && shape->extras[i]; i++) {
		if (ts_str_is(name, shape->extras[i])) {
			rows->extras |= 1U << i;
			found = true;
		}
	}
	return found;
}

static int read_fields(struct request *rq, struct rows *rows, struct ts_error *err)
{
	struct ts_str text;

	if (request_param(rq, "fields", &text, err) < 0)
		return -1;
	rows->all_members = !text.p;
	if (!text.p) {
		rows->columns = UINT64_MAX;
		rows->extras = UINT32_MAX;
		return 0;
	}
	for (size_t at = 0; at <= text.n;) {
		const char *comma = text.n > at ? memchr(text.p + at, ',', text.n - at) : NULL;
		size_t n = comma ? (size_t)(comma - text.p) - at : text.n - at;
		struct ts_str name = ts_str(text.p + at, n);

		if (!select_member(rows, name)) {
			char shown[64];

			text_name(name, shown, sizeof(shown));
			rq->parameter = "fields";
			return ts_error_set(err, TS_E_BAD_PARAMETER,
					    "fields names \"%s\", which no item has", shown);
		}
		at += n + 1;
	}
	return 0;
}

static int read_include(struct request *rq, struct rows *rows, struct ts_error *err)
{
	struct ts_str text;

	if (!rows->shape->include)
		return 0;
	if (request_param(rq, "include", &text, err) < 0)
		return -1;
	if (!text.p)
		return 0;
	if (!ts_str_is(text, rows->shape->include)) {
		rq->parameter = "include";
		return ts_error_set(err, TS_E_BAD_PARAMETER, "include can only be %s",
				    rows->shape->include);
	}
	rows->query.include = rows->shape->include;
	return 0;
}

static int read_filters(struct request *rq, struct rows *rows, const struct list_param *fixed,
			struct ts_error *err)
{
	size_t room = rq->target.param_count + 1, count = 0;
	struct list_param *params = arena_alloc(&rq->arena, room * sizeof(*params));

	if (!params)
		return ts_error_nomem(err);
	if (fixed)
		params[count++] = *fixed;
	for (size_t i = 0; i < rq->target.param_count; i++) {
		struct ts_str name = rq->target.params[i].name;

		if (name.n > 0 && name.p[0] != '_' && list_knows(rows->shape->list, name))
			params[count++] = rq->target.params[i];
	}
	rows->query.params = params;
	rows->query.param_count = count;
	return 0;
}

static int find_whole(const struct rows_shape *shape)
{
	for (int i = 0; shape->whole && shape->list->columns[i].member; i++)
		if (strcmp(shape->list->columns[i].member, shape->whole) == 0)
			return i;
	CHECK(!shape->whole);
	return -1;
}

int rows_prepare(struct request *rq, const struct rows_shape *shape, const struct list_param *fixed,
		 struct rows *ret, struct ts_error *err)
{
	memset(ret, 0, sizeof(*ret));
	ret->rq = rq;
	ret->shape = shape;
	ret->whole_column = find_whole(shape);
	if (read_limit(rq, ret, err) < 0 ||
	    request_param(rq, "cursor", &ret->query.cursor, err) < 0 ||
	    request_param(rq, "sort", &ret->query.sort, err) < 0 ||
	    request_param_bool(rq, "count", &ret->count, err) < 0 ||
	    read_fields(rq, ret, err) < 0 || read_include(rq, ret, err) < 0)
		return -1;
	if (ret->count && rq->form != FORM_JSON)
		return bad(rq, "count", TS_E_BAD_PARAMETER, err,
			   "count has a place in format=json only");
	if (read_filters(rq, ret, fixed, err) < 0)
		return -1;
	return rows_plan_items(ret) ? 0 : ts_error_nomem(err);
}
