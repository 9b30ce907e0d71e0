/* memory_kept_pair.c: lifetimes from records in memory (candle-trace.md 11.1), and their flow
 *
 * The rules are those of memory_pair.c, in time order over all storages instead of storage by
 * storage. The storages are walked twice: the first time counts the lifetimes of each, which gives
 * the numbers.
 */
#include "health.h"
#include "memory_kept.h"

#include <stdlib.h>

#include "tracespool/util.h"

struct device_sums {
	uint64_t allocs, frees, bytes;
};

struct pairing {
	struct memory_kept *k;
	const struct span_memory *spans;
	struct execution_figures *f;
	struct query *alias, *fault, *holder;
	uint32_t *newest; /* of a storage: number of its newest lifetime, from 1 */
	uint32_t *live;   /* of a storage: the record that began it + 1, or 0 */
	uint8_t *aliased; /* bit of a storage: the live one has holders */
	uint32_t *begin;  /* of a lifetime, from 1 */
	uint32_t *end;    /* of a lifetime: record + 1, or 0 */
	struct device_sums *devices;
};

static uint32_t record_at(const uint32_t *order, size_t i)
{
	return order ? order[i] : (uint32_t)i;
}

static int step(struct query *q, struct ts_error *err)
{
	int n = query_step(q, err);

	query_reset(q);
	return n;
}

static bool has_bit(const uint8_t *bits, uint32_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

/* Sets flags; newest[i] becomes the number in front of the first lifetime of storage i. Returns the
 * number of lifetimes. */
static uint32_t count_lifetimes(struct pairing *p, uint8_t *live)
{
	struct memory_kept *k = p->k;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < k->n; i++) {
		uint32_t at = record_at(k->order, i), storage = k->storage[at];
		bool alloc = k->flags[at] & KEPT_ALLOC;

		if (alloc == has_bit(live, storage))
			continue;
		live[storage / 8] ^= (uint8_t)(1 << storage % 8);
		k->flags[at] |= alloc ? KEPT_BEGINS : KEPT_ENDS;
		p->newest[storage] += alloc;
	}
	for (uint32_t i = 0; i < k->storages; i++) {
		uint32_t here = p->newest[i];

		p->newest[i] = sum;
		sum += here;
	}
	return sum;
}

static int note(struct pairing *p, uint32_t at, enum memory_fault fault, uint64_t size,
		struct ts_error *err)
{
	query_bind_u64(p->fault, 1, p->k->time[at]);
	query_bind_u64(p->fault, 2, (uint64_t)at + 1);
	query_bind_u64(p->fault, 3, fault);
	query_bind_u64(p->fault, 4, size);
	return step(p->fault, err);
}

static int add_holder(struct pairing *p, uint32_t alloc, uint32_t at, struct ts_error *err)
{
	query_bind_u64(p->holder, 1, (uint64_t)alloc + 1);
	query_bind_u64(p->holder, 2, (uint64_t)at + 1);
	return step(p->holder, err);
}

/* An alloc of a storage that is live. */
static int take_alias(struct pairing *p, uint32_t at, struct ts_error *err)
{
	const struct memory_kept *k = p->k;
	uint32_t storage = k->storage[at], alloc = p->live[storage] - 1;

	query_bind_u64(p->alias, 1, p->newest[storage]);
	query_bind_u64(p->alias, 2, (uint64_t)at + 1);
	if (step(p->alias, err) < 0)
		return -1;
	if (k->bytes[at] != k->bytes[alloc])
		return note(p, at, FAULT_ALLOC_SIZE, k->bytes[alloc], err);
	if (!has_bit(p->aliased, storage) && add_holder(p, alloc, alloc, err) < 0)
		return -1;
	p->aliased[storage / 8] |= (uint8_t)(1 << storage % 8);
	return add_holder(p, alloc, at, err);
}

static int take_alloc(struct pairing *p, uint32_t at, struct ts_error *err)
{
	const struct memory_kept *k = p->k;
	uint32_t storage = k->storage[at];
	struct device_sums *d = &p->devices[k->device[storage]];

	p->f->alloc_count++;
	if (!(k->flags[at] & KEPT_BEGINS))
		return take_alias(p, at, err);
	p->live[storage] = at + 1;
	p->aliased[storage / 8] &= (uint8_t) ~(1 << storage % 8);
	p->begin[++p->newest[storage]] = at;
	d->allocs++;
	d->bytes = u64_add_sat(d->bytes, k->bytes[at]);
	return 0;
}

static int take_free(struct pairing *p, uint32_t at, struct ts_error *err)
{
	const struct memory_kept *k = p->k;
	uint32_t storage = k->storage[at];

	p->f->free_count++;
	if (!(k->flags[at] & KEPT_ENDS))
		return note(p, at, FAULT_UNPAIRED, 0, err);
	uint32_t alloc = p->live[storage] - 1;

	if (k->bytes[at] != k->bytes[alloc] &&
	    note(p, at, FAULT_FREE_SIZE, k->bytes[alloc], err) < 0)
		return -1;
	k->alloc[at] = alloc;
	p->live[storage] = 0;
	p->end[p->newest[storage]] = at + 1;
	p->devices[k->device[storage]].frees++;
	return 0;
}

static int take_records(struct pairing *p, struct ts_error *err)
{
	const struct memory_kept *k = p->k;

	for (uint32_t i = 0; i < k->n; i++) {
		uint32_t at = record_at(k->order, i);

		if (k->span[at] == 0)
			p->f->memory_span_unknown = true;
		else
			p->f->memory_outside_span |=
				span_memory_is_outside(p->spans, k->span[at], k->time[at]);
		if ((k->flags[at] & KEPT_ALLOC ? take_alloc(p, at, err) : take_free(p, at, err)) <
		    0)
			return -1;
	}
	return 0;
}

static int write_lifetimes(struct pairing *p, struct db *db, uint32_t count, struct ts_error *err)
{
	const struct memory_kept *k = p->k;
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "execution_lifetime_insert", &q, err) < 0)
		return -1;
	for (uint32_t no = 1; no <= count; no++) {
		uint32_t at = p->begin[no], end = p->end[no];

		query_bind_u64(q, 1, no);
		query_bind_u64(q, 2, (uint64_t)at + 1);
		query_bind_u64(q, 4, (uint64_t)k->device[k->storage[at]] + 1);
		query_bind_u64(q, 5, k->flags[at] & KEPT_CATEGORY);
		query_bind_u64(q, 6, k->span[at]);
		query_bind_u64(q, 7, k->time[at]);
		query_bind_u64(q, 9, k->bytes[at]);
		if (end) {
			query_bind_u64(q, 3, end);
			query_bind_u64(q, 8, k->time[end - 1]);
		} else {
			query_bind_null(q, 3);
			query_bind_null(q, 8);
			p->f->retained_bytes.v = u64_add_sat(p->f->retained_bytes.v, k->bytes[at]);
			p->f->retained_count++;
		}
		if (step(q, err) < 0)
			return -1;
	}
	return 0;
}

static int write_devices(struct pairing *p, struct db *db, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "memory_device_insert", &q, err) < 0)
		return -1;
	for (uint32_t i = 0; i < p->k->devices; i++) {
		const struct device_sums *d = &p->devices[i];

		query_bind_u64(q, 1, (uint64_t)i + 1);
		query_bind_str(q, 2, strmap_get(&p->k->device_names, p->k->device_at[i]));
		query_bind_u64(q, 3, d->allocs);
		query_bind_u64(q, 4, d->frees);
		query_bind_u64(q, 5, d->bytes);
		if (step(q, err) < 0)
			return -1;
	}
	return 0;
}

static int pair(struct pairing *p, struct db *db, struct ts_error *err)
{
	uint32_t storages = p->k->storages;

	p->newest = calloc(storages, sizeof(*p->newest));
	p->live = calloc(storages, sizeof(*p->live));
	p->aliased = calloc(storages / 8 + 1, 1);
	p->devices = calloc(p->k->devices, sizeof(*p->devices));
	if (!p->newest || !p->live || !p->aliased || !p->devices)
		return ts_error_nomem(err);
	/* `aliased` serves for the first walk too: a lifetime that begins clears its bit. */
	uint32_t count = count_lifetimes(p, p->aliased);

	p->begin = malloc(((size_t)count + 1) * sizeof(*p->begin));
	p->end = calloc((size_t)count + 1, sizeof(*p->end));
	if (!p->begin || !p->end)
		return ts_error_nomem(err);
	if (query_open(db, "lifetime_alias_insert", &p->alias, err) < 0 ||
	    query_open(db, "pairing_fault_insert", &p->fault, err) < 0 ||
	    query_open(db, "pairing_holder_insert", &p->holder, err) < 0 ||
	    take_records(p, err) < 0 || write_lifetimes(p, db, count, err) < 0)
		return -1;
	p->f->retained_bytes.has = true;
	return write_devices(p, db, err);
}

int memory_kept_pair(struct memory_kept *k, struct db *db, const struct span_memory *spans,
		     struct execution_figures *f, struct ts_error *err)
{
	struct pairing p = {.k = k, .spans = spans, .f = f};
	int n = pair(&p, db, err);

	query_close(p.alias);
	query_close(p.fault);
	query_close(p.holder);
	free(p.newest);
	free(p.live);
	free(p.aliased);
	free(p.begin);
	free(p.end);
	free(p.devices);
	return n;
}

/* ---- flow ---- */

static struct flow_event event_of(const struct memory_kept *k, uint32_t alloc, uint64_t time)
{
	return (struct flow_event){.more = true,
				   .time = time,
				   .bytes = k->bytes[alloc],
				   .category = k->flags[alloc] & KEPT_CATEGORY,
				   .device_no = (uint64_t)k->device[k->storage[alloc]] + 1,
				   .span_no = k->span[alloc]};
}

/* Records of one moment: order[from..to), or from to to - 1. */
struct moment {
	const uint32_t *order;
	size_t from, to;
};

/* The ends: of lifetimes that began before the moment, or at it. */
static int run_ends(const struct memory_kept *k, const struct moment *m, bool instant,
		    struct flow_user *u, struct ts_error *err)
{
	for (size_t i = m->from; i < m->to; i++) {
		uint32_t at = record_at(m->order, i);

		if (!(k->flags[at] & KEPT_ENDS))
			continue;
		uint32_t alloc = k->alloc[at];

		if ((k->time[alloc] == k->time[at]) != instant)
			continue;
		struct flow_event e = event_of(k, alloc, k->time[at]);

		e.instant = instant;
		if (u->end(u, &e, err) < 0)
			return -1;
	}
	return 0;
}

static int run_starts(const struct memory_kept *k, const struct moment *m, struct flow_user *u,
		      struct ts_error *err)
{
	for (size_t i = m->from; i < m->to; i++) {
		uint32_t at = record_at(m->order, i);

		if (!(k->flags[at] & KEPT_BEGINS))
			continue;
		struct flow_event e = event_of(k, at, k->time[at]);

		if (u->start(u, &e, err) < 0)
			return -1;
	}
	return 0;
}

int memory_kept_flow(const struct memory_kept *k, const uint32_t *order, size_t n,
		     struct flow_user *u, struct ts_error *err)
{
	for (struct moment m = {.order = order}; m.from < n; m.from = m.to) {
		uint64_t now = k->time[record_at(order, m.from)];

		while (m.to < n && k->time[record_at(order, m.to)] == now)
			m.to++;
		if (run_ends(k, &m, false, u, err) < 0 || run_ends(k, &m, true, u, err) < 0 ||
		    run_starts(k, &m, u, err) < 0 || u->point(u, now, err) < 0)
			return -1;
	}
	return 0;
}
