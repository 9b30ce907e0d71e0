/* candle_random.h: seeded valid execution traces for tests, odd in every way that is legal */
#ifndef TESTS_CANDLE_RANDOM_H
#define TESTS_CANDLE_RANDOM_H

#include <stdint.h>

#include "tracespool/buf.h"

/* Appends a whole trace: all record kinds; ids with NUL, escapes and letters beyond ASCII; members
 * absent, null and given; u64 extremes, -0.0; open spans and children before their parents. */
void random_trace(uint64_t seed, struct buf *out);

#endif
