/* op_groups.c: ops by name, device, dtype, span and shape (candle-trace.md 10, http-api.md 3.5)
 *
 * One pass over the ops counts in memory, for each dimension as long as its keys are few. The
 * others are then read again in the order of the key, one group at a time.
 */
#include "candle.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/map.h"
#include "tracespool/util.h"

enum {
	DIMENSIONS = 5,
	KEYS_MAX = 4096, /* in memory, a dimension */
	KEY_BYTES_MAX = 256 * 1024,
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
	struct group *groups; /* KEYS_MAX */
	size_t bytes;
	bool too_many;
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

static int count_key(struct few *f, struct ts_str key, uint64_t duration, struct opt_u64 dense,
		     struct ts_error *err)
{
	uint32_t number = strmap_find(&f->keys, key);

	if (number == STRMAP_NONE) {
		if (f->keys.count == KEYS_MAX || key.n > KEY_BYTES_MAX - f->bytes) {
			f->too_many = true;
			return 0;
		}
		number = strmap_add(&f->keys, key, NULL);
		if (number == STRMAP_NONE)
			return ts_error_nomem(err);
		f->bytes += key.n;
		f->groups[number] = (struct group){0};
	}
	add_op(&f->groups[number], duration, dense);
	return 0;
}

static int count_all(struct db *db, struct few *few, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
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
			if (count_key(&few[i], query_str(q, i), duration, dense, err) < 0)
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
	for (int i = 0; i < DIMENSIONS; i++) {
		few[i].groups = malloc(KEYS_MAX * sizeof(struct group));
		if (!few[i].groups)
			return ts_error_nomem(err);
	}
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
