/* candle_result.h: what an execution trace file gave, in words of EXPECTED.json
 *
 * Apart from candle_run.h, since jansson's header and the reader's do not go together.
 */
#ifndef TESTS_CANDLE_RESULT_H
#define TESTS_CANDLE_RESULT_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct candle_figure {
	const char *group, *name; /* "counts" or "summary", and the member */
	uint64_t value;
};

struct candle_result {
	bool ok;
	/* of a refused file */
	char code[40], message[512];
	uint64_t line;
	int64_t event, byte;
	/* of an accepted one */
	char schema[64], run_id[600], outcome[16];
	struct candle_figure figures[32];
	size_t figure_count;
};

void candle_result_of(int fd, struct candle_result *ret);

/* The tests over the shared corpus; none, with a word about it, where it is absent. */
void add_candle_corpus_tests(TCase *t);

#endif
