/* memory_trace.c: a small random trace, and its memory as candle-trace.md 11.1 words it */
#include "memory_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const memory_devices[DEVICES] = {"cpu", "cuda:0", "cuda"};
static const char *const category_names[] = {"parameter", "activation", "gradient", "optimizer",
					     "other"};

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Small times, so that equal ones are frequent; now and then at the end of 64 bits. */
static uint64_t any_time(uint32_t *seed)
{
	uint32_t r = next(seed);

	return r % 16 == 0 ? UINT64_MAX - r / 16 % 3 : r / 16 % 12;
}

static uint64_t any_bytes(uint32_t *seed)
{
	uint32_t r = next(seed);

	switch (r % 8) {
	case 0:
		return UINT64_MAX - r / 8 % 4;
	case 1:
		return (UINT64_C(1) << 63) + r / 8 % 3 - 1;
	case 2:
		return 0;
	default:
		return r / 8 % 100;
	}
}

/* ---- the trace ---- */

void trace_make(struct trace *t, struct analysis *a, uint32_t seed)
{
	static const char *const ids[] = {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "ghost"};
	struct record records[RECORDS];
	bool big = next(&seed) % 3 == 0;

	memset(t, 0, sizeof(*t));
	t->complete = next(&seed) % 2;
	analysis_put(
		a, ROW_META,
		&(struct row_meta){.schema = TS_STR("candle-graph/trace/10"),
				   .capture_contract =
					   t->complete ? TS_STR("{\"logical_memory\":\"complete\"}")
						       : TS_STR("{\"logical_memory\":\"partial\"}"),
				   .tags = TS_STR("{}")});
	analysis_put(a, ROW_TERMINAL, &(struct row_terminal){.outcome = TS_STR("complete")});
	for (unsigned i = 0; i < SPANS; i++) {
		t->span_start[i] = any_time(&seed);
		t->span_ns[i] = any_time(&seed);
		t->closed[i] = next(&seed) % 8 != 0;
		t->parent[i] = next(&seed) % (SPANS + 2);
		if (next(&seed) % 2 && i > 0)
			t->parent[i] = i; /* the one before: chains */
		unsigned p = t->parent[i];

		analysis_put(a, ROW_SPAN,
			     &(struct row_span){.no = i + 1,
						.id = ts_str_c(ids[i]),
						.parent_id = ts_str_c(p ? ids[p - 1] : NULL),
						.name = TS_STR("n"),
						.span_kind = TS_STR("op"),
						.start_ns = t->span_start[i]});
	}
	for (unsigned i = 0; i < SPANS; i++)
		analysis_put(a, ROW_SPAN_TIME,
			     &(struct row_span_time){
				     .no = i + 1,
				     .parent_no = t->parent[i] <= SPANS ? t->parent[i] : 0,
				     .closed = t->closed[i],
				     .duration_ns = t->closed[i] ? t->span_ns[i] : 0});
	t->record_count = next(&seed) % (RECORDS + 1);
	for (unsigned i = 0; i < t->record_count; i++) {
		struct record *r = &records[i];

		*r = (struct record){
			.time = any_time(&seed),
			.bytes = big ? any_bytes(&seed) : next(&seed) % 50,
			.device = next(&seed) % DEVICES,
			.storage = next(&seed) % 3,
			.tensor = next(&seed) % 4,
			.span = next(&seed) % (SPANS + 1),
			.category = next(&seed) % CATEGORIES,
			.alloc = next(&seed) % 5 < 3,
		};
		char storage[2] = {(char)('a' + r->storage), 0},
		     tensor[2] = {(char)('0' + r->tensor), 0};

		analysis_put(
			a, ROW_MEMORY,
			&(struct row_memory){.timestamp_ns = r->time,
					     .bytes = r->bytes,
					     .storage_id = ts_str_c(storage),
					     .tensor_id = ts_str_c(tensor),
					     .span_id = ts_str_c(ids[r->span]),
					     .device = ts_str_c(memory_devices[r->device]),
					     .action = r->alloc ? TS_STR("alloc") : TS_STR("free"),
					     .shape.json = TS_STR("[2]"),
					     .dtype = TS_STR("u8"),
					     .category = ts_str_c(category_names[r->category])});
	}
	/* A stable sort by time, by insertion. */
	for (unsigned i = 0; i < t->record_count; i++) {
		unsigned at = i;

		for (; at > 0 && t->records[at - 1].time > records[i].time; at--)
			t->records[at] = t->records[at - 1];
		t->records[at] = records[i];
	}
}

/* ---- 11.1 ---- */

static void apply(struct world *w, const struct record *r)
{
	struct lifetime *live = NULL;

	for (unsigned i = 0; i < w->count; i++)
		if (!w->of[i].ended && w->of[i].device == r->device &&
		    w->of[i].storage == r->storage)
			live = &w->of[i];
	if (live)
		live->tensors |= 1u << r->tensor;
	if (r->alloc && !live)
		w->of[w->count++] = (struct lifetime){.start = r->time,
						      .bytes = r->bytes,
						      .device = r->device,
						      .storage = r->storage,
						      .span = r->span,
						      .category = r->category,
						      .tensors = 1u << r->tensor};
	if (!r->alloc && live) {
		live->ended = true;
		live->end = r->time;
		live->order = w->ends++;
		w->frees++;
	}
}

/* By start, device, storage id; then ended ones by end, live ones last. */
static int compare_lifetimes(const void *x, const void *y)
{
	const struct lifetime *a = x, *b = y;
	int n;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	n = strcmp(memory_devices[a->device], memory_devices[b->device]);
	if (n)
		return n;
	if (a->storage != b->storage)
		return a->storage < b->storage ? -1 : 1;
	if (a->ended != b->ended)
		return a->ended ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void put_lifetime(struct buf *out, const struct lifetime *l, bool peak)
{
	bool comma = false;

	buf_printf(out, "{\"device\":\"%s\",\"storage_id\":\"%c\",\"tensor_ids\":[",
		   memory_devices[l->device], (char)('a' + l->storage));
	for (unsigned i = 0; i < 4; i++) {
		if (l->tensors >> i & 1) {
			buf_printf(out, "%s\"%u\"", comma ? "," : "", i);
			comma = true;
		}
	}
	if (l->span < SPANS)
		buf_printf(out, "],\"allocation_span_id\":\"s%u\"", l->span);
	else
		buf_puts(out, "],\"allocation_span_id\":\"ghost\"");
	buf_printf(out,
		   ",\"op_name\":null,\"bytes\":%llu,\"shape\":[2],\"dtype\":\"u8\","
		   "\"category\":\"%s\",\"start_timestamp_ns\":%llu",
		   (unsigned long long)l->bytes, category_names[l->category],
		   (unsigned long long)l->start);
	if (l->ended && !peak)
		buf_printf(out, ",\"end_timestamp_ns\":%llu", (unsigned long long)l->end);
	buf_puts(out, "}");
}

struct point {
	uint64_t time, live, device[DEVICES], category[CATEGORIES];
	unsigned devices, categories; /* bits of those with a live storage */
};

static struct point point_of(const struct world *w, uint64_t time)
{
	struct point p = {.time = time};
	unsigned __int128 live = 0, device[DEVICES] = {0}, category[CATEGORIES] = {0};

	for (unsigned i = 0; i < w->count; i++) {
		const struct lifetime *l = &w->of[i];

		if (l->ended)
			continue;
		live += l->bytes;
		device[l->device] += l->bytes;
		category[l->category] += l->bytes;
		p.devices |= 1u << l->device;
		p.categories |= 1u << l->category;
	}
	p.live = sat(live);
	for (unsigned i = 0; i < DEVICES; i++)
		p.device[i] = sat(device[i]);
	for (unsigned i = 0; i < CATEGORIES; i++)
		p.category[i] = sat(category[i]);
	return p;
}

static void put_point(struct buf *out, const struct point *p)
{
	bool comma = false;

	buf_printf(out, "\"timestamp_ns\":%llu,\"live_bytes\":%llu,\"live_bytes_by_device\":{",
		   (unsigned long long)p->time, (unsigned long long)p->live);
	for (unsigned i = 0; i < DEVICES; i++) {
		if (p->devices >> i & 1) {
			buf_printf(out, "%s\"%s\":%llu", comma ? "," : "", memory_devices[i],
				   (unsigned long long)p->device[i]);
			comma = true;
		}
	}
	buf_puts(out, "},\"live_bytes_by_category\":{");
	comma = false;
	for (unsigned i = 0; i < CATEGORIES; i++) {
		if (p->categories >> i & 1) {
			buf_printf(out, "%s\"%s\":%llu", comma ? "," : "", category_names[i],
				   (unsigned long long)p->category[i]);
			comma = true;
		}
	}
	buf_puts(out, "}");
}

struct device_row {
	bool met, any;
	unsigned allocs, frees;
	uint64_t total, peak, peak_time;
};

void trace_memory(const struct trace *t, unsigned devices, unsigned categories, bool picture,
		  struct buf *out, struct world *ret)
{
	struct world w = {0}, at_peak = {0}, full = {0};
	struct device_row rows[DEVICES] = {0};
	struct buf times = BUF_INIT, values = BUF_INIT, line = BUF_INIT;
	struct point peak = {0};
	bool has_peak = false, any = false;
	unsigned i = 0;

	while (i < t->record_count) {
		uint64_t now = t->records[i].time;
		bool met = false;

		for (; i < t->record_count && t->records[i].time == now; i++) {
			const struct record *r = &t->records[i];
			unsigned before = full.count, frees = full.frees;

			if (!(devices >> r->device & 1))
				continue;
			met = any = rows[r->device].met = true;
			apply(&full, r);
			if (full.count > before) {
				rows[r->device].allocs++;
				rows[r->device].total =
					sat((unsigned __int128)rows[r->device].total + r->bytes);
			}
			rows[r->device].frees += full.frees - frees;
		}
		if (!met)
			continue;
		/* Those of the categories. */
		w = (struct world){0};
		for (unsigned k = 0; k < full.count; k++) {
			if (categories >> full.of[k].category & 1) {
				w.of[w.count++] = full.of[k];
				w.frees += full.of[k].ended;
			}
		}
		struct point p = point_of(&w, now), all = point_of(&full, now);

		for (unsigned d = 0; d < DEVICES; d++) {
			struct device_row *row = &rows[d];

			if (row->allocs && (!row->any || all.device[d] > row->peak)) {
				row->any = true;
				row->peak = all.device[d];
				row->peak_time = now;
			}
		}
		if (w.count && (!has_peak || p.live > peak.live)) {
			has_peak = true;
			peak = p;
			at_peak = w;
		}
		buf_printf(&times, "%s%llu", times.len ? "," : "", (unsigned long long)now);
		buf_printf(&values, "%s%llu", values.len ? "," : "", (unsigned long long)p.live);
		buf_puts(&line, line.len ? ",{" : "{");
		put_point(&line, &p);
		buf_puts(&line, "}");
	}
	*ret = full;
	if (!any) {
		buf_puts(out, picture ? "null" : "");
		goto out;
	}
	unsigned __int128 total = 0;

	for (unsigned k = 0; k < w.count; k++)
		total += w.of[k].bytes;
	buf_printf(out,
		   "{\"storage_allocation_count\":%u,\"matched_storage_free_count\":%u,"
		   "\"total_allocated_bytes\":%llu",
		   w.count, w.frees, (unsigned long long)sat(total));
	if (has_peak) {
		unsigned live = 0;

		buf_puts(out, ",\"peak\":{");
		put_point(out, &peak);
		qsort(at_peak.of, at_peak.count, sizeof(at_peak.of[0]), compare_lifetimes);
		buf_puts(out, ",\"live_allocations\":[");
		for (unsigned k = 0; k < at_peak.count; k++) {
			if (at_peak.of[k].ended)
				continue;
			if (!picture) {
				buf_puts(out, live ? "," : "");
				put_lifetime(out, &at_peak.of[k], true);
			}
			live++;
		}
		buf_puts(out, "]");
		if (picture)
			buf_printf(out, ",\"live_allocation_count\":%u", live);
		buf_puts(out, "}");
	} else if (picture) {
		buf_puts(out, ",\"peak\":null");
	}
	if (picture)
		buf_printf(out,
			   ",\"timeline\":{\"timestamp_ns\":[%s],\"live_bytes\":[%s]},"
			   "\"thinned\":false",
			   times.data ? times.data : "", values.data ? values.data : "");
	else
		buf_printf(out, ",\"timeline\":[%s],\"lifetimes\":[", line.data ? line.data : "");
	if (!picture) {
		qsort(full.of, full.count, sizeof(full.of[0]), compare_lifetimes);
		for (unsigned k = 0; k < full.count; k++) {
			buf_puts(out, k ? "," : "");
			put_lifetime(out, &full.of[k], false);
		}
		buf_puts(out, "]");
	}
	buf_puts(out, ",\"by_device\":[");
	static const unsigned bytewise[] = {0, 2, 1}; /* cpu, cuda, cuda:0 */

	for (unsigned k = 0, shown = 0; k < DEVICES; k++) {
		const struct device_row *row = &rows[bytewise[k]];

		if (!row->met)
			continue;
		buf_printf(out,
			   "%s{\"device\":\"%s\",\"storage_allocation_count\":%u,"
			   "\"matched_storage_free_count\":%u,\"total_allocated_bytes\":%llu",
			   shown++ ? "," : "", memory_devices[bytewise[k]], row->allocs, row->frees,
			   (unsigned long long)row->total);
		if (row->any)
			buf_printf(out, ",\"peak_live_bytes\":%llu,\"peak_timestamp_ns\":%llu",
				   (unsigned long long)row->peak,
				   (unsigned long long)row->peak_time);
		buf_puts(out, "}");
	}
	buf_puts(out, "]}");
out:
	buf_done(&times);
	buf_done(&values);
	buf_done(&line);
}
