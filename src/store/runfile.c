/* runfile.c: builds the file of one run, private: rows, analysis, indexes; a small one in memory,
 * by a connection that serves the next small one too
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "batch.h"
#include "folder.h"
#include "memfile.h"
#include "sealed.h"
#include "sql.h"
#include "tracespool/util.h"

/* What a drop may have to be of few rows, and to be worth small pages. */
#define BLANK_BYTES ((uint64_t)256 << 10)
#define SMALL_BYTES ((uint64_t)1 << 20)
/* Connections on blank files that are kept; as many as cores are at work on most machines. */
#define SPARE_MAX 8

struct runfile {
	struct sink sink; /* first: the sink is the run file */
	struct store *st; /* NULL: anonymous */
	enum run_kind kind;
	struct db *db;
	int fd; /* of the private file; -1: there is none (anonymous, in memory, sealed) */
	char name[SEALED_NAME];
	bool blank; /* begun with all indexes, in memory */
	bool indexed, sealed;
	struct batch *batches[ROW_KIND_COUNT];
	struct runfile *next; /* of the spare ones */
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

static int open_private(struct runfile *rf, bool small, struct ts_error *err)
{
	char *file CLEAN(free_ptr) = NULL;
	char sql[320];

	if (rf->st && make_private(rf, err) < 0)
		return -1;
	if (rf->st && asprintf(&file, "%s/tmp/%s", rf->st->path, rf->name) < 0) {
		file = NULL;
		return ts_error_nomem(err);
	}
	/* Without a name SQLite makes a file of its own that vanishes. */
	if (db_open(file ? file : "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &rf->db, err) < 0)
		return -1;
	snprintf(sql, sizeof(sql),
		 "pragma page_size = %d; pragma journal_mode = off; pragma synchronous = off; "
		 "pragma locking_mode = exclusive; pragma cache_size = %d; "
		 "pragma temp_store = file; pragma application_id = %d; pragma user_version = %d; "
		 "begin",
		 small ? 4096 : 16384, small ? -2048 : -4096, RUN_APPLICATION_ID,
		 STORE_RUN_REVISION);
	if (db_exec(rf->db, sql, err) < 0)
		return -1;
	return run_schema(rf->db, rf->kind, "tables", err);
}

static int open_blank(struct runfile *rf, struct ts_error *err)
{
	const struct image *image;

	if (blank_image(rf->kind, &image, err) < 0 || memfile_open(image, &rf->db, err) < 0)
		return -1;
	return db_exec(rf->db,
		       "pragma journal_mode = off; pragma synchronous = off; "
		       "pragma cache_size = -2048; pragma temp_store = file; begin",
		       err);
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

static struct runfile *take_spare(struct store *st, enum run_kind kind)
{
	struct runfile *rf = NULL;

	pthread_mutex_lock(&st->pool_lock);
	for (struct runfile **at = &st->spare; *at && !rf; at = &(*at)->next) {
		if ((*at)->kind != kind)
			continue;
		rf = *at;
		*at = rf->next;
		st->spare_count--;
		break;
	}
	pthread_mutex_unlock(&st->pool_lock);
	return rf;
}

static int create(struct runfile *rf, uint64_t size_hint, struct ts_error *err)
{
	if ((rf->blank ? open_blank(rf, err) : open_private(rf, size_hint < SMALL_BYTES, err)) < 0)
		return -1;
	for (unsigned i = 0; i < ROW_KIND_COUNT; i++)
		if (row_shapes[i].kind == rf->kind &&
		    batch_new(rf->db, &row_shapes[i], &rf->batches[i], err) < 0)
			return -1;
	return 0;
}

int runfile_create(struct store *st, enum run_kind kind, uint64_t size_hint, struct runfile **ret,
		   struct ts_error *err)
{
	struct runfile *rf = st && size_hint < BLANK_BYTES ? take_spare(st, kind) : NULL;

	if (rf) {
		*ret = rf;
		return 0;
	}
	rf = calloc(1, sizeof(*rf));
	if (!rf)
		return ts_error_nomem(err);
	rf->sink.row = take_row;
	rf->st = st;
	rf->kind = kind;
	rf->fd = -1;
	rf->blank = size_hint < BLANK_BYTES;
	if (create(rf, size_hint, err) < 0) {
		runfile_free(rf);
		return -1;
	}
	*ret = rf;
	return 0;
}

static void drop_batches(struct runfile *rf)
{
	for (unsigned i = 0; i < ROW_KIND_COUNT; i++)
		batch_free(TAKE(rf->batches[i]));
}

static void drop_private(struct runfile *rf)
{
	if (rf->fd >= 0)
		unlinkat(rf->st->tmp_fd, rf->name, 0);
	close_fd(&rf->fd);
	rf->fd = -1;
}

static void really_free(struct runfile *rf)
{
	struct ts_error ignored = TS_ERROR_INIT;

	drop_batches(rf);
	db_close(rf->db, &ignored);
	drop_private(rf);
	free(rf);
}

/* Blank again and in a transaction, as a new one. A connection on which anything was left
 * unfinished is not worth the doubt. */
static bool make_blank(struct runfile *rf)
{
	struct ts_error err = TS_ERROR_INIT;
	const struct image *image;

	for (sqlite3_stmt *s = NULL; (s = sqlite3_next_stmt(rf->db->h, s));)
		if (sqlite3_stmt_busy(s))
			return false;
	for (unsigned i = 0; i < ROW_KIND_COUNT; i++)
		if (rf->batches[i])
			batch_clear(rf->batches[i]);
	drop_private(rf);
	runfile_stop_on(rf, NULL);
	rf->indexed = rf->sealed = false;
	return (sqlite3_get_autocommit(rf->db->h) || db_exec(rf->db, "commit", &err) == 0) &&
	       blank_image(rf->kind, &image, &err) == 0 &&
	       memfile_reset(rf->db, image, &err) == 0 && db_exec(rf->db, "begin", &err) == 0;
}

void runfile_free(struct runfile *rf)
{
	bool kept = false;

	if (!rf)
		return;
	if (rf->blank && rf->st && rf->db && make_blank(rf)) {
		pthread_mutex_lock(&rf->st->pool_lock);
		kept = rf->st->spare_count < SPARE_MAX;
		if (kept) {
			rf->next = rf->st->spare;
			rf->st->spare = rf;
			rf->st->spare_count++;
		}
		pthread_mutex_unlock(&rf->st->pool_lock);
	}
	if (!kept)
		really_free(rf);
}

void runfile_drain(struct store *st)
{
	while (st->spare) {
		struct runfile *rf = st->spare;

		st->spare = rf->next;
		st->spare_count--;
		really_free(rf);
	}
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

int runfile_seal(struct runfile *rf, const char *digest, unsigned revision, struct sealed **ret,
		 struct ts_error *err)
{
	CHECK(rf->st && rf->indexed && !rf->sealed);
	if (!rf->blank)
		drop_batches(rf);
	if (db_exec(rf->db, "commit", err) < 0)
		return -1;
	if (rf->blank) {
		if (make_private(rf, err) < 0 || memfile_write(rf->db, rf->fd, err) < 0)
			return -1;
	} else if (db_close(TAKE(rf->db), err) < 0) {
		return -1;
	}
	if (sealed_make(rf->st, rf->fd, rf->name, digest, revision, ret, err) < 0)
		return -1;
	rf->fd = -1;
	rf->sealed = true;
	return 0;
}
