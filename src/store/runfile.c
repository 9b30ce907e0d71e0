/* runfile.c: builds the file of one run: private, indexed at the end, synced, renamed */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch.h"
#include "folder.h"
#include "sql.h"
#include "tracespool/util.h"

/* What a drop may have to be of few rows, and to be worth small pages. */
#define BLANK_BYTES ((uint64_t)256 << 10)
#define SMALL_BYTES ((uint64_t)1 << 20)

struct runfile {
	struct sink sink; /* first: the sink is the run file */
	struct store *st; /* NULL: anonymous */
	enum run_kind kind;
	struct db *db;
	int fd; /* of the private file; -1: anonymous */
	char name[48];
	bool blank; /* begun with all indexes */
	bool indexed, published;
	struct batch *batches[ROW_KIND_COUNT];
};

static int take_row(struct sink *sink, enum row_kind kind, const void *row, struct ts_error *err)
{
	struct runfile *rf = (struct runfile *)sink;

	CHECK(rf->batches[kind]);
	return batch_add(rf->batches[kind], row, err);
}

static int make_private(struct runfile *rf, struct ts_error *err)
{
	snprintf(rf->name, sizeof(rf->name), "run-%llu.db",
		 (unsigned long long)atomic_fetch_add(&rf->st->made, 1));
	rf->fd = openat(rf->st->tmp_fd, rf->name,
			O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (rf->fd < 0)
		return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot make a run file");
	return 0;
}

static int open_private(struct runfile *rf, uint64_t size_hint, struct ts_error *err)
{
	char *file CLEAN(free_ptr) = NULL;
	char sql[320];
	bool small = size_hint < SMALL_BYTES;

	rf->blank = size_hint < BLANK_BYTES;
	if (rf->st && make_private(rf, err) < 0)
		return -1;
	if (rf->blank && rf->st && blank_write(rf->fd, rf->kind, err) < 0)
		return -1;
	if (rf->st && asprintf(&file, "%s/tmp/%s", rf->st->path, rf->name) < 0) {
		file = NULL;
		return ts_error_nomem(err);
	}
	/* Without a name SQLite makes a file of its own that vanishes. */
	if (db_open(file ? file : "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &rf->db, err) < 0)
		return -1;
	if (rf->blank && !rf->st && blank_copy(rf->db, rf->kind, err) < 0)
		return -1;
	snprintf(sql, sizeof(sql),
		 "pragma page_size = %d; pragma journal_mode = off; pragma synchronous = off; "
		 "pragma locking_mode = exclusive; pragma cache_size = %d; "
		 "pragma temp_store = file; pragma application_id = %d; pragma user_version = %d; "
		 "begin",
		 small ? 4096 : 16384, small ? -2048 : -4096, RUN_APPLICATION_ID,
		 STORE_RUN_REVISION);
	return db_exec(rf->db, sql, err);
}

int run_schema(struct db *db, enum run_kind kind, const char *part, struct ts_error *err)
{
	char name[32];

	snprintf(name, sizeof(name), "%s-%s", kind == RUN_EXECUTION ? "execution" : "requests",
		 part);
	const char *sql = sql_find(sql_run_texts, name);

	CHECK(sql);
	return db_exec(db, sql, err);
}

int runfile_create(struct store *st, enum run_kind kind, uint64_t size_hint, struct runfile **ret,
		   struct ts_error *err)
{
	struct runfile *rf = calloc(1, sizeof(*rf));

	if (!rf)
		return ts_error_nomem(err);
	rf->sink.row = take_row;
	rf->st = st;
	rf->kind = kind;
	rf->fd = -1;
	if (open_private(rf, size_hint, err) < 0 ||
	    (!rf->blank && run_schema(rf->db, kind, "tables", err) < 0))
		goto fail;
	for (unsigned i = 0; i < ROW_KIND_COUNT; i++)
		if (row_shapes[i].kind == kind &&
		    batch_new(rf->db, &row_shapes[i], &rf->batches[i], err) < 0)
			goto fail;
	*ret = rf;
	return 0;
fail:
	runfile_free(rf);
	return -1;
}

static void drop_batches(struct runfile *rf)
{
	for (unsigned i = 0; i < ROW_KIND_COUNT; i++)
		batch_free(TAKE(rf->batches[i]));
}

void runfile_free(struct runfile *rf)
{
	struct ts_error ignored = TS_ERROR_INIT;

	if (!rf)
		return;
	drop_batches(rf);
	db_close(rf->db, &ignored);
	if (rf->fd >= 0 && !rf->published)
		unlinkat(rf->st->tmp_fd, rf->name, 0);
	close_fd(&rf->fd);
	free(rf);
}

void runfile_freep(struct runfile **rf)
{
	runfile_free(*rf);
}

struct sink *runfile_sink(struct runfile *rf)
{
	return &rf->sink;
}

void runfile_stop_on(struct runfile *rf, const atomic_bool *stop)
{
	rf->db->stop = stop;
}

int runfile_flush(struct runfile *rf, struct ts_error *err)
{
	for (unsigned i = 0; i < ROW_KIND_COUNT; i++)
		if (rf->batches[i] && batch_flush(rf->batches[i], err) < 0)
			return -1;
	return 0;
}

struct rows_seen runfile_seen(const struct runfile *rf)
{
	struct rows_seen all = {0};

	for (unsigned i = 0; i < ROW_KIND_COUNT; i++) {
		struct rows_seen s = {0};

		if (rf->batches[i])
			s = batch_seen(rf->batches[i]);
		all.number_bits |= s.number_bits;
		if (s.shape_bytes > all.shape_bytes)
			all.shape_bytes = s.shape_bytes;
	}
	return all;
}

struct db *runfile_db(struct runfile *rf)
{
	return rf->db;
}

int runfile_index(struct runfile *rf, struct ts_error *err)
{
	if (runfile_flush(rf, err) < 0 ||
	    (!rf->blank && run_schema(rf->db, rf->kind, "index", err) < 0))
		return -1;
	rf->indexed = true;
	return 0;
}

static int sync_fd(int fd, const char *what, struct ts_error *err)
{
	if (fsync(fd) == 0)
		return 0;
	return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot sync %s", what);
}

/* Opens runs/HH, making it (and its name durable) if need be. */
static int open_shelf(struct store *st, const char *run_path, int *ret, struct ts_error *err)
{
	char name[3] = {run_path[0], run_path[1], 0};

	if (mkdirat(st->runs_fd, name, 0750) == 0) {
		if (sync_fd(st->runs_fd, "the folder runs", err) < 0)
			return -1;
	} else if (errno != EEXIST) {
		return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot make runs/%s", name);
	}
	int fd = openat(st->runs_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot open runs/%s", name);
	*ret = fd;
	return 0;
}

int runfile_publish(struct runfile *rf, const char *digest, unsigned revision, uint64_t *ret_bytes,
		    struct ts_error *err)
{
	char path[RUN_PATH_MAX];
	int shelf CLEAN(close_fd) = -1;
	struct stat s;

	CHECK(rf->st && rf->indexed && !rf->published);
	CHECK(store_run_path(digest, revision, path));
	drop_batches(rf);
	if (db_exec(rf->db, "commit", err) < 0 || db_close(TAKE(rf->db), err) < 0)
		return -1;
	if (sync_fd(rf->fd, "a run file", err) < 0 || open_shelf(rf->st, path, &shelf, err) < 0)
		return -1;
	if (fstat(rf->fd, &s) < 0)
		return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot look at a run file");
	/* A file of that name is left from a commit that did not go through; it goes. */
	if (renameat(rf->st->tmp_fd, rf->name, shelf, path + 3) < 0)
		return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot rename a run file");
	rf->published = true;
	if (sync_fd(shelf, "a folder of runs", err) < 0)
		return -1;
	*ret_bytes = (uint64_t)s.st_size;
	return 0;
}
