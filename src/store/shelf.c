/* shelf.c: the folder of run files: one worker at a time for a digest, removal, orphans */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "tracespool/util.h"

struct digest_hold {
	struct digest_hold *next;
	char digest[DIGEST_TEXT + 1];
};

static struct digest_hold **find_hold(struct store *st, const char *digest)
{
	struct digest_hold **at = &st->held;

	while (*at && strcmp((*at)->digest, digest) != 0)
		at = &(*at)->next;
	return at;
}

static int hold_digest(struct store *st, const char *digest, bool wait, struct ts_error *err)
{
	struct digest_hold *hold = calloc(1, sizeof(*hold));
	bool free_now;

	if (!hold)
		return ts_error_nomem(err);
	CHECK(strlen(digest) <= DIGEST_TEXT);
	strcpy(hold->digest, digest);
	pthread_mutex_lock(&st->digest_lock);
	while (!(free_now = !*find_hold(st, digest)) && wait)
		pthread_cond_wait(&st->digest_free, &st->digest_lock);
	if (free_now) {
		hold->next = st->held;
		st->held = TAKE(hold);
	}
	pthread_mutex_unlock(&st->digest_lock);
	free(hold);
	return free_now;
}

int store_digest_lock(struct store *st, const char *digest, struct ts_error *err)
{
	return hold_digest(st, digest, true, err) < 0 ? -1 : 0;
}

int store_digest_try(struct store *st, const char *digest, struct ts_error *err)
{
	return hold_digest(st, digest, false, err);
}

void store_digest_unlock(struct store *st, const char *digest)
{
	pthread_mutex_lock(&st->digest_lock);
	struct digest_hold **at = find_hold(st, digest);
	struct digest_hold *hold = *at;

	CHECK(hold);
	*at = hold->next;
	pthread_cond_broadcast(&st->digest_free);
	pthread_mutex_unlock(&st->digest_lock);
	free(hold);
}

int store_unlink_run(struct store *st, const char *digest, unsigned revision, struct ts_error *err)
{
	char path[RUN_PATH_MAX];

	CHECK(store_run_path(digest, revision, path));
	store_forget_run(st, digest, revision);
	if (unlinkat(st->runs_fd, path, 0) < 0 && errno != ENOENT)
		return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot remove runs/%s", path);
	return 0;
}

/* "HEX-REV.db", exactly as this program names run files; anything else is left alone. */
static bool parse_run_name(const char *name, char digest[static DIGEST_HEX + 1],
			   unsigned *ret_revision)
{
	char again[RUN_PATH_MAX];
	unsigned revision;

	if (strlen(name) <= DIGEST_HEX || sscanf(name + DIGEST_HEX, "-%9u.db", &revision) != 1)
		return false;
	memcpy(digest, name, DIGEST_HEX);
	digest[DIGEST_HEX] = 0;
	if (!store_run_path(digest, revision, again) || strcmp(again + 3, name) != 0)
		return false;
	*ret_revision = revision;
	return true;
}

static int remove_if_orphan(struct store *st, struct query *known, const char *name,
			    unsigned *removed, struct ts_error *err)
{
	char digest[DIGEST_TEXT + 1] = "sha256:";
	unsigned revision;

	if (!parse_run_name(name, digest + 7, &revision))
		return 0;
	query_bind_str(known, 1, ts_str(digest, DIGEST_TEXT));
	query_bind_u64(known, 2, revision);
	int n = query_step(known, err);

	query_reset(known);
	if (n != 0)
		return n < 0 ? -1 : 0;
	if (store_unlink_run(st, digest, revision, err) < 0)
		return -1;
	++*removed;
	return 0;
}

static DIR *open_dir(int at, const char *name, struct ts_error *err)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		ts_error_sys(err, TS_E_INTERNAL, errno, "cannot read a folder of run files");
		if (fd >= 0)
			close(fd);
	}
	return dir;
}

static int sweep_shelf(struct store *st, struct query *known, const char *name, unsigned *removed,
		       struct ts_error *err)
{
	DIR *dir = open_dir(st->runs_fd, name, err);
	int result = dir ? 0 : -1;

	while (result == 0) {
		errno = 0;
		struct dirent *entry = readdir(dir);

		if (!entry) {
			if (errno)
				result = ts_error_sys(err, TS_E_INTERNAL, errno,
						      "cannot read runs/%.2s", name);
			break;
		}
		if (strncmp(entry->d_name, name, 2) == 0)
			result = remove_if_orphan(st, known, entry->d_name, removed, err);
	}
	if (dir)
		closedir(dir);
	return result;
}

int store_remove_orphans(struct store *st, unsigned *ret_removed, struct ts_error *err)
{
	struct query *known CLEAN(query_closep) = NULL;
	DIR *dir = open_dir(st->runs_fd, ".", err);
	unsigned removed = 0;
	int result = dir ? 0 : -1;

	pthread_mutex_lock(&st->write_lock);
	if (result == 0)
		result = query_open(st->writer, "run_file_known", &known, err);
	while (result == 0) {
		errno = 0;
		struct dirent *entry = readdir(dir);

		if (!entry) {
			if (errno)
				result = ts_error_sys(err, TS_E_INTERNAL, errno,
						      "cannot read the folder runs");
			break;
		}
		if (strlen(entry->d_name) == 2 && strspn(entry->d_name, "0123456789abcdef") == 2)
			result = sweep_shelf(st, known, entry->d_name, &removed, err);
	}
	query_close(TAKE(known));
	pthread_mutex_unlock(&st->write_lock);
	if (dir)
		closedir(dir);
	if (result == 0)
		*ret_removed = removed;
	return result;
}
