/* load.h: the one way from the bytes of a drop to rows, for ingest and for check */
#ifndef TRACESPOOL_INGEST_LOAD_H
#define TRACESPOOL_INGEST_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracespool/buf.h"
#include "tracespool/conf.h"
#include "tracespool/error.h"
#include "tracespool/input.h"
#include "tracespool/rows.h"
#include "tracespool/spool.h"
#include "tracespool/store.h"

struct load_watch {
	const atomic_bool *stop; /* set: give up with shutting_down; may be NULL */
	/* Called now and then with the bytes read so far; may be NULL. */
	void (*tick)(void *arg, uint64_t done);
	void *arg;
};

struct load_shard {
	struct input_facts facts;
	uint64_t lines;
	int64_t mtime_ms;
};

struct load {
	const struct claim *claim; /* borrowed */
	bool known;                /* a format was picked: kind, counts and rf count */
	enum run_kind kind;
	struct runfile *rf; /* holds the rows, not yet flushed */
	struct trace_counts counts;
	char digest[DIGEST_TEXT + 1]; /* empty: not known */
	struct load_shard *shards;    /* as many as were read to their end */
	size_t shard_count;
	uint64_t file_bytes;    /* of those */
	struct ts_error damage; /* salvaged: what it would be refused for; code NULL: it is whole */
	struct ts_str run_id;   /* no value before it is known */
	struct arena keep;
};

/* Reads the whole drop. 0: accepted, everything in l is set. -1: err; with a fate of refuse the
 * digest is set if the file could be read to its end. st NULL: rows go to a file that vanishes.
 * salvage: what stands before the damage of the last shard is taken, if there is something; the
 * digest is that of the file all the same. */
int load_run(struct load *l, struct store *st, const struct claim *claim, const struct conf *conf,
	     bool salvage, const struct load_watch *watch, struct ts_error *err);
void load_done(struct load *l);

/* Only the digest. */
int load_digest(const struct claim *claim, const struct conf *conf, const struct load_watch *watch,
		char out[static DIGEST_TEXT + 1], struct ts_error *err);

/* ---- salvage.c ---- */

/* Is that damage behind which nothing is lost that could be read? last_line: nothing follows the
 * line that the reason is about. */
bool salvage_accepts(const struct ts_error *reason, bool last_line);
/* Does this verdict on what was taken say that nothing was? */
bool salvage_is_void(const struct ts_error *why);
/* One sentence about l->damage with its place; *ret stays as it is if there is none. */
int salvage_describe(const struct load *l, struct arena *keep, struct ts_str *ret,
		     struct ts_error *err);

/* The name of shard n (of a file: of the drop). */
const char *load_shard_name(const struct claim *claim, size_t n);

#endif
