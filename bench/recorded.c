/* recorded.c: copies of rows with their strings, block by block */
#include "recorded.h"

#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "bench.h"

#define BLOCK_BYTES ((size_t)256 << 10)
#define ALIGNED(n) (((n) + 15) & ~(size_t)15)

struct record_block *record_block_new(size_t size)
{
	if (size < BLOCK_BYTES)
		size = BLOCK_BYTES;
	struct record_block *b = malloc(sizeof(*b) + size);

	if (!b)
		bench_fail("no memory for rows");
	*b = (struct record_block){.size = size};
	return b;
}

static size_t strings_size(const struct row_shape *shape, const unsigned char *row)
{
	size_t sum = 0;

	for (const struct column *c = shape->columns; c->name; c++) {
		if (c->type == COLUMN_TEXT)
			sum += ((const struct ts_str *)(const void *)(row + c->offset))->n;
		else if (c->type == COLUMN_HASHES)
			sum += 8 * *(const size_t *)(const void *)(row + c->count);
	}
	return sum;
}

static void copy_strings(const struct row_shape *shape, unsigned char *row, unsigned char *to)
{
	for (const struct column *c = shape->columns; c->name; c++) {
		const void **p = (const void **)(void *)(row + c->offset);
		size_t n;

		if (c->type == COLUMN_TEXT)
			n = ((const struct ts_str *)(const void *)(row + c->offset))->n;
		else if (c->type == COLUMN_HASHES)
			n = 8 * *(const size_t *)(const void *)(row + c->count);
		else
			continue;
		if (!*p)
			continue;
		if (n)
			memcpy(to, *p, n);
		*p = to;
		to += n;
	}
}

static int record_row(struct sink *sink, enum row_kind kind, const void *row, struct ts_error *err)
{
	struct recorder *r = (struct recorder *)sink;
	const struct row_shape *shape = &row_shapes[kind];
	size_t head = ALIGNED(sizeof(struct recorded)) + ALIGNED(shape->size);
	size_t size = ALIGNED(head + strings_size(shape, row));

	(void)err;
	if (r->block && r->block->used + size > r->block->size) {
		r->full(r, r->block);
		r->block = NULL;
	}
	if (!r->block)
		r->block = r->give(r, size);

	unsigned char *at = r->block->data + r->block->used;
	unsigned char *copy = at + ALIGNED(sizeof(struct recorded));

	*(struct recorded *)(void *)at = (struct recorded){kind, (uint32_t)size};
	memcpy(copy, row, shape->size);
	copy_strings(shape, copy, at + head);
	r->block->used += size;
	r->block->rows++;
	return 0;
}

void recorder_init(struct recorder *r, struct record_block *(*give)(struct recorder *, size_t),
		   void (*full)(struct recorder *, struct record_block *), void *arg)
{
	*r = (struct recorder){.sink.row = record_row, .give = give, .full = full, .arg = arg};
}

void recorder_end(struct recorder *r)
{
	if (r->block)
		r->full(r, r->block);
	r->block = NULL;
}

bool record_next(const struct record_block *block, size_t *at, enum row_kind *ret_kind,
		 const void **ret_row)
{
	if (*at >= block->used)
		return false;
	const struct recorded *head = (const struct recorded *)(const void *)(block->data + *at);

	*ret_kind = head->kind;
	*ret_row = block->data + *at + ALIGNED(sizeof(*head));
	*at += head->size;
	return true;
}

static _Noreturn void refused(const struct ts_error *err)
{
	bench_fail("line %llu: %s", (unsigned long long)err->line, err->message);
}

static bool next_line(const char *text, size_t size, struct line *line)
{
	const char *p = line->text ? line->text + line->len + 1 : text, *end = text + size;

	if (p >= end)
		return false;
	const char *lf = memchr(p, '\n', (size_t)(end - p));

	line->text = p;
	line->len = (size_t)((lf ? lf : end) - p);
	line->byte = (uint64_t)(p - text);
	line->number++;
	line->blank = text_is_blank(ts_str(p, line->len));
	return true;
}

enum run_kind record_kind(const char *text, size_t size)
{
	struct ts_error err = TS_ERROR_INIT;
	const struct ts_format *format;
	struct line line = {0};

	if (!next_line(text, size, &line) || format_pick(&line, &format, &err) < 0)
		refused(&err);
	return format->kind;
}

uint64_t record_text(const char *text, size_t size, struct sink *sink)
{
	struct ts_error err = TS_ERROR_INIT;
	struct trace_counts counts = {0};
	struct format_state *state = NULL;
	const struct ts_format *format = NULL;
	struct line line = {0};

	while (next_line(text, size, &line)) {
		if (!text_is_utf8(line.text, line.len))
			bench_fail("not UTF-8");
		if (!format && (format_pick(&line, &format, &err) < 0 ||
				format->begin(&state, &counts, &err) < 0))
			refused(&err);
		if (format->record(state, &line, sink, &err) < 0)
			refused(&err);
	}
	if (!format || format->finish(state, sink, &err) < 0)
		refused(&err);
	format->end(state);
	return line.number;
}
