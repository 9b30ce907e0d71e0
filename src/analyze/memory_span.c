/* memory_span.c: allocated, peak and residual bytes of spans (candle-trace.md 11.3)
 *
 * The starts and ends of all lifetimes come in time order and are taken in slices of a fixed number
 * of events. Within a slice the heavy paths of the forest that have events are walked from below;
 * a segment tree over the slice's time holds the events of the current span's subtree, so an event
 * is put in once for each path above it: at most log2(spans) + 1 times. Between slices a span keeps
 * what it has so far: 64 bytes. Time: (events * log(spans) + spans * slices) * log(slice); memory:
 * below 100 bytes a span and a fixed part, whatever the number of lifetimes.
 *
 * What an event does to the live bytes v of a span is v + s for a start and max(0, v - e) for an
 * end; a chain of them is max(low, v + sum). The clamp matters where a lifetime begins and ends at
 * one inner moment: the format takes its bytes away before it adds them.
 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

#define SLICE_TINY 64u
#define SLICE_MIN 65536u
#define SLICE_MAX 1048576u

typedef __int128 wide;

struct chain {
	wide sum, low;           /* v becomes max(low, v + sum) */
	wide peak_sum, peak_low; /* and is at most max(peak_low, v + peak_sum) on the way */
};

struct slice_event {
	uint64_t time, bytes;
	uint32_t place;
	bool start, instant;
};

struct span_state {
	uint64_t begin, end;
	wide plain;    /* bytes begun minus bytes ended, up to the end of the span */
	wide live;     /* as the format counts them, within the span */
	uint64_t peak; /* saturated */
	bool closed, met;
};

struct span_memory {
	struct span_forest forest;
	struct span_state *spans; /* from 1 */
	uint8_t *touched;         /* bit of a path's top: has events in this slice */
	struct slice_event *events;
	uint64_t *by_place; /* place and number of the event */
	struct chain *tree; /* leaves from `cap` on */
	uint32_t cap, count;
};

static wide larger(wide a, wide b)
{
	return a > b ? a : b;
}

static struct chain then(const struct chain *a, const struct chain *b)
{
	return (struct chain){
		.sum = a->sum + b->sum,
		.low = larger(b->low, a->low + b->sum),
		.peak_sum = larger(a->peak_sum, a->sum + b->peak_sum),
		.peak_low = larger(larger(a->peak_low, b->peak_low), a->low + b->peak_sum),
	};
}

/* The events from `from` up to `to`, those of the slice that are in the tree. */
static struct chain range(const struct span_memory *m, uint32_t from, uint32_t to)
{
	struct chain left = {0}, right = {0};

	if (from == 0 && to == m->count)
		return m->tree[1];
	for (from += m->cap, to += m->cap; from < to; from /= 2, to /= 2) {
		if (from & 1)
			left = then(&left, &m->tree[from++]);
		if (to & 1)
			right = then(&m->tree[--to], &right);
	}
	return then(&left, &right);
}

static void put_in(struct span_memory *m, uint32_t event)
{
	const struct slice_event *e = &m->events[event];
	uint32_t at = m->cap + event;
	wide bytes = e->bytes;

	m->tree[at] = e->start ? (struct chain){.sum = bytes, .peak_sum = bytes}
			       : (struct chain){.sum = -bytes};
	while (at /= 2)
		m->tree[at] = then(&m->tree[2 * at], &m->tree[2 * at + 1]);
}

static void take_out(struct span_memory *m, uint32_t event)
{
	/* All go at once: what is above them is empty as well. An empty chain is all zero. */
	for (uint32_t at = m->cap + event; at; at /= 2)
		m->tree[at] = (struct chain){0};
}

/* The first event behind `time`; with_ends: or at it and not the end of a lifetime begun before. */
static uint32_t first_behind(const struct span_memory *m, uint64_t time, bool at, bool ends_only)
{
	uint32_t low = 0, high = m->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct slice_event *e = &m->events[mid];
		bool before = e->time < time;

		if (e->time == time && at)
			before = !ends_only || (!e->start && !e->instant);
		if (before)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void note_peak(struct span_state *s, wide v)
{
	uint64_t value = v > (wide)UINT64_MAX ? UINT64_MAX : (uint64_t)v;

	if (value > s->peak)
		s->peak = value;
}

static void update(struct span_memory *m, struct span_state *s)
{
	s->met = true;
	if (!s->closed || s->end <= s->begin || m->events[0].time > s->end)
		return;
	uint32_t inner = first_behind(m, s->begin, true, false);
	uint32_t end = first_behind(m, s->end, false, false);
	uint32_t residual = first_behind(m, s->end, true, true);
	wide before = inner ? range(m, 0, inner).sum : 0;

	s->plain += before;
	s->live += before;
	if (inner < m->count)
		note_peak(s, s->live);
	if (inner < end) {
		struct chain c = range(m, inner, end);

		note_peak(s, larger(c.peak_low, s->live + c.peak_sum));
		s->live = larger(c.low, s->live + c.sum);
	}
	if (inner < residual)
		s->plain += range(m, inner, residual).sum;
}

static void update_node(struct span_memory *m, uint32_t node)
{
	update(m, &m->spans[node]);
	for (uint32_t i = m->forest.member[node]; i && i != UINT32_MAX; i = m->forest.member[i])
		update(m, &m->spans[i]);
}

static uint32_t place_of(uint64_t key)
{
	return (uint32_t)(key >> 32);
}

static uint32_t lower_bound(const struct span_memory *m, uint32_t place)
{
	uint32_t low = 0, high = m->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (place_of(m->by_place[mid]) < place)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void walk_path(struct span_memory *m, uint32_t top)
{
	const struct span_forest *f = &m->forest;
	uint32_t node = top;

	while (f->heavy[node])
		node = f->heavy[node];
	uint32_t from = lower_bound(m, f->place[node]), to = from;

	for (uint32_t place = f->place[node];; place--) {
		node = f->at[place];
		while (from > 0 && place_of(m->by_place[from - 1]) >= place)
			put_in(m, (uint32_t)m->by_place[--from]);
		while (to < m->count && place_of(m->by_place[to]) < place + f->size[node])
			put_in(m, (uint32_t)m->by_place[to++]);
		if (from < to)
			update_node(m, node);
		if (node == top)
			break;
	}
	/* Cheaper than one by one when there are many. */
	if (to - from > m->cap / 16)
		memset(m->tree, 0, 2 * (size_t)m->cap * sizeof(*m->tree));
	else
		while (from < to)
			take_out(m, (uint32_t)m->by_place[from++]);
}

static int compare_keys(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Marks the paths above the events; then walks those, each once. */
static void end_slice(struct span_memory *m)
{
	const struct span_forest *f = &m->forest;

	for (uint32_t i = 0; i < m->count; i++)
		m->by_place[i] = (uint64_t)m->events[i].place << 32 | i;
	qsort(m->by_place, m->count, sizeof(*m->by_place), compare_keys);
	for (uint32_t i = 0; i < m->count; i++) {
		uint32_t top = f->top[f->at[m->events[i].place]];

		while (top && !(m->touched[top / 8] >> (top % 8) & 1)) {
			m->touched[top / 8] |= (uint8_t)(1u << (top % 8));
			walk_path(m, top);
			uint32_t up = f->parent[top];

			top = up ? f->top[up] : 0;
		}
	}
	memset(m->touched, 0, (size_t)f->n / 8 + 1);
	m->count = 0;
}

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
	m->events = malloc(m->cap * sizeof(*m->events));
	m->by_place = malloc(m->cap * sizeof(*m->by_place));
	m->tree = calloc(2 * (size_t)m->cap, sizeof(*m->tree));
	if (!parent || !m->spans || !m->touched || !m->events || !m->by_place || !m->tree) {
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
	m->events[m->count++] = (struct slice_event){.time = time,
						     .bytes = bytes,
						     .place = m->forest.place[span_no],
						     .start = start,
						     .instant = instant};
	if (m->count == m->cap)
		end_slice(m);
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

	note_peak(s, s->live); /* where nothing happened behind its begin */
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
		end_slice(m);
	slices_done(m);
	int n = sum_own(db, &own, m->forest.n, err);

	if (n == 0)
		n = write_rows(m, &own, db, err);
	free(own.sum);
	free(own.has);
	return n;
}
