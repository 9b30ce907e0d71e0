/* tree.c: copies, compares and removes files and small trees, by descriptors only */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define COPY_BYTES (256u * 1024)
#define KEPT_MODE 0777
/* Passes over a folder that is removed; one that somebody goes on filling is an error. */
#define REMOVE_PASSES_MAX 100

static void close_entriesp(void **dir)
{
	close_entries(*dir);
}

static int open_folder(int dir_fd, const char *name)
{
	return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int open_file(int dir_fd, const char *name)
{
	return openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* ---- removal ---- */

static int remove_at(int dir_fd, const char *name, int depth);

static int remove_inside(int dir_fd, const char *name, int depth)
{
	CLEAN(close_fd) int fd = open_folder(dir_fd, name);
	bool removed = true;
	struct dirent *d;

	if (fd < 0)
		return errno;
	if (depth >= TREE_DEPTH_MAX)
		return ELOOP;
	/* Again from the start while something went: removal may confuse a running readdir. */
	for (int pass = 0; removed; pass++) {
		CLEAN(close_entriesp) void *dir = open_entries(fd);

		if (!dir)
			return errno;
		if (pass >= REMOVE_PASSES_MAX)
			return ENOTEMPTY;
		removed = false;
		while ((d = next_entry(dir))) {
			int sys = remove_at(fd, d->d_name, depth + 1);

			if (sys)
				return sys;
			removed = true;
		}
		if (errno)
			return errno;
	}
	return 0;
}

static int remove_at(int dir_fd, const char *name, int depth)
{
	int sys;

	if (!unlinkat(dir_fd, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return errno;
	sys = errno; /* EPERM: on some systems a folder, else what it says */
	if (!unlinkat(dir_fd, name, AT_REMOVEDIR) || errno == ENOENT)
		return 0;
	if (errno == ENOTDIR)
		return sys;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return errno;
	sys = remove_inside(dir_fd, name, depth);
	if (sys)
		return sys;
	return unlinkat(dir_fd, name, AT_REMOVEDIR) && errno != ENOENT ? errno : 0;
}

int tree_remove(int dir_fd, const char *name)
{
	return remove_at(dir_fd, name, 0);
}

/* ---- copy ---- */

static int write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno;
		bytes += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Up to n bytes, less only at the end. -1 with errno. */
static ssize_t read_all(int fd, char *bytes, size_t n)
{
	size_t have = 0;

	while (have < n) {
		ssize_t got = read(fd, bytes + have, n - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (!got)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

/* The owner where permitted. Never set-id bits: a copy may belong to the service's account, and a
 * program of a job must not run as that. (A folder made in the spool has the bit from there, and a
 * service may be forbidden to set it.) */
static int keep_attributes(int fd, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};

	if (fchown(fd, st->st_uid, st->st_gid))
		(void)!fchown(fd, (uid_t)-1, st->st_gid);
	if (fchmod(fd, st->st_mode & KEPT_MODE) || futimens(fd, times))
		return errno;
	return fsync(fd) ? errno : 0;
}

static int copy_file(int from_fd, const char *from, int to_fd, const char *to)
{
	CLEAN(close_fd) int in = open_file(from_fd, from);
	CLEAN(close_fd) int out = -1;
	CLEAN(free_ptr) char *bytes = NULL;
	struct stat st;

	if (in < 0 || fstat(in, &st))
		return errno;
	out = openat(to_fd, to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return errno;
	bytes = malloc(COPY_BYTES);
	if (!bytes)
		return ENOMEM;
	/* No more than there was: a writer that is faster than the copy would not let it end. */
	for (uint64_t left = (uint64_t)st.st_size; left;) {
		ssize_t got = read_all(in, bytes, left < COPY_BYTES ? (size_t)left : COPY_BYTES);
		int sys;

		if (got < 0)
			return errno;
		if (!got)
			break;
		sys = write_all(out, bytes, (size_t)got);
		if (sys)
			return sys;
		left -= (uint64_t)got;
	}
	return keep_attributes(out, &st);
}

/* A link's target with a final 0. 0 or errno. */
static int read_link(int dir_fd, const char *name, char target[static PATH_MAX])
{
	ssize_t n = readlinkat(dir_fd, name, target, PATH_MAX);

	if (n < 0)
		return errno;
	if (n >= PATH_MAX)
		return ENAMETOOLONG;
	target[n] = 0;
	return 0;
}

static int copy_link(int from_fd, const char *from, int to_fd, const char *to)
{
	CLEAN(free_ptr) char *target = malloc(PATH_MAX);
	int sys = target ? read_link(from_fd, from, target) : ENOMEM;

	if (sys)
		return sys;
	return symlinkat(target, to_fd, to) ? errno : 0;
}

static int copy_at(int from_fd, const char *from, int to_fd, const char *to, int depth);

static int copy_folder(int from_fd, const char *from, int to_fd, const char *to, int depth)
{
	CLEAN(close_fd) int in = open_folder(from_fd, from);
	CLEAN(close_fd) int out = -1;
	CLEAN(close_entriesp) void *dir = NULL;
	struct dirent *d;
	struct stat st;

	if (in < 0 || fstat(in, &st))
		return errno;
	if (depth >= TREE_DEPTH_MAX)
		return ELOOP;
	if (mkdirat(to_fd, to, 0700))
		return errno;
	out = open_folder(to_fd, to);
	dir = open_entries(in);
	if (out < 0 || !dir)
		return errno;
	while ((d = next_entry(dir))) {
		int sys = copy_at(in, d->d_name, out, d->d_name, depth + 1);

		if (sys)
			return sys;
	}
	if (errno)
		return errno;
	return keep_attributes(out, &st);
}

static int copy_at(int from_fd, const char *from, int to_fd, const char *to, int depth)
{
	struct stat st;

	if (fstatat(from_fd, from, &st, AT_SYMLINK_NOFOLLOW))
		return errno;
	if (S_ISDIR(st.st_mode))
		return copy_folder(from_fd, from, to_fd, to, depth);
	if (S_ISREG(st.st_mode))
		return copy_file(from_fd, from, to_fd, to);
	if (S_ISLNK(st.st_mode))
		return copy_link(from_fd, from, to_fd, to);
	/* A refused pipe, socket or device is kept as what it is, if the account may make one. */
	return mknodat(to_fd, to, st.st_mode & (S_IFMT | KEPT_MODE), st.st_rdev) ? errno : 0;
}

int tree_copy(int from_fd, const char *from, int to_fd, const char *to)
{
	return copy_at(from_fd, from, to_fd, to, 0);
}

/* ---- comparison ---- */

static int within_at(int a_fd, const char *a, int b_fd, const char *b, int depth);

static int same_bytes(int a_fd, const char *a, int b_fd, const char *b)
{
	CLEAN(close_fd) int in_a = open_file(a_fd, a);
	CLEAN(close_fd) int in_b = in_a < 0 ? -1 : open_file(b_fd, b);
	CLEAN(free_ptr) char *bytes = NULL;

	if (in_a < 0 || in_b < 0)
		return errno;
	bytes = malloc((size_t)2 * COPY_BYTES);
	if (!bytes)
		return ENOMEM;
	for (;;) {
		ssize_t got_a = read_all(in_a, bytes, COPY_BYTES);
		ssize_t got_b = got_a < 0 ? -1 : read_all(in_b, bytes + COPY_BYTES, COPY_BYTES);

		if (got_a < 0 || got_b < 0)
			return errno;
		if (got_a != got_b || memcmp(bytes, bytes + COPY_BYTES, (size_t)got_a))
			return EEXIST;
		if (!got_a)
			return 0;
	}
}

static int same_links(int a_fd, const char *a, int b_fd, const char *b)
{
	CLEAN(free_ptr) char *targets = malloc((size_t)2 * PATH_MAX);
	int sys;

	if (!targets)
		return ENOMEM;
	sys = read_link(a_fd, a, targets);
	if (!sys)
		sys = read_link(b_fd, b, targets + PATH_MAX);
	if (sys)
		return sys;
	return strcmp(targets, targets + PATH_MAX) ? EEXIST : 0;
}

static int folder_within(int a_fd, const char *a, int b_fd, const char *b, int depth)
{
	CLEAN(close_fd) int in_a = open_folder(a_fd, a);
	CLEAN(close_fd) int in_b = in_a < 0 ? -1 : open_folder(b_fd, b);
	CLEAN(close_entriesp) void *dir = NULL;
	struct dirent *d;

	if (in_a < 0 || in_b < 0)
		return errno;
	if (depth >= TREE_DEPTH_MAX)
		return ELOOP;
	dir = open_entries(in_a);
	if (!dir)
		return errno;
	while ((d = next_entry(dir))) {
		int sys = within_at(in_a, d->d_name, in_b, d->d_name, depth + 1);

		if (sys)
			return sys;
	}
	return errno;
}

static int within_at(int a_fd, const char *a, int b_fd, const char *b, int depth)
{
	struct stat st_a, st_b;

	if (fstatat(a_fd, a, &st_a, AT_SYMLINK_NOFOLLOW))
		return errno;
	if (fstatat(b_fd, b, &st_b, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? EEXIST : errno;
	if ((st_a.st_mode & S_IFMT) != (st_b.st_mode & S_IFMT))
		return EEXIST;
	if (S_ISDIR(st_a.st_mode))
		return folder_within(a_fd, a, b_fd, b, depth);
	if (S_ISLNK(st_a.st_mode))
		return same_links(a_fd, a, b_fd, b);
	if (S_ISREG(st_a.st_mode))
		return st_a.st_size == st_b.st_size ? same_bytes(a_fd, a, b_fd, b) : EEXIST;
	return st_a.st_rdev == st_b.st_rdev ? 0 : EEXIST;
}

int tree_within(int a_fd, const char *a, int b_fd, const char *b)
{
	return within_at(a_fd, a, b_fd, b, 0);
}
