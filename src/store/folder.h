/* folder.h: the open store: its folders, connections and counters */
#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

#include <pthread.h>
#include <stdatomic.h>

#include "db.h"

/* Given to SQLite as application_id of the catalog and of run files. */
#define CATALOG_APPLICATION_ID 0x74737063 /* tspc */
#define RUN_APPLICATION_ID 0x74737072     /* tspr */

/* "HH/HEX-REV.db" below runs/. */
#define RUN_PATH_MAX (3 + DIGEST_HEX + 16)

struct digest_hold;
struct image;
struct runfile;

struct pool {
	struct db *idle; /* newest first */
	unsigned count, max;
};

struct store {
	char *path; /* absolute */
	int fd, lock_fd, runs_fd, tmp_fd;
	uint64_t wal_limit_bytes;

	pthread_mutex_t write_lock; /* for the writer, and checkpoints */
	struct db *writer;

	pthread_mutex_t pool_lock;
	struct pool catalog_pool, run_pool;
	struct runfile *spare; /* blank ones, of both kinds */
	unsigned spare_count;

	pthread_mutex_t digest_lock;
	pthread_cond_t digest_free;
	struct digest_hold *held;

	atomic_uint_fast64_t change, quarantined, runs_bytes, made;
	atomic_int_fast64_t last_ingested_ms;
	_Atomic(const char *) trouble;
	atomic_bool committing; /* `change` may be that of before what can be read already */
};

/* Is this the f_type of a file system on which SQLite's locks and log are not safe? Its name. */
const char *store_network_file_system(long type);

/* Brings the catalog to the newest step. */
int store_migrate(struct db *db, void (*still_starting)(void *arg), void *arg,
		  struct ts_error *err);
/* The steps given instead of those compiled in; for tests too. */
struct sql_text;
int store_migrate_to(struct db *db, const struct sql_text *steps, void (*still_starting)(void *arg),
		     void *arg, struct ts_error *err);

/* Runs sql/run/KIND-PART.sql. */
int run_schema(struct db *db, enum run_kind kind, const char *part, struct ts_error *err);
/* An empty run file with all tables, indexes and views, for runs of few rows. */
int blank_image(enum run_kind kind, const struct image **ret, struct ts_error *err);
/* Closes what runfile_free kept for the next run. */
void runfile_drain(struct store *st);

/* The path of a run's file below runs/. False: not a digest. digest with or without "sha256:". */
bool store_run_path(const char *digest, unsigned revision, char out[static RUN_PATH_MAX]);
/* file: URI of a file in a folder of the store, one that never changes; malloc'd, NULL without
 * memory. */
char *store_file_uri(const struct store *st, const char *folder, const char *path);
/* A new connection on it, for reading only, of no pool. */
int store_open_file(struct store *st, const char *folder, const char *path, struct db **ret,
		    struct ts_error *err);
/* Closes idle connections on a run's file that goes away. */
void store_forget_run(struct store *st, const char *digest, unsigned revision);
void pool_drain(struct pool *pool);

/* Writes the log back if it is larger than that; the writer's lock is held. */
int store_checkpoint_above(struct store *st, uint64_t bytes, struct ts_error *err);
/* Notes how the last write went. */
void store_note_write(struct store *st, const struct ts_error *err);
/* Loads the counters at start. */
int catalog_load_counters(struct store *st, struct ts_error *err);

#endif
