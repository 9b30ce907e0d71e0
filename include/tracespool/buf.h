/* buf.h: growable bytes with a hard cap; arena for the strings of one record
 *
 * Both have a sticky failure: after a growth that failed (memory or cap), additions do nothing
 * and `failed` stays true, so a caller may check once at the end.
 */
#ifndef TRACESPOOL_BUF_H
#define TRACESPOOL_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracespool/util.h"

struct buf {
	char *data; /* data[len] is always 0 once anything was added */
	size_t len, cap;
	size_t max; /* hard cap of len; SIZE_MAX: none */
	bool failed;
};

#define BUF_INIT                                                                                   \
	{                                                                                          \
		.max = SIZE_MAX                                                                    \
	}

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);  /* frees; usable with CLEAN; the buffer may be used again */
void buf_clear(struct buf *b); /* len 0, failure forgotten, memory kept */

bool buf_grow(struct buf *b, size_t more);
/* Makes room for `more` further bytes (and the final 0). False: failed is set. */
static inline bool buf_reserve(struct buf *b, size_t more)
{
	return (more < b->cap - b->len && !b->failed) || buf_grow(b, more);
}
/* Says that the bytes up to end, in that room, are there. */
static inline void buf_reach(struct buf *b, char *end)
{
	*end = 0;
	b->len = (size_t)(end - b->data);
}
static inline void buf_add(struct buf *b, const void *bytes, size_t n)
{
	if (!buf_reserve(b, n))
		return;
	if (n)
		memcpy(b->data + b->len, bytes, n);
	buf_reach(b, b->data + b->len + n);
}
void buf_puts(struct buf *b, const char *text);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

static inline void buf_putc(struct buf *b, char c)
{
	if (b->len + 1 < b->cap) {
		b->data[b->len++] = c;
		b->data[b->len] = 0;
	} else {
		buf_add(b, &c, 1);
	}
}

/* Hands the bytes over as a malloc'd string (never NULL unless failed) and empties the buffer. */
char *buf_take(struct buf *b);

/* Memory that lives until the next reset; not for single frees. */
struct arena {
	struct arena_chunk *chunks;
	size_t used, limit; /* bytes handed out since the reset; cap of them (0: none) */
	bool failed;
};

void arena_done(struct arena *a);
void arena_reset(struct arena *a);            /* keeps one chunk */
void *arena_alloc(struct arena *a, size_t n); /* 8-byte aligned; NULL: failed is set */
char *arena_dup(struct arena *a, const void *bytes, size_t n); /* a copy with a final 0 */

#endif
