/* migrate.c: brings a catalog to the newest numbered step; refuses a newer one */
#include <stdio.h>
#include <string.h>

#include "folder.h"
#include "sql.h"
#include "tracespool/util.h"

/* Steps of SQLite's machine between two calls of still_starting: some tens of milliseconds. */
enum { STEPS_BETWEEN_CALLS = 1000000 };

struct starting {
	void (*call)(void *arg);
	void *arg;
};

static int tell_starting(void *arg)
{
	const struct starting *s = arg;

	s->call(s->arg);
	return 0;
}

static int apply(struct db *db, const struct sql_text *step, unsigned version, struct ts_error *err)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "pragma application_id = %d; pragma user_version = %u",
		 CATALOG_APPLICATION_ID, version);
	if (db_exec(db, "begin immediate", err) < 0)
		return -1;
	if (db_exec(db, step->text, err) == 0 && db_exec(db, sql, err) == 0 &&
	    db_exec(db, "commit", err) == 0)
		return 0;
	sqlite3_exec(db->h, "rollback", NULL, NULL, NULL);
	return -1;
}

static int check_owner(struct db *db, uint64_t version, struct ts_error *err)
{
	uint64_t id, things;

	if (db_number(db, "pragma application_id", &id, err) < 0 ||
	    db_number(db, "select count(*) from sqlite_schema", &things, err) < 0)
		return -1;
	if (version ? id != CATALOG_APPLICATION_ID : things != 0)
		return ts_error_set(err, TS_E_STORE_DAMAGED,
				    "catalog.db is not a catalog of this program");
	return 0;
}

int store_migrate_to(struct db *db, const struct sql_text *steps, void (*still_starting)(void *arg),
		     void *arg, struct ts_error *err)
{
	struct starting starting = {still_starting, arg};
	uint64_t version, newest = 0;
	int result = 0;

	if (db_number(db, "pragma user_version", &version, err) < 0)
		return -1;
	while (steps[newest].name)
		newest++;
	if (version > newest)
		return ts_error_set(err, TS_E_STORE_NEWER,
				    "catalog.db is at step %llu, this program knows %llu",
				    (unsigned long long)version, (unsigned long long)newest);
	if (check_owner(db, version, err) < 0 ||
	    db_exec(db, "pragma journal_mode = wal", err) < 0 ||
	    db_exec(db, "pragma synchronous = full; pragma foreign_keys = on", err) < 0)
		return -1;
	if (still_starting)
		sqlite3_progress_handler(db->h, STEPS_BETWEEN_CALLS, tell_starting, &starting);
	for (; version < newest && result == 0; version++) {
		if (still_starting)
			still_starting(arg);
		result = apply(db, &steps[version], (unsigned)version + 1, err);
	}
	db_watch_deadline(db);
	return result;
}

int store_migrate(struct db *db, void (*still_starting)(void *arg), void *arg, struct ts_error *err)
{
	return store_migrate_to(db, sql_catalog_steps, still_starting, arg, err);
}
