/* test_json.h: what the files of the reader's test share */
#ifndef TEST_JSON_H
#define TEST_JSON_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/json.h"

/* A text that ends where its memory ends, but for the one byte that the reader may look at. */
struct exact {
	char *p;
	size_t n;
};

static inline struct exact exact_of(const char *text, size_t n)
{
	struct exact e = {malloc(n + 1), n};

	ck_assert_ptr_nonnull(e.p);
	memcpy(e.p, text, n);
	e.p[n] = 0;
	return e;
}

/* Numbers that look random and are the same in each run. */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline size_t random_below(uint64_t *state, size_t n)
{
	return (size_t)(next_random(state) >> 16) % n;
}

TCase *json_number_cases(void);
TCase *json_place_cases(void);
TCase *json_jansson_cases(void);

#endif
