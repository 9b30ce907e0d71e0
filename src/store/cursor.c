/* cursor.c: cursors as base64url: version, hash of the query, sort name, keys of the last row */
#include "cursor.h"

#include <string.h>

#include "tracespool/util.h"

enum { CURSOR_VERSION = 1, CURSOR_TEXT_MAX = 8192 };

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void encode(struct buf *out, const struct buf *in)
{
	for (size_t i = 0; i < in->len; i += 3) {
		size_t n = in->len - i < 3 ? in->len - i : 3;
		uint32_t bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < n ? (unsigned char)in->data[i + k] : 0);
		for (size_t k = 0; k <= n; k++)
			buf_putc(out, digits[bits >> (18 - 6 * k) & 63]);
	}
}

static bool decode(struct buf *out, struct ts_str text)
{
	uint32_t bits = 0;
	unsigned held = 0;

	if (text.n > CURSOR_TEXT_MAX || text.n % 4 == 1)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		const char *at = text.p[i] ? strchr(digits, text.p[i]) : NULL;

		if (!at)
			return false;
		bits = (bits << 6 | (uint32_t)(at - digits)) & 0xffffff;
		held += 6;
		if (held >= 8) {
			held -= 8;
			buf_putc(out, (char)(bits >> held & 0xff));
		}
	}
	return !out->failed;
}

static void put_u64(struct buf *b, uint64_t v)
{
	for (int k = 0; k < 8; k++)
		buf_putc(b, (char)(v >> 8 * k & 0xff));
}

static void put_str(struct buf *b, struct ts_str s)
{
	buf_putc(b, (char)(s.n & 0xff));
	buf_putc(b, (char)(s.n >> 8 & 0xff));
	buf_add(b, s.p, s.n);
}

static bool get_u64(struct ts_str *in, uint64_t *ret)
{
	uint64_t v = 0;

	if (in->n < 8)
		return false;
	for (int k = 7; k >= 0; k--)
		v = v << 8 | (unsigned char)in->p[k];
	*in = ts_str(in->p + 8, in->n - 8);
	*ret = v;
	return true;
}

static bool get_byte(struct ts_str *in, unsigned *ret)
{
	if (in->n < 1)
		return false;
	*ret = (unsigned char)in->p[0];
	*in = ts_str(in->p + 1, in->n - 1);
	return true;
}

static bool get_str(struct ts_str *in, struct ts_str *ret)
{
	unsigned low, high;

	if (!get_byte(in, &low) || !get_byte(in, &high) || in->n < (low | high << 8))
		return false;
	*ret = ts_str(in->p, low | high << 8);
	*in = ts_str(in->p + ret->n, in->n - ret->n);
	return true;
}

static void put_key(struct buf *b, const struct key_value *v)
{
	uint64_t bits;

	buf_putc(b, (char)v->type);
	switch (v->type) {
	case KEY_NULL:
		break;
	case KEY_INTEGER:
		put_u64(b, (uint64_t)v->integer);
		break;
	case KEY_DOUBLE:
		memcpy(&bits, &v->real, sizeof(bits));
		put_u64(b, bits);
		break;
	case KEY_TEXT:
	case KEY_BLOB:
		put_str(b, v->str);
		break;
	}
}

static bool get_key(struct ts_str *in, struct key_value *v)
{
	unsigned type;
	uint64_t bits;

	if (!get_byte(in, &type) || type > KEY_BLOB)
		return false;
	v->type = (enum key_type)type;
	switch (v->type) {
	case KEY_NULL:
		return true;
	case KEY_INTEGER:
		if (!get_u64(in, &bits))
			return false;
		v->integer = (int64_t)bits;
		return true;
	case KEY_DOUBLE:
		if (!get_u64(in, &bits))
			return false;
		memcpy(&v->real, &bits, sizeof(bits));
		return true;
	case KEY_TEXT:
	case KEY_BLOB:
		return get_str(in, &v->str);
	}
	return false;
}

void cursor_write(struct buf *out, uint64_t query, const char *sort, const struct cursor *c)
{
	struct buf b CLEAN(buf_done) = BUF_INIT;

	buf_putc(&b, CURSOR_VERSION);
	put_str(&b, ts_str_c(sort));
	put_u64(&b, query);
	buf_putc(&b, (char)c->count);
	if (c->count == 0)
		put_u64(&b, c->row_no);
	for (unsigned i = 0; i < c->count; i++)
		put_key(&b, &c->keys[i]);
	if (b.failed)
		out->failed = true;
	else
		encode(out, &b);
}

static bool read_keys(struct ts_str *in, struct cursor *ret)
{
	if (!get_byte(in, &ret->count) || ret->count > CURSOR_KEYS_MAX)
		return false;
	if (ret->count == 0 && !get_u64(in, &ret->row_no))
		return false;
	for (unsigned i = 0; i < ret->count; i++)
		if (!get_key(in, &ret->keys[i]))
			return false;
	return in->n == 0;
}

int cursor_read(struct ts_str text, uint64_t query, const char *sort, struct cursor *ret,
		struct buf *space, struct ts_error *err)
{
	struct ts_str in, was;
	unsigned version;
	uint64_t made_for;

	buf_clear(space);
	if (!decode(space, text))
		goto bad;
	in = ts_str(space->data, space->len);
	if (!get_byte(&in, &version) || version != CURSOR_VERSION || !get_str(&in, &was) ||
	    !get_u64(&in, &made_for))
		goto bad;
	if (!ts_str_is(was, sort))
		return ts_error_set(err, TS_E_BAD_CURSOR,
				    "the cursor was made with sort=%.*s, this request has sort=%s",
				    (int)was.n, was.p, sort);
	if (made_for != query)
		return ts_error_set(err, TS_E_BAD_CURSOR,
				    "the cursor was made with other filters, or for another list");
	if (!read_keys(&in, ret))
		goto bad;
	return 0;
bad:
	return ts_error_set(err, TS_E_BAD_CURSOR, "the cursor is not one that was given out here");
}
