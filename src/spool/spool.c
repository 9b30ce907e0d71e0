/* spool.c: the spool folder and the daemon's own folders in it as directory handles */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "tracespool/sync.h"

#define ACTIVE ".active"
#define RECEIPTS ".receipts"
#define OWN_MODE 0750

/* Names put back whose event has not come; above this they count as renamed in, and only the
 * queue's own waiting time holds them. */
#define RETURNS_MAX 65536

/* ---- small pieces that the room shares ---- */

int sync_folder(int fd)
{
	return sync_one(fd, true);
}

int open_or_make(int dir_fd, const char *name, mode_t mode, bool follow, int *ret_fd,
		 bool *ret_made)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
	bool made = false;
	int fd = openat(dir_fd, name, flags);

	if (fd < 0 && errno == ENOENT) {
		if (!mkdirat(dir_fd, name, mode))
			made = true;
		else if (errno != EEXIST)
			return errno;
		fd = openat(dir_fd, name, flags);
	}
	if (fd < 0)
		return errno;
	*ret_fd = fd;
	if (ret_made)
		*ret_made = made;
	return 0;
}

bool folder_is_trusted(int spool_fd, int fd)
{
	struct stat spool, st;

	/* The spool's owner counts: with an account mapped by the file system it is not ours. */
	return !fstat(spool_fd, &spool) && !fstat(fd, &st) &&
	       (st.st_uid == geteuid() || st.st_uid == 0 || st.st_uid == spool.st_uid);
}

int rename_noreplace(int from_fd, const char *from, int to_fd, const char *to)
{
	struct stat st;

	if (!renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	/* A file system without the flag. Only this process makes names in the target folders. */
	if (!fstatat(to_fd, to, &st, AT_SYMLINK_NOFOLLOW))
		return EEXIST;
	if (errno != ENOENT)
		return errno;
	return renameat(from_fd, from, to_fd, to) ? errno : 0;
}

/* ---- opening ---- */

static int check_writable(int fd, const char *what, enum ts_code_id id, struct ts_error *err)
{
	if (!faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS))
		return 0;
	ts_error_sys(err, id, errno, "spool folder %s is not writable", what);
	ts_error_hint(err, "give the service's account read, write and search permission on it");
	return -1;
}

static int open_own(int spool_fd, const char *name, bool setgid, int *ret_fd, enum ts_code_id id,
		    struct ts_error *err)
{
	CLEAN(close_fd) int fd = -1;
	bool made;
	int sys = open_or_make(spool_fd, name, OWN_MODE, false, &fd, &made);
	struct stat st;

	if (sys)
		return ts_error_sys(err, id, sys, "folder %s in the spool cannot be opened", name);
	if (!folder_is_trusted(spool_fd, fd)) {
		ts_error_set(err, id, "folder %s in the spool belongs to another account", name);
		ts_error_hint(err, "see what is in it, then remove it or give it to the service");
		return -1;
	}
	/* mkdir does not take the bit. Where it may not be set, receipts have the service's group,
	 * which is no reason not to start. */
	if (made && setgid && !fstat(fd, &st))
		(void)!fchmod(fd, (st.st_mode & 07777) | S_ISGID);
	if (check_writable(fd, name, id, err))
		return -1;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* At the start what fails ends the daemon; later the folder may come back. */
static int open_all(const char *path, bool start, int fds[3], struct ts_error *err)
{
	CLEAN(close_fd) int fd = -1;
	CLEAN(close_fd) int active = -1;
	enum ts_code_id id = start ? TS_E_START : TS_E_IO;
	int sys = 0;

	if (start) {
		sys = open_or_make(AT_FDCWD, path, OWN_MODE, true, &fd, NULL);
	} else {
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		sys = fd < 0 ? errno : 0;
	}
	if (sys) {
		ts_error_sys(err, id, sys, "spool folder %s cannot be opened", path);
		if (sys == ENOENT)
			ts_error_hint(err, "the folder that it lies in must exist");
		return -1;
	}
	if (check_writable(fd, path, id, err))
		return -1;
	if (open_own(fd, ACTIVE, false, &active, id, err) ||
	    open_own(fd, RECEIPTS, true, &fds[2], id, err))
		return -1;
	fds[0] = take_fd(&fd);
	fds[1] = take_fd(&active);
	return 0;
}

/* A path as set, without trailing '/'. */
static int take_path(const char *what, const char *path, char **ret, struct ts_error *err)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (!n || n >= PATH_MAX - 2 * NAME_MAX)
		return ts_error_set(err, TS_E_START, "%s is empty or too long", what);
	if (path[0] != '/')
		for (const char *p = path; p; p = strchr(p, '/')) {
			p += *p == '/';
			if (!strncmp(p, "..", 2) && (p[2] == '/' || !p[2]))
				return ts_error_set(err, TS_E_START, "%s leads out of the spool",
						    what);
		}
	*ret = strndup(path, n);
	return *ret ? 0 : ts_error_nomem(err);
}

/* The first part of a folder below the spool: it is not a drop. */
static int own_part(const struct spool *sp, const char *path, char **ret, struct ts_error *err)
{
	CLEAN(free_ptr) char *real_spool = NULL;
	CLEAN(free_ptr) char *real_path = NULL;
	const char *below = path;

	if (path[0] == '/') {
		size_t n;

		real_spool = realpath(sp->path, NULL);
		real_path = realpath(path, NULL);
		if (!real_spool || !real_path)
			return ts_error_sys(err, TS_E_START, errno, "%s cannot be resolved", path);
		n = strlen(real_spool);
		if (!strcmp(real_spool, real_path))
			return ts_error_set(err, TS_E_START,
					    "%s is the spool folder itself, not one for finished "
					    "drops",
					    path);
		if (strncmp(real_path, real_spool, n) || real_path[n] != '/')
			return 0;
		below = real_path + n + 1;
	}
	while (!strncmp(below, "./", 2))
		below += 2;
	*ret = strndup(below, strcspn(below, "/"));
	return *ret ? 0 : ts_error_nomem(err);
}

/* Made at the start, so that a wrong setting shows then. */
static int make_target(struct spool *sp, const char *path, struct ts_error *err)
{
	CLEAN(free_ptr) char *inside = NULL;
	CLEAN(close_fd) int fd = -1;
	const char *base;
	int sys;

	if (path[0] == '/') {
		sys = open_or_make(AT_FDCWD, path, OWN_MODE, true, &fd, NULL);
	} else if (asprintf(&inside, "%s/x", path) < 0) {
		inside = NULL;
		return ts_error_nomem(err);
	} else {
		sys = open_parent(sp, inside, &fd, &base);
	}
	if (sys)
		return ts_error_sys(err, TS_E_START, sys, "folder %s cannot be made or opened",
				    path);
	return 0;
}

static void drop_temporaries(int receipts_fd)
{
	void *dir = open_entries(receipts_fd);
	struct dirent *d;

	/* Left by a crash between write and rename. Only our own pattern, in our own folder. */
	while (dir && (d = next_entry(dir))) {
		struct ts_str name = ts_str_c(d->d_name);

		if (ts_str_starts(name, ".") && ts_str_ends(name, ".tmp"))
			unlinkat(receipts_fd, d->d_name, 0);
	}
	close_entries(dir);
}

int spool_open(const struct spool_options *options, struct spool **ret, struct ts_error *err)
{
	struct spool *sp = calloc(1, sizeof(*sp));
	int fds[3] = {-1, -1, -1};

	if (!sp)
		return ts_error_nomem(err);
	sp->fd = sp->active_fd = sp->receipts_fd = -1;
	pthread_mutex_init(&sp->verify_lock, NULL);
	pthread_mutex_init(&sp->returns_lock, NULL);
	if (take_path("spool.path", options->path, &sp->path, err) ||
	    take_path("spool.archive_path", options->archive_path, &sp->archive, err) ||
	    take_path("spool.quarantine_path", options->quarantine_path, &sp->quarantine, err) ||
	    open_all(sp->path, true, fds, err))
		goto failed;
	sp->fd = fds[0];
	sp->active_fd = fds[1];
	sp->receipts_fd = fds[2];
	if (make_target(sp, sp->archive, err) || make_target(sp, sp->quarantine, err) ||
	    own_part(sp, sp->archive, &sp->own[0], err) ||
	    own_part(sp, sp->quarantine, &sp->own[1], err))
		goto failed;
	drop_temporaries(sp->receipts_fd);
	*ret = sp;
	return 0;
failed:
	spool_close(sp);
	return -1;
}

void spool_close(struct spool *sp)
{
	if (!sp)
		return;
	close_fd(&sp->fd);
	close_fd(&sp->active_fd);
	close_fd(&sp->receipts_fd);
	table_done(&sp->returns);
	pthread_mutex_destroy(&sp->verify_lock);
	pthread_mutex_destroy(&sp->returns_lock);
	free(sp->path);
	free(sp->archive);
	free(sp->quarantine);
	free(sp->own[0]);
	free(sp->own[1]);
	free(sp);
}

const char *spool_path(const struct spool *sp)
{
	return sp->path;
}

int spool_fd(const struct spool *sp)
{
	return sp->fd;
}

bool spool_is_own(const struct spool *sp, const char *name)
{
	if (!strcmp(name, ACTIVE) || !strcmp(name, RECEIPTS))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(sp->own); i++)
		if (sp->own[i] && !strcmp(sp->own[i], name))
			return true;
	return false;
}

/* ---- replaced folders ---- */

static bool same_folder(int dir_fd, const char *path, int fd)
{
	struct stat there, open_one;

	return !fstatat(dir_fd, path, &there, 0) && !fstat(fd, &open_one) &&
	       there.st_dev == open_one.st_dev && there.st_ino == open_one.st_ino;
}

int spool_verify(struct spool *sp, struct ts_error *err)
{
	int *const own[3] = {&sp->fd, &sp->active_fd, &sp->receipts_fd};
	int fds[3] = {-1, -1, -1};
	int result = 0;

	pthread_mutex_lock(&sp->verify_lock);
	if (!same_folder(AT_FDCWD, sp->path, sp->fd) ||
	    !same_folder(sp->fd, ACTIVE, sp->active_fd) ||
	    !same_folder(sp->fd, RECEIPTS, sp->receipts_fd)) {
		result = open_all(sp->path, false, fds, err);
		/* Other threads use the numbers meanwhile: dup3 swaps what they mean. */
		for (size_t i = 0; i < 3 && !result; i++)
			if (dup3(fds[i], *own[i], O_CLOEXEC) < 0)
				result = ts_error_sys(err, TS_E_INTERNAL, errno,
						      "spool folder cannot be opened anew");
		for (size_t i = 0; i < 3; i++)
			close_fd(&fds[i]);
	}
	pthread_mutex_unlock(&sp->verify_lock);
	return result;
}

/* ---- names that the daemon itself put back ---- */

void spool_set_watched(struct spool *sp, bool watched)
{
	pthread_mutex_lock(&sp->returns_lock);
	sp->watched = watched;
	table_clear(&sp->returns);
	pthread_mutex_unlock(&sp->returns_lock);
}

void spool_note_return(struct spool *sp, const char *name)
{
	struct entry *e;
	bool is_new;

	pthread_mutex_lock(&sp->returns_lock);
	if (sp->watched && sp->returns.count < RETURNS_MAX) {
		e = table_add(&sp->returns, name, &is_new);
		if (e)
			e->notes++;
	}
	pthread_mutex_unlock(&sp->returns_lock);
}

bool spool_take_return(struct spool *sp, const char *name)
{
	struct entry *e;

	pthread_mutex_lock(&sp->returns_lock);
	e = table_find(&sp->returns, ts_str_c(name));
	if (e && !--e->notes)
		table_remove(&sp->returns, e);
	pthread_mutex_unlock(&sp->returns_lock);
	return e != NULL;
}

void spool_drop_return(struct spool *sp, const char *name)
{
	spool_take_return(sp, name);
}
