/* query.c: connections and statements: binding, stepping, SQLite's results as errors */
#include "numbers.h"

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

/* Nobody asks for SQLite's count of its memory, and counting takes a lock at each allocation. */
static void configure(void)
{
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

int db_open(const char *file, int flags, struct db **ret, struct ts_error *err)
{
	return db_open_in(file, flags, NULL, ret, err);
}

int db_open_in(const char *file, int flags, const char *vfs, struct db **ret, struct ts_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct db *db = calloc(1, sizeof(*db));

	(void)pthread_once(&once, configure);
	if (db)
		db->at_rest = calloc(sql_named_count, sizeof(sqlite3_stmt *));
	if (!db || !db->at_rest) {
		free(db);
		return ts_error_nomem(err);
	}
	int rc = sqlite3_open_v2(file, &db->h, flags | SQLITE_OPEN_NOMUTEX, vfs);

	if (rc == SQLITE_OK)
		rc = sqlite3_extended_result_codes(db->h, 1);
	if (rc == SQLITE_OK)
		rc = numbers_known(db->h);
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
	for (size_t i = 0; i < DB_TEXTS; i++)
		sqlite3_finalize(db->texts[i].stmt);
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

static sqlite3_stmt *take_text(struct db *db, const char *sql, size_t len)
{
	for (size_t i = 0; i < DB_TEXTS; i++) {
		struct text_statement *t = &db->texts[i];
		const char *text = t->stmt ? sqlite3_sql(t->stmt) : NULL;

		if (!text || strlen(text) != len || memcmp(text, sql, len) != 0)
			continue;
		t->used = 0;
		return TAKE(t->stmt);
	}
	return NULL;
}

/* In place of the one that was used longest ago. */
static void keep_text(struct db *db, sqlite3_stmt *stmt)
{
	struct text_statement *oldest = &db->texts[0];

	for (size_t i = 1; i < DB_TEXTS; i++)
		if (db->texts[i].used < oldest->used)
			oldest = &db->texts[i];
	sqlite3_finalize(oldest->stmt);
	*oldest = (struct text_statement){stmt, ++db->clock};
}

int query_open_text(struct db *db, const char *sql, size_t len, struct query **ret,
		    struct ts_error *err)
{
	sqlite3_stmt *kept = take_text(db, sql, len);

	if (!kept) {
		if (query_open_sql(db, sql, len, ret, err) < 0)
			return -1;
		(*ret)->keep = true;
		return 0;
	}
	struct query *q = calloc(1, sizeof(*q));

	if (!q) {
		sqlite3_finalize(kept);
		return ts_error_nomem(err);
	}
	*q = (struct query){.db = db, .stmt = kept, .number = SIZE_MAX, .keep = true};
	*ret = q;
	return 0;
}

int query_open(struct db *db, const char *name, struct query **ret, struct ts_error *err)
{
	size_t i = 0;

	while (i < sql_named_count && strcmp(sql_named[i].name, name) != 0)
		i++;
	CHECK(i < sql_named_count);
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
	} else if (q->keep) {
		sqlite3_reset(q->stmt);
		sqlite3_clear_bindings(q->stmt);
		keep_text(q->db, q->stmt);
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

void query_bind_numbers(struct query *q, int i, const uint64_t *v, size_t n)
{
	note(q, numbers_bind(q->stmt, i, v, n));
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

static uint64_t u64_of_blob(const void *blob, size_t n)
{
	const unsigned char *big = blob;
	uint64_t v = 0;

	for (size_t k = 0; big && n == 8 && k < 8; k++)
		v = v << 8 | big[k];
	return v;
}

uint64_t query_value_u64(const struct query_value *v)
{
	if (v->type == QUERY_INTEGER)
		return (uint64_t)v->integer;
	return v->type == QUERY_BLOB ? u64_of_blob(v->str.p, v->str.n) : 0;
}

struct query_value query_value(struct query *q, int i)
{
	/* One thread at a time has the connection: its values need no protection. */
	sqlite3_value *column = sqlite3_column_value(q->stmt, i);
	struct query_value v = {.type = QUERY_NULL};

	switch (sqlite3_value_type(column)) {
	case SQLITE_INTEGER:
		v.type = QUERY_INTEGER;
		v.integer = sqlite3_value_int64(column);
		break;
	case SQLITE_FLOAT:
		v.type = QUERY_DOUBLE;
		v.real = sqlite3_value_double(column);
		break;
	case SQLITE_TEXT:
		v.type = QUERY_TEXT;
		v.str.p = sqlite3_value_blob(column); /* as text it would be copied */
		v.str.n = (size_t)sqlite3_value_bytes(column);
		break;
	case SQLITE_BLOB:
		v.type = QUERY_BLOB;
		v.str.p = sqlite3_value_blob(column);
		v.str.n = (size_t)sqlite3_value_bytes(column);
		break;
	}
	if (v.type >= QUERY_TEXT && !v.str.p)
		v.str.p = ""; /* an empty value has no pointer; it is a value all the same */
	return v;
}

void query_values(struct query *q, const int *columns, size_t n, struct query_value *ret)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = query_value(q, columns[i]);
}

uint64_t query_u64(struct query *q, int i)
{
	/* One thread at a time has the connection: its values need no protection. */
	sqlite3_value *column = sqlite3_column_value(q->stmt, i);

	if (sqlite3_value_type(column) != SQLITE_BLOB)
		return (uint64_t)sqlite3_value_int64(column);
	const void *blob = sqlite3_value_blob(column);

	return u64_of_blob(blob, (size_t)sqlite3_value_bytes(column));
}

struct ts_str query_str(struct query *q, int i)
{
	sqlite3_value *column = sqlite3_column_value(q->stmt, i);

	if (sqlite3_value_type(column) == SQLITE_NULL)
		return ts_str(NULL, 0);
	/* A text as a blob: asked for as text it would be copied for the sake of a zero behind. */
	const char *p = sqlite3_value_blob(column);

	/* An empty value has no pointer; it is a value all the same. */
	return ts_str(p ? p : "", p ? (size_t)sqlite3_value_bytes(column) : 0);
}

int64_t query_i64(struct query *q, int i)
{
	return sqlite3_column_int64(q->stmt, i);
}

double query_double(struct query *q, int i)
{
	return sqlite3_column_double(q->stmt, i);
}

struct opt_u64 query_opt_u64(struct query *q, int i)
{
	return (struct opt_u64){.v = query_u64(q, i), .has = !query_is_null(q, i)};
}

struct opt_double query_opt_double(struct query *q, int i)
{
	return (struct opt_double){.v = query_double(q, i), .has = !query_is_null(q, i)};
}
