/* lines.c: bytes to lines: number, byte offset, length cap, CRLF, last line without newline
 *
 * One buffer holds the current line and what was read behind it. A line is a slice of it. More is
 * read only when the buffer holds no further LF, so every complete line in front of a decoding
 * failure has been handed out when the failure is met.
 */
#include "tracespool/input.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/text.h"
#include "tracespool/util.h"

#define BLOCK ((size_t)256 << 10) /* read at a time */

struct lines {
	struct input *in;
	uint64_t limit;
	char *data;
	size_t cap;        /* bytes of data, one of them for the final NUL */
	size_t start;      /* of the next line */
	size_t seen;       /* no LF between start and here */
	size_t end;        /* of what was read */
	uint64_t start_at; /* offset of data[start] in the decoded text */
	uint64_t number;   /* of the last line handed out */
	size_t bad;        /* bytes from start of the line that is no good UTF-8, with its LF */
	bool at_end;
};

int lines_open(struct input *in, const struct input_limits *limits, struct lines **ret,
	       struct ts_error *err)
{
	CLEAN(lines_closep) struct lines *l = calloc(1, sizeof(*l));

	if (!l)
		return ts_error_nomem(err);
	l->in = in;
	l->limit = limits->line_bytes;
	/* What may have to be held is limit + BLOCK + 1, and that is a size. */
	if (l->limit > SIZE_MAX / 2 - BLOCK)
		l->limit = SIZE_MAX / 2 - BLOCK;
	l->cap = BLOCK + 1;
	l->data = malloc(l->cap);
	if (!l->data)
		return ts_error_nomem(err);
	*ret = TAKE(l);
	return 0;
}

void lines_close(struct lines *l)
{
	if (!l)
		return;
	free(l->data);
	free(l);
}

void lines_closep(struct lines **l)
{
	lines_close(*l);
}

/* Makes room for a block behind the piece of a line that the buffer holds. */
static int make_room(struct lines *l, struct ts_error *err)
{
	size_t held = l->end - l->start;
	size_t most = (size_t)l->limit + BLOCK + 1;
	size_t cap;
	char *data;

	if (l->cap - l->end > BLOCK)
		return 0;
	if (l->start) {
		memmove(l->data, l->data + l->start, held);
		l->seen -= l->start;
		l->start = 0;
		l->end = held;
	}
	if (l->cap - l->end > BLOCK)
		return 0;
	cap = l->cap * 2 < most ? l->cap * 2 : most;
	if (cap < held + BLOCK + 1)
		cap = held + BLOCK + 1;
	data = realloc(l->data, cap);
	if (!data)
		return ts_error_nomem(err);
	l->data = data;
	l->cap = cap;
	return 0;
}

static int read_block(struct lines *l, struct ts_error *err)
{
	ssize_t n;

	if (make_room(l, err) < 0)
		return -1;
	n = input_read(l->in, l->data + l->end, BLOCK, err);
	if (n < 0)
		return -1;
	if (n == 0)
		l->at_end = true;
	l->end += (size_t)n;
	return 0;
}

static int too_long(const struct lines *l, size_t len, struct ts_error *err)
{
	ts_error_set(err, TS_E_LINE_TOO_LONG, "longer than %llu bytes",
		     (unsigned long long)l->limit);
	err->line = l->number + 1;
	err->byte = (int64_t)l->start_at;
	ts_error_excerpt(err, l->data + l->start, len, 0);
	return -1;
}

static int check_utf8(const struct lines *l, size_t len, struct ts_error *err)
{
	const char *text = l->data + l->start;
	size_t good;

	if (text_is_utf8(text, len))
		return 0;
	good = text_utf8_prefix(text, len);
	ts_error_set(err, TS_E_BAD_UTF8, "byte 0x%02x is not part of valid UTF-8",
		     (unsigned)(unsigned char)text[good]);
	err->line = l->number + 1;
	err->column = good < UINT32_MAX ? (uint32_t)good + 1 : 0;
	err->byte = (int64_t)(l->start_at + good);
	ts_error_excerpt(err, text, len, good);
	return -1;
}

/* The piece of len bytes is the next line; step is len and its LF, if any. */
static int hand_out(struct lines *l, size_t len, size_t step, struct line *ret,
		    struct ts_error *err)
{
	if (check_utf8(l, len, err) < 0) {
		l->bad = step;
		return -1;
	}
	l->number++;
	ret->text = l->data + l->start;
	ret->len = len;
	ret->number = l->number;
	ret->byte = l->start_at;
	ret->shard = 0;
	ret->blank = text_is_blank(ts_str(ret->text, len));
	l->start += step;
	l->seen = l->start;
	l->start_at += step;
	return 1;
}

int lines_next(struct lines *l, struct line *ret, struct ts_error *err)
{
	for (;;) {
		size_t held = l->end - l->start;
		const char *lf =
			l->end > l->seen ? memchr(l->data + l->seen, '\n', l->end - l->seen) : NULL;
		size_t len = lf ? (size_t)(lf - l->data) - l->start : held;

		if (len > l->limit)
			return too_long(l, held, err);
		if (lf)
			return hand_out(l, len, len + 1, ret, err);
		l->seen = l->end;
		if (l->at_end && held == 0)
			return 0;
		if (l->at_end) {
			l->data[l->end] = 0;
			return hand_out(l, len, len, ret, err);
		}
		if (read_block(l, err) < 0)
			return -1;
	}
}

bool lines_at_end(struct lines *l)
{
	struct ts_error ignored = TS_ERROR_INIT;

	while (l->end - l->start == l->bad && !l->at_end)
		if (read_block(l, &ignored) < 0)
			return false;
	return l->end - l->start == l->bad;
}
