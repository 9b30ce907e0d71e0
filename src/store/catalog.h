/* catalog.h: what the files of the catalog share */
#ifndef STORE_CATALOG_H
#define STORE_CATALOG_H

#include "folder.h"

/* A run by exactly this id. 1 found, 0 none. Tombstones do not count. */
int catalog_find_run(struct db *db, struct ts_str id, struct run_record *ret, struct ts_error *err);

/* The smallest text behind all that begin with prefix, into out (prefix.n bytes). No value if there
 * is none. */
struct ts_str store_prefix_end(struct ts_str prefix, char *out);

#endif
