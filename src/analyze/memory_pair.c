/* memory_pair.c: memory records to lifetimes of storages (candle-trace.md 11.1)
 *
 * Storages are independent of each other, so the events are read storage by storage, in time
 * order within each: only one storage is held at a time. Lifetimes are numbered in the order in
 * which they begin within (device, storage id); ordered by (start, number) they are in the order of
 * the format. What does not fit together is kept for the health report (12.3), which goes through
 * the records again only where something is wrong with a span.
 */
#include "health.h"
#include "memory.h"

#include <string.h>

#include "tracespool/util.h"

struct pairing {
	struct query *row, *lifetime, *alias, *device_row, *fault, *holder;
	struct execution_figures *f;
	struct buf device, id; /* of the storage at hand */
	bool any, live, aliased;
	uint64_t device_no, no;         /* no: of the newest lifetime */
	uint64_t allocs, frees, bytes;  /* of the device */
	uint64_t alloc, start_ns, size; /* of the lifetime */
	uint64_t category, span_no;
};

static bool same(const struct buf *have, struct ts_str want)
{
	return have->len == want.n && (want.n == 0 || memcmp(have->data, want.p, want.n) == 0);
}

static int step(struct query *q, struct ts_error *err)
{
	int n = query_step(q, err);

	query_reset(q);
	return n;
}

/* free_row 0: it stays live. */
static int end_lifetime(struct pairing *p, uint64_t free_row, uint64_t end_ns, struct ts_error *err)
{
	struct query *q = p->lifetime;

	query_bind_u64(q, 1, p->no);
	query_bind_u64(q, 2, p->alloc);
	query_bind_u64(q, 4, p->device_no);
	query_bind_u64(q, 5, p->category);
	query_bind_u64(q, 6, p->span_no);
	query_bind_u64(q, 7, p->start_ns);
	query_bind_u64(q, 9, p->size);
	if (free_row) {
		query_bind_u64(q, 3, free_row);
		query_bind_u64(q, 8, end_ns);
		p->frees++;
	} else {
		query_bind_null(q, 3);
		query_bind_null(q, 8);
		p->f->retained_bytes.v = u64_add_sat(p->f->retained_bytes.v, p->size);
		p->f->retained_count++;
	}
	p->live = false;
	return step(q, err);
}

static int end_device(struct pairing *p, struct ts_error *err)
{
	struct query *q = p->device_row;

	if (!p->any)
		return 0;
	query_bind_u64(q, 1, p->device_no);
	query_bind_str(q, 2, ts_str(p->device.data ? p->device.data : "", p->device.len));
	query_bind_u64(q, 3, p->allocs);
	query_bind_u64(q, 4, p->frees);
	query_bind_u64(q, 5, p->bytes);
	p->allocs = p->frees = p->bytes = 0;
	return step(q, err);
}

/* Goes to the storage of the row, ending the one before it. */
static int go_to_storage(struct pairing *p, struct ts_error *err)
{
	struct ts_str device = query_str(p->row, 1), id = query_str(p->row, 2);
	bool same_device = p->any && same(&p->device, device);

	if (same_device && same(&p->id, id))
		return 0;
	if (p->live && end_lifetime(p, 0, 0, err) < 0)
		return -1;
	if (!same_device) {
		if (end_device(p, err) < 0)
			return -1;
		p->device_no++;
		buf_clear(&p->device);
		buf_add(&p->device, device.p, device.n);
	}
	buf_clear(&p->id);
	buf_add(&p->id, id.p, id.n);
	p->any = true;
	return p->device.failed || p->id.failed ? ts_error_nomem(err) : 0;
}

static int note(struct pairing *p, enum memory_fault fault, struct ts_error *err)
{
	query_bind_u64(p->fault, 1, query_u64(p->row, 3));
	query_bind_u64(p->fault, 2, query_u64(p->row, 0));
	query_bind_u64(p->fault, 3, fault);
	query_bind_u64(p->fault, 4, p->size);
	return step(p->fault, err);
}

static int add_holder(struct pairing *p, uint64_t record, struct ts_error *err)
{
	query_bind_u64(p->holder, 1, p->alloc);
	query_bind_u64(p->holder, 2, record);
	return step(p->holder, err);
}

/* Of a storage that is live. */
static int take_alias(struct pairing *p, struct ts_error *err)
{
	uint64_t record = query_u64(p->row, 0);

	query_bind_u64(p->alias, 1, p->no);
	query_bind_u64(p->alias, 2, record);
	if (step(p->alias, err) < 0)
		return -1;
	if (query_u64(p->row, 4) != p->size)
		return note(p, FAULT_ALLOC_SIZE, err);
	if (!p->aliased && add_holder(p, p->alloc, err) < 0)
		return -1;
	p->aliased = true;
	return add_holder(p, record, err);
}

static int take_alloc(struct pairing *p, struct ts_error *err)
{
	p->f->alloc_count++;
	if (p->live)
		return take_alias(p, err);
	p->live = true;
	p->aliased = false;
	p->no++;
	p->alloc = query_u64(p->row, 0);
	p->start_ns = query_u64(p->row, 3);
	p->size = query_u64(p->row, 4);
	p->category = query_u64(p->row, 6);
	p->span_no = query_u64(p->row, 7);
	p->allocs++;
	p->bytes = u64_add_sat(p->bytes, p->size);
	return 0;
}

static int take_free(struct pairing *p, struct ts_error *err)
{
	p->f->free_count++;
	if (!p->live)
		return note(p, FAULT_UNPAIRED, err);
	if (query_u64(p->row, 4) != p->size && note(p, FAULT_FREE_SIZE, err) < 0)
		return -1;
	return end_lifetime(p, query_u64(p->row, 0), query_u64(p->row, 3), err);
}

static void look_at_span(struct pairing *p)
{
	uint64_t at = query_u64(p->row, 3), start = query_u64(p->row, 8);

	if (query_u64(p->row, 7) == 0)
		p->f->memory_span_unknown = true;
	else if (query_u64(p->row, 9))
		p->f->memory_outside_span |=
			at < start || at > u64_add_sat(start, query_u64(p->row, 10));
}

static int take_rows(struct pairing *p, struct ts_error *err)
{
	int n;

	while ((n = query_step(p->row, err)) == 1) {
		look_at_span(p);
		if (go_to_storage(p, err) < 0 ||
		    (query_u64(p->row, 5) ? take_alloc(p, err) : take_free(p, err)) < 0)
			return -1;
	}
	if (n == 0 && p->live)
		n = end_lifetime(p, 0, 0, err);
	return n < 0 ? -1 : end_device(p, err);
}

int memory_pair(struct db *db, struct execution_figures *f, uint64_t *ret_devices,
		struct ts_error *err)
{
	struct pairing p = {.f = f, .device = BUF_INIT, .id = BUF_INIT};
	int n = -1;

	if (query_open(db, "execution_memory", &p.row, err) == 0 &&
	    query_open(db, "execution_lifetime_insert", &p.lifetime, err) == 0 &&
	    query_open(db, "lifetime_alias_insert", &p.alias, err) == 0 &&
	    query_open(db, "memory_device_insert", &p.device_row, err) == 0 &&
	    query_open(db, "pairing_fault_insert", &p.fault, err) == 0 &&
	    query_open(db, "pairing_holder_insert", &p.holder, err) == 0)
		n = take_rows(&p, err);
	f->retained_bytes.has = p.any;
	*ret_devices = p.device_no;
	query_close(p.row);
	query_close(p.lifetime);
	query_close(p.alias);
	query_close(p.device_row);
	query_close(p.fault);
	query_close(p.holder);
	buf_done(&p.device);
	buf_done(&p.id);
	return n;
}
