/* memfile.c: the private database in memory: a file system of SQLite that holds one file each */
#include "memfile.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracespool/util.h"

enum {
	MEMORY_MAX = 4 * 1024 * 1024, /* above, the bytes move into a file */
	KEEP_MAX = 1024 * 1024,       /* of memory between two runs */
	COPY_BYTES = 64 * 1024,
};

struct memfile {
	sqlite3_file base; /* first */
	unsigned char *bytes;
	size_t size, room;
	sqlite3_file *spilled; /* where they are instead, or NULL */
};

static sqlite3_vfs *below; /* the one that has files */

static void drop_spilled(struct memfile *m)
{
	if (m->spilled && m->spilled->pMethods)
		m->spilled->pMethods->xClose(m->spilled);
	free(TAKE(m->spilled));
}

/* A file without a name is removed when it is closed, or by the system. */
static int spill(struct memfile *m)
{
	sqlite3_file *file = calloc(1, (size_t)below->szOsFile);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE |
		    SQLITE_OPEN_DELETEONCLOSE | SQLITE_OPEN_TEMP_DB;

	if (!file)
		return SQLITE_NOMEM;
	int rc = below->xOpen(below, NULL, file, flags, &flags);

	m->spilled = file;
	/* SQLite's own files take at most 128 KiB at once. */
	for (size_t at = 0; rc == SQLITE_OK && at < m->size; at += COPY_BYTES) {
		size_t n = m->size - at < COPY_BYTES ? m->size - at : COPY_BYTES;

		rc = file->pMethods->xWrite(file, m->bytes + at, (int)n, (sqlite3_int64)at);
	}
	if (rc != SQLITE_OK) {
		drop_spilled(m);
		return rc;
	}
	free(TAKE(m->bytes));
	m->size = m->room = 0;
	return SQLITE_OK;
}

static int grow(struct memfile *m, size_t size)
{
	size_t room = m->room ? m->room : (size_t)COPY_BYTES;

	while (room < size)
		room *= 2;
	unsigned char *bytes = realloc(m->bytes, room);

	if (!bytes)
		return SQLITE_IOERR_NOMEM;
	m->bytes = bytes;
	m->room = room;
	return SQLITE_OK;
}

static int file_close(sqlite3_file *file)
{
	struct memfile *m = (struct memfile *)file;

	drop_spilled(m);
	free(TAKE(m->bytes));
	return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
	struct memfile *m = (struct memfile *)file;
	size_t want = (size_t)n, have = 0;

	if (m->spilled)
		return m->spilled->pMethods->xRead(m->spilled, to, n, at);
	if ((size_t)at < m->size)
		have = m->size - (size_t)at < want ? m->size - (size_t)at : want;
	if (have)
		memcpy(to, m->bytes + at, have);
	if (have == want)
		return SQLITE_OK;
	memset((unsigned char *)to + have, 0, want - have);
	return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
	struct memfile *m = (struct memfile *)file;
	size_t begin = (size_t)at, end = begin + (size_t)n;
	int rc = SQLITE_OK;

	if (!m->spilled && end > MEMORY_MAX)
		rc = spill(m);
	if (rc == SQLITE_OK && m->spilled)
		return m->spilled->pMethods->xWrite(m->spilled, from, n, at);
	if (rc == SQLITE_OK && end > m->room)
		rc = grow(m, end);
	if (rc != SQLITE_OK)
		return rc;
	if (begin > m->size)
		memset(m->bytes + m->size, 0, begin - m->size);
	memcpy(m->bytes + begin, from, (size_t)n);
	if (end > m->size)
		m->size = end;
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct memfile *m = (struct memfile *)file;

	if (m->spilled)
		return m->spilled->pMethods->xTruncate(m->spilled, size);
	if ((size_t)size < m->size)
		m->size = (size_t)size;
	return SQLITE_OK;
}

static int file_sync(sqlite3_file *file, int flags)
{
	(void)file, (void)flags;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	struct memfile *m = (struct memfile *)file;

	if (m->spilled)
		return m->spilled->pMethods->xFileSize(m->spilled, ret);
	*ret = (sqlite3_int64)m->size;
	return SQLITE_OK;
}

/* Nobody else can see the file. */
static int file_lock(sqlite3_file *file, int lock)
{
	(void)file, (void)lock;
	return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *file, int *ret)
{
	(void)file;
	*ret = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
	(void)file, (void)op, (void)arg;
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *file)
{
	(void)file;
	return 512;
}

static int file_traits(sqlite3_file *file)
{
	(void)file;
	return SQLITE_IOCAP_ATOMIC | SQLITE_IOCAP_SAFE_APPEND | SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods file_methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_lock,
	.xCheckReservedLock = file_is_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_traits,
};

/* Sorting of many rows and the like have files as ever. */
static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		    int *ret_flags)
{
	struct memfile *m = (struct memfile *)file;

	(void)vfs;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return below->xOpen(below, name, file, flags, ret_flags);
	*m = (struct memfile){.base.pMethods = &file_methods};
	if (ret_flags)
		*ret_flags = flags;
	return SQLITE_OK;
}

/* There is no journal and no log beside it. */
static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs, (void)name, (void)sync;
	return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
	(void)vfs, (void)name, (void)flags;
	*ret = 0;
	return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	(void)vfs;
	sqlite3_snprintf(size, out, "%s", name);
	return SQLITE_OK;
}

static int vfs_random(sqlite3_vfs *vfs, int n, char *out)
{
	(void)vfs;
	return below->xRandomness(below, n, out);
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
	(void)vfs;
	return below->xSleep(below, us);
}

static int vfs_time(sqlite3_vfs *vfs, double *ret)
{
	(void)vfs;
	return below->xCurrentTime(below, ret);
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *out)
{
	(void)vfs;
	return below->xGetLastError ? below->xGetLastError(below, size, out) : 0;
}

static sqlite3_vfs memory_vfs = {
	.iVersion = 1,
	.mxPathname = 64,
	.zName = "tracespool-memory",
	.xOpen = vfs_open,
	.xDelete = vfs_delete,
	.xAccess = vfs_access,
	.xFullPathname = vfs_full_name,
	.xRandomness = vfs_random,
	.xSleep = vfs_sleep,
	.xCurrentTime = vfs_time,
	.xGetLastError = vfs_last_error,
};

static void register_vfs(void)
{
	below = sqlite3_vfs_find(NULL);
	if (!below)
		return;
	memory_vfs.szOsFile = below->szOsFile > (int)sizeof(struct memfile)
				      ? below->szOsFile
				      : (int)sizeof(struct memfile);
	if (sqlite3_vfs_register(&memory_vfs, 0) != SQLITE_OK)
		below = NULL;
}

static struct memfile *file_of(struct db *db)
{
	sqlite3_file *file = NULL;

	CHECK(sqlite3_file_control(db->h, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK &&
	      file && file->pMethods == &file_methods);
	return (struct memfile *)file;
}

int memfile_reset(struct db *db, const struct image *image, struct ts_error *err)
{
	struct memfile *m = file_of(db);

	drop_spilled(m);
	m->size = 0;
	if (m->room > KEEP_MAX) {
		free(TAKE(m->bytes));
		m->room = 0;
	}
	if ((size_t)image->size > m->room && grow(m, (size_t)image->size) != SQLITE_OK)
		return ts_error_nomem(err);
	memcpy(m->bytes, image->bytes, (size_t)image->size);
	m->size = (size_t)image->size;
	return 0;
}

int memfile_open(const struct image *image, struct db **ret, struct ts_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct db *db;

	pthread_once(&once, register_vfs);
	if (!below)
		return ts_error_set(err, TS_E_INTERNAL, "SQLite has no file system");
	if (db_open_in("run", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, memory_vfs.zName, &db,
		       err) < 0)
		return -1;
	if (memfile_reset(db, image, err) < 0) {
		db_close(db, err);
		return -1;
	}
	*ret = db;
	return 0;
}

static int write_all(int fd, const unsigned char *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : EIO;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

static int copy_spilled(sqlite3_file *from, int fd, struct ts_error *err)
{
	CLEAN(free_ptr) unsigned char *block = malloc(COPY_BYTES);
	sqlite3_int64 size = 0;
	int rc = from->pMethods->xFileSize(from, &size);

	if (!block)
		return ts_error_nomem(err);
	for (sqlite3_int64 at = 0; rc == SQLITE_OK && at < size;) {
		int n = size - at < COPY_BYTES ? (int)(size - at) : COPY_BYTES;

		rc = from->pMethods->xRead(from, block, n, at);
		int sys = rc == SQLITE_OK ? write_all(fd, block, (size_t)n) : 0;

		if (sys)
			return ts_error_sys(err, TS_E_INTERNAL, sys, "cannot write a run file");
		at += n;
	}
	return rc == SQLITE_OK ? 0 : db_error(NULL, rc, "cannot read a run back", err);
}

int memfile_write(struct db *db, int fd, struct ts_error *err)
{
	struct memfile *m = file_of(db);

	if (m->spilled)
		return copy_spilled(m->spilled, fd, err);
	int sys = write_all(fd, m->bytes, m->size);

	return sys ? ts_error_sys(err, TS_E_INTERNAL, sys, "cannot write a run file") : 0;
}
