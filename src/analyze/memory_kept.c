/* memory_kept.c: memory records read into columns, storages and records in their orders */
#include "memory_kept.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"
#include "tracespool/varint.h"

enum {
	RECORD_BYTES = 2 * 8 + 2 * 4 + 2 + 1, /* of the columns that are read */
	STORAGE_SORT_BYTES = 8 + 3 * 4,
};

/* Columns of memory_records. */
enum { TIME, BYTES, ACTION, CATEGORY, DEVICE, STORAGE, SPAN, OP };

/* While the records are read a storage has the number in which it came. */
struct loading {
	struct memory_kept *k;
	struct query *q;
	struct strmap storages; /* the device's number, and the id */
	struct buf key, span_text;
	uint32_t span;             /* the number of span_text */
	size_t max_bytes, columns; /* bytes */
};

void memory_kept_done(struct memory_kept *k)
{
	void *const all[] = {k->time, k->bytes, k->storage, k->span,   k->alloc,
			     k->name, k->order, k->flags,   k->device, k->device_at};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		free(all[i]);
	strmap_done(&k->device_names);
	strmap_done(&k->names);
	strmap_done(&k->spans);
	*k = (struct memory_kept){0};
}

/* While the records are read and the storages sorted. That takes the place of their table. */
static bool fits(const struct loading *l)
{
	const struct memory_kept *k = l->k;
	size_t table = l->storages.slots * sizeof(*l->storages.slot);
	size_t sorting = l->storages.count * STORAGE_SORT_BYTES;

	return l->columns + strmap_bytes(&k->device_names) + strmap_bytes(&k->names) +
		       strmap_bytes(&k->spans) + strmap_bytes(&l->storages) - table +
		       (table > sorting ? table : sorting) <=
	       l->max_bytes;
}

/* 1, or 0 when they do not fit. */
static int load_spans(struct loading *l, struct db *db, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(db, "memory_span_ids", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		bool is_new;

		if (strmap_add(&l->k->spans, query_str(q, 0), &is_new) == STRMAP_NONE)
			return ts_error_nomem(err);
		if (!is_new)
			return ts_error_set(err, TS_E_INTERNAL, "two spans have one id");
		if (l->k->spans.count % 1024 == 0 && !fits(l))
			return 0;
	}
	return n < 0 ? -1 : 1;
}

static unsigned category_of(struct ts_str word)
{
	unsigned i = 0;

	while (i < MEMORY_CATEGORIES - 1 && !ts_str_is(word, memory_category_names[i]))
		i++;
	return i;
}

/* Records of one span mostly follow each other. */
static int find_span(struct loading *l, struct ts_str id, struct ts_error *err)
{
	if (l->span_text.len == id.n && id.n > 0 && memcmp(l->span_text.data, id.p, id.n) == 0)
		return 0;
	uint32_t at = strmap_find(&l->k->spans, id);

	l->span = at == STRMAP_NONE ? 0 : at + 1;
	buf_clear(&l->span_text);
	buf_add(&l->span_text, id.p, id.n);
	return l->span_text.failed ? ts_error_nomem(err) : 0;
}

/* 1, or 0 when there are more names than a number can tell. */
static int find_name(struct loading *l, uint16_t *ret, struct ts_error *err)
{
	if (query_is_null(l->q, OP)) {
		*ret = KEPT_NO_NAME;
		return 1;
	}
	uint32_t name = strmap_add(&l->k->names, query_str(l->q, OP), NULL);

	if (name == STRMAP_NONE)
		return ts_error_nomem(err);
	*ret = (uint16_t)name;
	return name < KEPT_NO_NAME;
}

static int find_storage(struct loading *l, uint32_t *ret, struct ts_error *err)
{
	struct ts_str id = query_str(l->q, STORAGE);
	uint32_t device = strmap_add(&l->k->device_names, query_str(l->q, DEVICE), NULL);

	if (device == STRMAP_NONE)
		return ts_error_nomem(err);
	buf_clear(&l->key);
	varint_put(&l->key, device);
	buf_add(&l->key, id.p, id.n);
	if (l->key.failed)
		return ts_error_nomem(err);
	*ret = strmap_add(&l->storages, ts_str(l->key.data, l->key.len), NULL);
	return *ret == STRMAP_NONE ? ts_error_nomem(err) : 0;
}

static int take_record(struct loading *l, uint32_t i, struct ts_error *err)
{
	struct memory_kept *k = l->k;

	k->time[i] = query_u64(l->q, TIME);
	k->bytes[i] = query_u64(l->q, BYTES);
	k->flags[i] = (uint8_t)(category_of(query_str(l->q, CATEGORY)) |
				(ts_str_is(query_str(l->q, ACTION), "alloc") ? KEPT_ALLOC : 0));
	if (find_span(l, query_str(l->q, SPAN), err) < 0 ||
	    find_storage(l, &k->storage[i], err) < 0)
		return -1;
	k->span[i] = l->span;
	return find_name(l, &k->name[i], err);
}

/* 1, or 0 when they do not fit. */
static int load_records(struct loading *l, struct db *db, struct ts_error *err)
{
	uint32_t i = 0;
	int n;

	if (query_open(db, "memory_records", &l->q, err) < 0)
		return -1;
	while ((n = query_step(l->q, err)) == 1) {
		if (i == l->k->n)
			return ts_error_set(err, TS_E_INTERNAL,
					    "records are not numbered in order");
		n = take_record(l, i++, err);
		if (n <= 0 || (i % 1024 == 0 && !fits(l)))
			return n < 0 ? -1 : 0;
	}
	if (n == 0 && i != l->k->n)
		return ts_error_set(err, TS_E_INTERNAL, "records are not numbered in order");
	return n < 0 ? -1 : fits(l);
}

/* ---- orders ---- */

struct sorting {
	const struct strmap *map;
	size_t skip;      /* bytes that all ids begin with */
	uint64_t *heads;  /* of an id the 8 bytes behind those */
	uint32_t *device; /* of a storage, rank */
};

static struct ts_str id_of(const struct sorting *s, uint32_t number, uint64_t *ret_device)
{
	struct varint_reader key = varint_open(strmap_get(s->map, number));

	*ret_device = varint_take(&key);
	return ts_str((const char *)key.at, (size_t)(key.end - key.at));
}

static int compare_ids(const void *a, const void *b, void *arg)
{
	uint64_t device;

	return ts_str_cmp(id_of(arg, *(const uint32_t *)a, &device),
			  id_of(arg, *(const uint32_t *)b, &device));
}

static size_t common_prefix(const struct sorting *s)
{
	uint64_t device;
	struct ts_str first = id_of(s, 0, &device);
	size_t n = first.n;

	for (uint32_t i = 1; i < s->map->count && n > 0; i++) {
		struct ts_str id = id_of(s, i, &device);
		size_t same = 0;

		while (same < n && same < id.n && id.p[same] == first.p[same])
			same++;
		n = same;
	}
	return n;
}

static uint64_t head_of(struct ts_str id, size_t skip)
{
	unsigned char bytes[8] = {0};
	uint64_t v = 0;

	if (id.n > skip)
		memcpy(bytes, id.p + skip, id.n - skip < 8 ? id.n - skip : 8);
	for (unsigned i = 0; i < 8; i++)
		v = v << 8 | bytes[i];
	return v;
}

static int compare_devices(const void *a, const void *b, void *arg)
{
	return ts_str_cmp(strmap_get(arg, *(const uint32_t *)a),
			  strmap_get(arg, *(const uint32_t *)b));
}

/* Ranks of the devices into rank[number]. */
static int order_devices(struct memory_kept *k, uint32_t **ret_rank, struct ts_error *err)
{
	uint32_t n = (uint32_t)k->device_names.count;
	uint32_t *rank = malloc(n * sizeof(*rank));

	*ret_rank = rank;
	k->devices = n;
	k->device_at = malloc(n * sizeof(*k->device_at));
	if (!rank || !k->device_at)
		return ts_error_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		k->device_at[i] = i;
	qsort_r(k->device_at, n, sizeof(*k->device_at), compare_devices, &k->device_names);
	for (uint32_t i = 0; i < n; i++)
		rank[k->device_at[i]] = i;
	return 0;
}

/* What is equal so far by the whole id. */
static void order_equal_heads(const struct sorting *s, uint32_t *order, uint32_t n)
{
	for (uint32_t i = 0; i < n;) {
		uint32_t next = i + 1;

		while (next < n && s->heads[order[next]] == s->heads[order[i]] &&
		       s->device[order[next]] == s->device[order[i]])
			next++;
		if (next - i > 1)
			qsort_r(order + i, next - i, sizeof(*order), compare_ids, (void *)s);
		i = next;
	}
}

/* order[]: the storages by device and id. */
static void sort_storages(struct sorting *s, const uint32_t *device_rank, uint32_t *order,
			  uint32_t *scratch, uint32_t n)
{
	s->skip = common_prefix(s);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t number;

		s->heads[i] = head_of(id_of(s, i, &number), s->skip);
		s->device[i] = device_rank[number];
		order[i] = i;
	}
	order_by_keys(s->heads, order, scratch, n);
	order_by_numbers(s->device, order, scratch, n);
	order_equal_heads(s, order, n);
}

/* Numbers the storages in the order of (device, id). */
static int order_storages(struct memory_kept *k, struct strmap *storages, struct ts_error *err)
{
	uint32_t n = (uint32_t)storages->count, *device_rank CLEAN(free_ptr) = NULL;
	uint32_t *order CLEAN(free_ptr) = malloc(n * sizeof(*order));
	uint32_t *place CLEAN(free_ptr) = malloc(n * sizeof(*place));
	uint64_t *heads CLEAN(free_ptr) = malloc(n * sizeof(*heads));
	struct sorting s = {.map = storages, .heads = heads};

	strmap_seal(storages);
	k->storages = n;
	k->device = s.device = malloc(n * sizeof(*k->device));
	if (!order || !place || !heads || !k->device)
		return ts_error_nomem(err);
	if (order_devices(k, &device_rank, err) < 0)
		return -1;
	sort_storages(&s, device_rank, order, place, n);
	for (uint32_t i = 0; i < n; i++)
		place[order[i]] = i;
	for (uint32_t i = 0; i < k->n; i++)
		k->storage[i] = place[k->storage[i]];
	for (uint32_t i = 0; i < n; i++)
		place[i] = k->device[order[i]];
	memcpy(k->device, place, n * sizeof(*place));
	return 0;
}

/* Records mostly come in time order; then none is written. */
static int order_records(struct memory_kept *k, struct ts_error *err)
{
	uint32_t i = 1;

	k->alloc = malloc(k->n * sizeof(*k->alloc));
	if (!k->alloc)
		return ts_error_nomem(err);
	while (i < k->n && k->time[i - 1] <= k->time[i])
		i++;
	if (i >= k->n)
		return 0;
	k->order = malloc(k->n * sizeof(*k->order));
	if (!k->order)
		return ts_error_nomem(err);
	for (i = 0; i < k->n; i++)
		k->order[i] = i;
	order_by_keys(k->time, k->order, k->alloc, k->n);
	return 0;
}

void memory_kept_by_device(const struct memory_kept *k, uint32_t *order, uint32_t *begin)
{
	/* While they are put in, begin[i] is where the next one of device i goes. */
	memset(begin, 0, ((size_t)k->devices + 1) * sizeof(*begin));
	for (uint32_t i = 0; i < k->n; i++)
		begin[k->device[k->storage[i]] + 1]++;
	for (uint32_t i = 1; i <= k->devices; i++)
		begin[i] += begin[i - 1];
	for (uint32_t i = 0; i < k->n; i++) {
		uint32_t at = k->order ? k->order[i] : i;

		order[begin[k->device[k->storage[at]]]++] = at;
	}
	memmove(begin + 1, begin, k->devices * sizeof(*begin));
	begin[0] = 0;
}

static int load(struct loading *l, struct db *db, struct ts_error *err)
{
	struct memory_kept *k = l->k;

	k->time = malloc(k->n * sizeof(*k->time));
	k->bytes = malloc(k->n * sizeof(*k->bytes));
	k->storage = malloc(k->n * sizeof(*k->storage));
	k->span = malloc(k->n * sizeof(*k->span));
	k->name = malloc(k->n * sizeof(*k->name));
	k->flags = malloc(k->n);
	if (!k->time || !k->bytes || !k->storage || !k->span || !k->name || !k->flags)
		return ts_error_nomem(err);
	int n = load_spans(l, db, err);

	if (n == 1)
		n = load_records(l, db, err);
	if (n == 1 && order_storages(k, &l->storages, err) < 0)
		n = -1;
	return n;
}

int memory_kept_open(struct memory_kept *k, struct db *db, uint64_t records, size_t max_bytes,
		     struct ts_error *err)
{
	struct loading l = {.k = k, .max_bytes = max_bytes, .key = BUF_INIT, .span_text = BUF_INIT};

	*k = (struct memory_kept){0};
	if (records > max_bytes / RECORD_BYTES || records > UINT32_MAX / 2)
		return 0;
	k->n = (uint32_t)records;
	l.columns = (size_t)k->n * RECORD_BYTES;
	int n = load(&l, db, err);

	query_close(l.q);
	strmap_done(&l.storages);
	buf_done(&l.key);
	buf_done(&l.span_text);
	if (n == 1 && order_records(k, err) < 0)
		n = -1;
	if (n != 1)
		memory_kept_done(k);
	return n;
}
