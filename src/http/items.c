/* items.c: rows to items: keys made once a request, values straight into the answer
 */
#include <limits.h>
#include <string.h>

#include "tracespool/json.h"

#include "rows.h"

#define NUMBER_ROOM 40 /* a double or an integer with quotes, and a comma */
#define KEY_ROOM 32    /* keys have as many bytes at least, so that nearly all are copied alike */

size_t rows_top_length(const char *member)
{
	return strcspn(member, ".");
}

/* ---- the plan ---- */

static bool is_shown(const struct rows *rows, unsigned i)
{
	const struct list_column *column = &rows->shape->list->columns[i];

	if (column->type == LIST_HIDDEN || !(rows->columns >> i & 1))
		return false;
	return !column->include ||
	       (rows->query.include && strcmp(column->include, rows->query.include) == 0);
}

/* "text": or "text":{ */
static const char *make_key(struct arena *arena, const char *text, size_t n, const char *end,
			    unsigned char *ret_length)
{
	size_t behind = strlen(end);
	size_t room = n + behind + 1 < KEY_ROOM ? KEY_ROOM : n + behind + 1;
	char *key = arena_alloc(arena, room);

	CHECK(n + behind + 1 <= UCHAR_MAX);
	if (!key)
		return NULL;
	memset(key, 0, room);
	key[0] = '"';
	memcpy(key + 1, text, n);
	memcpy(key + 1 + n, end, behind);
	*ret_length = (unsigned char)(n + behind + 1);
	return key;
}

static bool plan_member(struct arena *arena, const struct list_column *column,
			struct rows_member *m)
{
	const char *member = column->member;
	size_t top = rows_top_length(member);

	if (member[top]) {
		m->top = make_key(arena, member, top, "\":{", &m->top_length);
		if (!m->top)
			return false;
		member += top + 1;
		top = strlen(member);
	}
	m->key = make_key(arena, member, top, "\":", &m->key_length);
	return m->key;
}

/* Are both members of the same object, or of none? */
static bool same_object(const struct rows_member *a, const struct rows_member *b)
{
	if (!a->top || !b->top)
		return !a->top && !b->top;
	return a->top_length == b->top_length && memcmp(a->top, b->top, a->top_length) == 0;
}

bool rows_plan_items(struct rows *rows)
{
	const struct list_column *columns = rows->shape->list->columns;
	struct arena *arena = &rows->rq->arena;
	struct rows_member *members;
	unsigned n = 0, count = 0;
	int *numbers;

	while (columns[count].member)
		count++;
	members = arena_alloc(arena, (count + 1) * sizeof(*members));
	numbers = arena_alloc(arena, (count + 1) * sizeof(*numbers));
	rows->values = arena_alloc(arena, (count + 1) * sizeof(*rows->values));
	if (!members || !numbers || !rows->values)
		return false;
	for (unsigned i = 0; i < count; i++) {
		struct rows_member *m = &members[n];

		if (!is_shown(rows, i))
			continue;
		*m = (struct rows_member){
			.absent_if_null = columns[i].absent_if_null,
			.type = columns[i].type,
			.column = (int)i,
		};
		if (!plan_member(arena, &columns[i], m))
			return false;
		m->begins = n == 0 ? m->top != NULL : !same_object(m, m - 1);
		numbers[n++] = (int)i;
	}
	rows->member_columns = numbers;
	rows->members = members;
	rows->member_count = n;
	return true;
}

/* ---- values ---- */

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

/* As SQLite converts: a column of an integer holds what its table lets in. */
static int64_t as_integer(struct query *row, int column, const struct query_value *v)
{
	return v->type == QUERY_INTEGER ? v->integer : query_i64(row, column);
}

static double as_double(struct query *row, int column, const struct query_value *v)
{
	return v->type == QUERY_DOUBLE ? v->real : query_double(row, column);
}

static struct ts_str as_text(struct query *row, int column, const struct query_value *v)
{
	return v->type >= QUERY_TEXT ? v->str : query_str(row, column);
}

static void write_value(struct json_writer *w, enum list_type type, struct query *row, int i,
			const struct query_value *v)
{
	switch (type) {
	case LIST_TEXT:
		jw_str(w, as_text(row, i, v));
		break;
	case LIST_U64:
		jw_u64(w, v->type == QUERY_INTEGER || v->type == QUERY_BLOB ? query_value_u64(v)
									    : query_u64(row, i));
		break;
	case LIST_I64:
		jw_i64(w, as_integer(row, i, v));
		break;
	case LIST_ID64:
		jw_id(w, v->type == QUERY_INTEGER || v->type == QUERY_BLOB ? query_value_u64(v)
									   : query_u64(row, i));
		break;
	case LIST_DOUBLE:
		jw_double(w, as_double(row, i, v));
		break;
	case LIST_BOOL:
		jw_bool(w, as_integer(row, i, v) != 0);
		break;
	case LIST_TIME:
		jw_time(w, as_integer(row, i, v));
		break;
	case LIST_JSON:
		jw_raw(w, as_text(row, i, v));
		break;
	case LIST_HASHES:
		write_hashes(w, as_text(row, i, v));
		break;
	case LIST_HIDDEN:
		break;
	}
}

/* The most frequent ones, without a call for each byte: false if it is another value. The key and
 * NUMBER_ROOM bytes have room. */
static bool put_plain(struct json_writer *w, const struct rows_member *m,
		      const struct query_value *v)
{
	struct buf *out = w->out;
	char *at = out->data + out->len;

	if (v->type == QUERY_NULL) {
		memcpy(at, "null", 5);
		out->len += 4;
	} else if (v->type == QUERY_INTEGER && m->type == LIST_U64 &&
		   w->numbers != JSON_NUMBERS_STRING) {
		out->len += text_format_u64((uint64_t)v->integer, at);
	} else if (v->type == QUERY_TEXT && m->type == LIST_TEXT) {
		json_quote(out, v->str);
	} else {
		return false;
	}
	w->comma = true;
	return true;
}

static void put_key(struct buf *out, const char *key, size_t n)
{
	char *at = out->data + out->len;

	if (n <= KEY_ROOM)
		memcpy(at, key, KEY_ROOM);
	else
		memcpy(at, key, n);
	at[n] = 0;
	out->len += n;
}

static void write_members(struct json_writer *w, const struct rows *rows, struct query *row)
{
	struct buf *out = w->out;
	const char *open = NULL; /* the object whose members are being written */

	query_values(row, rows->member_columns, rows->member_count, rows->values);
	for (unsigned i = 0; i < rows->member_count; i++) {
		const struct rows_member *m = &rows->members[i];
		const struct query_value *v = &rows->values[i];

		if (open && m->begins) {
			jw_close_object(w);
			open = NULL;
		}
		if (v->type == QUERY_NULL && m->absent_if_null)
			continue;
		if (!buf_reserve(out, 2U + m->top_length + m->key_length + KEY_ROOM + NUMBER_ROOM))
			return;
		if (w->comma)
			out->data[out->len++] = ',';
		if (m->top && !open) {
			put_key(out, m->top, m->top_length);
			open = m->top;
		}
		put_key(out, m->key, m->key_length);
		w->comma = false;
		if (!put_plain(w, m, v))
			write_value(w, m->type, row, m->column, v);
	}
	if (open)
		jw_close_object(w);
}

/* ---- items ---- */

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
	write_members(w, rows, row);
	for (unsigned i = 0; rows->shape->extras && rows->shape->extras[i]; i++) {
		if (rows->extras >> i & 1) {
			jw_key(w, rows->shape->extras[i]);
			rows->shape->write_extra(w, rows, i, row);
		}
	}
	jw_close_object(w);
}
