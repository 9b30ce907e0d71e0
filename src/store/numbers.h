/* numbers.h: the table numbers(?) of a connection */
#ifndef STORE_NUMBERS_H
#define STORE_NUMBERS_H

#include "db.h"

/* Makes the table known to the connection; a result code of SQLite. */
int numbers_known(sqlite3 *h);
/* The list is borrowed until it is bound anew or the statement is given back; a result code. */
int numbers_bind(sqlite3_stmt *stmt, int i, const uint64_t *v, size_t n);

#endif
