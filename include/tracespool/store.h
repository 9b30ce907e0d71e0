/* store.h: the catalog, one immutable file a run, and prepared statements on both
 *
 * Only src/store knows SQLite. Others use: struct store (the folder), struct db (a connection),
 * struct query (a named statement of sql/queries), struct runfile (a run being built) and
 * struct list (a page query as data, see list.h).
 *
 * Values of u64 columns: up to 2^63-1 INTEGER, above an 8-byte big-endian BLOB; query_bind_u64 and
 * query_u64 do that. Errors: store_busy, disk_full, store_damaged, store_newer, store_in_use,
 * internal, with err->sql set.
 */
#ifndef TRACESPOOL_STORE_H
#define TRACESPOOL_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracespool/buf.h"
#include "tracespool/digest.h"
#include "tracespool/error.h"
#include "tracespool/rows.h"
#include "tracespool/text.h"

#define STORE_RUN_REVISION 1 /* of the tables and views of a run file */
#define STORE_RUN_ID_MAX 512 /* bytes (http-api.md 2.2) */

struct store;
struct db;
struct query;

struct store_options {
	const char *path; /* made if its parent exists (mode 0750) */
	uint64_t wal_limit_bytes;
	void (*still_starting)(void *arg); /* called while a migration runs; may be NULL */
	void *arg;
};

/* Opens or makes the store: lock file, catalog (migrated to the newest step), runs/, tmp/
 * (emptied). Refuses network file systems. SQLite's temporary files go to tmp/. */
int store_open(const struct store_options *options, struct store **ret, struct ts_error *err);
void store_close(struct store *st);
const char *store_path(const struct store *st);

/* Removes run files that the catalog does not name. To be called once, before any worker runs. */
int store_remove_orphans(struct store *st, unsigned *ret_removed, struct ts_error *err);

/* Bytes of catalog.db, its log, all run files; free bytes of the file system. Cheap: kept counts.
 */
struct store_sizes {
	uint64_t catalog_bytes, wal_bytes, runs_bytes, free_bytes;
};
int store_sizes(struct store *st, struct store_sizes *ret, struct ts_error *err);

/* Writes the log back into the catalog when it has grown; under the writer's lock. */
int store_checkpoint(struct store *st, struct ts_error *err);

/* ---- connections and statements ---- */

/* Borrows a read-only connection, to be given back by the same thread or one that it was handed
 * to. The catalog's sees the newest commit; a run's file never changes. deadline_ms (monotonic, 0:
 * none) makes later steps fail with store_busy. store_run_db fails with unknown_run if the file is
 * gone. */
int store_catalog_db(struct store *st, int64_t deadline_ms, struct db **ret, struct ts_error *err);
int store_run_db(struct store *st, const char *digest, unsigned revision, int64_t deadline_ms,
		 struct db **ret, struct ts_error *err);
void db_release(struct db *db); /* takes NULL */
void db_releasep(struct db **db);
/* A new deadline, for streams that take their time. */
void db_set_deadline(struct db *db, int64_t deadline_ms);

/* Prepares the named statement of sql/queries (names are checked by a test, a wrong one aborts). */
int query_open(struct db *db, const char *name, struct query **ret, struct ts_error *err);
void query_close(struct query *q); /* takes NULL */
void query_closep(struct query **q);
/* Parameters count from 1. The bytes are borrowed until the next step, reset or close. */
void query_bind_u64(struct query *q, int i, uint64_t v);
void query_bind_i64(struct query *q, int i, int64_t v);
void query_bind_double(struct query *q, int i, double v);
void query_bind_str(struct query *q, int i, struct ts_str s); /* no value: NULL */
void query_bind_blob(struct query *q, int i, const void *p, size_t n);
void query_bind_null(struct query *q, int i);
/* For the table numbers(?N) of a statement: its rows no, place of a list that is borrowed until it
 * is bound anew. In the order of no they are read fastest. */
#define NUMBERED(no, place) ((uint64_t)(no) << 32 | (uint32_t)(place))
#define NUMBERED_NO(v) ((uint32_t)((v) >> 32))
#define NUMBERED_PLACE(v) ((uint32_t)(v))
void query_bind_numbers(struct query *q, int i, const uint64_t *v, size_t n);
/* 1: a row; 0: the end, or done; -1: error. */
int query_step(struct query *q, struct ts_error *err);
void query_reset(struct query *q); /* for another round; bindings stay */
/* Columns count from 0. Texts and blobs are borrowed until the next step. */
bool query_is_null(struct query *q, int i);
uint64_t query_u64(struct query *q, int i); /* 0 for NULL */
int64_t query_i64(struct query *q, int i);
double query_double(struct query *q, int i);
struct ts_str query_str(struct query *q, int i); /* also blobs; NULL: no value */
struct opt_u64 query_opt_u64(struct query *q, int i);
/* Type and value of a column at once, for those who write many rows. */
struct query_value {
	enum query_type { QUERY_NULL, QUERY_INTEGER, QUERY_DOUBLE, QUERY_TEXT, QUERY_BLOB } type;
	union {
		int64_t integer;
		double real;
		struct ts_str str; /* TEXT, BLOB: borrowed until the next step */
	};
};
struct query_value query_value(struct query *q, int i);
/* Of n columns. */
void query_values(struct query *q, const int *columns, size_t n, struct query_value *ret);
uint64_t query_value_u64(const struct query_value *v); /* as query_u64 */
struct opt_double query_opt_double(struct query *q, int i);

/* ---- building a run file ---- */

struct runfile;

/* A private database in tmp/ (st NULL: an anonymous one that vanishes at the end, for `check`).
 * size_hint: bytes of the source, decides the page size. */
int runfile_create(struct store *st, enum run_kind kind, uint64_t size_hint, struct runfile **ret,
		   struct ts_error *err);
/* Abandons: closes and unlinks unless published. Takes NULL. */
void runfile_free(struct runfile *rf);
void runfile_freep(struct runfile **rf);
struct sink *runfile_sink(struct runfile *rf);
/* From now on what is done in the file, rows, analysis and indexes, ends with shutting_down soon
 * after *stop was set. Borrowed; NULL: never. */
void runfile_stop_on(struct runfile *rf, const atomic_bool *stop);
/* Writes what is batched. The connection then serves analysis, which may also write. */
int runfile_flush(struct runfile *rf, struct ts_error *err);
struct rows_seen runfile_seen(const struct runfile *rf); /* before runfile_seal */
struct db *runfile_db(struct runfile *rf); /* borrowed; until runfile_seal or runfile_free */
/* Makes the indexes and views. */
int runfile_index(struct runfile *rf, struct ts_error *err);
/* The finished file of a run on its way to its name: complete, nothing synced. What it borrows from
 * is the store alone; the runfile may go, and small ones that follow begin with its connection. */
struct sealed;
/* digest with or without "sha256:". Only runfile_free may follow. */
int runfile_seal(struct runfile *rf, const char *digest, unsigned revision, struct sealed **ret,
		 struct ts_error *err);
/* Renames each to runs/HH/DIGEST-REV.db (HH: first two digits), syncs files and folders, all at
 * once. errs[i] has no code where all of that worked. No run is visible before its catalog commit.
 */
void sealed_publish(struct sealed *const *all, struct ts_error *errs, size_t n);
uint64_t sealed_bytes(const struct sealed *s);
void sealed_free(struct sealed *s); /* unlinks unless published or renamed; takes NULL */
/* Both, for one. */
int runfile_publish(struct runfile *rf, const char *digest, unsigned revision, uint64_t *ret_bytes,
		    struct ts_error *err);

/* One worker at a time for one digest: blocks until the digest is free. Held over look-up, publish
 * and commit, so the same bytes dropped twice at once become a run and a duplicate. Who holds
 * others already must not wait for one. */
int store_digest_lock(struct store *st, const char *digest, struct ts_error *err);
/* The same without blocking: 1 held now; 0 it is not free; -1 err. */
int store_digest_try(struct store *st, const char *digest, struct ts_error *err);
void store_digest_unlock(struct store *st, const char *digest);
/* Removes the file of a run that the catalog does not name (a commit that did not go through). */
int store_unlink_run(struct store *st, const char *digest, unsigned revision, struct ts_error *err);

/* ---- catalog ---- */

/* A run as the catalog holds it. For reading the strings are owned by the record; for writing
 * they are borrowed from the caller. Texts with NULL p and opt_* without has are unknown. */
struct run_record {
	uint64_t no; /* 0 before the commit */
	struct ts_str id;
	enum run_kind kind;
	char digest[DIGEST_TEXT + 1]; /* "sha256:..." */
	unsigned revision;
	struct ts_str name; /* of the drop */
	struct ts_str owner;
	struct ts_str entrypoint, phase, device, outcome, correlation_id, trace_schema, model_one;
	struct ts_str capture; /* for writing: prefix of a segment; read: name of its recording */
	struct opt_u64 segment;
	int structurally_valid; /* 1, 0, or -1 not known */
	bool has_captured;
	int64_t captured_ms, ingested_ms;
	struct ts_str tags;   /* compact JSON object of strings, or no value */
	struct ts_str models; /* compact JSON object model -> number of requests, or no value */
	struct opt_u64 total_ns, span_count, op_count, logical_peak_bytes, requests, tools,
		sessions, first_start_ms;
	struct opt_u64 last_end_ms; /* of a segment; not filled by lookups */
	struct ts_str source;       /* compact JSON object (http-api.md 3.2) */
	struct ts_str meta;         /* compact JSON object of an execution run, or no value */
	struct ts_str replay_error; /* lowering class when no rows exist, or no value */
	struct opt_u64 trace_block_size, unreplayable_rows;
	struct ts_str mode;         /* of a request run */
	struct ts_str issues;       /* compact JSON array: health.issues, the receipt's warnings */
	struct ts_str summary;      /* compact JSON with a newline; not filled by lookups */
	struct ts_str summary_gzip; /* the same as one gzip member, or no value; nor this */
	bool pinned;
	/* Of a run that is being made and was salvaged: what was damaged and where, one sentence
	 * for the issue. Not stored by itself, no value in lookups. */
	struct ts_str salvaged;
	void *owned; /* memory of a record that was read; run_record_done frees it */
};
void run_record_done(struct run_record *r);

/* A receipt as the catalog holds it: the whole JSON and what is filtered by. */
struct receipt_record {
	uint64_t no;                /* 0: a new one, set by the commit */
	struct ts_str name;         /* raw bytes of the drop's name */
	const char *digest;         /* "sha256:..." or NULL */
	struct ts_str owner, state; /* ingested, duplicate, quarantined, failed */
	struct ts_str code;         /* of the reason, or no value */
	int64_t seen_ms, final_ms;  /* final_ms 0: not final */
	struct ts_str run_id;       /* or no value */
	struct ts_str
		source_path; /* where the source goes, below the spool or absolute; or no value */
	struct ts_str json;  /* compact, without newline */
	uint64_t dev, ino, size; /* of the drop, for spool.after = keep */
	int64_t mtime_ns;
	bool kept; /* the source stays in place */
	void *owned;
};
void receipt_record_done(struct receipt_record *r);

/* What stands in the way of a commit, looked at inside its transaction. */
enum commit_result {
	COMMIT_DONE,
	COMMIT_DUPLICATE, /* a run of this digest is there; *ret_other names it */
	COMMIT_CONFLICT,  /* another run has this id; *ret_other names its digest */
};

/* Builds the receipt when its number, and with a duplicate the run's id, are known; called inside
 * the transaction, must be quick, and must set all of r but no. */
typedef int (*receipt_build_fn)(void *arg, uint64_t no, enum commit_result result,
				const struct run_record *other, struct receipt_record *r,
				struct ts_error *err);

/* One transaction: run and receipt. With COMMIT_DUPLICATE and COMMIT_CONFLICT the run is not
 * added, but the receipt that build() makes for that result is. replace: a conflict removes the
 * older run instead (tombstone `replaced`). With run NULL only the receipt is written (refusals,
 * failures). Older receipts of the name in state failed are superseded: removed. ret_other may be
 * NULL; else run_record_done it. */
int catalog_commit(struct store *st, const struct run_record *run, bool replace,
		   receipt_build_fn build, void *arg, enum commit_result *ret_result,
		   struct run_record *ret_other, struct ts_error *err);

/* Several of these in one transaction: what fails is left out and has err set, alone where the rest
 * can stand. */
#define CATALOG_ITEMS_MAX 64
struct catalog_item {
	const struct run_record *run;
	receipt_build_fn build;
	void *arg;
	/* Results. other: of a duplicate or conflict without err; run_record_done it. */
	enum commit_result result;
	struct run_record other;
	struct ts_error err;
};
void catalog_commit_all(struct store *st, struct catalog_item *items, size_t n, bool replace);

/* Removes receipt `no` if it is in state failed: the drop went away. No such one is fine. */
int catalog_forget_failed(struct store *st, uint64_t no, struct ts_error *err);
/* The first receipt in state failed with a number above `after`. 1 found, 0 none. */
int catalog_next_failed(struct db *db, uint64_t after, struct receipt_record *ret,
			struct ts_error *err);

/* Replaces the JSON (and state, path) of receipt r->no. */
int catalog_update_receipt(struct store *st, const struct receipt_record *r, struct ts_error *err);

/* Newest receipt of a name (raw bytes) seen at or after after_ms, or of a digest. 1 found, 0 none.
 */
int catalog_receipt_by_name(struct db *db, struct ts_str name, int64_t after_ms,
			    struct receipt_record *ret, struct ts_error *err);
int catalog_receipt_by_digest(struct db *db, const char *digest, int64_t after_ms,
			      struct receipt_record *ret, struct ts_error *err);
/* The newest receipt in state ingested of a digest: it tells where the source of the run is. */
int catalog_receipt_of_run(struct db *db, const char *digest, struct receipt_record *ret,
			   struct ts_error *err);
int catalog_receipt_by_no(struct db *db, uint64_t no, struct receipt_record *ret,
			  struct ts_error *err);

/* A drop that stays in place (spool.after = keep) and was taken before. 1 known, 0 not. */
int catalog_is_kept(struct db *db, struct ts_str name, uint64_t ino, uint64_t size,
		    int64_t mtime_ns, struct ts_error *err);

/* A run by id, by full digest, or by "sha256:" and 12 to 64 digits. 1 found, 0 none, -1 error
 * (ambiguous_id, run_removed with the message naming when and why). */
int catalog_run(struct db *db, struct ts_str id, struct run_record *ret, struct ts_error *err);
int catalog_run_by_digest(struct db *db, const char *digest, struct run_record *ret,
			  struct ts_error *err);
/* The stored summary, plain or gzip, as the bytes to send; appended to out. */
int catalog_summary(struct db *db, uint64_t run_no, bool gzip, struct buf *out, bool *ret_gzip,
		    struct ts_error *err);

/* Grows by one with each commit that a list can show. From memory. */
uint64_t store_change_counter(struct store *st);
/* The same for those who keep what they have read: false while a commit goes through, when the
 * counter may still be that of before. */
bool store_settled_counter(struct store *st, uint64_t *ret);
/* Number of receipts in state quarantined; time of the newest ingest (0: none). From memory. */
uint64_t store_quarantine_count(struct store *st);
int64_t store_last_ingested_ms(struct store *st);
/* Why the last write failed, or NULL when it worked: "disk_full", "store_busy". */
const char *store_trouble(struct store *st);

#endif
