/* memory_span.c: allocated, peak and residual bytes of spans (candle-trace.md 11.3)
 *
 * The starts and ends of all lifetimes come in time order and are taken in slices of a fixed number
 * of events (memory_slice.c). Between slices a span keeps what it has so far: 64 bytes. Time:
 * (events * log(spans) + spans * slices) * log(slice); memory: below 100 bytes a span and a fixed
 * part, whatever the number of lifetimes.
 */
#include "memory_span.h"

#include <stdlib.h>

#include "tracespool/util.h"

#define SLICE_TINY 64u
#define SLICE_MIN 32768u
#define SLICE_MAX 1048576u

static int read_spans(struct span_memory *m, struct db *db, uint32_t *parent, uint32_t n,
		      struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	uint32_t at = 0;
	int more;

	if (query_open(db, "memory_spans", &q, err) < 0)
		return -1;
	while ((more = query_step(q, err)) == 1) {
		uint64_t up = query_u64(q, 0);

		if (++at > n || up > n)
			return ts_error_set(err, TS_E_INTERNAL, "spans are not numbered in order");
		parent[at] = (uint32_t)up;
		m->spans[at].begin = query_u64(q, 1);
		m->spans[at].closed = query_u64(q, 2) != 0;
		m->spans[at].end = u64_add_sat(m->spans[at].begin, query_u64(q, 3));
	}
	if (more == 0 && at != n)
		return ts_error_set(err, TS_E_INTERNAL, "spans without times");
	return more;
}

/* Room for all events, but no more than a slice should have. */
static uint32_t slice_size(uint64_t spans, uint64_t events)
{
	uint32_t size = SLICE_MIN;

	while (size < SLICE_MAX && size < spans / 16)
		size *= 2;
	while (size > SLICE_TINY && size / 2 > events)
		size /= 2;
	return size;
}

/* Made for the first event: while lifetimes are paired there is better use for the memory. */
static int slices_make(struct span_memory *m, struct ts_error *err)
{
	m->events = malloc(m->cap * sizeof(*m->events));
	m->by_place = malloc(m->cap * sizeof(*m->by_place));
	m->mine = malloc(m->cap * sizeof(*m->mine));
	m->rank = malloc(m->cap * sizeof(*m->rank));
	m->tree = calloc(2 * (size_t)m->cap, sizeof(*m->tree));
	return m->events && m->by_place && m->mine && m->rank && m->tree ? 0 : ts_error_nomem(err);
}

int span_memory_open(struct db *db, uint64_t span_count, uint64_t events, struct span_memory **ret,
		     struct ts_error *err)
{
	struct span_memory *m = calloc(1, sizeof(*m));
	uint32_t n = (uint32_t)span_count, *parent CLEAN(free_ptr) = NULL;

	CHECK(span_count <= DEPTH_SPANS_MAX);
	if (!m)
		return ts_error_nomem(err);
	m->cap = slice_size(n, events);
	parent = calloc((size_t)n + 1, sizeof(*parent));
	m->spans = calloc((size_t)n + 1, sizeof(*m->spans));
	m->touched = calloc((size_t)n / 8 + 1, 1);
	if (!parent || !m->spans || !m->touched) {
		span_memory_close(m);
		return ts_error_nomem(err);
	}
	if (read_spans(m, db, parent, n, err) < 0 ||
	    span_forest_build(&m->forest, TAKE(parent), n, err) < 0) {
		span_memory_close(m);
		return -1;
	}
	*ret = m;
	return 0;
}

static void slices_done(struct span_memory *m)
{
	free(TAKE(m->events));
	free(TAKE(m->by_place));
	free(TAKE(m->mine));
	free(TAKE(m->rank));
	free(TAKE(m->tree));
}

void span_memory_close(struct span_memory *m)
{
	if (!m)
		return;
	slices_done(m);
	span_forest_done(&m->forest);
	free(m->spans);
	free(m->touched);
	free(m);
}

bool span_memory_is_outside(const struct span_memory *m, uint64_t span_no, uint64_t time)
{
	const struct span_state *s = &m->spans[span_no];

	return s->closed && (time < s->begin || time > s->end);
}

int span_memory_add(struct span_memory *m, uint64_t time, bool start, bool instant, uint64_t bytes,
		    uint64_t span_no, struct ts_error *err)
{
	if (span_no == 0)
		return 0;
	if (span_no > m->forest.n)
		return ts_error_set(err, TS_E_INTERNAL, "a lifetime names span %llu",
				    (unsigned long long)span_no);
	if (!m->events && slices_make(m, err) < 0)
		return -1;
	m->events[m->count++] = (struct slice_event){.time = time,
						     .bytes = bytes,
						     .place = m->forest.place[span_no],
						     .start = start,
						     .instant = instant};
	if (m->count == m->cap)
		slice_end(m);
	return 0;
}

static int read_complete(struct db *db, bool *ret, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "memory_is_complete", &q, err) < 0)
		return -1;
	int n = query_step(q, err);

	if (n < 0)
		return -1;
	*ret = n == 1 && query_u64(q, 0) != 0;
	return 0;
}

/* The bytes of the lifetimes that name a span, by its number. */
struct own_bytes {
	uint64_t *sum;
	uint8_t *has; /* bits */
};

static int sum_own(struct db *db, struct own_bytes *own, uint32_t spans, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	own->sum = calloc((size_t)spans + 1, sizeof(*own->sum));
	own->has = calloc((size_t)spans / 8 + 1, 1);
	if (!own->sum || !own->has)
		return ts_error_nomem(err);
	if (query_open(db, "memory_bytes_of_spans", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		uint64_t no = query_u64(q, 0);

		if (no > spans)
			return ts_error_set(err, TS_E_INTERNAL, "a lifetime names span %llu",
					    (unsigned long long)no);
		own->sum[no] = u64_add_sat(own->sum[no], query_u64(q, 1));
		own->has[no / 8] |= (uint8_t)(1 << no % 8);
	}
	return n;
}

static void bind_opt(struct query *q, int i, bool has, uint64_t v)
{
	if (has)
		query_bind_u64(q, i, v);
	else
		query_bind_null(q, i);
}

static void bind_span(struct query *insert, struct span_state *s, struct opt_u64 own, bool complete)
{
	bool timed = s->closed && (s->met || complete);
	bool empty = s->end <= s->begin;

	span_note_peak(s, s->live); /* where nothing happened behind its begin */
	/* A missing end counts as the last moment, which is not behind a span that ends there. */
	wide residual = empty || s->end == UINT64_MAX ? 0 : s->plain;

	bind_opt(insert, 2, own.has || complete, own.v);
	bind_opt(insert, 3, timed, empty ? 0 : s->peak);
	bind_opt(insert, 4, timed, residual > (wide)UINT64_MAX ? UINT64_MAX : (uint64_t)residual);
}

static int write_rows(struct span_memory *m, const struct own_bytes *own, struct db *db,
		      struct ts_error *err)
{
	struct query *insert CLEAN(query_closep) = NULL;
	bool complete = false;

	if (query_open(db, "span_memory_insert", &insert, err) < 0 ||
	    read_complete(db, &complete, err) < 0)
		return -1;
	for (uint32_t i = 1; i <= m->forest.n; i++) {
		struct opt_u64 sum = {.v = own->sum[i], .has = own->has[i / 8] >> i % 8 & 1};

		query_bind_u64(insert, 1, i);
		bind_span(insert, &m->spans[i], sum, complete);
		if (query_step(insert, err) < 0)
			return -1;
		query_reset(insert);
	}
	return 0;
}

int span_memory_write(struct span_memory *m, struct db *db, struct ts_error *err)
{
	struct own_bytes own = {0};

	if (m->count)
		slice_end(m);
	slices_done(m);
	int n = sum_own(db, &own, m->forest.n, err);

	if (n == 0)
		n = write_rows(m, &own, db, err);
	free(own.sum);
	free(own.has);
	return n;
}
