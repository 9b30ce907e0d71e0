/* parse_jansson.h: the peer of bench/parse; apart, since jansson and json.h use the same names */
#ifndef PARSE_JANSSON_H
#define PARSE_JANSSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads each line and takes every value; a sum of them. big: integers above 2^63-1, which jansson
 * has only as approximate doubles. */
uint64_t jansson_pass(const char *text, size_t size, bool big);

#endif
