/* writer.h: JSON output: exact 64-bit integers, shortest doubles, one escaping function
 *
 * Writes compact JSON into a buffer. Commas and colons are put by the writer. Text that is not
 * UTF-8 is written with U+FFFD for each bad byte (it cannot come from an accepted trace). Errors
 * are the buffer's sticky `failed`.
 */
#ifndef TRACESPOOL_WRITER_H
#define TRACESPOOL_WRITER_H

#include <string.h>

#include "tracespool/buf.h"
#include "tracespool/error.h"
#include "tracespool/text.h"

/* How integers are written (http-api.md 2.5). */
enum json_numbers {
	JSON_NUMBERS_DEFAULT, /* identities as strings, quantities as numbers */
	JSON_NUMBERS_STRING,  /* all integers as strings */
	JSON_NUMBERS_EXACT,   /* all integers as numbers */
};

struct json_writer {
	struct buf *out; /* borrowed */
	enum json_numbers numbers;
	bool comma; /* a comma is due before the next key or element */
};

void jw_init(struct json_writer *w, struct buf *out, enum json_numbers numbers);
void jw_open_object(struct json_writer *w);
void jw_close_object(struct json_writer *w);
void jw_open_array(struct json_writer *w);
void jw_close_array(struct json_writer *w);
/* n bytes of this program: ASCII, no escapes. */
void jw_key_n(struct json_writer *w, const char *key, size_t n);
/* The same of a literal, whose length is known when this is compiled. */
static inline void jw_key(struct json_writer *w, const char *key)
{
	jw_key_n(w, key, strlen(key));
}
void jw_key_str(struct json_writer *w, struct ts_str key);
void jw_str(struct json_writer *w, struct ts_str s);              /* no value: null */
void jw_text(struct json_writer *w, const char *text);            /* NULL: null */
void jw_u64(struct json_writer *w, uint64_t v);                   /* a quantity */
void jw_u32s(struct json_writer *w, const uint32_t *v, size_t n); /* quantities, as elements */
void jw_i64(struct json_writer *w, int64_t v);
void jw_id(struct json_writer *w, uint64_t v);   /* an identity: hash, worker id */
void jw_double(struct json_writer *w, double v); /* not finite: null */
void jw_bool(struct json_writer *w, bool v);
void jw_null(struct json_writer *w);
void jw_time(struct json_writer *w, int64_t ms); /* RFC 3339; out of range: null */
/* Compact JSON made by this program (stored tags, meta, summaries). Its integers are re-rendered
 * when numbers is not the default. No value: null. */
void jw_raw(struct json_writer *w, struct ts_str json);

/* Key and value at once. */
void jw_key_u64(struct json_writer *w, const char *key, size_t n, uint64_t v);
static inline void jw_kv_u64(struct json_writer *w, const char *key, uint64_t v)
{
	jw_key_u64(w, key, strlen(key), v);
}
static inline void jw_kv_str(struct json_writer *w, const char *key, struct ts_str s)
{
	jw_key(w, key);
	jw_str(w, s);
}
void jw_kv_text(struct json_writer *w, const char *key, const char *text);
void jw_kv_i64(struct json_writer *w, const char *key, int64_t v);
void jw_kv_double(struct json_writer *w, const char *key, double v);
void jw_kv_bool(struct json_writer *w, const char *key, bool v);
void jw_kv_null(struct json_writer *w, const char *key);
void jw_kv_time(struct json_writer *w, const char *key, int64_t ms);

/* Escapes into out with the quotes (the one escaping function of the program). */
void json_quote(struct buf *out, struct ts_str s);

/* Copies compact JSON, indenting by two spaces if pretty, integers as strings if asked. */
void json_reformat(struct buf *out, struct ts_str json, bool pretty, enum json_numbers numbers);

/* The `reason` object of a receipt (http-api.md 6.1), null if err has no code. */
void jw_reason(struct json_writer *w, const struct ts_error *err);

/* A whole problem document (http-api.md 2.10); instance, parameter and log_id may be NULL, which
 * leaves parameter out and makes the others null. A code without a status answers with 500. */
void jw_problem(struct json_writer *w, const struct ts_error *err, const char *instance,
		const char *parameter, const char *log_id);

#endif
