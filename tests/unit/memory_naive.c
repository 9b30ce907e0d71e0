/* memory_naive.c: memory of spans the slow way; random traces against it and against 11.1 */
#include "memory_naive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory_trace.h"
#include "request_case.h"
#include "tracespool/util.h"

#include "../../src/store/db.h"

/* ---- 11.3 ---- */

static bool is_below(const struct trace *t, unsigned span, unsigned top)
{
	/* Ancestors are followed as long as there are new ones. */
	for (unsigned steps = 0; steps <= SPANS; steps++) {
		if (span == top)
			return true;
		if (t->parent[span] == 0 || t->parent[span] > SPANS)
			return false;
		span = t->parent[span] - 1;
	}
	return false;
}

static int compare_times(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static void timed(const struct trace *t, const struct world *w, unsigned span, uint64_t *ret_peak,
		  uint64_t *ret_residual)
{
	uint64_t a = t->span_start[span], b = sat((unsigned __int128)a + t->span_ns[span]);
	uint64_t times[2 * RECORDS], live = 0, peak, residual = 0;
	unsigned n = 0;

	*ret_peak = *ret_residual = 0;
	if (b <= a)
		return;
	for (unsigned i = 0; i < w->count; i++) {
		const struct lifetime *l = &w->of[i];
		uint64_t end = l->ended ? l->end : UINT64_MAX;

		if (l->span == SPANS || !is_below(t, l->span, span) || l->start >= b || end <= a)
			continue;
		if (l->start <= a)
			live = sat((unsigned __int128)live + l->bytes);
		else
			times[n++] = l->start;
		if (end < b)
			times[n++] = end;
		if (end > b)
			residual = sat((unsigned __int128)residual + l->bytes);
	}
	peak = live;
	qsort(times, n, sizeof(*times), compare_times);
	for (unsigned k = 0; k < n; k++) {
		unsigned __int128 ends = 0, starts = 0;

		if (k && times[k] == times[k - 1])
			continue;
		for (unsigned i = 0; i < w->count; i++) {
			const struct lifetime *l = &w->of[i];
			uint64_t end = l->ended ? l->end : UINT64_MAX;

			if (l->span == SPANS || !is_below(t, l->span, span) || l->start >= b ||
			    end <= a)
				continue;
			if (end == times[k])
				ends += l->bytes;
			if (l->start == times[k])
				starts += l->bytes;
		}
		uint64_t gone = sat(ends);

		live = gone > live ? 0 : live - gone;
		live = sat((unsigned __int128)live + sat(starts));
		if (live > peak)
			peak = live;
	}
	*ret_peak = peak;
	*ret_residual = residual;
}

static void assert_spans(struct analysis *a, const struct trace *t, const struct world *w,
			 uint32_t seed)
{
	const char *sql =
		"select allocated_bytes, peak_live_bytes, residual_bytes "
		"from span_rows s left join span_memory_rows m on m.no = s.no order by s.no";
	struct ts_error err = TS_ERROR_INIT;
	struct query *q CLEAN(query_closep) = NULL;

	assert_fine(query_open_sql(runfile_db(a->rf), sql, strlen(sql), &q, &err), &err);
	for (unsigned s = 0; s < SPANS; s++) {
		unsigned __int128 own = 0;
		bool direct = false, below = false, given = t->record_count > 0;
		uint64_t peak, residual;

		for (unsigned i = 0; i < w->count; i++) {
			if (w->of[i].span == s) {
				direct = true;
				own += w->of[i].bytes;
			}
			if (w->of[i].span < SPANS && is_below(t, w->of[i].span, s))
				below = true;
		}
		ck_assert_int_eq(query_step(q, &err), 1);
		bool has = given && (direct || t->complete);

		ck_assert_msg(query_is_null(q, 0) != has, "seed %u, span %u", seed, s);
		ck_assert_msg(!has || query_u64(q, 0) == sat(own), "seed %u, span %u", seed, s);
		has = given && t->closed[s] && (below || t->complete);
		ck_assert_msg(query_is_null(q, 1) != has && query_is_null(q, 2) != has,
			      "seed %u, span %u", seed, s);
		timed(t, w, s, &peak, &residual);
		ck_assert_msg(!has || (query_u64(q, 1) == peak && query_u64(q, 2) == residual),
			      "seed %u, span %u: %llu, %llu for %llu, %llu", seed, s,
			      (unsigned long long)query_u64(q, 1),
			      (unsigned long long)query_u64(q, 2), (unsigned long long)peak,
			      (unsigned long long)residual);
	}
}

/* ---- comparison ---- */

void memory_index(struct analysis *a)
{
	struct ts_error err = TS_ERROR_INIT;

	assert_fine(runfile_index(a->rf, &err), &err);
}

void document(struct analysis *a, const struct memory_ask *ask, struct buf *out)
{
	struct ts_error err = TS_ERROR_INIT;
	struct memory_document *d = NULL;
	struct memory_ask with = *ask;
	int more = 1;

	with.schema = "s";
	with.id = TS_STR("i");
	assert_fine(memory_document_open(runfile_db(a->rf), &with, JSON_NUMBERS_DEFAULT, &d, &err),
		    &err);
	while (more == 1)
		more = memory_document_next(d, out, &err);
	assert_fine(more, &err);
	memory_document_close(d);
}

static void assert_picture(struct analysis *a, const struct trace *t, unsigned devices,
			   unsigned categories, const char *place)
{
	struct buf want CLEAN(buf_done) = BUF_INIT, out CLEAN(buf_done) = BUF_INIT;
	struct arena trees CLEAN(arena_done) = {0};
	struct ts_str names[DEVICES];
	struct world w;
	struct memory_ask ask = {.what = MEMORY_PICTURE,
				 .device_names = names,
				 .categories = categories,
				 .logical = true,
				 .points = 100};

	for (unsigned i = 0; i < DEVICES; i++)
		if (devices >> i & 1 && devices != (1u << DEVICES) - 1)
			names[ask.device_name_count++] = ts_str_c(memory_devices[i]);
	trace_memory(t, devices, categories, true, &want, &w);
	document(a, &ask, &out);
	tree_same(tree_parse(want.data, want.len, &trees),
		  tree_get(tree_parse(out.data, out.len, &trees), "logical"), place);
}

void naive_round(uint32_t seed)
{
	struct buf want CLEAN(buf_done) = BUF_INIT, out CLEAN(buf_done) = BUF_INIT;
	struct buf text CLEAN(buf_done) = BUF_INIT;
	struct arena trees CLEAN(arena_done) = {0};
	struct analysis a;
	struct trace t;
	struct world w;
	char place[40];

	snprintf(place, sizeof(place), "seed %u", seed);
	/* Both ways a run file is made. */
	if (seed % 8 == 0)
		analysis_begin_large(&a);
	else
		analysis_begin(&a);
	if (seed % 2) /* and both places where records are sorted */
		a.kept_bytes = 0;
	trace_make(&t, &a, seed);
	analysis_run(&a);
	memory_index(&a);
	trace_memory(&t, (1u << DEVICES) - 1, (1u << CATEGORIES) - 1, false, &want, &w);
	buf_printf(&text, want.len ? "{\"logical\":%s}" : "{%s}", want.data ? want.data : "");
	document(&a, &(struct memory_ask){.what = MEMORY_RESULT}, &out);
	tree_same(tree_parse(text.data, text.len, &trees),
		  tree_get(tree_parse(out.data, out.len, &trees), "result"), place);
	assert_spans(&a, &t, &w, seed);
	for (unsigned i = 0; i < 4; i++) {
		/* All of them, single ones and mixtures, stored and worked out. */
		unsigned devices = i == 0 ? (1u << DEVICES) - 1 : 1 + (seed + i) % 7;
		unsigned categories = i == 1 ? (1u << CATEGORIES) - 1 : 1 + seed * (i + 1) % 31;

		assert_picture(&a, &t, devices, categories, place);
	}
	analysis_end(&a);
}
