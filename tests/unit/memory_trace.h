/* memory_trace.h: a small random trace of memory records and spans, and its lifetimes
 */
#ifndef TESTS_MEMORY_TRACE_H
#define TESTS_MEMORY_TRACE_H

#include "memory_naive.h"

enum { RECORDS = 24, SPANS = 7, DEVICES = 3, CATEGORIES = 5 };

extern const char *const memory_devices[DEVICES];

struct record {
	uint64_t time, bytes;
	unsigned device, storage, tensor, span, category;
	bool alloc;
};

struct lifetime {
	uint64_t start, end, bytes, order; /* order: among ends, for the stable sort */
	unsigned device, storage, span, category, tensors; /* bits */
	bool ended;
};

struct trace {
	struct record records[RECORDS]; /* in time order, as the format takes them */
	unsigned record_count;
	uint64_t span_start[SPANS], span_ns[SPANS];
	unsigned parent[SPANS]; /* 0: none, n + 1: span n, SPANS + 1: dangling */
	bool closed[SPANS], complete;
};

struct world {
	struct lifetime of[RECORDS]; /* ended ones and live ones, as the table is gone through */
	unsigned count, frees;
	uint64_t ends;
};

static inline uint64_t sat(unsigned __int128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

/* Puts a random trace of spans and memory records into the run file, and what it is into t. */
void trace_make(struct trace *t, struct analysis *a, uint32_t seed);

/* The result of 11.1 for the records of these devices. Lifetimes of other categories are not
 * counted if categories is not all of them (http-api.md 3.6). picture: only what a picture has,
 * else the whole result; nothing, or null, without records. ret: all lifetimes. */
void trace_memory(const struct trace *t, unsigned devices, unsigned categories, bool picture,
		  struct buf *out, struct world *ret);

#endif
