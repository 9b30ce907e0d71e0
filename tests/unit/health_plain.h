/* health_plain.h: a small execution run as arrays, and the issues that the rules of candle-trace.md
 * 12.1 to 12.4 give for it when they are written down plainly
 */
#ifndef TESTS_HEALTH_PLAIN_H
#define TESTS_HEALTH_PLAIN_H

#include "tracespool/buf.h"
#include "tracespool/fields.h"

enum { SPANS = 6, RECORDS = 6 };

/* A run as arrays; ids are small numbers made to texts. */
struct run {
	bool failed;
	unsigned spans, ops, tensors, memory, intervals, samples, edges, gradients;
	struct {
		char id[4], parent[4]; /* parent empty: none */
		bool closed, measured;
		uint64_t start, duration;
	} span[SPANS];
	struct {
		char span[4], in[4], out[4];
		uint64_t at, duration;
	} op[RECORDS];
	struct {
		char span[4], id[4];
	} tensor[RECORDS];
	struct {
		char span[4], storage[4], device[4], tensor[4];
		uint64_t at, bytes;
		bool alloc;
	} mem[2 * RECORDS];
	struct {
		char span[4];
		uint64_t duration;
	} interval[RECORDS];
	bool sample_has[RECORDS];
	struct {
		bool call;
		char from[4], to[4];
		uint64_t duration;
	} edge[RECORDS];
	struct {
		char event[4], root[4], key[4];
		unsigned state;
		struct opt_double norm;
	} gradient[RECORDS];
};

/* The place of the span, or r->spans. */
unsigned find_span(const struct run *r, const char *id);

/* "code" and a line feed for each issue, a '?' behind the code if it is a warning; without those of
 * absent evidence. */
void plain_issues(const struct run *r, struct buf *out);

#endif
