/* blank.c: run files of small drops: all tables, indexes and views from an image made once
 *
 * To have SQLite read the texts of sql/run costs twenty times what a small drop costs otherwise,
 * and with pages of 16 KiB its fifty tables and indexes would take a megabyte. So a small run
 * begins as a copy of a database that is empty, complete and of small pages; its rows go into the
 * indexes as they come, which for a few thousand rows is as good as building them at the end. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "folder.h"
#include "tracespool/util.h"

enum { BLANK_PAGE_BYTES = 1024 };

struct image {
	unsigned char *bytes; /* of sqlite3_serialize; NULL: not made yet */
	sqlite3_int64 size;
};

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

static int get_image(enum run_kind kind, const struct image **ret, struct ts_error *err)
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

int blank_write(int fd, enum run_kind kind, struct ts_error *err)
{
	const struct image *image;
	int result = get_image(kind, &image, err);

	for (sqlite3_int64 at = 0; result == 0 && at < image->size;) {
		ssize_t n = pwrite(fd, image->bytes + at, (size_t)(image->size - at), at);

		if (n > 0)
			at += n;
		else if (n == 0 || errno != EINTR)
			result = ts_error_sys(err, TS_E_INTERNAL, errno, "cannot begin a run file");
	}
	return result;
}

int blank_copy(struct db *to, enum run_kind kind, struct ts_error *err)
{
	const struct image *image;
	struct db *from = NULL;

	if (get_image(kind, &image, err) < 0 ||
	    db_open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &from, err) < 0)
		return -1;
	int rc = sqlite3_deserialize(from->h, "main", image->bytes, image->size, image->size,
				     SQLITE_DESERIALIZE_READONLY);

	if (rc == SQLITE_OK) {
		sqlite3_backup *backup = sqlite3_backup_init(to->h, "main", from->h, "main");

		rc = backup ? sqlite3_backup_step(backup, -1) : SQLITE_NOMEM;
		if (rc == SQLITE_DONE)
			rc = SQLITE_OK;
		if (backup)
			sqlite3_backup_finish(backup);
	}
	int result = rc == SQLITE_OK ? 0 : db_error(NULL, rc, "cannot begin a run", err);

	return db_close(from, err) < 0 ? -1 : result;
}
