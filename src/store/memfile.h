/* memfile.h: a private database in memory that can be made blank again under its connection
 *
 * What a small run costs is not its rows but a connection that has to learn the schema and prepare
 * its statements. Here the bytes below the connection are exchanged instead: SQLite sees another
 * change counter and forgets its pages, but the schema's cookie is the same, so schema and
 * statements stay.
 */
#ifndef STORE_MEMFILE_H
#define STORE_MEMFILE_H

#include "db.h"

/* The bytes of a database file. */
struct image {
	unsigned char *bytes; /* NULL: not made yet */
	sqlite3_int64 size;
};

/* A connection on a database of its own with these bytes. What grows beyond some megabytes goes on
 * in a file that vanishes. */
int memfile_open(const struct image *image, struct db **ret, struct ts_error *err);
/* The database has these bytes again; no transaction is open, and the one before wrote something or
 * nothing was read. */
int memfile_reset(struct db *db, const struct image *image, struct ts_error *err);
/* Writes all of it to an empty file. */
int memfile_write(struct db *db, int fd, struct ts_error *err);

#endif
