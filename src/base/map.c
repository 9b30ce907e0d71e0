/* map.c: open-addressing tables with a bound on bytes an entry */
#include "tracespool/map.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Keys come from other people's files, so the hash is keyed: nobody can prepare a file whose ids
 * all fall into one chain. */
static uint64_t seed;

__attribute__((constructor)) static void seed_init(void)
{
	if (getentropy(&seed, sizeof(seed)) < 0)
		seed = (uint64_t)(uintptr_t)&seed * 0x9e3779b97f4a7c15u;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint64_t hash_u64(uint64_t key)
{
	return mix(key ^ seed, 0xa0761d6478bd642fu ^ key >> 32);
}

static uint64_t hash_bytes(const char *p, size_t n)
{
	uint64_t h = seed ^ n * 0xe7037ed1a0b428dbu, w;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&w, p, 8);
		h = mix(h ^ w, 0xa0761d6478bd642fu ^ h >> 29);
	}
	w = 0;
	if (n) /* an empty string may have no place at all, which memcpy does not allow */
		memcpy(&w, p, n);
	return mix(h ^ w, 0x8ebc6af09c88c6e3u);
}

void u64map_done(struct u64map *m)
{
	free(m->keys);
	free(m->values);
	*m = (struct u64map){0};
}

static size_t u64map_slot(const struct u64map *m, uint64_t key)
{
	size_t mask = m->slots - 1, i = (size_t)hash_u64(key) & mask;

	while (m->values[i] != UINT32_MAX && m->keys[i] != key)
		i = (i + 1) & mask;
	return i;
}

uint32_t u64map_get(const struct u64map *m, uint64_t key)
{
	return m->slots ? m->values[u64map_slot(m, key)] : UINT32_MAX;
}

void u64map_prefetch(const struct u64map *m, uint64_t key)
{
	if (!m->slots)
		return;
	size_t i = (size_t)hash_u64(key) & (m->slots - 1);

	__builtin_prefetch(&m->values[i]);
	__builtin_prefetch(&m->keys[i]);
}

/* Doubles in place, so that never more than the new table is held (32 bytes an entry): entries that
 * still stand where the old table had them are lifted out one by one, and whatever stands in the
 * way is lifted in turn. `moved` has a bit for each slot that is settled. */
static int u64map_grow(struct u64map *m)
{
	size_t old = m->slots, slots = old ? old * 2 : 64;
	uint64_t *keys = realloc(m->keys, slots * sizeof(*keys));

	if (!keys)
		return -1;
	m->keys = keys;
	uint32_t *values = realloc(m->values, slots * sizeof(*values));
	uint8_t *moved = calloc(slots / 8, 1);

	if (values)
		m->values = values;
	if (!values || !moved) {
		free(moved);
		return -1;
	}
	memset(values + old, 0xff, (slots - old) * sizeof(*values));
	m->slots = slots;
	for (size_t i = 0; i < old; i++) {
		if (values[i] == UINT32_MAX || moved[i / 8] >> i % 8 & 1)
			continue;
		uint64_t key = keys[i];
		uint32_t value = values[i];

		values[i] = UINT32_MAX;
		while (value != UINT32_MAX) {
			size_t to = (size_t)hash_u64(key) & (slots - 1);

			while (moved[to / 8] >> to % 8 & 1)
				to = (to + 1) & (slots - 1);
			uint64_t other_key = keys[to];
			uint32_t other_value = values[to];

			keys[to] = key;
			values[to] = value;
			moved[to / 8] |= (uint8_t)(1 << to % 8);
			key = other_key;
			value = other_value;
		}
	}
	free(moved);
	return 0;
}

int u64map_put(struct u64map *m, uint64_t key, uint32_t fresh, uint32_t *ret, bool *ret_new)
{
	if (m->count >= m->slots - m->slots / 4 && u64map_grow(m) < 0)
		return -1;
	size_t i = u64map_slot(m, key);
	bool is_new = m->values[i] == UINT32_MAX;

	if (is_new) {
		m->keys[i] = key;
		m->values[i] = fresh;
		m->count++;
	}
	*ret = m->values[i];
	*ret_new = is_new;
	return 0;
}

void strmap_done(struct strmap *m)
{
	free(m->slot);
	free(m->end);
	free(m->bytes);
	*m = (struct strmap){0};
}

void strmap_seal(struct strmap *m)
{
	free(m->slot);
	m->slot = NULL;
	m->slots = 0;
}

size_t strmap_bytes(const struct strmap *m)
{
	size_t text = m->count ? m->end[m->count - 1] : 0;

	return m->slots * sizeof(*m->slot) + m->count * sizeof(*m->end) + text;
}

struct ts_str strmap_get(const struct strmap *m, uint32_t number)
{
	uint32_t begin = number ? m->end[number - 1] : 0;

	return ts_str(m->bytes + begin, (size_t)(m->end[number] - begin));
}

static size_t strmap_slot(const struct strmap *m, struct ts_str s)
{
	size_t mask = m->slots - 1, i = (size_t)hash_bytes(s.p, s.n) & mask;

	while (m->slot[i]) {
		struct ts_str have = strmap_get(m, m->slot[i] - 1);

		if (have.n == s.n && (s.n == 0 || memcmp(have.p, s.p, s.n) == 0))
			break;
		i = (i + 1) & mask;
	}
	return i;
}

uint32_t strmap_find(const struct strmap *m, struct ts_str s)
{
	if (!m->slots)
		return STRMAP_NONE;
	size_t i = strmap_slot(m, s);

	return m->slot[i] ? m->slot[i] - 1 : STRMAP_NONE;
}

static int strmap_rehash(struct strmap *m)
{
	size_t slots = m->slots ? m->slots * 2 : 64;
	uint32_t *slot = calloc(slots, sizeof(*slot));

	if (!slot)
		return -1;
	free(m->slot);
	m->slot = slot;
	m->slots = slots;
	for (uint32_t i = 0; i < m->count; i++)
		m->slot[strmap_slot(m, strmap_get(m, i))] = i + 1;
	return 0;
}

/* Room for one more entry of n bytes, growing by half so that little is idle. */
static int strmap_room(struct strmap *m, size_t n)
{
	size_t used = m->count ? m->end[m->count - 1] : 0;

	if (n > UINT32_MAX - used)
		return -1;
	if (m->count == m->count_cap) {
		size_t cap = m->count_cap ? m->count_cap + m->count_cap / 2 : 64;
		uint32_t *end = realloc(m->end, cap * sizeof(*end));

		if (!end)
			return -1;
		m->end = end;
		m->count_cap = cap;
	}
	if (!m->bytes || m->bytes_cap - used < n) {
		size_t cap = m->bytes_cap + m->bytes_cap / 2;

		if (cap < used + n + 64)
			cap = used + n + 64;
		char *bytes = realloc(m->bytes, cap);

		if (!bytes)
			return -1;
		m->bytes = bytes;
		m->bytes_cap = cap;
	}
	return 0;
}

uint32_t strmap_add(struct strmap *m, struct ts_str s, bool *ret_new)
{
	if (m->count >= UINT32_MAX - 2)
		return STRMAP_NONE;
	if (m->count >= m->slots - m->slots / 4 && strmap_rehash(m) < 0)
		return STRMAP_NONE;
	size_t i = strmap_slot(m, s);
	bool is_new = m->slot[i] == 0;

	if (is_new) {
		if (strmap_room(m, s.n) < 0)
			return STRMAP_NONE;
		uint32_t begin = m->count ? m->end[m->count - 1] : 0;

		if (s.n)
			memcpy(m->bytes + begin, s.p, s.n);
		m->end[m->count] = begin + (uint32_t)s.n;
		m->slot[i] = (uint32_t)++m->count;
	}
	if (ret_new)
		*ret_new = is_new;
	return m->slot[i] - 1;
}
