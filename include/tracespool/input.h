/* input.h: bytes from a plain or gzip file (members, trailer checks, expansion cap, digest), and
 * lines from those bytes (candle-trace.md 2, request-trace.md 2 and 3.1)
 */
#ifndef TRACESPOOL_INPUT_H
#define TRACESPOOL_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracespool/buf.h"
#include "tracespool/digest.h"
#include "tracespool/error.h"
#include "tracespool/text.h"

struct input_limits {
	uint64_t line_bytes;      /* longest line without its LF; 67108864 at least */
	uint64_t expansion_ratio; /* inflated to consumed, once 64 MiB came out */
};

/* What was read, for the run's `source` and for digests. */
struct input_facts {
	bool gzip;
	uint64_t file_bytes; /* bytes of the file consumed; all of them if it does not decode */
	uint64_t decoded_bytes;
	uint64_t members;             /* complete gzip members */
	char digest[DIGEST_TEXT + 1]; /* set by input_finish */
};

/* Is the decoder gzip? Only the last part of the name decides: what follows the last dot is exactly
 * "gz" and the part before it is not empty (request-trace.md 2.1). */
bool input_name_is_gzip(const char *name);

struct input;

/* fd is borrowed, read from its start by pread, and must outlive the input. */
int input_open(int fd, bool gzip, const struct input_limits *limits, struct input **ret,
	       struct ts_error *err);
void input_close(struct input *in);
void input_closep(struct input **in);

/* Decoded bytes: above 0 how many, 0 the end, -1 an error. All bytes in front of a failure are
 * handed out before the failure is. Errors: io_error, unreadable (EACCES), gzip_truncated,
 * gzip_corrupt (byte: where the broken member begins in the file), expansion_ratio. */
ssize_t input_read(struct input *in, void *out, size_t size, struct ts_error *err);

/* Bytes of the file that were taken so far, for those who show progress. */
uint64_t input_consumed(const struct input *in);

/* Reads on to the end for the digest, keeping nothing, and fills facts. Where decoding failed the
 * digest is that of the file's bytes as they are (http-api.md, "digest"). An error met here is
 * only an I/O error. */
int input_finish(struct input *in, struct input_facts *ret, struct ts_error *err);

struct line {
	const char *text; /* without LF; text[len] is readable: LF, or NUL at the end of the file */
	size_t len;
	uint64_t number; /* from 1, in its shard; every line counts */
	uint64_t byte;   /* offset of text[0] in the decoded text of its shard */
	uint32_t shard;  /* from 0, in load order; set by the caller of lines_next */
	bool blank;      /* White_Space characters only */
};

struct lines;

/* in is borrowed. */
int lines_open(struct input *in, const struct input_limits *limits, struct lines **ret,
	       struct ts_error *err);
void lines_close(struct lines *l);
void lines_closep(struct lines **l);

/* The next line, valid until the next call: 1, or 0 at the end, -1 on error. Complete lines in
 * front of a decoding failure come first; the piece behind the last LF in front of it never does.
 * Further errors: line_too_long, bad_utf8 (with line, byte, column, excerpt). After an error each
 * further call gives the same again. */
int lines_next(struct lines *l, struct line *ret, struct ts_error *err);

/* Is the line that was handed out last, or was no good UTF-8, the last of the text? Reads on if
 * need be; where that fails the text goes on. The line is no longer valid after it. */
bool lines_at_end(struct lines *l);

/* Appends one gzip member of the bytes to out, the same for the same bytes. 0, or -1 without
 * memory (out is then as before, or failed). */
int buf_gzip(struct ts_str in, struct buf *out);

#endif
