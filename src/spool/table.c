/* table.c: names the watcher knows: hash table with removal, chained in order of arrival */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64

static uint64_t hash_name(struct ts_str name)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 0x100000001b3u;
	return h ^ (h >> 29);
}

void table_clear(struct table *t)
{
	struct entry *next;

	for (struct entry *e = t->head; e; e = next) {
		next = e->next;
		free(e);
	}
	t->head = t->tail = NULL;
	t->count = 0;
	if (t->buckets)
		memset(t->buckets, 0, t->bucket_count * sizeof(*t->buckets));
}

void table_done(struct table *t)
{
	table_clear(t);
	free(t->buckets);
	*t = (struct table){0};
}

static struct entry **place_of(const struct table *t, uint64_t hash)
{
	return &t->buckets[hash & (t->bucket_count - 1)];
}

static struct entry *find_hashed(const struct table *t, struct ts_str name, uint64_t hash)
{
	if (!t->bucket_count)
		return NULL;
	for (struct entry *e = *place_of(t, hash); e; e = e->chain)
		if (e->hash == hash && ts_str_is(name, e->name))
			return e;
	return NULL;
}

struct entry *table_find(const struct table *t, struct ts_str name)
{
	return find_hashed(t, name, hash_name(name));
}

static bool grow(struct table *t)
{
	size_t count = t->bucket_count ? t->bucket_count * 2 : FIRST_BUCKETS;
	struct entry **buckets = calloc(count, sizeof(*buckets));

	if (!buckets)
		return false;
	free(t->buckets);
	t->buckets = buckets;
	t->bucket_count = count;
	for (struct entry *e = t->head; e; e = e->next) {
		struct entry **place = place_of(t, e->hash);

		e->chain = *place;
		*place = e;
	}
	return true;
}

struct entry *table_add(struct table *t, const char *name, bool *ret_new)
{
	struct ts_str key = ts_str_c(name);
	uint64_t hash = hash_name(key);
	struct entry *e = find_hashed(t, key, hash);

	if (e) {
		*ret_new = false;
		return e;
	}
	/* A table that cannot grow gets slower, not smaller. */
	if (t->count >= t->bucket_count && !grow(t) && !t->bucket_count)
		return NULL;
	e = calloc(1, sizeof(*e) + key.n + 1);
	if (!e)
		return NULL;
	memcpy(e->name, key.p, key.n);
	e->hash = hash;
	e->chain = *place_of(t, hash);
	*place_of(t, hash) = e;
	e->prev = t->tail;
	if (t->tail)
		t->tail->next = e;
	else
		t->head = e;
	t->tail = e;
	t->count++;
	*ret_new = true;
	return e;
}

void table_remove(struct table *t, struct entry *e)
{
	struct entry **place = place_of(t, e->hash);

	while (*place != e)
		place = &(*place)->chain;
	*place = e->chain;
	if (e->prev)
		e->prev->next = e->next;
	else
		t->head = e->next;
	if (e->next)
		e->next->prev = e->prev;
	else
		t->tail = e->prev;
	t->count--;
	free(e);
}
