/* depth.c: depth of each span in one pass over the parents, cycles included
 *
 * A span is new, on the current path, or done. From a new span the parents are followed to a span
 * that is done, has no parent, or is on the path; the path is then walked once more to number it.
 */
#include "candle.h"

#include "tracespool/util.h"

#define DEPTH_NEW UINT32_MAX
#define DEPTH_ON_PATH (UINT32_MAX - 1)
#define DEPTH_CYCLE 0x80000000u /* set in the depth of spans that lie on a cycle */

/* Numbers the path from `at` on, `steps` spans, of which the last gets `last`. */
static void number_path(const uint32_t *parents, uint32_t *depths, uint32_t at, uint32_t steps,
			uint32_t last)
{
	for (uint32_t i = 0; i < steps; i++) {
		depths[at] = last + (steps - 1 - i);
		at = parents[at];
	}
}

/* The cycle through span `on`; returns its length. */
static uint32_t number_cycle(const uint32_t *parents, uint32_t *depths, uint32_t on)
{
	uint32_t length = 1;

	for (uint32_t at = parents[on]; at != on; at = parents[at])
		length++;
	for (uint32_t i = 0, at = on; i < length; i++, at = parents[at])
		depths[at] = length | DEPTH_CYCLE;
	return length;
}

void depths_fill(const uint32_t *parents, uint32_t *depths, uint32_t n)
{
	CHECK(n <= DEPTH_SPANS_MAX);
	for (uint32_t i = 1; i <= n; i++)
		depths[i] = DEPTH_NEW;
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t at = i, steps = 0;

		while (at != 0 && at != DEPTH_DANGLING && depths[at] == DEPTH_NEW) {
			depths[at] = DEPTH_ON_PATH;
			at = parents[at];
			steps++;
		}
		if (at == 0)
			number_path(parents, depths, i, steps, 0);
		else if (at == DEPTH_DANGLING)
			number_path(parents, depths, i, steps, 1);
		else if (depths[at] == DEPTH_ON_PATH) {
			uint32_t before = 0, length = number_cycle(parents, depths, at);

			for (uint32_t k = i; k != at; k = parents[k])
				before++;
			/* The first step outside a cycle of L has depth L as well. */
			number_path(parents, depths, i, before, length);
		} else if (depths[at] & DEPTH_CYCLE) {
			number_path(parents, depths, i, steps, depths[at] & ~DEPTH_CYCLE);
		} else {
			number_path(parents, depths, i, steps, depths[at] + 1);
		}
	}
	for (uint32_t i = 1; i <= n; i++)
		depths[i] &= ~DEPTH_CYCLE;
}
