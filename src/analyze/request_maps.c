/* request_maps.c: texts of a request run and how often each occurs, cut to what a summary takes */
#include "request.h"

#include <stdlib.h>

#include "tracespool/writer.h"

static int by_key(const void *x, const void *y)
{
	const struct count_entry *a = x, *b = y;

	return ts_str_cmp(a->key, b->key);
}

int count_map_read(struct db *db, const char *statement, struct count_map *map, struct arena *keep,
		   struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;
	size_t kept = 0;
	int more;

	*map = (struct count_map){0};
	if (query_open(db, statement, &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, MAP_KEYS_MAX + 1);
	while (map->n <= MAP_KEYS_MAX && (more = query_step(q, err)) != 0) {
		if (more < 0)
			return -1;
		struct ts_str key = query_str(q, 0);
		size_t whole = key.n;

		if (whole > TEXT_BYTES_MAX) {
			whole = text_utf8_prefix(key.p, TEXT_BYTES_MAX);
			map->cut = true;
		}
		map->v[map->n].key = ts_str(arena_dup(keep, key.p, whole), whole);
		map->v[map->n].count = query_u64(q, 1);
		map->n++;
	}
	if (keep->failed)
		return ts_error_nomem(err);
	if (map->n > MAP_KEYS_MAX) {
		map->n = MAP_KEYS_MAX;
		map->cut = true;
	}
	if (!map->n)
		return 0;
	qsort(map->v, map->n, sizeof(*map->v), by_key);
	/* Long texts that begin alike have become one key. */
	for (size_t i = 1; i < map->n; i++) {
		if (ts_str_eq(map->v[kept].key, map->v[i].key))
			map->v[kept].count += map->v[i].count;
		else
			map->v[++kept] = map->v[i];
	}
	map->n = kept + 1;
	return 0;
}

void count_map_write(const struct count_map *map, struct buf *out)
{
	struct json_writer w;

	jw_init(&w, out, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	for (size_t i = 0; i < map->n; i++) {
		jw_key_str(&w, map->v[i].key);
		jw_u64(&w, map->v[i].count);
	}
	jw_close_object(&w);
}
