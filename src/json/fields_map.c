/* fields_map.c: values of field tables that are objects of strings: sorted, each key once */
#include <stdlib.h>

#include "fields.h"
#include "scan.h"

/* A name as it is written, between its quotes. Its value stands behind it. */
struct name {
	const char *p;
	size_t n;
};

/* The next byte of the name in decoded form. `left` bytes of the last escape wait in `bytes`. */
struct cursor {
	const char *p, *end;
	char bytes[4];
	size_t at, left;
};

static int next_byte(struct cursor *c)
{
	if (c->at < c->left)
		return (unsigned char)c->bytes[c->at++];
	if (c->p == c->end)
		return -1;
	if (*c->p != '\\')
		return (unsigned char)*c->p++;

	size_t length = c->p[1] != 'u' ? 2 : 6;

	/* The high half of a pair stands for nothing alone. */
	if (length == 6 && (c->p[2] | 0x20) == 'd' && strchr("89abAB", c->p[3]))
		length = 12;
	c->left = json_unescape(c->p, c->p + length, c->bytes);
	c->p += length;
	c->at = 1;
	return (unsigned char)c->bytes[0];
}

static int compare_decoded(const struct name *a, const struct name *b)
{
	struct cursor ca = {.p = a->p, .end = a->p + a->n};
	struct cursor cb = {.p = b->p, .end = b->p + b->n};
	int x, y;

	do {
		x = next_byte(&ca);
		y = next_byte(&cb);
	} while (x == y && x >= 0);
	return x - y;
}

static int compare_names(const struct name *a, const struct name *b)
{
	size_t n = a->n < b->n ? a->n : b->n;
	int order;

	if (memchr(a->p, '\\', a->n) || memchr(b->p, '\\', b->n))
		return compare_decoded(a, b);
	order = memcmp(a->p, b->p, n);
	return order ? order : (a->n > b->n) - (a->n < b->n);
}

/* Equal names stay in the order of the line. */
static int compare_entries(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int order = compare_names(x, y);

	return order ? order : (x->p > y->p) - (x->p < y->p);
}

/* One pass over the map: counts its members, or notes their names once the room is there. False:
 * the reader failed. */
static bool walk(struct json *j, struct name *names, size_t *ret_n, unsigned *ret_met)
{
	const char *p, *quote;
	bool escaped;
	size_t n = 0;

	if (!json_open(j, j->at))
		return false;
	for (bool first = true; (p = json_next_name(j, first)) != NULL; first = false) {
		enum json_type type;

		quote = json_string_end(j, p, &escaped);
		if (!quote || !json_colon(j, quote + 1))
			return false;
		type = json_skip(j);
		if (type == JSON_NONE)
			return false;
		if (type != JSON_STRING)
			*ret_met = type | FIELDS_ELEMENT;
		if (names)
			names[n] = (struct name){p, (size_t)(quote - p)};
		n++;
	}
	*ret_n = n;
	return !j->error;
}

static char *put_string(char *o, const char *p, const char *quote)
{
	*o++ = '"';
	o += json_recode(p, quote, o);
	*o++ = '"';
	return o;
}

/* Writes the member whose checked name is given. */
static char *put_member(char *o, const struct name *name)
{
	const char *p = name->p + name->n + 1, *quote;

	o = put_string(o, name->p, name->p + name->n);
	*o++ = ':';
	while (*p != '"')
		p++;
	for (quote = ++p; *quote != '"'; quote++)
		quote += *quote == '\\';
	return put_string(o, p, quote);
}

enum outcome fields_read_map(struct json *j, struct ts_str *target, unsigned *ret_met)
{
	struct json again = *j;
	struct name *names;
	char *text, *o;
	size_t n;

	*ret_met = JSON_NONE;
	if (!walk(j, NULL, &n, ret_met))
		return OUTCOME_FAILED;
	if (*ret_met != JSON_NONE)
		return OUTCOME_BAD;
	names = arena_alloc(j->scratch, n * sizeof(*names));
	text = arena_alloc(j->scratch, (size_t)(j->at - again.at));
	if (!names || !text) {
		json_bad(j, j->at, json_no_memory);
		return OUTCOME_FAILED;
	}
	walk(&again, names, &n, ret_met);
	if (n > 1)
		qsort(names, n, sizeof(*names), compare_entries);
	o = text;
	*o++ = '{';
	for (size_t i = 0; i < n; i++) {
		if (i + 1 < n && compare_names(&names[i], &names[i + 1]) == 0)
			continue;
		if (o > text + 1)
			*o++ = ',';
		o = put_member(o, &names[i]);
	}
	*o++ = '}';
	*target = ts_str(text, (size_t)(o - text));
	return OUTCOME_USED;
}
