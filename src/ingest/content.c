/* content.c: does the content of a file made in place prove that it is finished? (http-api.md 6)
 *
 * A plain file: its first line is whole and, of an execution trace, its last line that is not blank
 * is `terminal`. A gzip file: it ends with a whole member, and the same holds for its text. What is
 * no good trace is finished by these rules as well: the format will say what is wrong with it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracespool/format.h"
#include "tracespool/ingest.h"
#include "tracespool/input.h"
#include "tracespool/text.h"
#include "tracespool/util.h"

#define LINE_MAX_BYTES 67108864 /* of a line that is looked at */
#define TAIL_FIRST ((size_t)64 << 10)

static const struct input_limits limits = {.line_bytes = LINE_MAX_BYTES, .expansion_ratio = 250};

/* Only an execution trace has a line that ends it. */
static bool has_terminal(const struct line *first)
{
	const struct ts_format *format;
	struct ts_error ignored = TS_ERROR_INIT;

	return format_pick(first, &format, &ignored) == 0 && format == &format_candle;
}

/* ---- plain ---- */

enum front {
	FRONT_CUT,   /* the first line that is not blank has no end yet */
	FRONT_WHOLE, /* nothing but a whole first line is needed */
	FRONT_CANDLE,
};

static enum front read_front(int fd, uint64_t size)
{
	CLEAN(input_closep) struct input *in = NULL;
	CLEAN(lines_closep) struct lines *lines = NULL;
	struct ts_error err = TS_ERROR_INIT;
	struct line line;

	if (input_open(fd, false, &limits, &in, &err) < 0 ||
	    lines_open(in, &limits, &lines, &err) < 0)
		return FRONT_CUT;
	for (;;) {
		int rc = lines_next(lines, &line, &err);

		if (rc < 0) /* bad_utf8 is a verdict; the rest cannot be told */
			return ts_error_is(&err, TS_E_BAD_UTF8) ? FRONT_WHOLE : FRONT_CUT;
		if (rc == 0 || line.byte + line.len >= size)
			return FRONT_CUT;
		if (!line.blank)
			return has_terminal(&line) ? FRONT_CANDLE : FRONT_WHOLE;
		if (line.byte > LINE_MAX_BYTES)
			return FRONT_CUT;
	}
}

static bool read_at(int fd, char *out, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t n = pread(fd, out, size, (off_t)offset);

		if (n <= 0)
			return false;
		out += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return true;
}

/* The last line of text that is not blank. False: none begins in it; `from_start`: text is the
 * whole file, so a line may begin where it begins. */
static bool last_line(struct ts_str text, bool from_start, struct ts_str *ret)
{
	size_t end = text.n;

	for (;;) {
		const char *lf = end ? memrchr(text.p, '\n', end) : NULL;
		size_t begin = lf ? (size_t)(lf - text.p) + 1 : 0;
		struct ts_str line = ts_str(text.p + begin, end - begin);

		if (!lf && !from_start)
			return false;
		if (!text_is_utf8(line.p, line.n) || !text_is_blank(line)) {
			*ret = line;
			return true;
		}
		if (!lf)
			return false;
		end = begin - 1;
	}
}

static bool ends_with_terminal(int fd, uint64_t size)
{
	size_t most = size < LINE_MAX_BYTES ? (size_t)size : LINE_MAX_BYTES;
	size_t part = most < TAIL_FIRST ? most : TAIL_FIRST;

	for (;;) {
		CLEAN(free_ptr) char *tail = malloc(part + 1);
		struct ts_str line;

		if (!tail || !read_at(fd, tail, part, size - part))
			return false;
		tail[part] = 0;
		if (last_line(ts_str(tail, part), part == size, &line))
			return format_line_is_terminal(line.p, line.n);
		if (part == most)
			return false;
		part = part > most / 4 ? most : part * 4;
	}
}

static bool plain_complete(int fd)
{
	struct stat st;
	uint64_t size;

	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return false;
	size = (uint64_t)st.st_size;
	switch (read_front(fd, size)) {
	case FRONT_CANDLE:
		return ends_with_terminal(fd, size);
	case FRONT_WHOLE:
		return true;
	case FRONT_CUT:
		break;
	}
	return false;
}

/* ---- gzip ---- */

/* Keeps a copy of the line: whether it is the last one shows only at the end. */
static bool keep_line(struct buf *last, const struct line *line)
{
	buf_clear(last);
	buf_add(last, line->text, line->len);
	return !last->failed;
}

/* Reads on without lines: only the end of the members matters. */
static bool members_complete(struct input *in, const struct spool_pulse *pulse)
{
	struct ts_error err = TS_ERROR_INIT;
	CLEAN(free_ptr) void *block = malloc(TAIL_FIRST);
	ssize_t n = -1;

	while (block && (n = input_read(in, block, TAIL_FIRST, &err)) > 0)
		if (!pulse->beat(pulse->arg))
			return false;
	return n == 0;
}

static bool gzip_complete(int fd, const struct spool_pulse *pulse)
{
	CLEAN(input_closep) struct input *in = NULL;
	CLEAN(lines_closep) struct lines *lines = NULL;
	CLEAN(buf_done) struct buf last = BUF_INIT;
	struct ts_error err = TS_ERROR_INIT;
	struct line line;
	bool candle = false;
	int rc;

	if (input_open(fd, true, &limits, &in, &err) < 0 ||
	    lines_open(in, &limits, &lines, &err) < 0)
		return false;
	while ((rc = lines_next(lines, &line, &err)) > 0) {
		if (!pulse->beat(pulse->arg))
			return false;
		if (line.blank)
			continue;
		if (!candle && !has_terminal(&line))
			return members_complete(in, pulse);
		candle = true;
		if (!keep_line(&last, &line))
			return false;
	}
	if (rc < 0) /* a bad line is a verdict once the members are there */
		return (ts_error_is(&err, TS_E_BAD_UTF8) ||
			ts_error_is(&err, TS_E_LINE_TOO_LONG)) &&
		       members_complete(in, pulse);
	return candle ? format_line_is_terminal(last.data, last.len) : true;
}

/* A plain file is looked at in two places of bounded size: no pulse is needed for that. */
static bool complete(void *arg, int fd, const char *name, const struct spool_pulse *pulse)
{
	(void)arg;
	return input_name_is_gzip(name) ? gzip_complete(fd, pulse) : plain_complete(fd);
}

const struct spool_content *ingest_content(void)
{
	static const struct spool_content content = {.complete = complete};

	return &content;
}
