/* list_filter.c: query parameters to conditions: values checked by type, bound, never pasted */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "list_sql.h"
#include "tracespool/util.h"

void list_sql_done(struct list_sql *s)
{
	buf_done(&s->text);
	free(s->values);
	arena_done(&s->space);
	*s = (struct list_sql){.text = BUF_INIT};
}

void list_sql_value(struct list_sql *s, struct key_value v)
{
	if (s->count == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 16;
		struct key_value *values = realloc(s->values, cap * sizeof(*values));

		if (!values) {
			s->failed = true;
			return;
		}
		s->values = values;
		s->cap = cap;
	}
	s->values[s->count++] = v;
}

int list_sql_open(struct db *db, struct list_sql *s, struct query **ret, struct ts_error *err)
{
	if (s->failed || s->text.failed || s->space.failed)
		return ts_error_nomem(err);
	if (query_open_text(db, s->text.data, s->text.len, ret, err) < 0)
		return -1;
	for (size_t i = 0; i < s->count; i++) {
		const struct key_value *v = &s->values[i];
		int at = (int)i + 1;

		switch (v->type) {
		case KEY_NULL:
			query_bind_null(*ret, at);
			break;
		case KEY_INTEGER:
			query_bind_i64(*ret, at, v->integer);
			break;
		case KEY_DOUBLE:
			query_bind_double(*ret, at, v->real);
			break;
		case KEY_TEXT:
			query_bind_str(*ret, at, v->str);
			break;
		case KEY_BLOB:
			query_bind_blob(*ret, at, v->str.p, v->str.n);
			break;
		}
	}
	return 0;
}

static const struct list_filter *find_filter(const struct list *l, struct ts_str param)
{
	for (const struct list_filter *f = l->filters; f->param; f++) {
		size_t n = strlen(f->param);
		bool open = n && f->param[n - 1] == '.'; /* "tag." takes tag.KEY */

		if (open ? param.n > n && memcmp(param.p, f->param, n) == 0
			 : ts_str_is(param, f->param))
			return f;
	}
	return NULL;
}

bool list_knows(const struct list *l, struct ts_str param)
{
	return find_filter(l, param) != NULL;
}

static int bad(struct ts_error *err, const struct list_param *p, const char *what)
{
	return ts_error_set(err, TS_E_BAD_PARAMETER, "%.*s %s",
			    (int)(p->name.n < 200 ? p->name.n : 200), p->name.p, what);
}

static bool parse_i64(struct ts_str s, int64_t *ret)
{
	bool minus = s.n && s.p[0] == '-';
	uint64_t v;

	if (minus)
		s = ts_str(s.p + 1, s.n - 1);
	if (!text_parse_u64(s, &v) || v > (uint64_t)INT64_MAX + minus)
		return false;
	*ret = minus ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

static bool parse_double(struct ts_str s, double *ret)
{
	char text[64], *end;

	if (s.n == 0 || s.n >= sizeof(text))
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = 0;
	/* strtod alone would take white space, hex digits, "inf" and "nan". */
	if (strlen(text) != s.n || strspn(text, "0123456789+-.eE") != s.n)
		return false;
	double v = strtod(text, &end);

	if (*end || !isfinite(v))
		return false;
	*ret = v;
	return true;
}

static bool parse_bool(struct ts_str s, bool *ret)
{
	bool yes = ts_str_is(s, "true") || ts_str_is(s, "1");

	if (!yes && !ts_str_is(s, "false") && !ts_str_is(s, "0"))
		return false;
	*ret = yes;
	return true;
}

static struct key_value u64_value(struct list_sql *s, uint64_t v)
{
	if (v <= INT64_MAX)
		return (struct key_value){.type = KEY_INTEGER, .integer = (int64_t)v};
	unsigned char *big = arena_alloc(&s->space, 8);

	for (int k = 0; big && k < 8; k++)
		big[k] = (unsigned char)(v >> (56 - 8 * k));
	return (struct key_value){.type = KEY_BLOB, .str = ts_str((const char *)big, 8)};
}

/* The value as it is bound; true and false become 1 and 0. */
static int parse_value(struct list_sql *s, const struct list_filter *f, const struct list_param *p,
		       struct key_value *ret, struct ts_error *err)
{
	struct key_value v = {.type = KEY_INTEGER};
	uint64_t u64;
	bool yes;

	switch (f->type) {
	case LIST_U64:
		if (!text_parse_u64(p->value, &u64))
			return bad(err, p, "is not an integer from 0 to 18446744073709551615");
		v = u64_value(s, u64);
		break;
	case LIST_I64:
		if (!parse_i64(p->value, &v.integer))
			return bad(err, p, "is not a 64-bit integer");
		break;
	case LIST_DOUBLE:
		v.type = KEY_DOUBLE;
		if (!parse_double(p->value, &v.real))
			return bad(err, p, "is not a number");
		break;
	case LIST_BOOL:
		if (!parse_bool(p->value, &yes))
			return bad(err, p, "is neither true nor false");
		v.integer = yes;
		break;
	case LIST_TIME:
		if (!text_parse_time(p->value, &v.integer))
			return bad(err, p, "is not an RFC 3339 time with offset");
		break;
	default:
		v.type = KEY_TEXT;
		v.str = p->value;
		break;
	}
	*ret = v;
	return 0;
}

static int check_word(const struct list_filter *f, const struct list_param *p, struct ts_error *err)
{
	struct buf known CLEAN(buf_done) = BUF_INIT;

	if (!f->words)
		return 0;
	for (const char *const *w = f->words; *w; w++)
		if (ts_str_is(p->value, *w))
			return 0;
	buf_puts(&known, "is none of");
	for (const char *const *w = f->words; *w; w++)
		buf_printf(&known, "%s%s", w == f->words ? " " : ", ", *w);
	return known.failed ? ts_error_nomem(err) : bad(err, p, known.data);
}

static size_t count_marks(const char *expr)
{
	size_t n = 0;

	for (; (expr = strchr(expr, '?')); expr++)
		n++;
	return n;
}

/* One condition: expr against one value. */
static int add_condition(struct list_sql *s, const struct list_filter *f, const char *expr,
			 const struct list_param *p, struct ts_error *err)
{
	struct key_value v;

	if (check_word(f, p, err) < 0 || parse_value(s, f, p, &v, err) < 0)
		return -1;
	switch (f->op) {
	case LIST_EQ:
		buf_printf(&s->text, "%s = ?", expr);
		break;
	case LIST_MIN:
		buf_printf(&s->text, "%s >= ?", expr);
		break;
	case LIST_MAX:
		buf_printf(&s->text, "%s <= ?", expr);
		break;
	case LIST_BELOW:
		buf_printf(&s->text, "%s < ?", expr);
		break;
	case LIST_PREFIX: {
		char *space = arena_alloc(&s->space, v.str.n ? v.str.n : 1);
		struct key_value behind = {.type = KEY_BLOB, .str = TS_STR("")};

		if (!space)
			return ts_error_nomem(err);
		struct ts_str end = store_prefix_end(v.str, space);

		/* Every text sorts in front of the empty blob. */
		if (end.p)
			behind = (struct key_value){.type = KEY_TEXT, .str = end};
		buf_printf(&s->text, "(%s >= ? and %s < ?)", expr, expr);
		list_sql_value(s, v);
		list_sql_value(s, behind);
		return 0;
	}
	case LIST_SQL:
		if (f->type == LIST_BOOL) {
			buf_printf(&s->text, "%s(%s)", v.integer ? "" : "not ", expr);
			return 0;
		}
		buf_printf(&s->text, "(%s)", expr);
		size_t n = strlen(f->param), marks = count_marks(expr);

		if (f->param[n - 1] == '.') {
			list_sql_value(s, (struct key_value){
						  .type = KEY_TEXT,
						  .str = ts_str(p->name.p + n, p->name.n - n),
					  });
			marks--;
		}
		for (; marks > 1; marks--)
			list_sql_value(s, v);
		break;
	case LIST_CHOICE:
		buf_puts(&s->text, "1");
		return 0;
	}
	list_sql_value(s, v);
	return 0;
}

/* Was the second word of the list's choice given? */
static int other_chosen(const struct list *l, const struct list_request *req, bool *ret,
			struct ts_error *err)
{
	const struct list_param *chosen = NULL;

	*ret = false;
	for (size_t i = 0; i < req->param_count; i++) {
		const struct list_param *p = &req->params[i];
		const struct list_filter *f = find_filter(l, p->name);

		if (!f || f->op != LIST_CHOICE)
			continue;
		if (check_word(f, p, err) < 0)
			return -1;
		if (chosen && !ts_str_eq(chosen->value, p->value))
			return bad(err, p, "is given twice");
		chosen = p;
		*ret = ts_str_is(p->value, f->words[1]);
	}
	return 0;
}

static bool is_first(const struct list_request *req, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (ts_str_eq(req->params[k].name, req->params[i].name))
			return false;
	return true;
}

int list_sql_filters(struct list_sql *s, const struct list *l, const struct list_request *req,
		     bool *ret_any, struct ts_error *err)
{
	bool other, any = false;

	if (req->param_count > LIST_FILTERS_MAX)
		return ts_error_set(err, TS_E_BAD_PARAMETER, "more than %d filters are given",
				    LIST_FILTERS_MAX);
	if (other_chosen(l, req, &other, err) < 0)
		return -1;
	for (size_t i = 0; i < req->param_count; i++) {
		const struct list_filter *f = find_filter(l, req->params[i].name);

		if (!f)
			return ts_error_set(
				err, TS_E_UNKNOWN_PARAMETER, "%.*s is not known here",
				(int)(req->params[i].name.n < 200 ? req->params[i].name.n : 200),
				req->params[i].name.p);
		if (f->op == LIST_CHOICE || !is_first(req, i))
			continue;
		const char *expr = other && f->other ? f->other : f->expr;

		/* The values of one parameter: any of them. */
		buf_puts(&s->text, any ? " and (" : " where (");
		any = true;
		for (size_t k = i; k < req->param_count; k++) {
			if (!ts_str_eq(req->params[k].name, req->params[i].name))
				continue;
			if (k > i)
				buf_puts(&s->text, " or ");
			if (add_condition(s, f, expr, &req->params[k], err) < 0)
				return -1;
		}
		buf_puts(&s->text, ")");
	}
	if (ret_any)
		*ret_any = any;
	return 0;
}

static uint64_t hash_str(uint64_t h, struct ts_str s)
{
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3;
	return (h ^ 0xff) * 0x100000001b3;
}

uint64_t list_sql_hash(const struct list *l, const struct list_request *req)
{
	const uint64_t basis = 0xcbf29ce484222325;
	uint64_t sum = hash_str(basis, ts_str_c(l->name));

	for (size_t i = 0; i < req->param_count; i++)
		sum += hash_str(hash_str(basis, req->params[i].name), req->params[i].value);
	return sum;
}
