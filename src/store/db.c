/* db.c: connections: opening, deadlines, SQLite's results as errors */
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
