/* reader.c: read-only connections, kept in two small pools: on the catalog and on run files */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "folder.h"
#include "tracespool/util.h"

static struct db *pool_take(struct store *st, struct pool *pool, const char *key)
{
	struct db *db = NULL;

	pthread_mutex_lock(&st->pool_lock);
	for (struct db **at = &pool->idle; *at; at = &(*at)->next) {
		if (strcmp((*at)->key, key) != 0)
			continue;
		db = *at;
		*at = db->next;
		pool->count--;
		break;
	}
	pthread_mutex_unlock(&st->pool_lock);
	return db;
}

/* Puts db in front; hands back one that is to be closed, or NULL. */
static struct db *pool_put(struct store *st, struct pool *pool, struct db *db)
{
	struct db *out = NULL;

	pthread_mutex_lock(&st->pool_lock);
	db->next = pool->idle;
	pool->idle = db;
	if (++pool->count > pool->max) {
		struct db **at = &pool->idle;

		while ((*at)->next)
			at = &(*at)->next;
		out = *at;
		*at = NULL;
		pool->count--;
	}
	pthread_mutex_unlock(&st->pool_lock);
	return out;
}

void pool_drain(struct pool *pool)
{
	while (pool->idle) {
		struct ts_error ignored = TS_ERROR_INIT;
		struct db *db = pool->idle;

		pool->idle = db->next;
		pool->count--;
		db_close(db, &ignored);
	}
}

static int lend(struct store *st, struct db *db, int64_t deadline_ms, struct db **ret)
{
	db->st = st;
	db->next = NULL;
	db_set_deadline(db, deadline_ms);
	*ret = db;
	return 0;
}

int store_catalog_db(struct store *st, int64_t deadline_ms, struct db **ret, struct ts_error *err)
{
	struct db *db = pool_take(st, &st->catalog_pool, "");
	char *file CLEAN(free_ptr) = NULL;

	if (db)
		return lend(st, db, deadline_ms, ret);
	if (asprintf(&file, "%s/catalog.db", st->path) < 0) {
		file = NULL;
		return ts_error_nomem(err);
	}
	if (db_open(file, SQLITE_OPEN_READWRITE, &db, err) < 0)
		return -1;
	/* Reading a log takes part in its shared index, so the file is opened for writing; nothing
	 * is written, and the log is not written back here (pitfall D1). */
	sqlite3_db_config(db->h, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_busy_timeout(db->h, 1000);
	if (db_exec(db, "pragma query_only = on; pragma wal_autocheckpoint = 0", err) < 0) {
		db_close(db, err);
		return -1;
	}
	return lend(st, db, deadline_ms, ret);
}

bool store_run_path(const char *digest, unsigned revision, char out[static RUN_PATH_MAX])
{
	if (strncmp(digest, "sha256:", 7) == 0)
		digest += 7;
	if (strlen(digest) != DIGEST_HEX || strspn(digest, "0123456789abcdef") != DIGEST_HEX)
		return false;
	int n = snprintf(out, RUN_PATH_MAX, "%.2s/%s-%u.db", digest, digest, revision);

	return n > 0 && n < RUN_PATH_MAX;
}

/* What a URI cannot hold is percent-encoded. */
char *store_file_uri(const struct store *st, const char *folder, const char *path)
{
	struct buf b CLEAN(buf_done) = BUF_INIT;

	buf_puts(&b, "file:");
	for (const char *p = st->path; *p; p++) {
		if (*p == '%' || *p == '?' || *p == '#')
			buf_printf(&b, "%%%02X", (unsigned char)*p);
		else
			buf_putc(&b, *p);
	}
	buf_printf(&b, "/%s/%s?immutable=1", folder, path);
	return b.failed ? NULL : buf_take(&b);
}

int store_open_file(struct store *st, const char *folder, const char *path, struct db **ret,
		    struct ts_error *err)
{
	char *uri CLEAN(free_ptr) = store_file_uri(st, folder, path);
	struct db *db;

	if (!uri)
		return ts_error_nomem(err);
	if (db_open(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, &db, err) < 0)
		return -1;
	if (db_exec(db,
		    "pragma query_only = on; pragma mmap_size = 33554432; "
		    "pragma cache_size = -1024; pragma temp_store = file",
		    err) < 0) {
		db_close(db, err);
		return -1;
	}
	*ret = db;
	return 0;
}

int store_run_db(struct store *st, const char *digest, unsigned revision, int64_t deadline_ms,
		 struct db **ret, struct ts_error *err)
{
	char path[RUN_PATH_MAX];
	struct stat s;

	if (!store_run_path(digest, revision, path))
		return ts_error_set(err, TS_E_UNKNOWN_RUN, "not a digest");
	const char *key = path + 3;
	struct db *db = pool_take(st, &st->run_pool, key);

	if (db)
		return lend(st, db, deadline_ms, ret);
	if (fstatat(st->runs_fd, path, &s, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return ts_error_set(err, TS_E_UNKNOWN_RUN, "the rows of the run are gone");
	if (store_open_file(st, "runs", path, &db, err) < 0)
		return -1;
	db->of_run = true;
	snprintf(db->key, sizeof(db->key), "%s", key);
	return lend(st, db, deadline_ms, ret);
}

void db_release(struct db *db)
{
	if (!db || !db->st)
		return;
	struct ts_error ignored = TS_ERROR_INIT;

	if (db->alone) {
		db_close(db, &ignored);
		return;
	}
	db_set_deadline(db, 0);
	db_close(pool_put(db->st, db->of_run ? &db->st->run_pool : &db->st->catalog_pool, db),
		 &ignored);
}

void db_releasep(struct db **db)
{
	db_release(*db);
}

void store_forget_run(struct store *st, const char *digest, unsigned revision)
{
	char path[RUN_PATH_MAX];
	struct db *db;

	if (!store_run_path(digest, revision, path))
		return;
	while ((db = pool_take(st, &st->run_pool, path + 3))) {
		struct ts_error ignored = TS_ERROR_INIT;

		db_close(db, &ignored);
	}
}
