/* memory_view.h: what the files of the memory documents share
 */
#ifndef ANALYZE_MEMORY_VIEW_H
#define ANALYZE_MEMORY_VIEW_H

#include "memory.h"

#define ROWS_A_PIECE 64
#define IDS_A_PIECE 256

struct live_map; /* live bytes by device and category, moved along the timeline */

struct picture {
	struct memory_choice choice;
	uint64_t *devices; /* of the choice */
	int series;        /* of the stored ones, or -1 */
	struct memory_totals totals;
	struct part {
		uint64_t no, bytes;
	} * parts; /* devices live at the peak */
	size_t part_count, part_cap;
	bool category_live[MEMORY_CATEGORIES];
	uint64_t category_bytes[MEMORY_CATEGORIES];
	uint64_t *largest; /* lifetimes */
	size_t largest_count;
	struct thin_row *rows;
	size_t row_count;
};

/* Stages return 1 to be called again, 0 when they are through, -1. */
struct memory_document {
	struct db *db;
	struct memory_ask ask;
	struct json_writer w;
	int (*const *stages)(struct memory_document *d, struct ts_error *err);
	unsigned stage;
	bool begun; /* the stage has opened its query and bracket */
	struct query *q, *tensors;
	bool in_item; /* the tensor ids of q's row are being written */
	size_t at;    /* of a list in memory */
	bool logical, physical;
	struct memory_totals totals;
	struct live_map *live;
	struct picture picture;
	uint64_t physical_total; /* samples that the timeline is made of */
	struct thin_row *samples;
	size_t sample_count;
};

typedef int stage_fn(struct memory_document *d, struct ts_error *err);

/* memory_lifetime.c: lifetimes as objects. Rows of d->q in the order of view_lifetimes; until: only
 * aliases up to that time; without end times if peak. 1 more of this row, 0 written. */
int lifetime_write(struct memory_document *d, bool peak, uint64_t until, struct ts_error *err);
/* A whole array of d->q's rows, piece by piece. */
int lifetimes_write(struct memory_document *d, bool peak, uint64_t until, struct ts_error *err);

/* memory_live.c: the timeline in full. */
stage_fn stage_timeline;
void live_free(struct live_map *live);

/* memory_picture.c */
extern stage_fn *const picture_stages[];
int picture_load(struct memory_document *d, struct ts_error *err);
void picture_done(struct memory_document *d);

/* memory_physical_view.c: sample rows. */
stage_fn stage_samples, stage_device_figures, stage_sample_columns;

/* memory_heaviest.c */
extern stage_fn *const heaviest_stages[];

/* memory_view.c */
int device_name(struct memory_document *d, uint64_t no, struct query **ret, struct ts_error *err);
void write_totals(struct json_writer *w, const struct memory_totals *t);
stage_fn stage_head, stage_tail, stage_by_device;

#endif
