/* map.h: open-addressing tables with a bound on bytes an entry
 *
 * u64map: 64-bit key to 32-bit value, 12 bytes a slot, at most 3/4 full: never above 32 bytes an
 * entry once there are 48, growth included.
 * u64ids: distinct 64-bit keys to numbers 0, 1, 2, ... in the order in which they first come: 8
 * bytes a key and 8 a slot, at most 3/4 full: never above 32 bytes a key once there are 48, growth
 * included, and 128 KiB. Keys that come one after another again need no look into the table.
 * strmap: byte string to dense number 0, 1, 2, ... in order of insertion; the bytes are kept in
 * one block (4 bytes and the length of the string an entry, and 4 bytes a slot; below 4 GiB).
 */
#ifndef TRACESPOOL_MAP_H
#define TRACESPOOL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracespool/text.h"

struct u64map {
	uint64_t *keys;
	uint32_t *values; /* UINT32_MAX: free slot */
	size_t slots, count;
};

void u64map_done(struct u64map *m);
/* The value of key, or UINT32_MAX. */
uint32_t u64map_get(const struct u64map *m, uint64_t key);
/* Gives key the value `fresh` (below UINT32_MAX) if it has none. Returns the value it then has in
 * *ret and true in *ret_new if it was given. 0, or -1 without memory. */
int u64map_put(struct u64map *m, uint64_t key, uint32_t fresh, uint32_t *ret, bool *ret_new);

struct u64step {
	uint32_t from, to;
};

struct u64ids {
	uint64_t *key;  /* by number */
	uint64_t *slot; /* power of two of them */
	size_t count, cap, slots;
	struct u64step *steps; /* U64IDS_STEPS: numbers that came behind others but by one above */
};

#define U64IDS_STEPS (1u << 14)
#define U64IDS_MAX (UINT32_MAX - 1)

void u64ids_done(struct u64ids *m);
/* Numbers n keys of 8 little-endian bytes each, adding those that are not there; *ret_new is the
 * place of the first that was added, or n. 0, or -1: no memory, or a new key and already U64IDS_MAX
 * of them. */
int u64ids_add(struct u64ids *m, const void *keys, size_t n, uint32_t *ret, size_t *ret_new);

struct strmap {
	uint32_t *slot; /* number + 1; 0: free */
	uint32_t *end;  /* end[i]: where string i ends in bytes */
	char *bytes;
	size_t slots, count, count_cap, bytes_cap;
};

#define STRMAP_NONE UINT32_MAX

void strmap_done(struct strmap *m);
/* The number of the string, or STRMAP_NONE. */
uint32_t strmap_find(const struct strmap *m, struct ts_str s);
/* The number of the string, adding it if it is not there. STRMAP_NONE: no memory (or 2^32-2
 * strings, or 4 GiB). *ret_new (may be NULL) says whether it was added. */
uint32_t strmap_add(struct strmap *m, struct ts_str s, bool *ret_new);
/* Gives the table back where nothing will be looked up or added any more. */
void strmap_seal(struct strmap *m);
/* Bytes that the map holds. */
size_t strmap_bytes(const struct strmap *m);
/* The string of a number; borrowed until the next add. */
struct ts_str strmap_get(const struct strmap *m, uint32_t number);

#endif
