/* conf.h: the settings: one table that parses, checks and prints them
 *
 * Built-in default < FILE < FILE's conf.d/ *.conf in name order < -o KEY=VALUE. Lines are
 * `key = value`; `#` at the beginning of a line or behind white space begins a comment; lists are
 * separated by spaces. Unknown and (within one file) repeated keys are errors with file and line;
 * each -o is a source of its own, so a later one wins. A missing default file is fine, a missing
 * file that was named is not. Paths are absolute and without a slash at the end; those of a -o may
 * be relative to the working folder.
 *
 * A struct conf is shared by all threads and does not change, but for five numbers that a reload
 * (HUP) stores: spool.idle_ms, spool.after, store.min_free_bytes, ingest.on_run_id_conflict and
 * ingest.salvage. Who reads these more than once in a process's life reads them through CONF_LIVE.
 */
#ifndef TRACESPOOL_CONF_H
#define TRACESPOOL_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tracespool/error.h"

enum conf_after { AFTER_ARCHIVE, AFTER_DELETE, AFTER_KEEP };
enum conf_conflict { CONFLICT_QUARANTINE, CONFLICT_REPLACE };
enum conf_switch { SWITCH_OFF, SWITCH_ON }; /* written as false, true */

/* Strings and lists are owned. */
struct conf {
	struct {
		char *path, *archive_path, *quarantine_path;
		uint64_t settle_ms, scan_ms, idle_ms;
		enum conf_after after;
	} spool;
	struct {
		char *path;
		uint64_t min_free_bytes, wal_limit_bytes;
	} store;
	struct {
		uint64_t workers; /* 0: one a core */
		enum conf_conflict on_run_id_conflict;
		enum conf_switch salvage;
	} ingest;
	struct {
		char **listen; /* "ADDRESS:PORT", NULL-ended; port 0: any free one */
		char *socket;  /* empty: none */
		uint64_t threads;
		char *base_path;
		char **hosts;
	} http;
	struct {
		uint64_t line_bytes, expansion_ratio, shards, queue, connections, streams, page_ms;
		uint64_t kept_bytes;
	} limits;
};

/* file NULL: the default file, which may be absent. options: texts "KEY=VALUE" of -o. Fills conf
 * (conf_done it in any case). */
int conf_load(struct conf *conf, const char *file, const char *const *options, unsigned count,
	      struct ts_error *err);
void conf_done(struct conf *conf);

/* All settings with their values, as a file that conf_load reads. defaults: each commented out,
 * with its one-line meaning (this is etc/tracespool.conf). */
void conf_print(const struct conf *conf, FILE *out, bool defaults);

/* One of the five numbers that a reload changes: CONF_LIVE(conf->spool.idle_ms). */
#define CONF_LIVE(member) __atomic_load_n(&(member), __ATOMIC_RELAXED)

/* Stores the settings that may change while the daemon runs from fresh into live. The keys of
 * others that differ, and so wait for the next start, go to ret_later (at most max); returns how
 * many. */
unsigned conf_reload(struct conf *live, const struct conf *fresh, const char **ret_later,
		     unsigned max);

/* The file that is read if none is named: sysconfdir/tracespool/tracespool.conf. */
const char *conf_default_file(void);

/* For tests and documents: the n-th key, its default as text and its meaning; NULL behind the last.
 */
const char *conf_key(unsigned n, const char **ret_default, const char **ret_meaning);

#endif
