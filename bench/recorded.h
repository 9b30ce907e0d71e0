/* recorded.h: rows of a file as copies in memory, for benchmarks of what is done with rows */
#ifndef RECORDED_H
#define RECORDED_H

#include "tracespool/format.h"

struct recorded { /* a row; its struct follows, then its strings */
	enum row_kind kind;
	uint32_t size; /* with this head */
};

struct record_block {
	struct record_block *next;
	size_t used, size, rows;
	unsigned char data[] __attribute__((aligned(16)));
};

/* Where filled blocks go. full() takes the block; give() hands out an empty one of at least size
 * bytes. */
struct recorder {
	struct sink sink; /* first: the sink is the recorder */
	struct record_block *block;
	struct record_block *(*give)(struct recorder *r, size_t size);
	void (*full)(struct recorder *r, struct record_block *block);
	void *arg;
};

void recorder_init(struct recorder *r, struct record_block *(*give)(struct recorder *, size_t),
		   void (*full)(struct recorder *, struct record_block *), void *arg);
/* Hands over the block that is not full. */
void recorder_end(struct recorder *r);

struct record_block *record_block_new(size_t size);

/* Reads the lines of a text into the sink, with all rules of the format; returns the lines. */
uint64_t record_text(const char *text, size_t size, struct sink *sink);
/* The kind of run that the first line of a text is of. */
enum run_kind record_kind(const char *text, size_t size);

/* Each row of a block, from at (0 at first). False: no further one. */
bool record_next(const struct record_block *block, size_t *at, enum row_kind *ret_kind,
		 const void **ret_row);

#endif
