/* memory.h: what the files of the memory figures share (candle-trace.md 11)
 *
 * A series is what is followed over time: all storages, those of a category, those of a device. Of
 * each the points are thinned while they come, so that a picture never costs more than
 * THIN_BUCKETS intervals, whatever the trace.
 */
#ifndef ANALYZE_MEMORY_H
#define ANALYZE_MEMORY_H

#include "tracespool/memory.h"
#include "tracespool/store.h"

#include "candle.h"

#define SERIES_CATEGORY 1 /* + category */
#define SERIES_DEVICE 6   /* + number of the device - 1 */
#define SERIES_DEVICES 16 /* devices with a series of their own */
#define SERIES_COUNT (SERIES_DEVICE + SERIES_DEVICES)

extern const char *const memory_category_names[MEMORY_CATEGORIES];

struct span_memory;

/* ---- memory.c ---- */

/* The number that a statement of one row gives. */
int count_rows(struct db *db, const char *statement, uint64_t *ret, struct ts_error *err);

/* ---- memory_pair.c ---- */

/* Writes lifetime_rows, lifetime_alias_rows and memory_device_rows without peaks. */
int memory_pair(struct db *db, struct execution_figures *f, uint64_t *ret_devices,
		struct ts_error *err);

/* ---- memory_thin.c: the lowest and the highest value of intervals ---- */

#define THIN_BUCKETS 10000
#define THIN_ROWS_MAX (2 * THIN_BUCKETS + 2)

struct thin_point {
	uint64_t no; /* of the point among all, from 0 */
	uint64_t time, value, ref;
	bool counts; /* can be the highest: for the logical plane, there was an allocation */
};

struct thin_bucket {
	struct thin_point low, high;
};

/* Intervals of `width` points each; when they are too many, neighbours become one. */
struct thinner {
	struct thin_bucket *buckets;
	size_t count, cap;
	uint64_t width, points;
	struct thin_point first, last;
};

/* points: not more will be added. */
int thin_init(struct thinner *t, uint64_t points, struct ts_error *err);
void thin_done(struct thinner *t);
void thin_clear(struct thinner *t);
void thin_add(struct thinner *t, struct thin_point p);

/* A point that was kept, with its interval. */
struct thin_row {
	uint64_t bucket, time, value, ref;
	bool counts;
};
/* All that is kept, in order, into rows[THIN_ROWS_MAX]; returns their number. */
size_t thin_rows(const struct thinner *t, struct thin_row *rows);
/* Rows as bytes, for which a value always counts, and back: the number of rows[THIN_ROWS_MAX], or
 * -1 for bytes that are none. */
void thin_pack(const struct thin_row *rows, size_t n, struct buf *out);
int thin_unpack(struct ts_str bytes, struct thin_row *rows);
/* Cuts rows of a series of `total` points down to at most `want`, in place: the first, the last,
 * and of each interval the lowest and the highest; of equal highest ones that at peak_time. */
size_t thin_cut(struct thin_row *rows, size_t n, uint64_t total, uint64_t want, uint64_t peak_time);

/* ---- memory_flow.c: starts and ends of lifetimes, point by point ---- */

struct flow_event {
	bool more;
	uint64_t time, bytes, category, device_no, span_no;
	bool instant; /* the end of a lifetime that began at the same time */
};

struct flow {
	struct query *times, *starts, *ends;
	struct flow_event time, start, end;
	struct buf device; /* of the last time, when devices are counted on the way */
	uint64_t device_no;
	bool by_device;
	const struct memory_choice *choice; /* NULL: all */
};

struct flow_user {
	int (*start)(struct flow_user *u, const struct flow_event *e, struct ts_error *err);
	int (*end)(struct flow_user *u, const struct flow_event *e, struct ts_error *err);
	int (*point)(struct flow_user *u, uint64_t time, struct ts_error *err);
};

/* In time order, or by_device: device by device. Both need lifetime_rows. */
int flow_open(struct db *db, bool by_device, const struct memory_choice *choice, struct flow *f,
	      struct ts_error *err);
void flow_done(struct flow *f);
/* One point: 1, or 0 when there is none left. */
int flow_step(struct flow *f, struct flow_user *u, struct ts_error *err);
/* All of it, or with by_device the next device; ends come before starts of the same time, and the
 * point behind both. */
int flow_run(struct flow *f, struct flow_user *u, struct ts_error *err);

bool choice_has(const struct memory_choice *c, uint64_t device_no, uint64_t category);

/* ---- memory_series.c: a series followed ---- */

struct series {
	struct memory_totals totals;
	unsigned __int128 live;
	struct thinner thin;
};

void series_start(struct series *s, uint64_t bytes);
void series_end(struct series *s, uint64_t bytes);
void series_point(struct series *s, uint64_t time);

/* ---- memory_peak.c: what was live at the peaks ---- */

struct peak_user {
	int (*device)(struct peak_user *u, unsigned series, uint64_t device_no, uint64_t bytes,
		      struct ts_error *err);
	int (*category)(struct peak_user *u, unsigned series, unsigned category, uint64_t bytes,
			struct ts_error *err);
	/* In the order of rank. */
	int (*largest)(struct peak_user *u, unsigned series, uint64_t lifetime,
		       struct ts_error *err);
};

/* totals[0..n): one series a place as above, or with a choice one series only. Sets live_count. */
int peaks_find(struct db *db, struct memory_totals *totals, unsigned n,
	       const struct memory_choice *choice, struct peak_user *u, struct ts_error *err);

/* ---- memory_span.c, memory_tree.c: memory of spans ---- */

/* events: about as many will be added; the working memory is made for them. */
int span_memory_open(struct db *db, uint64_t span_count, uint64_t events, struct span_memory **ret,
		     struct ts_error *err);
void span_memory_close(struct span_memory *m); /* takes NULL */
/* Does the span have an end, and lies the moment outside it? span_no from 1. */
bool span_memory_is_outside(const struct span_memory *m, uint64_t span_no, uint64_t time);
/* Events in time order; at one time ends first: those of lifetimes that began before it. */
int span_memory_add(struct span_memory *m, uint64_t time, bool start, bool instant, uint64_t bytes,
		    uint64_t span_no, struct ts_error *err);
/* Writes span_memory_rows. */
int span_memory_write(struct span_memory *m, struct db *db, struct ts_error *err);

/* The spans as a forest in preorder, the heavy child first; a ring of parents is one node. */
struct span_forest {
	uint32_t n;
	uint32_t *parent; /* 0: none; of a ring member that is not its node: the node */
	uint32_t *at;     /* at[place]: the span whose place that is */
	uint32_t *place;  /* of the span's node, from 0 */
	uint32_t *size;   /* spans of the node's subtree that are nodes */
	uint32_t *heavy;  /* child with the largest subtree, or 0 */
	uint32_t *top;    /* first of the path of heavy children that the span is on */
	uint32_t *member; /* further spans of the ring, linked; 0: the end */
};

/* parent[1..n] is owned from then on. */
int span_forest_build(struct span_forest *f, uint32_t *parent, uint32_t n, struct ts_error *err);
void span_forest_done(struct span_forest *f);

/* ---- memory_heaviest.c ---- */

/* Writes heavy_span_rows and heavy_op_rows, after span_memory_rows and span_figure_rows. kept: the
 * records, if each names a span that is there; or NULL. */
struct memory_kept;
int memory_heaviest(struct db *db, const struct memory_kept *kept, struct ts_error *err);

/* ---- memory_physical.c ---- */

int physical_figures(struct db *db, struct execution_figures *f, struct ts_error *err);

#endif
