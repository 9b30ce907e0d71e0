/* query.c: connections and statements: binding, stepping, SQLite's results as errors */
#include "db.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sql.h"
#include "tracespool/util.h"

/* Steps of SQLite's machine between two looks at the clock: well below a millisecond. */
enum { STEPS_BETWEEN_LOOKS = 2000 };

const char *sql_find(const struct sql_text *texts, const char *name)
{
	for (; texts->name; texts++)
		if (strcmp(texts->name, name) == 0)
			return texts->text;
	return NULL;
}

static bool stopped(const struct db *db)
{
	return db && db->stop && atomic_load_explicit(db->stop, memory_order_relaxed);
}

int db_error(struct db *db, int rc, const char *what, struct ts_error *err)
{
	if (err->code)
		return -1;
	const char *text = db && db->h ? sqlite3_errmsg(db->h) : sqlite3_errstr(rc);
	int sys = db && db->h ? sqlite3_system_errno(db->h) : 0;
	enum ts_code_id id = TS_E_INTERNAL;

	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		id = TS_E_STORE_BUSY;
		break;
	case SQLITE_INTERRUPT:
		id = stopped(db) ? TS_E_SHUTDOWN : TS_E_STORE_BUSY;
		text = stopped(db) ? "interrupted" : "took longer than it may";
		break;
	case SQLITE_FULL:
		id = TS_E_DISK_FULL;
		break;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		id = TS_E_STORE_DAMAGED;
		break;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		if (sys == ENOSPC || sys == EDQUOT)
			id = TS_E_DISK_FULL;
		break;
	}
	ts_error_set(err, id, "%s: %s", what, text);
	err->sql = rc;
	err->sys = id == TS_E_DISK_FULL || (rc & 0xff) == SQLITE_IOERR ||
				   (rc & 0xff) == SQLITE_CANTOPEN
			   ? sys
			   : 0;
	return -1;
}

static int past_deadline(void *arg)
{
	struct db *db = arg;

	if (stopped(db))
		return 1;
	return db->deadline_ms && time_mono_ms() >= db->deadline_ms;
}

void db_watch_deadline(struct db *db)
{
	sqlite3_progress_handler(db->h, STEPS_BETWEEN_LOOKS, past_deadline, db);
}

void db_set_deadline(struct db *db, int64_t deadline_ms)
{
	db->deadline_ms = deadline_ms;
}

int db_open(const char *file, int flags, struct db **ret, struct ts_error *err)
{
	return db_open_in(file, flags, NULL, ret, err);
}

int db_open_in(const char *file, int flags, const char *vfs, struct db **ret, struct ts_error *err)
{
	struct db *db = calloc(1, sizeof(*db));

	if (db)
		db->at_rest = calloc(sql_named_count, sizeof(sqlite3_stmt *));
	if (!db || !db->at_rest) {
		free(db);
		return ts_error_nomem(err);
	}
	int rc = sqlite3_open_v2(file, &db->h, flags | SQLITE_OPEN_NOMUTEX, vfs);

	if (rc == SQLITE_OK)
		rc = sqlite3_extended_result_codes(db->h, 1);
	if (rc != SQLITE_OK) {
		db_error(db, rc, "cannot open the database", err);
		db_close(db, err);
		return -1;
	}
	db_watch_deadline(db);
	*ret = db;
	return 0;
}

int db_close(struct db *db, struct ts_error *err)
{
	if (!db)
		return 0;
	for (size_t i = 0; i < sql_named_count; i++)
		sqlite3_finalize(db->at_rest[i]);
	int rc = sqlite3_close(db->h);
	int result = 0;

	if (rc != SQLITE_OK) {
		result = db_error(db, rc, "cannot close the database", err);
		/* Only an open statement or a failed final write leads here; the handle goes when
		 * the last statement does. */
		sqlite3_close_v2(db->h);
	}
	free(db->at_rest);
	free(db);
	return result;
}

int db_exec(struct db *db, const char *sql, struct ts_error *err)
{
	int rc = sqlite3_exec(db->h, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : db_error(db, rc, "store", err);
}

int query_open_sql(struct db *db, const char *sql, size_t len, struct query **ret,
		   struct ts_error *err)
{
	struct query *q = calloc(1, sizeof(*q));

	if (!q || len >= INT32_MAX) {
		free(q);
		return ts_error_nomem(err);
	}
	q->db = db;
	q->number = SIZE_MAX;
	int rc = sqlite3_prepare_v2(db->h, sql, (int)len, &q->stmt, NULL);

	if (rc != SQLITE_OK) {
		db_error(db, rc, "statement", err);
		query_close(q);
		return -1;
	}
	*ret = q;
	return 0;
}

/* The named statements by the hash of their names: a small drop asks some fifty times. */
static uint16_t named_slots[1024]; /* number + 1; 0: free */

static size_t named_slot(const char *name)
{
	uint32_t h = 2166136261u;

	for (const char *p = name; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	return (h ^ h >> 15) % ARRAY_LEN(named_slots);
}

static void fill_named_slots(void)
{
	CHECK(sql_named_count < ARRAY_LEN(named_slots) / 2);
	for (size_t i = 0; i < sql_named_count; i++) {
		size_t slot = named_slot(sql_named[i].name);

		while (named_slots[slot])
			slot = (slot + 1) % ARRAY_LEN(named_slots);
		named_slots[slot] = (uint16_t)(i + 1);
	}
}

static size_t find_named(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t slot = named_slot(name);

	pthread_once(&once, fill_named_slots);
	while (named_slots[slot] && strcmp(sql_named[named_slots[slot] - 1].name, name) != 0)
		slot = (slot + 1) % ARRAY_LEN(named_slots);
	CHECK(named_slots[slot]);
	return named_slots[slot] - 1u;
}

int query_open(struct db *db, const char *name, struct query **ret, struct ts_error *err)
{
	size_t i = find_named(name);
	struct query *q = calloc(1, sizeof(*q));

	if (!q)
		return ts_error_nomem(err);
	q->db = db;
	q->number = i;
	q->stmt = TAKE(db->at_rest[i]);
	if (!q->stmt) {
		int rc = sqlite3_prepare_v3(db->h, sql_named[i].text, -1, SQLITE_PREPARE_PERSISTENT,
					    &q->stmt, NULL);

		if (rc != SQLITE_OK) {
			db_error(db, rc, name, err);
			query_close(q);
			return -1;
		}
	}
	*ret = q;
	return 0;
}

void query_close(struct query *q)
{
	if (!q)
		return;
	/* A statement that was stepped and not reset would pin the log (pitfall D2). */
	if (q->number != SIZE_MAX && q->stmt && !q->db->at_rest[q->number]) {
		sqlite3_reset(q->stmt);
		sqlite3_clear_bindings(q->stmt);
		q->db->at_rest[q->number] = q->stmt;
	} else {
		sqlite3_finalize(q->stmt);
	}
	free(q);
}

void query_closep(struct query **q)
{
	query_close(*q);
}

static void note(struct query *q, int rc)
{
	if (rc != SQLITE_OK && !q->failed)
		q->failed = rc;
}

void query_bind_u64(struct query *q, int i, uint64_t v)
{
	if (v <= INT64_MAX) {
		note(q, sqlite3_bind_int64(q->stmt, i, (sqlite3_int64)v));
		return;
	}
	unsigned char big[8];

	for (int k = 0; k < 8; k++)
		big[k] = (unsigned char)(v >> (56 - 8 * k));
	note(q, sqlite3_bind_blob(q->stmt, i, big, sizeof(big), SQLITE_TRANSIENT));
}

void query_bind_i64(struct query *q, int i, int64_t v)
{
	note(q, sqlite3_bind_int64(q->stmt, i, v));
}

void query_bind_double(struct query *q, int i, double v)
{
	note(q, sqlite3_bind_double(q->stmt, i, v));
}

void query_bind_str(struct query *q, int i, struct ts_str s)
{
	if (!s.p)
		note(q, sqlite3_bind_null(q->stmt, i));
	else
		note(q, sqlite3_bind_text64(q->stmt, i, s.p, s.n, SQLITE_STATIC, SQLITE_UTF8));
}

void query_bind_blob(struct query *q, int i, const void *p, size_t n)
{
	if (!p)
		note(q, sqlite3_bind_null(q->stmt, i));
	else
		note(q, sqlite3_bind_blob64(q->stmt, i, p, n, SQLITE_STATIC));
}

void query_bind_null(struct query *q, int i)
{
	note(q, sqlite3_bind_null(q->stmt, i));
}

static const char *query_name(const struct query *q)
{
	return q->number != SIZE_MAX ? sql_named[q->number].name : "statement";
}

int query_step(struct query *q, struct ts_error *err)
{
	if (q->failed)
		return db_error(q->db, q->failed, query_name(q), err);
	int rc = sqlite3_step(q->stmt);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE) {
		sqlite3_reset(q->stmt);
		return 0;
	}
	db_error(q->db, rc, query_name(q), err);
	sqlite3_reset(q->stmt);
	return -1;
}

void query_reset(struct query *q)
{
	/* The result is that of the last step, which was reported there. */
	sqlite3_reset(q->stmt);
	q->failed = 0;
}

int query_run(struct query *q, struct ts_error *err)
{
	int n;

	do
		n = query_step(q, err);
	while (n > 0);
	query_close(q);
	return n;
}

int db_number(struct db *db, const char *sql, uint64_t *ret, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open_sql(db, sql, strlen(sql), &q, err) < 0)
		return -1;
	int n = query_step(q, err);

	if (n < 0)
		return -1;
	*ret = n ? query_u64(q, 0) : 0;
	return 0;
}

bool query_is_null(struct query *q, int i)
{
	return sqlite3_column_type(q->stmt, i) == SQLITE_NULL;
}

uint64_t query_u64(struct query *q, int i)
{
	if (sqlite3_column_type(q->stmt, i) != SQLITE_BLOB)
		return (uint64_t)sqlite3_column_int64(q->stmt, i);
	const unsigned char *big = sqlite3_column_blob(q->stmt, i);

	if (!big || sqlite3_column_bytes(q->stmt, i) != 8)
		return 0;
	uint64_t v = 0;

	for (int k = 0; k < 8; k++)
		v = v << 8 | big[k];
	return v;
}

int64_t query_i64(struct query *q, int i)
{
	return sqlite3_column_int64(q->stmt, i);
}

double query_double(struct query *q, int i)
{
	return sqlite3_column_double(q->stmt, i);
}

struct ts_str query_str(struct query *q, int i)
{
	int type = sqlite3_column_type(q->stmt, i);

	if (type == SQLITE_NULL)
		return ts_str(NULL, 0);
	const void *p = type == SQLITE_BLOB ? sqlite3_column_blob(q->stmt, i)
					    : (const void *)sqlite3_column_text(q->stmt, i);

	/* An empty blob has no pointer; it is a value all the same. */
	return ts_str(p ? p : "", (size_t)sqlite3_column_bytes(q->stmt, i));
}

struct opt_u64 query_opt_u64(struct query *q, int i)
{
	return (struct opt_u64){.v = query_u64(q, i), .has = !query_is_null(q, i)};
}

struct opt_double query_opt_double(struct query *q, int i)
{
	return (struct opt_double){.v = query_double(q, i), .has = !query_is_null(q, i)};
}
