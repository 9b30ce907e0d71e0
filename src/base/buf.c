/* buf.c: growable bytes with a hard cap; arena for the strings of one record */
#include "tracespool/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){.max = max};
}

void buf_done(struct buf *b)
{
	free(b->data);
	buf_init(b, b->max);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = 0;
}

bool buf_grow(struct buf *b, size_t more)
{
	if (b->failed)
		return false;
	if (more > b->max || b->len > b->max - more || b->len + more == SIZE_MAX)
		goto fail;
	size_t need = b->len + more + 1;

	if (need <= b->cap)
		return true;
	size_t cap = b->cap ? b->cap + b->cap / 2 : 256;

	if (cap < need)
		cap = need;
	if (b->max != SIZE_MAX && cap > b->max + 1)
		cap = b->max + 1;
	char *data = realloc(b->data, cap);

	if (!data)
		goto fail;
	b->data = data;
	b->cap = cap;
	b->data[b->len] = 0;
	return true;
fail:
	b->failed = true;
	return false;
}

void buf_puts(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		b->failed = true;
	if (n >= 0 && buf_reserve(b, (size_t)n)) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

char *buf_take(struct buf *b)
{
	if (!buf_reserve(b, 0))
		return NULL;
	char *data = TAKE(b->data);

	b->len = b->cap = 0;
	return data;
}

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used;
	_Alignas(8) char bytes[];
};

enum { CHUNK_BYTES = 16 * 1024, CHUNK_KEEP = 256 * 1024 };

void arena_done(struct arena *a)
{
	for (struct arena_chunk *c = a->chunks; c;) {
		struct arena_chunk *next = c->next;

		free(c);
		c = next;
	}
	*a = (struct arena){.limit = a->limit};
}

void arena_reset(struct arena *a)
{
	struct arena_chunk *keep = a->chunks;

	/* The newest chunk is the one kept, unless one long string has made it huge. */
	if (keep) {
		a->chunks = keep->next;
		if (keep->size > CHUNK_KEEP) {
			free(keep);
			keep = NULL;
		}
	}
	arena_done(a);
	if (keep) {
		keep->next = NULL;
		keep->used = 0;
		a->chunks = keep;
	}
}

void *arena_alloc(struct arena *a, size_t n)
{
	if (n > SIZE_MAX - sizeof(struct arena_chunk) - 8)
		goto fail;
	n = (n + 7) & ~(size_t)7;
	if (a->failed || (a->limit && (n > a->limit || a->used > a->limit - n)))
		goto fail;
	struct arena_chunk *c = a->chunks;

	if (!c || c->size - c->used < n) {
		size_t size = n > CHUNK_BYTES ? n : CHUNK_BYTES;

		c = malloc(sizeof(*c) + size);
		if (!c)
			goto fail;
		c->size = size;
		c->used = 0;
		c->next = a->chunks;
		a->chunks = c;
	}
	void *p = c->bytes + c->used;

	c->used += n;
	a->used += n;
	return p;
fail:
	a->failed = true;
	return NULL;
}

char *arena_dup(struct arena *a, const void *bytes, size_t n)
{
	char *p = n < SIZE_MAX ? arena_alloc(a, n + 1) : NULL;

	if (p) {
		if (n)
			memcpy(p, bytes, n);
		p[n] = 0;
	}
	return p;
}
