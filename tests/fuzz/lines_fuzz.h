/* lines_fuzz.h: bytes as a trace: lines by the real reader, records by a format, rows checked */
#ifndef TESTS_FUZZ_LINES_H
#define TESTS_FUZZ_LINES_H

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracespool/format.h"
#include "tracespool/input.h"
#include "tracespool/util.h"

#include "fuzz.h"

#define FUZZ_LINE_BYTES 65536 /* short, so that the limit is met too */

static inline int fuzz_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	HOLDS(fd >= 0);
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, data + done, size - done);

		HOLDS(n > 0);
		done += (size_t)n;
	}
	return fd;
}

static inline void fuzz_check_error(const struct ts_error *err)
{
	HOLDS(err->code);
	HOLDS(err->message[0]);
	HOLDS(memchr(err->message, 0, sizeof(err->message)));
	HOLDS(memchr(err->excerpt, 0, sizeof(err->excerpt)));
	HOLDS(text_is_utf8(err->message, strlen(err->message)));
	HOLDS(text_is_utf8(err->excerpt, strlen(err->excerpt)));
}

/* Reads every byte of a text of a row. */
static inline void fuzz_touch(struct ts_str s)
{
	HOLDS(s.p || !s.n);
	if (s.p)
		HOLDS(text_is_utf8(s.p, s.n));
}

static inline void fuzz_lines(const struct ts_format *format, struct sink *sink,
			      const uint8_t *data, size_t size)
{
	const struct input_limits limits = {FUZZ_LINE_BYTES, 250};
	struct ts_error err = TS_ERROR_INIT;
	struct trace_counts counts = {0};
	struct format_state *st = NULL;
	struct input *in = NULL;
	struct lines *lines = NULL;
	struct line line;
	int fd = fuzz_file(data, size), rc;

	HOLDS(input_open(fd, false, &limits, &in, &err) == 0);
	HOLDS(lines_open(in, &limits, &lines, &err) == 0);
	HOLDS(format->begin(&st, &counts, &err) == 0);
	while ((rc = lines_next(lines, &line, &err)) > 0) {
		const struct ts_format *picked;
		struct ts_error ignored = TS_ERROR_INIT;

		line.shard = 0;
		if (format_pick(&line, &picked, &ignored) < 0)
			fuzz_check_error(&ignored);
		format_line_is_terminal(line.text, line.len);
		rc = format->record(st, &line, sink, &err);
		if (rc < 0)
			break;
	}
	if (rc == 0)
		rc = format->finish(st, sink, &err);
	if (rc < 0)
		fuzz_check_error(&err);
	else
		HOLDS(!err.code);
	format->end(st);
	lines_close(lines);
	input_close(in);
	close(fd);
}

#endif
