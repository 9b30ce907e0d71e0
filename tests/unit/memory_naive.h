/* memory_naive.h: memory of small random traces, worked out as candle-trace.md 11 words it
 */
#ifndef TESTS_MEMORY_NAIVE_H
#define TESTS_MEMORY_NAIVE_H

#include "candle_analysis.h"
#include "tracespool/memory.h"

/* Makes the indexes of the run file. */
void memory_index(struct analysis *a);
/* The whole document. Schema and id are filled in. */
void document(struct analysis *a, const struct memory_ask *ask, struct buf *out);

/* One random trace: document, filtered pictures and memory of spans against the slow way. */
void naive_round(uint32_t seed);

/* The tests over the shared corpus; none, with a word about it, where it is absent. */
void add_memory_corpus_tests(TCase *t);

#endif
