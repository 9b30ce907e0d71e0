/* health_memory.c: allocations and releases against each other (candle-trace.md 12.3)
 *
 * The pairing (memory_pair.c) has noted what does not fit, storage by storage; here it is sorted by
 * time. The tensors that hold a storage are not held either: where there are aliases, lists of
 * (lifetime, record) are sorted by tensor.
 */
#include "health.h"

#include <string.h>

#include "tracespool/util.h"

static bool same(const struct buf *have, struct ts_str want)
{
	return have->len == want.n && (want.n == 0 || memcmp(have->data, want.p, want.n) == 0);
}

static int add_duplicate(struct query *found, struct query *holder, struct ts_error *err)
{
	query_bind_u64(found, 1, query_u64(holder, 2));
	query_bind_u64(found, 2, query_u64(holder, 3));
	query_bind_u64(found, 3, FAULT_DUPLICATE);
	query_bind_u64(found, 4, 0);
	int n = query_step(found, err);

	query_reset(found);
	return n;
}

/* Of the records of one lifetime and tensor all but the first come again. */
static int find_duplicates(struct health *h, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL, *found CLEAN(query_closep) = NULL;
	struct buf tensor CLEAN(buf_done) = BUF_INIT;
	uint64_t lifetime = 0;
	int n;

	if (query_open(h->db, "health_holders", &q, err) < 0 ||
	    query_open(h->db, "pairing_fault_insert", &found, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		struct ts_str id = query_str(q, 1);

		if (query_u64(q, 0) == lifetime && same(&tensor, id)) {
			if (add_duplicate(found, q, err) < 0)
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

	switch ((enum memory_fault)query_u64(q, 0)) {
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

static int report(struct health *h, uint64_t retained, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(h->db, "health_found", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1)
		if (report_one(h, q, err) < 0)
			return -1;
	if (n < 0 || retained == 0)
		return n;
	return health_issue(h, HEALTH_WARNING, "retained_allocations", err, "%llu %s live.",
			    (unsigned long long)retained,
			    retained == 1 ? "storage stayed" : "storages stayed");
}

int health_memory(struct health *h, const struct execution_figures *f, struct ts_error *err)
{
	h->report.coverage.memory_events = f->alloc_count + f->free_count;
	if (find_duplicates(h, err) < 0 || report(h, f->retained_count, err) < 0 ||
	    run_named(h->db, "health_found_clear", err) < 0)
		return -1;
	return run_named(h->db, "health_holder_clear", err);
}
