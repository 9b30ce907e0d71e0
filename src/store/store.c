/* store.c: opening and closing the store: folders, lock, catalog connection, sizes */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "folder.h"
#include "tracespool/util.h"

enum {
	BUSY_MS = 2000, /* how long a write waits for a lock of another process */
	CATALOG_POOL = 8,
	RUN_POOL = 16,
	CHECKPOINT_BYTES = 256 * 1024, /* below this the log is left alone */
	/* Of what is locked. Reading permission is enough to hold a lock, and who may drop files
	 * must not be able to stop the service with one. SQLite gives log and index the same mode.
	 */
	LOCKED_MODE = 0600,
};

const char *store_network_file_system(long type)
{
	static const struct {
		unsigned long type;
		const char *name;
	} table[] = {
		{0x6969, "nfs"},      {0xff534d42, "cifs"},   {0xfe534d42, "smb2"},
		{0x517b, "smb"},      {0x564c, "ncp"},        {0x5346414f, "afs"},
		{0x73757245, "coda"}, {0x0bd00bd0, "lustre"}, {0x00c36400, "ceph"},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (((unsigned long)type & 0xffffffff) == table[i].type)
			return table[i].name;
	return NULL;
}

static int make_folder(int at, const char *name, int *ret_fd, struct ts_error *err)
{
	if (mkdirat(at, name, 0750) < 0 && errno != EEXIST)
		return ts_error_sys(err, TS_E_START, errno, "cannot make the store's folder %s",
				    name);
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return ts_error_sys(err, TS_E_START, errno, "cannot open the store's folder %s",
				    name);
	*ret_fd = fd;
	return 0;
}

/* What lies in tmp/ belonged to a daemon that is no more: the lock says so. */
static int empty_tmp(struct store *st, struct ts_error *err)
{
	int fd = openat(st->tmp_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		ts_error_sys(err, TS_E_START, errno, "cannot read the store's folder tmp");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	int result = 0;

	for (;;) {
		errno = 0;
		struct dirent *entry = readdir(dir);

		if (!entry) {
			if (errno)
				result = ts_error_sys(err, TS_E_START, errno,
						      "cannot read the store's folder tmp");
			break;
		}
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(st->tmp_fd, entry->d_name, 0) < 0 && errno != ENOENT) {
			result = ts_error_sys(err, TS_E_START, errno,
					      "cannot remove %.100s from the store's folder tmp",
					      entry->d_name);
			break;
		}
	}
	closedir(dir);
	return result;
}

static int lock_store(struct store *st, struct ts_error *err)
{
	st->lock_fd =
		openat(st->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, LOCKED_MODE);
	if (st->lock_fd < 0)
		return ts_error_sys(err, TS_E_START, errno, "cannot open the store's lock file");
	if (flock(st->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return ts_error_set(err, TS_E_STORE_IN_USE, "another process holds %s/lock",
				    st->path);
	return ts_error_sys(err, TS_E_START, errno, "cannot lock the store");
}

static int open_folders(struct store *st, const char *path, struct ts_error *err)
{
	if (make_folder(AT_FDCWD, path, &st->fd, err) < 0)
		return -1;
	struct statfs fs;

	if (fstatfs(st->fd, &fs) < 0)
		return ts_error_sys(err, TS_E_START, errno,
				    "cannot look at the store's file system");
	const char *network = store_network_file_system((long)fs.f_type);

	if (network)
		return ts_error_set(
			err, TS_E_START,
			"store.path lies on a network file system (%s), where the catalog "
			"is not safe",
			network);
	st->path = realpath(path, NULL);
	if (!st->path)
		return ts_error_sys(err, TS_E_START, errno, "cannot find the store's folder");
	if (lock_store(st, err) < 0 || make_folder(st->fd, "runs", &st->runs_fd, err) < 0 ||
	    make_folder(st->fd, "tmp", &st->tmp_fd, err) < 0 || empty_tmp(st, err) < 0)
		return -1;
	/* Sorting of large runs must not fill another file system (pitfall D9). */
	sqlite3_free(sqlite3_temp_directory);
	sqlite3_temp_directory = sqlite3_mprintf("%s/tmp", st->path);
	return sqlite3_temp_directory ? 0 : ts_error_nomem(err);
}

static int open_catalog(struct store *st, const struct store_options *options, struct ts_error *err)
{
	char *file CLEAN(free_ptr) = NULL;
	char sql[64];

	if (asprintf(&file, "%s/catalog.db", st->path) < 0) {
		file = NULL;
		return ts_error_nomem(err);
	}
	/* SQLite would make it readable for all. */
	int fd = openat(st->fd, "catalog.db", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			LOCKED_MODE);

	if (fd < 0)
		return ts_error_sys(err, TS_E_START, errno, "cannot open the catalog");
	close(fd);
	if (db_open(file, SQLITE_OPEN_READWRITE, &st->writer, err) < 0)
		return -1;
	sqlite3_busy_timeout(st->writer->h, BUSY_MS);
	snprintf(sql, sizeof(sql), "pragma journal_size_limit = %lld",
		 (long long)i64_from_u64_sat(st->wal_limit_bytes));
	if (store_migrate(st->writer, options->still_starting, options->arg, err) < 0 ||
	    db_exec(st->writer, "pragma wal_autocheckpoint = 0", err) < 0 ||
	    db_exec(st->writer, sql, err) < 0)
		return -1;
	return catalog_load_counters(st, err);
}

int store_open(const struct store_options *options, struct store **ret, struct ts_error *err)
{
	struct store *st = calloc(1, sizeof(*st));

	if (!st)
		return ts_error_nomem(err);
	st->fd = st->lock_fd = st->runs_fd = st->tmp_fd = -1;
	st->wal_limit_bytes = options->wal_limit_bytes;
	st->catalog_pool.max = CATALOG_POOL;
	st->run_pool.max = RUN_POOL;
	pthread_mutex_init(&st->write_lock, NULL);
	pthread_mutex_init(&st->pool_lock, NULL);
	pthread_mutex_init(&st->digest_lock, NULL);
	pthread_cond_init(&st->digest_free, NULL);
	if (open_folders(st, options->path, err) < 0 || open_catalog(st, options, err) < 0) {
		store_close(st);
		return -1;
	}
	*ret = st;
	return 0;
}

void store_close(struct store *st)
{
	struct ts_error ignored = TS_ERROR_INIT;

	if (!st)
		return;
	CHECK(!st->held);
	/* The writer goes last: the last connection writes the log back when it is closed, and
	 * what cannot be written back stays in the log for the next start. */
	pool_drain(&st->catalog_pool);
	pool_drain(&st->run_pool);
	runfile_drain(st);
	db_close(st->writer, &ignored);
	if (st->path && sqlite3_temp_directory &&
	    strncmp(sqlite3_temp_directory, st->path, strlen(st->path)) == 0) {
		sqlite3_free(sqlite3_temp_directory);
		sqlite3_temp_directory = NULL;
	}
	close_fd(&st->tmp_fd);
	close_fd(&st->runs_fd);
	close_fd(&st->lock_fd);
	close_fd(&st->fd);
	pthread_cond_destroy(&st->digest_free);
	pthread_mutex_destroy(&st->digest_lock);
	pthread_mutex_destroy(&st->pool_lock);
	pthread_mutex_destroy(&st->write_lock);
	free(st->path);
	free(st);
}

const char *store_path(const struct store *st)
{
	return st->path;
}

static uint64_t file_bytes(int at, const char *name)
{
	struct stat s;

	return fstatat(at, name, &s, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)s.st_size : 0;
}

int store_sizes(struct store *st, struct store_sizes *ret, struct ts_error *err)
{
	struct statvfs fs;

	if (fstatvfs(st->fd, &fs) < 0)
		return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot look at the store's disk");
	*ret = (struct store_sizes){
		.catalog_bytes = file_bytes(st->fd, "catalog.db"),
		.wal_bytes = file_bytes(st->fd, "catalog.db-wal"),
		.runs_bytes = atomic_load(&st->runs_bytes),
		.free_bytes = u64_mul_sat(fs.f_bavail, fs.f_frsize),
	};
	return 0;
}

int store_checkpoint_above(struct store *st, uint64_t bytes, struct ts_error *err)
{
	if (file_bytes(st->fd, "catalog.db-wal") < bytes)
		return 0;
	int rc = sqlite3_wal_checkpoint_v2(st->writer->h, "main", SQLITE_CHECKPOINT_PASSIVE, NULL,
					   NULL);

	/* Another process at work on the catalog is no reason to worry: next time. */
	if (rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY)
		return 0;
	return db_error(st->writer, rc, "checkpoint", err);
}

int store_checkpoint(struct store *st, struct ts_error *err)
{
	pthread_mutex_lock(&st->write_lock);
	int result = store_checkpoint_above(st, CHECKPOINT_BYTES, err);

	pthread_mutex_unlock(&st->write_lock);
	return result;
}

void store_note_write(struct store *st, const struct ts_error *err)
{
	const char *why = NULL;

	if (err && (ts_error_is(err, TS_E_DISK_FULL) || ts_error_is(err, TS_E_STORE_BUSY)))
		why = err->code->code;
	else if (err)
		return; /* not a condition of the store that lasts */
	atomic_store(&st->trouble, why);
}

uint64_t store_change_counter(struct store *st)
{
	return atomic_load(&st->change);
}

bool store_settled_counter(struct store *st, uint64_t *ret)
{
	if (atomic_load(&st->committing))
		return false;
	*ret = atomic_load(&st->change);
	return true;
}

uint64_t store_quarantine_count(struct store *st)
{
	return atomic_load(&st->quarantined);
}

int64_t store_last_ingested_ms(struct store *st)
{
	return atomic_load(&st->last_ingested_ms);
}

const char *store_trouble(struct store *st)
{
	return atomic_load(&st->trouble);
}
