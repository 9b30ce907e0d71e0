/* memory_slice.c: a slice of starts and ends of lifetimes, taken into the spans
 * (candle-trace.md 11.3)
 *
 * The heavy paths of the forest that have events are walked from below; a segment tree over the
 * events below the path holds those of the current span's subtree, so an event is put in once for
 * each path above it: at most log2(spans) + 1 times.
 */
#include "memory_span.h"

#include <stdlib.h>
#include <string.h>

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

/* The events from `from` up to `to`, those of the path that are in the tree. */
static struct chain range(const struct span_memory *m, uint32_t from, uint32_t to)
{
	struct chain left = {0}, right = {0};

	if (from == 0 && to == m->mine_count)
		return m->tree[1];
	for (from += m->leaves, to += m->leaves; from < to; from /= 2, to /= 2) {
		if (from & 1)
			left = then(&left, &m->tree[from++]);
		if (to & 1)
			right = then(&m->tree[--to], &right);
	}
	return then(&left, &right);
}

static void set_leaf(struct span_memory *m, uint32_t event)
{
	const struct slice_event *e = &m->events[event];
	wide bytes = e->bytes;

	m->tree[m->leaves + m->rank[event]] =
		e->start ? (struct chain){.sum = bytes, .peak_sum = bytes}
			 : (struct chain){.sum = -bytes};
}

static void fold_node(struct span_memory *m, uint32_t at)
{
	m->tree[at] = then(&m->tree[2 * at], &m->tree[2 * at + 1]);
}

static void add_events(struct span_memory *m, uint32_t from, uint32_t to, bool fold)
{
	for (uint32_t i = from; i < to; i++) {
		uint32_t event = (uint32_t)m->by_place[i], at = m->leaves + m->rank[event];

		set_leaf(m, event);
		while (fold && (at /= 2))
			fold_node(m, at);
	}
}

/* Adds the events by_place[begin..from) and [to..end); where they are many, all leaves first. */
static void put_in(struct span_memory *m, uint32_t begin, uint32_t from, uint32_t to, uint32_t end)
{
	bool many = from - begin + end - to > m->leaves / 8;

	add_events(m, begin, from, !many);
	add_events(m, to, end, !many);
	for (uint32_t at = m->leaves; many && at-- > 1;)
		fold_node(m, at);
}

/* The first event behind `time`; with_ends: or at it and not the end of a lifetime begun before. */
static uint32_t first_behind(const struct span_memory *m, uint64_t time, bool at, bool ends_only)
{
	uint32_t low = 0, high = m->mine_count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct slice_event *e = &m->events[m->mine[mid]];
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

void span_note_peak(struct span_state *s, wide v)
{
	uint64_t value = v > (wide)UINT64_MAX ? UINT64_MAX : (uint64_t)v;

	if (value > s->peak)
		s->peak = value;
}

static void update(struct span_memory *m, struct span_state *s)
{
	s->met = true;
	if (!s->closed || s->end <= s->begin || m->events[m->mine[0]].time > s->end)
		return;
	uint32_t inner = first_behind(m, s->begin, true, false);
	uint32_t end = first_behind(m, s->end, false, false);
	uint32_t residual = first_behind(m, s->end, true, true);
	wide before = inner ? range(m, 0, inner).sum : 0;

	s->plain += before;
	s->live += before;
	if (inner < m->mine_count)
		span_note_peak(s, s->live);
	if (inner < end) {
		struct chain c = range(m, inner, end);

		span_note_peak(s, larger(c.peak_low, s->live + c.peak_sum));
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

static int compare_events(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Makes the events by_place[from..to) those of the path. */
static void take_events(struct span_memory *m, uint32_t from, uint32_t to)
{
	uint32_t n = to - from;

	for (uint32_t i = 0; i < n; i++)
		m->mine[i] = (uint32_t)m->by_place[from + i];
	if (n > m->count / 16) {
		/* Many: all events are looked at. UINT32_MAX is no place. */
		memset(m->rank, 0xff, m->count * sizeof(*m->rank));
		for (uint32_t i = 0; i < n; i++)
			m->rank[m->mine[i]] = 0;
		for (uint32_t i = 0, at = 0; at < n; i++)
			if (m->rank[i] == 0)
				m->mine[at++] = i;
	} else {
		qsort(m->mine, n, sizeof(*m->mine), compare_events);
	}
	for (uint32_t i = 0; i < n; i++)
		m->rank[m->mine[i]] = i;
	m->mine_count = n;
	for (m->leaves = 1; m->leaves < n; m->leaves *= 2)
		;
}

static void walk_path(struct span_memory *m, uint32_t top)
{
	const struct span_forest *f = &m->forest;
	uint32_t node = top;
	uint32_t first = lower_bound(m, f->place[top]);
	uint32_t last = lower_bound(m, f->place[top] + f->size[top]);

	take_events(m, first, last);
	while (f->heavy[node])
		node = f->heavy[node];
	uint32_t from = lower_bound(m, f->place[node]), to = from;

	for (uint32_t place = f->place[node];; place--) {
		uint32_t begin = from, end = to;

		node = f->at[place];
		while (begin > first && place_of(m->by_place[begin - 1]) >= place)
			begin--;
		while (end < last && place_of(m->by_place[end]) < place + f->size[node])
			end++;
		put_in(m, begin, from, to, end);
		from = begin, to = end;
		if (from < to)
			update_node(m, node);
		if (node == top)
			break;
	}
	memset(m->tree, 0, 2 * (size_t)m->leaves * sizeof(*m->tree));
}

static int compare_keys(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Marks the paths above the events; then walks those, each once. */
void slice_end(struct span_memory *m)
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
