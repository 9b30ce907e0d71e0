/* device_timing.c: busy time of spans and clocks of devices (candle-trace.md 14.1) */
#include "spans.h"

#include "tracespool/util.h"

/* Texts of the group that is being read: span, device, clock. */
struct group_key {
	struct buf part[3];
	bool any;
};

#define GROUP_KEY_INIT                                                                             \
	{                                                                                          \
		.part = { BUF_INIT, BUF_INIT, BUF_INIT }                                           \
	}

static void group_key_done(struct group_key *k)
{
	for (int i = 0; i < 3; i++)
		buf_done(&k->part[i]);
}

static struct ts_str key_part(const struct group_key *k, int i)
{
	return ts_str(k->part[i].data, k->part[i].len);
}

static bool is_same(const struct group_key *k, struct query *row)
{
	for (int i = 0; i < 3; i++) {
		struct ts_str s = query_str(row, i);

		if (!ts_str_eq(key_part(k, i), s.p ? s : TS_STR("")))
			return false;
	}
	return true;
}

/* Makes k the key of the row. */
static int take_key(struct group_key *k, struct query *row, struct ts_error *err)
{
	for (int i = 0; i < 3; i++) {
		struct ts_str s = query_str(row, i);

		buf_clear(&k->part[i]);
		if (!buf_reserve(&k->part[i], s.n + 1))
			return ts_error_nomem(err);
		if (s.n)
			buf_add(&k->part[i], s.p, s.n);
	}
	k->any = true;
	return 0;
}

static int write_busy(struct query *insert, const struct group_key *k, uint64_t count,
		      const struct cover *busy, struct ts_error *err)
{
	for (int i = 0; i < 3; i++)
		query_bind_str(insert, i + 1, key_part(k, i));
	query_bind_u64(insert, 4, count);
	query_bind_u64(insert, 5, cover_length(busy));
	int n = query_step(insert, err);

	query_reset(insert);
	return n;
}

static int sum_busy(struct db *db, const char *read, const char *write, struct group_key *k,
		    struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL, *insert CLEAN(query_closep) = NULL;
	struct cover busy = {0};
	uint64_t count = 0;
	int n;

	if (query_open(db, read, &q, err) < 0 || query_open(db, write, &insert, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		if (!k->any || !is_same(k, q)) {
			if (k->any && write_busy(insert, k, count, &busy, err) < 0)
				return -1;
			if (take_key(k, q, err) < 0)
				return -1;
			cover_begin(&busy, 0, UINT64_MAX);
			count = 0;
		}
		count++;
		cover_add(&busy, query_u64(q, 3), u64_add_sat(query_u64(q, 3), query_u64(q, 4)));
	}
	if (n == 0 && k->any)
		n = write_busy(insert, k, count, &busy, err);
	return n;
}

/* The distinct names of each group, which come in the order in which the groups were numbered. */
static int write_names(struct db *db, const char *read, uint64_t what, struct group_key *k,
		       struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL, *insert CLEAN(query_closep) = NULL;
	struct buf last CLEAN(buf_done) = BUF_INIT;
	uint64_t no = 0;
	int n;

	if (query_open(db, read, &q, err) < 0 ||
	    query_open(db, "device_name_insert", &insert, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		struct ts_str name = query_str(q, 3);

		if (k->any && is_same(k, q)) {
			if (ts_str_eq(name, ts_str(last.data, last.len)))
				continue;
		} else {
			if (take_key(k, q, err) < 0)
				return -1;
			no++;
		}
		buf_clear(&last);
		if (!buf_reserve(&last, name.n + 1))
			return ts_error_nomem(err);
		buf_add(&last, name.p, name.n);
		query_bind_u64(insert, 1, no);
		query_bind_u64(insert, 2, what);
		query_bind_str(insert, 3, name);
		if (query_step(insert, err) < 0)
			return -1;
		query_reset(insert);
	}
	return n;
}

int device_timing(struct db *db, struct ts_error *err)
{
	struct group_key spans CLEAN(group_key_done) = GROUP_KEY_INIT;
	struct group_key clocks CLEAN(group_key_done) = GROUP_KEY_INIT;
	struct group_key backends CLEAN(group_key_done) = GROUP_KEY_INIT;
	struct group_key streams CLEAN(group_key_done) = GROUP_KEY_INIT;

	if (sum_busy(db, "device_intervals_by_span", "device_span_insert", &spans, err) < 0 ||
	    sum_busy(db, "device_intervals_by_clock", "device_clock_insert", &clocks, err) < 0 ||
	    write_names(db, "device_backends", 0, &backends, err) < 0)
		return -1;
	return write_names(db, "device_streams", 1, &streams, err);
}
