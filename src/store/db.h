/* db.h: a connection and its statements, as the files of the store see them */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <sqlite3.h>
#include <stdatomic.h>

#include "tracespool/store.h"

enum { DB_TEXTS = 8 }; /* statements of lists that a connection keeps */

/* A statement not in use whose text was put together at run time. */
struct text_statement {
	sqlite3_stmt *stmt;
	uint64_t used; /* by the connection's clock; 0: none */
};

struct db {
	sqlite3 *h;
	struct store *st; /* whose pool it goes back to; NULL: of no pool */
	bool of_run;
	bool alone;                /* closed when it is released */
	char key[DIGEST_HEX + 16]; /* of a run's file: "HEX-REV" */
	int64_t deadline_ms;
	const atomic_bool *stop; /* borrowed; set: statements end with shutting_down; or NULL */
	struct db *next;         /* in the pool */
	sqlite3_stmt **at_rest;  /* named statements not in use, by number */
	struct text_statement texts[DB_TEXTS];
	uint64_t clock; /* of their use */
};

struct query {
	struct db *db;
	sqlite3_stmt *stmt;
	size_t number; /* of the named statement; SIZE_MAX: none */
	int failed;    /* result of a binding that did not work */
	bool keep;     /* goes to the connection's texts */
};

/* Opens a database file (or a URI) for one thread at a time. */
int db_open(const char *file, int flags, struct db **ret, struct ts_error *err);
/* The same in a file system of SQLite by name; NULL: the usual one. */
int db_open_in(const char *file, int flags, const char *vfs, struct db **ret, struct ts_error *err);
/* Finalizes what is at rest and closes. The result is that of SQLite: work that could not be
 * written shows here. Takes NULL. */
int db_close(struct db *db, struct ts_error *err);
/* One or more statements without parameters. */
int db_exec(struct db *db, const char *sql, struct ts_error *err);
/* Sets err from SQLite's result rc of `what` on this connection. Returns -1. */
int db_error(struct db *db, int rc, const char *what, struct ts_error *err);
/* Puts the handler for deadlines back after another one was used. */
void db_watch_deadline(struct db *db);

/* Prepares a text that was put together at run time. */
int query_open_sql(struct db *db, const char *sql, size_t len, struct query **ret,
		   struct ts_error *err);
/* The same for texts that come again and again: the connection keeps the statement. */
int query_open_text(struct db *db, const char *sql, size_t len, struct query **ret,
		    struct ts_error *err);
/* The first column of the first row of a statement without parameters; 0 if there is none. */
int db_number(struct db *db, const char *sql, uint64_t *ret, struct ts_error *err);
/* Runs a bound statement that gives no rows, and closes it. */
int query_run(struct query *q, struct ts_error *err);

#endif
