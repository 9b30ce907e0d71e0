/* error.h: the error record, the table of stable codes, the log line of an error
 *
 * Functions return 0 or -1 and take a struct ts_error last. The caller owns the record (on its
 * stack, TS_ERROR_INIT). The first error stays: setting a second one changes nothing, callers up
 * the stack only add the place. JSON renderings (receipt reason, problem) are in report.h, one
 * level up, since they use the JSON writer.
 */
#ifndef TRACESPOOL_ERROR_H
#define TRACESPOOL_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracespool/util.h"

/* What becomes of the drop that an error is about (house rules: refuse, wait, retry, stop). */
enum ts_fate {
	TS_FATE_NONE,   /* not about a drop: HTTP, configuration, command line */
	TS_FATE_REFUSE, /* this file is bad: quarantine */
	TS_FATE_WAIT,   /* this file cannot be read now: it stays and is tried again with backoff */
	TS_FATE_RETRY,  /* the store or disk is not able now: the same, and all intake pauses */
	TS_FATE_STOP,   /* the store is damaged or newer than this program: exit non-zero */
};

/* A stable code. `code` never changes its meaning; title and hint are for people. */
struct ts_code {
	const char *code;  /* snake_case, as in receipts, problems and logs */
	const char *title; /* one phrase, no final stop */
	int status;        /* HTTP status when the code is the answer to a request; 0: never */
	int level;         /* log level 3 (err) to 7 (debug) */
	enum ts_fate fate;
	const char *hint; /* what to do about it, one sentence; NULL: nothing to add */
};

/* Ids of the table in src/base/codes.c; the table is in this order. */
enum ts_code_id {
#define TS_CODE(id, ...) id,
#include "tracespool/codes.h"
#undef TS_CODE
	TS_CODE_COUNT
};

struct ts_error {
	const struct ts_code *code; /* NULL: no error */
	uint64_t line;              /* from 1; 0: none */
	uint32_t column;            /* from 1, bytes; 0: none */
	int64_t byte;      /* offset in the decoded text (for gzip_*: in the file); -1: none */
	int64_t event;     /* event index of an execution trace, from 0; -1: none */
	int sys;           /* errno; 0: none */
	int sql;           /* SQLite result code; 0: none */
	char file[256];    /* shard of a folder; empty: the drop itself */
	char message[512]; /* complete sentence part, UTF-8, control bytes escaped */
	char excerpt[160]; /* the bytes around the place, control bytes escaped; may be empty */
	char hint[256];    /* replaces the code's hint if not empty */
};

#define TS_ERROR_INIT                                                                              \
	{                                                                                          \
		.byte = -1, .event = -1                                                            \
	}

void ts_error_init(struct ts_error *err);

/* The entry of the table for an id, or for a code's text (NULL if there is none). */
const struct ts_code *ts_code_get(enum ts_code_id id);
const struct ts_code *ts_code_find(const char *code);

/* Sets code and message unless an error is there already. Always returns -1. The message is cut
 * at a character border, control bytes are escaped. err may not be NULL. */
int ts_error_set(struct ts_error *err, enum ts_code_id id, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The same with an errno value: ": strerror" is appended and err->sys set. */
int ts_error_sys(struct ts_error *err, enum ts_code_id id, int sys, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

/* Out of memory: code internal, fate retry. Always returns -1. */
int ts_error_nomem(struct ts_error *err);

/* Is there an error of that code? */
bool ts_error_is(const struct ts_error *err, enum ts_code_id id);

/* Replaces the hint of this error. */
void ts_error_hint(struct ts_error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Fills excerpt from text[0..len), about `at` bytes into it. Marks cut ends by "...". */
void ts_error_excerpt(struct ts_error *err, const char *text, size_t len, size_t at);

/* One line for the log: `code=bad_json line=2210 byte=481920: message`. Returns buf. */
const char *ts_error_line(const struct ts_error *err, char *buf, size_t size);

/* The hint to show: the error's own, else the code's, else NULL. */
const char *ts_error_get_hint(const struct ts_error *err);

#endif
