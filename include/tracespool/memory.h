/* memory.h: the memory of an execution run as documents (candle-trace.md 11, http-api.md 3.6)
 *
 * The analysis writes what a picture needs beside the lifetimes: totals, peaks and thinned points
 * of all storages, of each category and of the first 16 devices. Other choices are worked out when
 * they are asked for, in time that grows with the trace: memory_is_ready tells.
 *
 * A document is written piece by piece, so its size does not matter.
 */
#ifndef TRACESPOOL_MEMORY_H
#define TRACESPOOL_MEMORY_H

#include "tracespool/store.h"
#include "tracespool/writer.h"

#define MEMORY_CATEGORIES 5
#define MEMORY_TOP_MAX 1000
#define MEMORY_POINTS_MIN 16
#define MEMORY_POINTS_MAX 10000

/* Figures of a choice of storages. The peak is there if there was an allocation. */
struct memory_totals {
	uint64_t point_count, storage_allocation_count, matched_storage_free_count,
		total_allocated_bytes;
	struct opt_u64 peak_live_bytes;
	uint64_t peak_timestamp_ns, peak_live_count;
};

/* Which storages: of these devices (numbers of memory_device_rows, rising) and categories (bits).
 * The devices decide as well which records make points. */
struct memory_choice {
	bool some_devices;
	const uint64_t *devices;
	size_t device_count;
	unsigned categories; /* all: (1 << MEMORY_CATEGORIES) - 1 */
};

enum memory_what {
	MEMORY_PICTURE,    /* http-api.md 3.6, from `logical` on */
	MEMORY_RESULT,     /* candle-trace.md 11 */
	MEMORY_FOOTPRINTS, /* 14.6 */
	MEMORY_HEAVIEST,   /* 14.5 */
};

struct memory_ask {
	enum memory_what what;
	const char *schema; /* of the document */
	struct ts_str id, entrypoint;
	/* of a picture; the names of devices, 0: all */
	const struct ts_str *device_names;
	size_t device_name_count;
	unsigned categories;
	bool logical, physical;
	uint64_t points, top;
	uint64_t limit; /* of footprints */
};

struct memory_document;

/* The number of a category's word, or -1. */
int memory_category(struct ts_str word);

/* Can the picture be given from what the analysis wrote? 1, 0, or -1. */
int memory_is_ready(struct db *db, const struct memory_ask *ask, struct ts_error *err);

/* db is borrowed until memory_document_close; the strings of ask too. */
int memory_document_open(struct db *db, const struct memory_ask *ask, enum json_numbers numbers,
			 struct memory_document **ret, struct ts_error *err);
void memory_document_close(struct memory_document *d); /* takes NULL */
/* Appends the next piece, compact: 1, or 0 when that was the last, -1. */
int memory_document_next(struct memory_document *d, struct buf *out, struct ts_error *err);

#endif
