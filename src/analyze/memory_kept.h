/* memory_kept.h: the memory records of a run that fits in memory, as columns
 *
 * Sorting them by storage, by start and by end in SQLite was half of the time of an ingest. Where
 * they fit they are read once, in file order; a run that is too large goes by the statements of
 * memory_pair.c and memory_flow.c, with the same results.
 */
#ifndef ANALYZE_MEMORY_KEPT_H
#define ANALYZE_MEMORY_KEPT_H

#include "tracespool/map.h"

#include "memory.h"

/* flags of a record */
enum {
	KEPT_CATEGORY = 7,
	KEPT_ALLOC = 8,
	KEPT_BEGINS = 16, /* a lifetime */
	KEPT_ENDS = 32,   /* the lifetime that record `alloc` began */
};
#define KEPT_NO_NAME UINT16_MAX

struct memory_kept {
	uint32_t n;             /* records, from 0; the rowid is one more */
	uint64_t *time, *bytes; /* nanoseconds, bytes */
	uint32_t *storage;      /* below `storages`, in the order of (device, storage id) */
	uint32_t *span;         /* number of the span; 0: no such span */
	uint32_t *alloc;
	uint32_t *order; /* the records by time, then as in the file; NULL: as they are */
	uint16_t *name;  /* op_name, number in names, or KEPT_NO_NAME */
	uint8_t *flags;
	uint32_t storages, devices;
	uint32_t *device;    /* of a storage: rank of the device, from 0 */
	uint32_t *device_at; /* of a rank: number in device_names */
	struct strmap device_names, names;
	struct strmap spans; /* ids; the number of the span is one more */
};

/* 1: all is there; 0: it would take more than max_bytes; -1. What the pairing needs, up to 12 bytes
 * a record, takes the place of the maps. */
int memory_kept_open(struct memory_kept *k, struct db *db, uint64_t records, size_t max_bytes,
		     struct ts_error *err);
void memory_kept_done(struct memory_kept *k);

/* memory_pair with the records at hand. */
int memory_kept_pair(struct memory_kept *k, struct db *db, const struct span_memory *spans,
		     struct execution_figures *f, struct ts_error *err);

/* flow_run over the records order[0..n), after memory_kept_pair; order NULL: 0 to n - 1. */
int memory_kept_flow(const struct memory_kept *k, const uint32_t *order, size_t n,
		     struct flow_user *u, struct ts_error *err);
/* The records device by device, in time order each, into order[n]; those of rank i begin at
 * begin[i] and end at begin[i + 1], begin has devices + 1 places. */
void memory_kept_by_device(const struct memory_kept *k, uint32_t *order, uint32_t *begin);

/* ---- memory_heaviest.c, memory_kept_heaviest.c ---- */

struct heavy_list;

/* Can an op of the span with that many bytes be among the first? Its id begins with the span's. */
bool heavy_can_enter(const struct heavy_list *list, struct ts_str span, uint64_t bytes);
int heavy_add_op(struct heavy_list *list, struct ts_str span, uint64_t index, struct ts_str name,
		 uint64_t bytes, struct ts_error *err);
/* Adds the ops that the lifetimes count for; each record names a span that is there. */
int memory_kept_heaviest(const struct memory_kept *k, struct db *db, struct heavy_list *list,
			 struct ts_error *err);

#endif
