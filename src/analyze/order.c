/* order.c: numbers put into the order of their keys, stable and in linear time */
#include "candle.h"

#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 6, DIGIT_VALUES = 1 << DIGIT_BITS };

struct keys {
	const uint64_t *wide; /* or NULL */
	const uint32_t *narrow;
};

static uint64_t key_of(const struct keys *k, uint32_t number)
{
	return k->wide ? k->wide[number] : k->narrow[number];
}

static unsigned digit_of(uint64_t key, unsigned digit)
{
	return (unsigned)(key >> (digit * DIGIT_BITS)) & (DIGIT_VALUES - 1);
}

static void pass(const struct keys *k, unsigned digit, const uint32_t *from, uint32_t *to, size_t n)
{
	uint32_t count[DIGIT_VALUES] = {0}, at = 0;

	for (size_t i = 0; i < n; i++)
		count[digit_of(key_of(k, from[i]), digit)]++;
	for (unsigned v = 0; v < DIGIT_VALUES; v++) {
		uint32_t here = count[v];

		count[v] = at;
		at += here;
	}
	for (size_t i = 0; i < n; i++)
		to[count[digit_of(key_of(k, from[i]), digit)]++] = from[i];
}

static void sort(const struct keys *k, uint32_t *order, uint32_t *scratch, size_t n)
{
	uint64_t differ = 0;
	uint32_t *from = order, *to = scratch;

	for (size_t i = 1; i < n; i++)
		differ |= key_of(k, order[i]) ^ key_of(k, order[0]);
	for (unsigned d = 0; d < DIGITS; d++) {
		if (digit_of(differ, d) == 0)
			continue;
		pass(k, d, from, to, n);
		uint32_t *other = from;

		from = to;
		to = other;
	}
	if (from != order && n > 0)
		memcpy(order, from, n * sizeof(*order));
}

void order_by_keys(const uint64_t *keys, uint32_t *order, uint32_t *scratch, size_t n)
{
	sort(&(struct keys){.wide = keys}, order, scratch, n);
}

void order_by_numbers(const uint32_t *keys, uint32_t *order, uint32_t *scratch, size_t n)
{
	sort(&(struct keys){.narrow = keys}, order, scratch, n);
}
