/* blank.c: run files of small drops: all tables, indexes and views from an image made once
 *
 * To have SQLite read the texts of sql/run costs twenty times what a small drop costs otherwise,
 * and with pages of 16 KiB its fifty tables and indexes would take a megabyte. So a small run
 * begins as a copy of a database that is empty, complete and of small pages; its rows go into the
 * indexes as they come, which for a few thousand rows is as good as building them at the end. */
#include <pthread.h>
#include <stdio.h>

#include "folder.h"
#include "memfile.h"
#include "tracespool/util.h"

enum { BLANK_PAGE_BYTES = 1024 };

static pthread_mutex_t image_lock = PTHREAD_MUTEX_INITIALIZER;
static struct image images[2];

static int make_image(enum run_kind kind, struct image *ret, struct ts_error *err)
{
	struct db *db = NULL;
	char pragmas[128];
	int result = -1;

	snprintf(pragmas, sizeof(pragmas),
		 "pragma page_size = %d; pragma application_id = %d; pragma user_version = %d",
		 BLANK_PAGE_BYTES, RUN_APPLICATION_ID, STORE_RUN_REVISION);
	if (db_open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &db, err) < 0)
		return -1;
	if (db_exec(db, pragmas, err) == 0 && run_schema(db, kind, "tables", err) == 0 &&
	    run_schema(db, kind, "index", err) == 0) {
		ret->bytes = sqlite3_serialize(db->h, "main", &ret->size, 0);
		result = ret->bytes ? 0 : ts_error_nomem(err);
	}
	if (db_close(db, err) < 0)
		result = -1;
	return result;
}

int blank_image(enum run_kind kind, const struct image **ret, struct ts_error *err)
{
	struct image *image = &images[kind == RUN_EXECUTION];
	int result = 0;

	pthread_mutex_lock(&image_lock);
	if (!image->bytes)
		result = make_image(kind, image, err);
	pthread_mutex_unlock(&image_lock);
	*ret = image;
	return result;
}
