/* move.c: where finished drops go: archive and quarantine paths, the move itself, removal */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "tracespool/sync.h"

#define TARGET_MODE 0750

/* ---- paths ---- */

static bool under(const char *path, const char *root)
{
	size_t n = strlen(root);

	return !strncmp(path, root, n) && path[n] == '/';
}

/* Opens the part of the path that is not walked: the configured folder of an absolute path (links
 * in it are the administrator's), the spool folder else. *ret_rest: what follows. */
static int open_root(struct spool *sp, const char *path, int *ret_fd, const char **ret_rest)
{
	const char *roots[2] = {sp->archive, sp->quarantine};
	CLEAN(free_ptr) char *dir = NULL;
	const char *rest = path;
	int fd, sys;

	if (path[0] != '/') {
		fd = fcntl(sp->fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return errno;
		*ret_fd = fd;
		*ret_rest = path;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(roots); i++)
		if (under(path, roots[i]))
			rest = path + strlen(roots[i]) + 1;
	if (rest == path) /* of an earlier setting: as it is */
		rest = strrchr(path, '/') + 1;
	dir = strndup(path, (size_t)(rest - path));
	if (!dir)
		return ENOMEM;
	sys = open_or_make(AT_FDCWD, dir, TARGET_MODE, true, &fd, NULL);
	if (sys)
		return sys;
	*ret_fd = fd;
	*ret_rest = rest;
	return 0;
}

int open_parent(struct spool *sp, const char *path, int *ret_fd, const char **ret_base)
{
	CLEAN(close_fd) int fd = -1;
	const char *rest = path, *slash;
	int sys = open_root(sp, path, &fd, &rest);
	bool in_spool = path[0] != '/';

	if (sys)
		return sys;
	while ((slash = strchr(rest, '/'))) {
		char part[NAME_MAX + 1];
		size_t n = (size_t)(slash - rest);
		bool made;
		int next;

		if (n >= sizeof(part))
			return ENAMETOOLONG;
		memcpy(part, rest, n);
		part[n] = 0;
		rest = slash + 1;
		if (!n || !strcmp(part, "."))
			continue;
		if (!strcmp(part, ".."))
			return EINVAL;
		sys = open_or_make(fd, part, TARGET_MODE, false, &next, &made);
		if (!sys && in_spool && !folder_is_trusted(sp->fd, next)) {
			close(next);
			sys = EPERM;
		}
		in_spool = false;
		if (!sys && made)
			sys = sync_folder(fd);
		close_fd(&fd);
		if (sys)
			return sys;
		fd = next;
	}
	*ret_fd = take_fd(&fd);
	*ret_base = rest;
	return 0;
}

/* What cannot be looked at counts as free: the move will say why. */
bool spool_path_exists(struct spool *sp, const char *path)
{
	struct stat st;

	return !fstatat(sp->fd, path, &st, AT_SYMLINK_NOFOLLOW);
}

static bool only_digits(const char *name)
{
	return name[strspn(name, "0123456789")] == 0;
}

/* FOLDER/NAME for k 0, else FOLDER/K/NAME. NULL: no memory. */
static char *numbered_path(const char *folder, uint64_t k, const char *name)
{
	char *path;
	int n;

	if (k)
		n = asprintf(&path, "%s/%llu/%s", folder, (unsigned long long)k, name);
	else
		n = asprintf(&path, "%s/%s", folder, name);
	return n < 0 ? NULL : path;
}

/* The first free K from `least`: doubling, then halving, since a job may use one name all folder.
 */
static int free_number(struct spool *sp, const char *folder, const char *name, uint64_t least,
		       char **ret)
{
	uint64_t low = least, high = least; /* all below low are taken */
	char *path;

	for (;;) {
		path = numbered_path(folder, high, name);
		if (!path)
			return -1;
		if (!spool_path_exists(sp, path))
			break;
		free(path);
		low = high + 1;
		high *= 2;
	}
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		char *try = numbered_path(folder, middle, name);

		if (!try) {
			free(path);
			return -1;
		}
		if (spool_path_exists(sp, try)) {
			free(try);
			low = middle + 1;
		} else {
			free(path);
			path = try;
			high = middle;
		}
	}
	*ret = path;
	return 0;
}

/* FOLDER/NAME if that is free and may be, else with the first free K. */
static int free_path(struct spool *sp, const char *folder, const char *name, bool plain, char **ret,
		     struct ts_error *err)
{
	if (plain) {
		char *path = numbered_path(folder, 0, name);

		if (!path)
			return ts_error_nomem(err);
		if (!spool_path_exists(sp, path)) {
			*ret = path;
			return 0;
		}
		free(path);
	}
	return free_number(sp, folder, name, plain ? 2 : 1, ret) ? ts_error_nomem(err) : 0;
}

int spool_archive_path(struct spool *sp, const char *name, int64_t now_ms, char **ret,
		       struct ts_error *err)
{
	CLEAN(free_ptr) char *day = NULL;
	time_t seconds = (time_t)(now_ms / 1000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm))
		return ts_error_sys(err, TS_E_INTERNAL, errno, "clock is out of range");
	if (asprintf(&day, "%s/%04d/%02d/%02d", sp->archive, tm.tm_year + 1900, tm.tm_mon + 1,
		     tm.tm_mday) < 0) {
		day = NULL;
		return ts_error_nomem(err);
	}
	/* A name of digits only would stand where a K may have to. */
	return free_path(sp, day, name, !only_digits(name), ret, err);
}

int spool_quarantine_path(struct spool *sp, const char *name, uint64_t receipt_no, char **ret,
			  struct ts_error *err)
{
	CLEAN(free_ptr) char *numbered = NULL;
	size_t n = strlen(name);

	/* Room for the number and the report's ending within NAME_MAX. */
	if (n > SPOOL_NAME_MAX) {
		n = SPOOL_NAME_MAX;
		while (n > SPOOL_NAME_MAX - 4 && ((unsigned char)name[n] & 0xc0) == 0x80)
			n--;
	}
	if (asprintf(&numbered, "%llu-%.*s", (unsigned long long)receipt_no, (int)n, name) < 0) {
		numbered = NULL;
		return ts_error_nomem(err);
	}
	return free_path(sp, sp->quarantine, numbered, true, ret, err);
}

/* ---- moving ---- */

/* The folders that drops were moved to, each open once while they come in a row. */
struct targets {
	struct sync_item items[SPOOL_AT_ONCE + 1]; /* the last: .active/ */
	size_t count;
	const char *path; /* that the last one was opened for, to this length */
	size_t length;
};

static int move_error(struct ts_error *err, int sys, const char *path)
{
	return ts_error_sys(err, TS_E_IO, sys, "drop cannot be moved to %s", path);
}

/* Another mount: copy aside, sync, rename, sync, and only then remove the source. */
static int move_by_copy(int from_fd, const char *name, int to_fd, const char *base)
{
	CLEAN(free_ptr) char *aside = NULL;
	int sys;

	if (asprintf(&aside, ".%s.moving", base) < 0) {
		aside = NULL;
		return ENOMEM;
	}
	sys = tree_remove(to_fd, aside); /* of an earlier try */
	if (!sys)
		sys = tree_copy(from_fd, name, to_fd, aside);
	if (!sys)
		sys = rename_noreplace(to_fd, aside, to_fd, base);
	if (!sys)
		sys = sync_folder(to_fd);
	if (sys) {
		tree_remove(to_fd, aside);
		return sys;
	}
	return tree_remove(from_fd, name);
}

/* The target is there: the move was done before, a crash came between copy and removal, or somebody
 * else has the name. */
static int finish_move(int from_fd, const char *name, int to_fd, const char *base)
{
	struct stat st;
	int sys;

	if (fstatat(from_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : errno;
	sys = tree_within(from_fd, name, to_fd, base);
	return sys ? sys : tree_remove(from_fd, name);
}

int spool_move(struct spool *sp, const char *name, const char *path, struct ts_error *err)
{
	CLEAN(close_fd) int to_fd = -1;
	const char *base;
	int sys = open_parent(sp, path, &to_fd, &base);
	struct stat st;
	bool there;

	if (sys)
		return move_error(err, sys, path);
	there = !fstatat(to_fd, base, &st, AT_SYMLINK_NOFOLLOW);
	sys = rename_noreplace(sp->active_fd, name, to_fd, base);
	if (sys == EXDEV && !there)
		sys = move_by_copy(sp->active_fd, name, to_fd, base);
	else if (sys && there)
		sys = finish_move(sp->active_fd, name, to_fd, base);
	if (!sys)
		sys = sync_folder(to_fd);
	if (!sys)
		sys = sync_folder(sp->active_fd);
	return sys ? move_error(err, sys, path) : 0;
}

/* The folder of a path, open: that of the last one or the next of the list. -1: not to be had. */
static int target_folder(struct spool *sp, const char *path, struct targets *t,
			 const char **ret_base)
{
	size_t length = (size_t)(strrchr(path, '/') - path);
	const char *base;

	if (t->count && t->length == length && !memcmp(t->path, path, length)) {
		*ret_base = path + length + 1;
		return 0;
	}
	if (open_parent(sp, path, &t->items[t->count].fd, &base))
		return -1;
	t->items[t->count++].folder = true;
	t->path = path;
	t->length = length;
	*ret_base = base;
	return 0;
}

void spool_move_all(struct spool *sp, struct spool_settling *all, size_t n)
{
	struct targets t = {.count = 0};
	size_t of[SPOOL_AT_ONCE];
	const char *base;

	CHECK(n <= SPOOL_AT_ONCE);
	for (size_t i = 0; i < n; i++) {
		if (!all[i].done)
			continue;
		all[i].done = strchr(all[i].path, '/') &&
			      !target_folder(sp, all[i].path, &t, &base) &&
			      !rename_noreplace(sp->active_fd, all[i].name, t.items[t.count - 1].fd,
						base);
		of[i] = t.count - 1;
	}
	t.items[t.count] = (struct sync_item){.fd = sp->active_fd, .folder = true};
	if (t.count)
		sync_all(t.items, t.count + 1);
	for (size_t i = 0; i < n; i++)
		if (all[i].done)
			all[i].done = !t.items[of[i]].sys && !t.items[t.count].sys;
	for (size_t i = 0; i < t.count; i++)
		close_fd(&t.items[i].fd);
}

int spool_delete(struct spool *sp, const char *name, struct ts_error *err)
{
	int sys = tree_remove(sp->active_fd, name);

	if (!sys)
		sys = sync_folder(sp->active_fd);
	return sys ? ts_error_sys(err, TS_E_IO, sys, "drop cannot be removed") : 0;
}
