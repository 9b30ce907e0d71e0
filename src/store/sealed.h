/* sealed.h: what runfile.c hands over to sealed.c */
#ifndef STORE_SEALED_H
#define STORE_SEALED_H

#include "folder.h"

#define SEALED_NAME 48    /* of a private name in tmp/ */
#define SEALED_AT_ONCE 64 /* run files synced together */

/* Owns fd from now on, if it succeeds. */
int sealed_make(struct store *st, int fd, const char *name, const char *digest, unsigned revision,
		struct sealed **ret, struct ts_error *err);

#endif
