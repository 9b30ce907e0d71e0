/* health_memory.c: allocations and releases against each other (candle-trace.md 12.3)
 *
 * Storages are independent of each other, so they are gone through one after the other, each in
 * time order; what is found is sorted by time at the end. The tensors that hold a storage are not
 * held here either: where there are aliases, lists of (lifetime, record) are sorted by tensor.
 */
#include "health.h"

#include <string.h>

#include "tracespool/util.h"

enum fault { FAULT_ALLOC_SIZE, FAULT_DUPLICATE, FAULT_UNPAIRED, FAULT_FREE_SIZE };

struct pairing {
	struct health *h;
	struct query *row, *found, *holder;
	struct buf device, id; /* of the storage at hand */
	bool any, live, aliased;
	uint64_t bytes, lifetime; /* its record */
	uint64_t retained;
};

static void pairing_done(struct pairing *p)
{
	query_close(p->row);
	query_close(p->found);
	query_close(p->holder);
	buf_done(&p->device);
	buf_done(&p->id);
}

static int add_found(struct query *found, enum fault fault, uint64_t time, uint64_t record,
		     uint64_t bytes, struct ts_error *err)
{
	query_bind_u64(found, 1, time);
	query_bind_u64(found, 2, record);
	query_bind_u64(found, 3, fault);
	query_bind_u64(found, 4, bytes);
	int n = query_step(found, err);

	query_reset(found);
	return n;
}

static int note(struct pairing *p, enum fault fault, struct ts_error *err)
{
	return add_found(p->found, fault, query_u64(p->row, 3), query_u64(p->row, 0), p->bytes,
			 err);
}

static int add_holder(struct pairing *p, uint64_t record, struct ts_error *err)
{
	query_bind_u64(p->holder, 1, p->lifetime);
	query_bind_u64(p->holder, 2, record);
	int n = query_step(p->holder, err);

	query_reset(p->holder);
	return n;
}

static bool same(const struct buf *have, struct ts_str want)
{
	return have->len == want.n && (want.n == 0 || memcmp(have->data, want.p, want.n) == 0);
}

static int go_to_storage(struct pairing *p, struct ts_error *err)
{
	struct ts_str device = query_str(p->row, 1), id = query_str(p->row, 2);

	if (p->any && same(&p->id, id) && same(&p->device, device))
		return 0;
	p->retained += p->live;
	p->live = false;
	p->any = true;
	buf_clear(&p->device);
	buf_clear(&p->id);
	buf_add(&p->device, device.p, device.n);
	buf_add(&p->id, id.p, id.n);
	return p->device.failed || p->id.failed ? ts_error_nomem(err) : 0;
}

static int take_alloc(struct pairing *p, struct ts_error *err)
{
	uint64_t record = query_u64(p->row, 0), bytes = query_u64(p->row, 4);

	if (!p->live) {
		p->live = true;
		p->aliased = false;
		p->bytes = bytes;
		p->lifetime = record;
		return 0;
	}
	if (bytes != p->bytes)
		return note(p, FAULT_ALLOC_SIZE, err);
	if (!p->aliased && add_holder(p, p->lifetime, err) < 0)
		return -1;
	p->aliased = true;
	return add_holder(p, record, err);
}

static int take_free(struct pairing *p, struct ts_error *err)
{
	if (!p->live)
		return note(p, FAULT_UNPAIRED, err);
	p->live = false;
	return query_u64(p->row, 4) != p->bytes ? note(p, FAULT_FREE_SIZE, err) : 0;
}

static int pair(struct pairing *p, struct ts_error *err)
{
	int n;

	if (query_open(p->h->db, "health_memory", &p->row, err) < 0 ||
	    query_open(p->h->db, "health_found_insert", &p->found, err) < 0 ||
	    query_open(p->h->db, "health_holder_insert", &p->holder, err) < 0)
		return -1;
	while ((n = query_step(p->row, err)) == 1) {
		p->h->report.coverage.memory_events++;
		if (go_to_storage(p, err) < 0 ||
		    (query_u64(p->row, 5) ? take_alloc(p, err) : take_free(p, err)) < 0)
			return -1;
	}
	p->retained += p->live;
	return n;
}

/* Of the records of one lifetime and tensor all but the first come again. */
static int find_duplicates(struct pairing *p, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct buf tensor CLEAN(buf_done) = BUF_INIT;
	uint64_t lifetime = 0;
	int n;

	if (query_open(p->h->db, "health_holders", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		struct ts_str id = query_str(q, 1);

		if (query_u64(q, 0) == lifetime && same(&tensor, id)) {
			if (add_found(p->found, FAULT_DUPLICATE, query_u64(q, 2), query_u64(q, 3),
				      0, err) < 0)
				return -1;
			continue;
		}
		lifetime = query_u64(q, 0);
		buf_clear(&tensor);
		buf_add(&tensor, id.p, id.n);
		if (tensor.failed)
			return ts_error_nomem(err);
	}
	return n;
}

/* Columns: fault, live bytes, record, device, storage_id, tensor_id, bytes. */
static int report_one(struct health *h, struct query *q, struct ts_error *err)
{
	unsigned long long live = query_u64(q, 1), record = query_u64(q, 2),
			   bytes = query_u64(q, 6);
	struct shown id = health_shown(query_str(q, 4));

	switch ((enum fault)query_u64(q, 0)) {
	case FAULT_DUPLICATE:
		return health_issue(h, HEALTH_ERROR, "duplicate_allocation", err,
				    "Memory record %llu allocates live storage \"%s\" by tensor "
				    "\"%s\" again.",
				    record, id.text, SHOWN(query_str(q, 5)));
	case FAULT_UNPAIRED:
		return health_issue(h, HEALTH_ERROR, "unpaired_free", err,
				    "Memory record %llu releases storage \"%s\", which is not "
				    "live.",
				    record, id.text);
	case FAULT_ALLOC_SIZE:
	case FAULT_FREE_SIZE:
		break;
	}
	return health_issue(h, HEALTH_ERROR, "allocation_size_mismatch", err,
			    "Memory record %llu gives storage \"%s\" %llu bytes, it has %llu.",
			    record, id.text, bytes, live);
}

static int report(struct pairing *p, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(p->h->db, "health_found", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1)
		if (report_one(p->h, q, err) < 0)
			return -1;
	if (n < 0 || p->retained == 0)
		return n;
	return health_issue(p->h, HEALTH_WARNING, "retained_allocations", err, "%llu %s live.",
			    (unsigned long long)p->retained,
			    p->retained == 1 ? "storage stayed" : "storages stayed");
}

int health_memory(struct health *h, struct ts_error *err)
{
	struct pairing p CLEAN(pairing_done) = {.h = h, .device = BUF_INIT, .id = BUF_INIT};

	if (pair(&p, err) < 0 || find_duplicates(&p, err) < 0 || report(&p, err) < 0 ||
	    health_exec(h, "health_found_clear", err) < 0)
		return -1;
	return health_exec(h, "health_holder_clear", err);
}
