/* memory.c: lifetimes of logical storages and their peak (candle-trace.md 11.1)
 *
 * Storages are independent of each other, so the events are read storage by storage, in time
 * order within each: only one storage is held at a time. Two ordered passes over the lifetimes
 * then give the live bytes at each point.
 */
#include "candle.h"

#include <string.h>

#include "tracespool/util.h"

struct storage {
	struct buf device, id;
	bool any, live;
	uint64_t alloc, start_ns, bytes;
};

static bool same(const struct buf *have, struct ts_str want)
{
	return have->len == want.n && (want.n == 0 || memcmp(have->data, want.p, want.n) == 0);
}

static int end_lifetime(struct query *insert, struct storage *s, struct opt_u64 end,
			struct ts_error *err)
{
	query_bind_u64(insert, 1, s->alloc);
	query_bind_u64(insert, 2, s->start_ns);
	if (end.has)
		query_bind_u64(insert, 3, end.v);
	else
		query_bind_null(insert, 3);
	query_bind_u64(insert, 4, s->bytes);
	s->live = false;
	int n = query_step(insert, err);

	query_reset(insert);
	return n;
}

/* Makes s the storage of the row, ending the one before it. */
static int go_to_storage(struct query *row, struct query *insert, struct storage *s,
			 struct ts_error *err)
{
	struct ts_str device = query_str(row, 1), id = query_str(row, 2);

	if (s->any && same(&s->id, id) && same(&s->device, device))
		return 0;
	if (s->live && end_lifetime(insert, s, (struct opt_u64){0}, err) < 0)
		return -1;
	buf_clear(&s->device);
	buf_clear(&s->id);
	buf_add(&s->device, device.p, device.n);
	buf_add(&s->id, id.p, id.n);
	s->any = true;
	return s->device.failed || s->id.failed ? ts_error_nomem(err) : 0;
}

static int pair_events(struct db *db, struct execution_figures *f, struct storage *s,
		       struct ts_error *err)
{
	struct query *row CLEAN(query_closep) = NULL, *insert CLEAN(query_closep) = NULL;
	int n;

	if (query_open(db, "execution_memory", &row, err) < 0 ||
	    query_open(db, "execution_lifetime_insert", &insert, err) < 0)
		return -1;
	while ((n = query_step(row, err)) == 1) {
		if (go_to_storage(row, insert, s, err) < 0)
			return -1;
		uint64_t time = query_u64(row, 3);

		if (query_u64(row, 5)) {
			f->alloc_count++;
			if (s->live)
				continue; /* an alias */
			s->live = true;
			s->alloc = query_u64(row, 0);
			s->start_ns = time;
			s->bytes = query_u64(row, 4);
		} else {
			f->free_count++;
			if (s->live &&
			    end_lifetime(insert, s, (struct opt_u64){.v = time, .has = true}, err) <
				    0)
				return -1;
		}
	}
	if (n == 0 && s->live)
		n = end_lifetime(insert, s, (struct opt_u64){0}, err);
	return n;
}

/* One of the two ordered passes: the event at its head. */
struct pass {
	struct query *q;
	bool more;
	uint64_t time, bytes;
};

static int pass_next(struct pass *p, struct ts_error *err)
{
	int n = query_step(p->q, err);

	if (n < 0)
		return -1;
	p->more = n == 1;
	if (p->more) {
		p->time = query_u64(p->q, 0);
		p->bytes = query_u64(p->q, 1);
	}
	return 0;
}

/* Live bytes after each group of equal times; they stay exact in 128 bits and saturate in a point
 * only. */
static int find_peak(struct pass *starts, struct pass *ends, struct opt_u64 *peak,
		     struct ts_error *err)
{
	unsigned __int128 live = 0;

	if (pass_next(starts, err) < 0 || pass_next(ends, err) < 0)
		return -1;
	while (starts->more) {
		uint64_t now = starts->time;

		if (ends->more && ends->time < now)
			now = ends->time;
		for (; starts->more && starts->time == now;) {
			live += starts->bytes;
			if (pass_next(starts, err) < 0)
				return -1;
		}
		for (; ends->more && ends->time == now;) {
			live -= ends->bytes;
			if (pass_next(ends, err) < 0)
				return -1;
		}
		uint64_t point = live > UINT64_MAX ? UINT64_MAX : (uint64_t)live;

		if (!peak->has || point > peak->v)
			*peak = (struct opt_u64){.v = point, .has = true};
	}
	return 0; /* behind the last start it only falls */
}

int memory_figures(struct db *db, struct execution_figures *f, struct ts_error *err)
{
	struct query *starts CLEAN(query_closep) = NULL, *ends CLEAN(query_closep) = NULL;
	struct storage s = {.device = BUF_INIT, .id = BUF_INIT};
	int n = pair_events(db, f, &s, err);

	buf_done(&s.device);
	buf_done(&s.id);
	if (n < 0 || query_open(db, "execution_lifetime_starts", &starts, err) < 0 ||
	    query_open(db, "execution_lifetime_ends", &ends, err) < 0)
		return -1;
	return find_peak(&(struct pass){.q = starts}, &(struct pass){.q = ends},
			 &f->logical_peak_bytes, err);
}
