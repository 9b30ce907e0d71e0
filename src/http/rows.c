/* rows.c: list parameters to a struct list_request; rows to items, envelope and array
 */
#include "rows.h"

#include <string.h>

#include "tracespool/json.h"

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

/* Length of the first-level name of a column. */
static size_t top_length(const char *member)
{
	return strcspn(member, ".");
}

static bool names_column(const struct list_column *column, struct ts_str name)
{
	size_t n = top_length(column->member);

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
	return read_filters(rq, ret, fixed, err);
}

/* ---- items ---- */

static void write_hashes(struct json_writer *w, struct ts_str blob)
{
	jw_open_array(w);
	for (size_t at = 0; at + 8 <= blob.n; at += 8) {
		uint64_t hash = 0;

		for (unsigned i = 0; i < 8; i++)
			hash |= (uint64_t)(unsigned char)blob.p[at + i] << (8 * i);
		jw_id(w, hash);
	}
	jw_close_array(w);
}

static void write_value(struct json_writer *w, enum list_type type, struct query *row, int i)
{
	if (query_is_null(row, i)) {
		jw_null(w);
		return;
	}
	switch (type) {
	case LIST_TEXT:
		jw_str(w, query_str(row, i));
		break;
	case LIST_U64:
		jw_u64(w, query_u64(row, i));
		break;
	case LIST_I64:
		jw_i64(w, query_i64(row, i));
		break;
	case LIST_ID64:
		jw_id(w, query_u64(row, i));
		break;
	case LIST_DOUBLE:
		jw_double(w, query_double(row, i));
		break;
	case LIST_BOOL:
		jw_bool(w, query_i64(row, i) != 0);
		break;
	case LIST_TIME:
		jw_time(w, query_i64(row, i));
		break;
	case LIST_JSON:
		jw_raw(w, query_str(row, i));
		break;
	case LIST_HASHES:
		write_hashes(w, query_str(row, i));
		break;
	case LIST_HIDDEN:
		break;
	}
}

static bool is_shown(const struct rows *rows, struct page *page, struct query *row, unsigned i)
{
	const struct list_column *column = &rows->shape->list->columns[i];

	if (column->type == LIST_HIDDEN || !(rows->columns >> i & 1) || !page_has(page, i))
		return false;
	return !column->absent_if_null || !query_is_null(row, (int)i);
}

static void write_columns(struct json_writer *w, const struct rows *rows, struct page *page,
			  struct query *row)
{
	const struct list_column *columns = rows->shape->list->columns;
	const char *open = NULL; /* the object whose members are being written */
	size_t open_length = 0;

	for (unsigned i = 0; columns[i].member; i++) {
		const char *member = columns[i].member;
		size_t n = top_length(member);

		if (!is_shown(rows, page, row, i))
			continue;
		if (open && (!member[n] || n != open_length || memcmp(open, member, n) != 0)) {
			jw_close_object(w);
			open = NULL;
		}
		if (member[n] && !open) {
			jw_key_str(w, ts_str(member, n));
			jw_open_object(w);
			open = member;
			open_length = n;
		}
		jw_key(w, member[n] ? member + n + 1 : member);
		write_value(w, columns[i].type, row, (int)i);
	}
	if (open)
		jw_close_object(w);
}

static bool keeps(const struct rows *rows, struct ts_str key)
{
	const char *const *names = rows->shape->extras;

	for (unsigned i = 0; names && names[i]; i++)
		if ((rows->extras >> i & 1) && ts_str_is(key, names[i]))
			return true;
	return false;
}

/* Of a stored object only the members that `fields` selects. */
static void write_some(struct json_writer *w, const struct rows *rows, struct ts_str stored)
{
	struct arena scratch = {.limit = 0};
	char *text = arena_dup(&scratch, stored.p, stored.n); /* the reader wants a final NUL */
	struct arena strings = {.limit = 0};
	struct json_value value;
	struct json j;
	struct ts_str key;

	jw_open_object(w);
	json_begin(&j, text ? text : "{}", text ? stored.n : 2, &strings);
	if (json_value(&j, &value) == JSON_OBJECT) {
		for (bool first = true; json_key(&j, first, &key); first = false) {
			const char *from = j.at;

			json_skip(&j);
			if (keeps(rows, key)) {
				jw_key_str(w, key);
				jw_raw(w, ts_str(from, (size_t)(j.at - from)));
			}
		}
	}
	jw_close_object(w);
	if (!text)
		w->out->failed = true;
	arena_done(&strings);
	arena_done(&scratch);
}

void rows_write_item(struct json_writer *w, const struct rows *rows, struct page *page)
{
	struct query *row = page_row(page);

	if (rows->whole_column >= 0) {
		struct ts_str json = query_str(row, rows->whole_column);

		if (rows->all_members)
			jw_raw(w, json);
		else
			write_some(w, rows, json);
		return;
	}
	jw_open_object(w);
	write_columns(w, rows, page, row);
	for (unsigned i = 0; rows->shape->extras && rows->shape->extras[i]; i++) {
		if (rows->extras >> i & 1) {
			jw_key(w, rows->shape->extras[i]);
			rows->shape->write_extra(w, rows, i, row);
		}
	}
	jw_close_object(w);
}
