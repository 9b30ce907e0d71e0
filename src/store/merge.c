/* merge.c: the rows of several request runs copied into one private file, as shards of one run */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "sql.h"
#include "tracespool/capture.h"
#include "tracespool/util.h"

enum {
	STEPS_BETWEEN_LOOKS = 2000, /* of SQLite's machine: well below a millisecond */
	LARGE_BYTES = 1024 * 1024,
};

struct merge {
	struct store *st;
	const atomic_bool *stop;
	struct db *db; /* NULL once it is finished */
	char name[48]; /* below tmp/ */
	bool made;
	uint64_t bytes;
};

static int told_to_stop(void *arg)
{
	const struct merge *m = arg;

	return m->stop && atomic_load_explicit(m->stop, memory_order_relaxed);
}

/* SQLite only says that it was interrupted. */
static int failed(const struct merge *m, struct ts_error *err)
{
	if (told_to_stop((void *)(uintptr_t)m)) {
		ts_error_init(err);
		ts_error_set(err, TS_E_SHUTDOWN, "the service is stopping");
	}
	return -1;
}

static int run_text(struct merge *m, const char *name, struct ts_error *err)
{
	const char *sql = sql_find(sql_run_texts, name);

	CHECK(sql);
	return db_exec(m->db, sql, err);
}

static int make_file(struct merge *m, struct ts_error *err)
{
	snprintf(m->name, sizeof(m->name), "capture-%llu.db",
		 (unsigned long long)atomic_fetch_add(&m->st->made, 1));
	int fd = openat(m->st->tmp_fd, m->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			0640);

	if (fd < 0)
		return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot make a merged file");
	close(fd);
	m->made = true;
	return 0;
}

int merge_open(struct store *st, uint64_t size_hint, const atomic_bool *stop, struct merge **ret,
	       struct ts_error *err)
{
	struct merge *m CLEAN(merge_freep) = calloc(1, sizeof(*m));
	char *file CLEAN(free_ptr) = NULL;
	char sql[320];
	bool small = size_hint < LARGE_BYTES;

	if (!m)
		return ts_error_nomem(err);
	m->st = st;
	m->stop = stop;
	if (make_file(m, err) < 0)
		return -1;
	if (asprintf(&file, "%s/tmp/%s", st->path, m->name) < 0) {
		file = NULL;
		return ts_error_nomem(err);
	}
	/* URIs: so that segments can be attached as files that never change. */
	if (db_open(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, &m->db, err) < 0)
		return -1;
	sqlite3_progress_handler(m->db->h, STEPS_BETWEEN_LOOKS, told_to_stop, m);
	snprintf(sql, sizeof(sql),
		 "pragma page_size = %d; pragma journal_mode = off; pragma synchronous = off; "
		 "pragma cache_size = %d; pragma temp_store = file; pragma application_id = %d; "
		 "pragma user_version = %d",
		 small ? 4096 : 16384, small ? -2048 : -4096, RUN_APPLICATION_ID,
		 STORE_RUN_REVISION);
	if (db_exec(m->db, sql, err) < 0 || run_text(m, "requests-tables", err) < 0 ||
	    run_text(m, "merge-begin", err) < 0)
		return failed(m, err);
	*ret = TAKE(m);
	return 0;
}

static int attach(struct merge *m, const char *run_path, struct ts_error *err)
{
	struct query *q;
	char *uri CLEAN(free_ptr) = store_file_uri(m->st, "runs", run_path);
	const char sql[] = "attach database ?1 as segment";

	if (!uri)
		return ts_error_nomem(err);
	if (query_open_sql(m->db, sql, sizeof(sql) - 1, &q, err) < 0)
		return -1;
	query_bind_str(q, 1, ts_str_c(uri));
	return query_run(q, err);
}

int merge_add(struct merge *m, const char *digest, unsigned revision, struct ts_error *err)
{
	char path[RUN_PATH_MAX];
	struct ts_error ignored = TS_ERROR_INIT;
	struct stat s;

	CHECK(m->db);
	if (!store_run_path(digest, revision, path))
		return ts_error_set(err, TS_E_INTERNAL, "not a digest");
	if (fstatat(m->st->runs_fd, path, &s, AT_SYMLINK_NOFOLLOW) < 0)
		return ts_error_set(err, TS_E_STORE_BUSY, "a segment is being removed");
	if (attach(m, path, err) < 0)
		return failed(m, err);
	if (db_exec(m->db, "begin", err) < 0 || run_text(m, "merge-add", err) < 0 ||
	    db_exec(m->db, "commit", err) < 0) {
		failed(m, err);
		/* Without a journal there is nothing to go back to: the file is lost. */
		if (!sqlite3_get_autocommit(m->db->h))
			sqlite3_exec(m->db->h, "rollback", NULL, NULL, NULL);
		db_exec(m->db, "detach database segment", &ignored);
		return -1;
	}
	return db_exec(m->db, "detach database segment", err) < 0 ? failed(m, err) : 0;
}

static void keep_clash(struct query *q, uint64_t shard, uint64_t line, struct merge_clash *ret)
{
	text_name(query_str(q, 0), ret->request_id, sizeof(ret->request_id));
	ret->shard[0] = shard;
	ret->line[0] = line;
	ret->shard[1] = query_u64(q, 2);
	ret->line[1] = query_u64(q, 3);
}

int merge_check(struct merge *m, struct merge_clash *ret, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct buf before CLEAN(buf_done) = BUF_INIT;
	uint64_t shard = 0, line = 0, earliest = UINT64_MAX;
	int n;

	if (query_open(m->db, "merge_ids", &q, err) < 0)
		return failed(m, err);
	while ((n = query_step(q, err)) > 0) {
		struct ts_str id = query_str(q, 0);

		if (before.data && ts_str_eq(ts_str(before.data, before.len), id) &&
		    query_u64(q, 1) < earliest) {
			earliest = query_u64(q, 1);
			keep_clash(q, shard, line, ret);
		}
		buf_clear(&before);
		buf_add(&before, id.p, id.n);
		if (before.failed)
			return ts_error_nomem(err);
		shard = query_u64(q, 2);
		line = query_u64(q, 3);
	}
	return n < 0 ? failed(m, err) : earliest != UINT64_MAX;
}

struct db *merge_db(struct merge *m)
{
	return m->db;
}

int merge_begin(struct merge *m, struct ts_error *err)
{
	return db_exec(m->db, "begin", err) < 0 ? failed(m, err) : 0;
}

int merge_finish(struct merge *m, struct ts_error *err)
{
	struct stat s;

	bool begun = !sqlite3_get_autocommit(m->db->h);

	if ((begun && db_exec(m->db, "commit", err) < 0) || run_text(m, "requests-index", err) < 0)
		return failed(m, err);
	if (db_close(TAKE(m->db), err) < 0)
		return -1;
	if (fstatat(m->st->tmp_fd, m->name, &s, AT_SYMLINK_NOFOLLOW) < 0)
		return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot look at a merged file");
	m->bytes = (uint64_t)s.st_size;
	return 0;
}

uint64_t merge_bytes(const struct merge *m)
{
	return m->bytes;
}

int merge_read(struct merge *m, int64_t deadline_ms, struct db **ret, struct ts_error *err)
{
	struct db *db;

	CHECK(!m->db);
	if (store_open_file(m->st, "tmp", m->name, &db, err) < 0)
		return -1;
	db->st = m->st;
	db->alone = true;
	db_set_deadline(db, deadline_ms);
	*ret = db;
	return 0;
}

void merge_free(struct merge *m)
{
	struct ts_error ignored = TS_ERROR_INIT;

	if (!m)
		return;
	db_close(m->db, &ignored);
	if (m->made)
		unlinkat(m->st->tmp_fd, m->name, 0);
	free(m);
}

void merge_freep(struct merge **m)
{
	merge_free(*m);
}
