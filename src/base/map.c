/* map.c: open-addressing tables with a bound on bytes an entry */
#include "tracespool/map.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracespool/util.h"

#define LARGE_PAGES_FROM ((size_t)8 << 20)

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

/* A slot is the high half of the hash and the number plus one; 0: free. So a look-up that ends at a
 * free slot, which is that of every new key, reads hardly any keys. */
#define SLOT_NUMBER(slot) ((uint32_t)(slot)-1)

enum {
	PREFETCH = 16,
	STEPS_FROM = 1 << 16, /* slots that a small cache does not hold */
};

void u64ids_done(struct u64ids *m)
{
	free(m->key);
	free(m->slot);
	free(m->steps);
	*m = (struct u64ids){0};
}

/* Zeroed memory in which one place after another anywhere is asked for: by few large pages, where
 * the system has them, the processor finds these places itself. */
static void *alloc_scattered(size_t n, size_t size)
{
	char *p = calloc(n, size);
	uintptr_t page = 4096, begin = ((uintptr_t)p + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)p + n * size) & ~(page - 1);

	if (p && end > begin && end - begin >= LARGE_PAGES_FROM)
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
	return p;
}

static void put_number(struct u64ids *m, uint64_t h, uint32_t number)
{
	size_t mask = m->slots - 1, i = (size_t)h & mask;

	while (m->slot[i])
		i = (i + 1) & mask;
	m->slot[i] = h >> 32 << 32 | ((uint64_t)number + 1);
}

static void prefetch(const struct u64ids *m, uint64_t key)
{
	__builtin_prefetch(&m->slot[(size_t)hash_u64(key) & (m->slots - 1)], 1);
}

/* The old table goes first, since the keys tell all that was in it. */
static int grow_slots(struct u64ids *m)
{
	size_t slots = 64;

	while (m->count >= slots - slots / 4)
		slots *= 2;
	free(TAKE(m->slot));
	m->slots = 0;
	m->slot = alloc_scattered(slots, sizeof(*m->slot));
	if (!m->slot)
		return -1;
	m->slots = slots;
	if (!m->steps && slots >= STEPS_FROM) {
		m->steps = calloc(U64IDS_STEPS, sizeof(*m->steps));
		if (!m->steps)
			return -1;
	}
	for (size_t i = 0; i < m->count; i++) {
		if (i + PREFETCH < m->count)
			prefetch(m, m->key[i + PREFETCH]);
		put_number(m, hash_u64(m->key[i]), (uint32_t)i);
	}
	return 0;
}

/* Room for one key more. */
static int make_room(struct u64ids *m)
{
	if (m->count >= U64IDS_MAX)
		return -1;
	if (m->count == m->cap) {
		size_t cap = m->cap ? m->cap + m->cap / 4 : 48;
		uint64_t *key = reallocarray(m->key, cap, sizeof(*key));

		if (!key)
			return -1;
		m->key = key;
		m->cap = cap;
	}
	return m->count >= m->slots - m->slots / 4 ? grow_slots(m) : 0;
}

/* The number of key, or UINT32_MAX. */
static uint32_t find_number(const struct u64ids *m, uint64_t key, uint64_t h)
{
	size_t mask = m->slots - 1;

	for (size_t i = (size_t)h & mask; m->slots && m->slot[i]; i = (i + 1) & mask) {
		uint64_t slot = m->slot[i];

		if (slot >> 32 == h >> 32 && m->key[SLOT_NUMBER(slot)] == key)
			return SLOT_NUMBER(slot);
	}
	return UINT32_MAX;
}

static uint64_t key_at(const void *keys, size_t i)
{
	uint64_t key;

	memcpy(&key, (const char *)keys + i * sizeof(key), sizeof(key));
	return le64toh(key);
}

/* Gives a key that is not there the next number. */
static int add_key(struct u64ids *m, uint64_t key, uint64_t h, uint32_t *ret)
{
	if (make_room(m) < 0)
		return -1;
	*ret = (uint32_t)m->count++;
	m->key[*ret] = key;
	put_number(m, h, *ret);
	return 0;
}

/* Whether key has the number that lately came behind `before`. */
static bool follows(const struct u64ids *m, uint32_t before, uint64_t key, uint32_t *ret)
{
	const struct u64step *step;

	if (!m->steps)
		return false;
	step = &m->steps[before % U64IDS_STEPS];
	*ret = step->to;
	return step->from == before && step->to < m->count && m->key[step->to] == key;
}

/* How many of n keys have the numbers `number` and those behind it, one after another; puts them
 * into ret. Keys that came one after another come so again as a rule. */
static size_t take_run(const struct u64ids *m, size_t number, const char *keys, size_t n,
		       uint32_t *ret)
{
	const uint64_t *key;
	size_t most, run = 0;

	if (number >= m->count)
		return 0;
	key = m->key + number;
	most = m->count - number < n ? m->count - number : n;
	while (run < most && key[run] == key_at(keys, run))
		run++;
	for (size_t k = 0; k < run; k++)
		ret[k] = (uint32_t)(number + k);
	return run;
}

int u64ids_add(struct u64ids *m, const void *keys, size_t n, uint32_t *ret, size_t *ret_new)
{
	const char *p = keys;
	size_t i = 0, ahead = 0;
	uint32_t before = UINT32_MAX, number;

	*ret_new = n;
	while (i < n) {
		size_t run = take_run(m, (size_t)(uint32_t)(before + 1), p + 8 * i, n - i, ret + i);

		i += run;
		before += (uint32_t)run;
		if (i == n)
			break;
		uint64_t key = key_at(p, i), h;

		if (!follows(m, before, key, &number)) {
			h = hash_u64(key);
			number = find_number(m, key, h);
			if (number == UINT32_MAX) {
				if (add_key(m, key, h, &number) < 0)
					return -1;
				if (*ret_new == n)
					*ret_new = i;
				/* What follows a new key is new as a rule. */
				if (ahead <= i)
					ahead = i + 1;
				for (; ahead < n && ahead <= i + PREFETCH; ahead++)
					prefetch(m, key_at(p, ahead));
			}
			if (m->steps && number != before + 1)
				m->steps[before % U64IDS_STEPS] = (struct u64step){before, number};
		}
		ret[i++] = before = number;
	}
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
