/* list.c: pages of a list: SQL from its description, keyset cursors, null last both ways
 *
 * A page is read by up to two statements, so that each can go along an index: first the rows whose
 * first key has a value, then those without one.
 */
#include "tracespool/list.h"

#include <stdlib.h>
#include <string.h>

#include "list_sql.h"
#include "tracespool/util.h"

enum { CURSOR_KEY_BYTES_MAX = 1024 }; /* texts of all keys; above, the cursor names the row */

struct page {
	struct db *db;
	const struct list *l;
	const struct list_request *req; /* only while opening */
	char include[64];
	char sort_name[64];
	const struct list_sort *sort;
	bool falling, more, done;
	unsigned columns, keys;
	uint64_t limit, count; /* rows asked for, 0: all; given so far */
	uint64_t hash;
	bool nulls; /* in the second statement */
	struct list_sql sql[2];
	struct query *q;    /* the statement that is at work */
	struct cursor last; /* keys of the row given last */
	struct buf space;   /* their texts */
};

static unsigned count_columns(const struct list *l)
{
	unsigned n = 0;

	while (l->columns[n].member)
		n++;
	return n;
}

static unsigned count_keys(const struct list_sort *s)
{
	unsigned n = 0;

	while (n < CURSOR_KEYS_MAX && s->expr[n])
		n++;
	return n;
}

bool page_has(const struct page *p, unsigned column)
{
	const char *include = p->l->columns[column].include;

	return !include || strcmp(include, p->include) == 0;
}

static int unknown_sort(const struct list *l, struct ts_str name, struct ts_error *err)
{
	struct buf known CLEAN(buf_done) = BUF_INIT;

	for (const struct list_sort *s = l->sorts; s->param; s++)
		buf_printf(&known, "%s%s", s == l->sorts ? "" : ", ", s->param);
	return ts_error_set(err, TS_E_BAD_PARAMETER, "sort is not one of %s: %.*s",
			    known.data ? known.data : "", (int)(name.n < 100 ? name.n : 100),
			    name.p);
}

/* Finds the order by its name as listed or, unless the list goes one way, turned round. */
static int pick_sort(struct page *p, struct ts_str name, struct ts_error *err)
{
	const struct list_sort *s = p->l->sorts;

	if (name.p && name.n < sizeof(p->sort_name)) {
		struct ts_str bare =
			ts_str_starts(name, "-") ? ts_str(name.p + 1, name.n - 1) : name;

		for (; s->param; s++) {
			const char *listed = s->param + (s->param[0] == '-');

			if (p->l->one_way ? ts_str_is(name, s->param) : ts_str_is(bare, listed))
				break;
		}
	}
	if (!s->param || (name.p && name.n >= sizeof(p->sort_name)))
		return unknown_sort(p->l, name, err);
	if (!name.p)
		name = ts_str_c(s->param);
	memcpy(p->sort_name, name.p, name.n);
	p->sort_name[name.n] = 0;
	p->sort = s;
	p->falling = p->sort_name[0] == '-';
	p->keys = count_keys(s);
	return 0;
}

static void add_tuple(struct list_sql *s, const struct list_sort *sort, unsigned from, unsigned to)
{
	buf_puts(&s->text, "(");
	for (unsigned i = from; i < to; i++)
		buf_printf(&s->text, "%s%s", i > from ? ", " : "", sort->expr[i]);
	buf_puts(&s->text, ")");
}

/* "(expr, ...) > (?, ...)" over the keys from `from` on, which all rise. */
static void add_behind(struct list_sql *s, const struct list_sort *sort, unsigned from,
		       unsigned keys, const struct cursor *c)
{
	add_tuple(s, sort, from, keys);
	buf_puts(&s->text, " > (");
	for (unsigned i = from; i < keys; i++) {
		buf_puts(&s->text, i > from ? ", ?" : "?");
		list_sql_value(s, c->keys[i]);
	}
	buf_puts(&s->text, ")");
}

static void add_place(struct page *p, struct list_sql *s, const struct cursor *c)
{
	const char *first = p->sort->expr[0];

	buf_puts(&s->text, " and ");
	if (p->nulls) {
		if (p->keys > 1)
			add_behind(s, p->sort, 1, p->keys, c);
		else
			buf_puts(&s->text, "0");
		return;
	}
	if (!p->falling) {
		add_behind(s, p->sort, 0, p->keys, c);
		return;
	}
	if (p->keys == 1) {
		buf_printf(&s->text, "%s < ?", first);
		list_sql_value(s, c->keys[0]);
		return;
	}
	/* The first half is what an index can start from; ties rise. */
	buf_printf(&s->text, "%s <= ? and (%s < ? or ", first, first);
	list_sql_value(s, c->keys[0]);
	list_sql_value(s, c->keys[0]);
	add_behind(s, p->sort, 1, p->keys, c);
	buf_puts(&s->text, ")");
}

static void add_select(struct page *p, struct list_sql *s)
{
	buf_puts(&s->text, "select ");
	for (unsigned i = 0; i < p->columns; i++)
		buf_printf(&s->text, "%s%s", i ? ", " : "",
			   page_has(p, i) ? p->l->columns[i].expr : "null");
	for (unsigned i = 0; i < p->keys; i++)
		buf_printf(&s->text, ", %s", p->sort->expr[i]);
	buf_printf(&s->text, ", %s from %s", p->l->row_number, p->l->from);
}

static void add_order(struct page *p, struct list_sql *s)
{
	unsigned from = p->nulls ? 1 : 0;

	for (unsigned i = from; i < p->keys; i++)
		buf_printf(&s->text, "%s%s%s", i > from ? ", " : " order by ", p->sort->expr[i],
			   i == 0 && p->falling ? " desc" : "");
	if (p->limit) {
		buf_puts(&s->text, " limit ?");
		list_sql_value(s, (struct key_value){
					  .type = KEY_INTEGER,
					  .integer = i64_from_u64_sat(u64_add_sat(p->limit, 1)),
				  });
	}
}

/* Puts one of the two statements together. The request is still there. */
static int build(struct page *p, struct list_sql *s, const struct cursor *c, struct ts_error *err)
{
	bool any;

	add_select(p, s);
	if (list_sql_filters(s, p->l, p->req, &any, err) < 0)
		return -1;
	if (p->sort->nullable || c) {
		buf_puts(&s->text, any ? " and " : " where ");
		if (p->sort->nullable)
			buf_printf(&s->text, "%s is %snull", p->sort->expr[0],
				   p->nulls ? "" : "not ");
		else
			buf_puts(&s->text, "1");
	}
	if (c)
		add_place(p, s, c);
	add_order(p, s);
	return 0;
}

/* Takes the keys of the current row, which stand behind the columns. */
static bool take_keys(struct page *p, struct query *q, unsigned from)
{
	size_t bytes = 0;

	p->last.row_no = query_u64(q, (int)(from + p->keys));
	p->last.count = p->keys;
	buf_clear(&p->space);
	for (unsigned i = 0; i < p->keys; i++) {
		int at = (int)(from + i);
		struct key_value *v = &p->last.keys[i];

		*v = (struct key_value){0};
		switch (sqlite3_column_type(q->stmt, at)) {
		case SQLITE_NULL:
			v->type = KEY_NULL;
			break;
		case SQLITE_INTEGER:
			v->type = KEY_INTEGER;
			v->integer = query_i64(q, at);
			break;
		case SQLITE_FLOAT:
			v->type = KEY_DOUBLE;
			v->real = query_double(q, at);
			break;
		default:
			v->type = sqlite3_column_type(q->stmt, at) == SQLITE_BLOB ? KEY_BLOB
										  : KEY_TEXT;
			v->str = query_str(q, at);
			bytes += v->str.n;
			break;
		}
	}
	if (bytes > CURSOR_KEY_BYTES_MAX) {
		p->last.count = 0;
		return true;
	}
	if (!buf_reserve(&p->space, bytes))
		return false;
	for (unsigned i = 0; i < p->keys; i++) {
		struct key_value *v = &p->last.keys[i];

		if (v->type != KEY_TEXT && v->type != KEY_BLOB)
			continue;
		size_t at = p->space.len;

		buf_add(&p->space, v->str.p, v->str.n);
		v->str.p = p->space.data + at;
	}
	return true;
}

/* A cursor that names a row: its keys, read again into `keep`. */
static int find_keys(struct page *p, struct cursor *c, struct arena *keep, struct ts_error *err)
{
	struct list_sql s CLEAN(list_sql_done) = {.text = BUF_INIT};
	struct query *q CLEAN(query_closep) = NULL;

	buf_puts(&s.text, "select ");
	for (unsigned i = 0; i < p->keys; i++)
		buf_printf(&s.text, "%s%s", i ? ", " : "", p->sort->expr[i]);
	buf_printf(&s.text, ", %s from %s where %s = ?", p->l->row_number, p->l->from,
		   p->l->row_number);
	list_sql_value(&s, (struct key_value){.type = KEY_INTEGER, .integer = (int64_t)c->row_no});
	if (list_sql_open(p->db, &s, &q, err) < 0)
		return -1;
	int n = query_step(q, err);

	if (n < 0)
		return -1;
	if (n == 0)
		return ts_error_set(err, TS_E_BAD_CURSOR,
				    "the row that the cursor stands behind is gone");
	for (unsigned i = 0; i < p->keys; i++) {
		struct key_value *v = &c->keys[i];
		int type = sqlite3_column_type(q->stmt, (int)i);

		*v = (struct key_value){.integer = query_i64(q, (int)i),
					.real = query_double(q, (int)i)};
		v->type = type == SQLITE_NULL      ? KEY_NULL
			  : type == SQLITE_INTEGER ? KEY_INTEGER
			  : type == SQLITE_FLOAT   ? KEY_DOUBLE
			  : type == SQLITE_TEXT    ? KEY_TEXT
						   : KEY_BLOB;
		struct ts_str str = query_str(q, (int)i);

		if (str.p && (v->type == KEY_TEXT || v->type == KEY_BLOB))
			v->str = ts_str(arena_dup(keep, str.p, str.n), str.n);
	}
	c->count = p->keys;
	return keep->failed ? ts_error_nomem(err) : 0;
}

static int read_place(struct page *p, struct cursor *c, struct arena *keep, struct ts_error *err)
{
	struct buf space CLEAN(buf_done) = BUF_INIT;

	if (cursor_read(p->req->cursor, p->hash, p->sort_name, c, &space, err) < 0)
		return -1;
	if (c->count == 0)
		return find_keys(p, c, keep, err);
	if (c->count != p->keys || (c->keys[0].type == KEY_NULL && !p->sort->nullable))
		return ts_error_set(err, TS_E_BAD_CURSOR, "the cursor has other keys");
	for (unsigned i = 0; i < c->count; i++)
		if (c->keys[i].str.p)
			c->keys[i].str.p = arena_dup(keep, c->keys[i].str.p, c->keys[i].str.n);
	return keep->failed ? ts_error_nomem(err) : 0;
}

/* Copies the texts that are bound: the request may go before the page does. */
static int own_values(struct list_sql *s, struct ts_error *err)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->values[i].str.p)
			s->values[i].str.p =
				arena_dup(&s->space, s->values[i].str.p, s->values[i].str.n);
	return s->failed || s->space.failed ? ts_error_nomem(err) : 0;
}

static int start(struct page *p, struct ts_error *err)
{
	struct cursor place = {0};
	struct arena keep CLEAN(arena_done) = {0};
	bool placed = p->req->cursor.p != NULL;

	if (pick_sort(p, p->req->sort, err) < 0)
		return -1;
	p->hash = list_sql_hash(p->l, p->req);
	if (placed && read_place(p, &place, &keep, err) < 0)
		return -1;
	bool in_nulls = placed && place.keys[0].type == KEY_NULL;

	/* Both statements are put together while the request is there; the second one is opened
	 * when the first has no more rows. */
	if (!in_nulls && build(p, &p->sql[0], placed ? &place : NULL, err) < 0)
		return -1;
	p->nulls = true;
	if (p->sort->nullable && build(p, &p->sql[1], in_nulls ? &place : NULL, err) < 0)
		return -1;
	p->nulls = in_nulls;
	if (own_values(&p->sql[0], err) < 0 || own_values(&p->sql[1], err) < 0)
		return -1;
	return list_sql_open(p->db, &p->sql[in_nulls], &p->q, err);
}

int page_open(struct db *db, const struct list *l, const struct list_request *req,
	      struct page **ret, struct ts_error *err)
{
	struct page *p = calloc(1, sizeof(*p));

	if (!p)
		return ts_error_nomem(err);
	p->db = db;
	p->l = l;
	p->req = req;
	p->limit = req->limit;
	p->columns = count_columns(l);
	p->sql[0].text = p->sql[1].text = p->space = (struct buf)BUF_INIT;
	if (req->include && strlen(req->include) < sizeof(p->include))
		strcpy(p->include, req->include);
	if (start(p, err) < 0) {
		page_close(p);
		return -1;
	}
	p->req = NULL;
	*ret = p;
	return 0;
}

void page_close(struct page *p)
{
	if (!p)
		return;
	query_close(p->q);
	list_sql_done(&p->sql[0]);
	list_sql_done(&p->sql[1]);
	buf_done(&p->space);
	free(p);
}

void page_closep(struct page **p)
{
	page_close(*p);
}

static int go_to_nulls(struct page *p, struct ts_error *err)
{
	struct list_sql *s = &p->sql[1];

	query_close(TAKE(p->q));
	p->nulls = true;
	if (p->limit)
		s->values[s->count - 1].integer = i64_from_u64_sat(p->limit - p->count) + 1;
	return list_sql_open(p->db, s, &p->q, err);
}

int page_next(struct page *p, struct ts_error *err)
{
	while (!p->done) {
		int n = query_step(p->q, err);

		if (n < 0)
			return -1;
		if (n == 0) {
			if (!p->sort->nullable || p->nulls)
				p->done = true;
			else if (go_to_nulls(p, err) < 0)
				return -1;
			continue;
		}
		if (p->limit && p->count == p->limit) {
			p->more = p->done = true;
			query_reset(p->q);
			break;
		}
		if (++p->count == p->limit && !take_keys(p, p->q, p->columns))
			return ts_error_nomem(err);
		return 1;
	}
	return 0;
}

struct query *page_row(struct page *p)
{
	return p->q;
}

bool page_next_cursor(struct page *p, struct buf *out)
{
	if (p->more)
		cursor_write(out, p->hash, p->sort_name, &p->last);
	return p->more;
}

int page_count(struct db *db, const struct list *l, const struct list_request *req, uint64_t *ret,
	       struct ts_error *err)
{
	struct list_sql s CLEAN(list_sql_done) = {.text = BUF_INIT};
	struct list_sql where CLEAN(list_sql_done) = {.text = BUF_INIT};
	struct query *q CLEAN(query_closep) = NULL;
	bool any;

	/* The conditions first: whether there are any decides where to count. */
	if (list_sql_filters(&where, l, req, &any, err) < 0)
		return -1;
	buf_printf(&s.text, "select count(*) from %s",
		   any || !l->count_from ? l->from : l->count_from);
	if (any)
		buf_add(&s.text, where.text.data, where.text.len);
	s.failed |= where.failed || where.text.failed || where.space.failed;
	for (size_t i = 0; i < where.count; i++)
		list_sql_value(&s, where.values[i]);
	if (list_sql_open(db, &s, &q, err) < 0 || query_step(q, err) < 0)
		return -1;
	*ret = query_u64(q, 0);
	return 0;
}
