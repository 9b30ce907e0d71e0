/* op_groups.c: ops by name, device, dtype, span and shape (candle-trace.md 10, http-api.md 3.5)
 *
 * One pass over the ops counts in memory, for each dimension as long as there is room for its keys.
 * The others are then read again in the order of the key, one group at a time.
 */
#include "candle.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/map.h"
#include "tracespool/util.h"

enum {
	DIMENSIONS = 5,
	/* In memory, of all dimensions: about 20 MiB. */
	KEYS_MAX = 262144,
	KEY_BYTES_MAX = 6 * 1024 * 1024,
	GROUPS_FIRST = 64,
};

/* Columns 0 to 4 of op_group_ops. */
static const struct {
	const char *name, *sorted;
} dimensions[DIMENSIONS] = {
	{"op_name", "op_group_by_op_name"}, {"device", "op_group_by_device"},
	{"dtype", "op_group_by_dtype"},     {"span_id", "op_group_by_span_id"},
	{"shape", "op_group_by_shape"},
};

struct group {
	uint64_t count, total, max;
	struct opt_u64 dense;
};

struct few {
	struct strmap keys;
	struct group *groups;
	size_t cap;
	uint32_t last; /* key of the op before: those of one span follow each other */
	bool too_many;
};

struct room {
	size_t keys, bytes;
};

struct group_writer {
	struct query *insert;
	uint64_t run_ns;
};

static void add_op(struct group *g, uint64_t duration, struct opt_u64 dense)
{
	g->count++;
	g->total = u64_add_sat(g->total, duration);
	if (duration > g->max)
		g->max = duration;
	if (dense.has)
		g->dense = (struct opt_u64){.v = u64_add_sat(g->dense.v, dense.v), .has = true};
}

static int write_group(struct group_writer *w, const char *dimension, struct ts_str key,
		       const struct group *g, struct ts_error *err)
{
	struct query *q = w->insert;

	query_bind_str(q, 1, ts_str_c(dimension));
	query_bind_str(q, 2, key);
	query_bind_u64(q, 3, g->count);
	query_bind_u64(q, 4, g->total);
	query_bind_double(q, 5, (double)g->total / (double)g->count);
	query_bind_u64(q, 6, g->max);
	if (w->run_ns)
		query_bind_double(q, 7, (double)g->total / (double)w->run_ns);
	else
		query_bind_null(q, 7);
	if (g->dense.has)
		query_bind_u64(q, 8, g->dense.v);
	else
		query_bind_null(q, 8);
	int n = query_step(q, err);

	query_reset(q);
	return n < 0 ? -1 : 0;
}

/* ---- few keys ---- */

static void give_up(struct few *f, struct room *room)
{
	room->keys += f->keys.count;
	room->bytes += f->keys.count ? f->keys.end[f->keys.count - 1] : 0;
	strmap_done(&f->keys);
	free(TAKE(f->groups));
	f->too_many = true;
}

/* The number of a key that was not there. */
static int add_key(struct few *f, struct ts_str key, uint32_t *ret, struct ts_error *err)
{
	if (f->keys.count == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : GROUPS_FIRST;
		struct group *groups = realloc(f->groups, cap * sizeof(*groups));

		if (!groups)
			return ts_error_nomem(err);
		f->groups = groups;
		f->cap = cap;
	}
	*ret = strmap_add(&f->keys, key, NULL);
	if (*ret == STRMAP_NONE)
		return ts_error_nomem(err);
	f->groups[*ret] = (struct group){0};
	return 0;
}

static int count_key(struct few *f, struct room *room, struct ts_str key, uint64_t duration,
		     struct opt_u64 dense, struct ts_error *err)
{
	if (f->keys.count == 0 || !ts_str_eq(strmap_get(&f->keys, f->last), key)) {
		uint32_t number = strmap_find(&f->keys, key);

		if (number == STRMAP_NONE) {
			if (room->keys == 0 || key.n > room->bytes) {
				give_up(f, room);
				return 0;
			}
			if (add_key(f, key, &number, err) < 0)
				return -1;
			room->keys--;
			room->bytes -= key.n;
		}
		f->last = number;
	}
	add_op(&f->groups[f->last], duration, dense);
	return 0;
}

static int count_all(struct db *db, struct few *few, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct room room = {KEYS_MAX, KEY_BYTES_MAX};
	unsigned left = DIMENSIONS;
	int n;

	if (query_open(db, "op_group_ops", &q, err) < 0)
		return -1;
	while (left > 0 && (n = query_step(q, err)) != 0) {
		if (n < 0)
			return -1;
		uint64_t duration = query_u64(q, 5);
		struct opt_u64 dense = query_opt_u64(q, 6);

		for (int i = 0; i < DIMENSIONS; i++) {
			if (few[i].too_many)
				continue;
			if (count_key(&few[i], &room, query_str(q, i), duration, dense, err) < 0)
				return -1;
			left -= few[i].too_many;
		}
	}
	return 0;
}

static int write_few(struct group_writer *w, const char *dimension, const struct few *f,
		     struct ts_error *err)
{
	for (uint32_t i = 0; i < f->keys.count; i++)
		if (write_group(w, dimension, strmap_get(&f->keys, i), &f->groups[i], err) < 0)
			return -1;
	return 0;
}

/* ---- many keys ---- */

static int write_sorted(struct db *db, struct group_writer *w, const char *dimension,
			const char *name, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct buf key CLEAN(buf_done) = BUF_INIT;
	struct group g = {0};
	int n;

	if (query_open(db, name, &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		struct ts_str next = query_str(q, 0);

		if (g.count && !ts_str_eq(next, ts_str(key.data, key.len))) {
			if (write_group(w, dimension, ts_str(key.data, key.len), &g, err) < 0)
				return -1;
			g.count = 0;
		}
		if (!g.count) {
			g = (struct group){0};
			buf_clear(&key);
			if (!buf_reserve(&key, next.n)) /* also for the empty key: data is there */
				return ts_error_nomem(err);
			buf_add(&key, next.p, next.n);
		}
		add_op(&g, query_u64(q, 1), query_opt_u64(q, 2));
	}
	if (n == 0 && g.count)
		n = write_group(w, dimension, ts_str(key.data, key.len), &g, err);
	return n;
}

static int group_all(struct db *db, struct few *few, struct group_writer *w, struct ts_error *err)
{
	if (count_all(db, few, err) < 0)
		return -1;
	for (int i = 0; i < DIMENSIONS; i++) {
		const char *name = dimensions[i].name;

		if ((few[i].too_many ? write_sorted(db, w, name, dimensions[i].sorted, err)
				     : write_few(w, name, &few[i], err)) < 0)
			return -1;
	}
	return 0;
}

int op_groups(struct db *db, const struct execution_figures *f, struct ts_error *err)
{
	struct few few[DIMENSIONS];
	struct group_writer w = {.run_ns = f->total_ns};
	int rc;

	memset(few, 0, sizeof(few));
	if (query_open(db, "op_group_insert", &w.insert, err) < 0)
		return -1;
	rc = group_all(db, few, &w, err);
	query_close(w.insert);
	for (int i = 0; i < DIMENSIONS; i++) {
		strmap_done(&few[i].keys);
		free(few[i].groups);
	}
	return rc;
}
