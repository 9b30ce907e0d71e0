/* folder.c: what a folder drop holds: its shards in order, and a hash that shows any change */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* Entries that a survey looks at one by one; in a larger folder the rest counts by name only. It
 * is far above what limits.shards lets pass. */
#define SURVEY_STATS_MAX 100000

int64_t stat_mtime_ns(const struct stat *st)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)st->st_mtim.tv_sec, INT64_C(1000000000), &ns) ||
	    __builtin_add_overflow(ns, (int64_t)st->st_mtim.tv_nsec, &ns))
		return st->st_mtim.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

void *open_entries(int fd)
{
	/* Not dup: a duplicate shares the position. */
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir;

	if (own < 0)
		return NULL;
	dir = fdopendir(own);
	if (!dir) {
		int sys = errno;

		close(own);
		errno = sys;
	}
	return dir;
}

void close_entries(void *dir)
{
	if (dir)
		closedir(dir);
}

struct dirent *next_entry(void *dir)
{
	struct dirent *d;

	do {
		errno = 0;
		d = readdir(dir);
	} while (d && (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..")));
	return d;
}

static void close_entriesp(void **dir)
{
	close_entries(*dir);
}

static uint64_t mix(uint64_t h, uint64_t value)
{
	h = (h ^ value) * 0x9e3779b97f4a7c15u;
	return h ^ (h >> 32);
}

static uint64_t hash_entry(const char *name, const struct stat *st)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (const char *p = name; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3u;
	if (st) {
		h = mix(h, st->st_mode & S_IFMT);
		h = mix(h, (uint64_t)st->st_ino);
		h = mix(h, (uint64_t)st->st_size);
		h = mix(h, (uint64_t)stat_mtime_ns(st));
	}
	return mix(h, 1);
}

int folder_survey(int fd, struct survey *ret)
{
	CLEAN(close_entriesp) void *dir = open_entries(fd);
	struct survey sv = {.mtime_ns = INT64_MIN};
	uint64_t seen = 0;
	struct dirent *d;

	if (!dir)
		return errno;
	while ((d = next_entry(dir))) {
		struct stat st;

		if (spool_classify_name(d->d_name) == NAME_UNFINISHED &&
		    !ts_str_ends(ts_str_c(d->d_name), ".lock"))
			sv.unfinished = true;
		if (++seen > SURVEY_STATS_MAX) {
			sv.hash += hash_entry(d->d_name, NULL);
			continue;
		}
		if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW)) {
			if (errno != ENOENT)
				return errno;
			continue; /* went away since readdir; the next look shows it */
		}
		sv.hash += hash_entry(d->d_name, &st); /* a sum: readdir has no fixed order */
		if (stat_mtime_ns(&st) > sv.mtime_ns)
			sv.mtime_ns = stat_mtime_ns(&st);
		if (S_ISREG(st.st_mode) && name_is_shard(d->d_name)) {
			if (!sv.shards++ || (uint64_t)st.st_size < sv.smallest)
				sv.smallest = (uint64_t)st.st_size;
		}
	}
	if (errno)
		return errno;
	*ret = sv;
	return 0;
}

void free_names(char **names)
{
	for (size_t i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
}

static void free_namesp(char ***names)
{
	free_names(*names);
}

/* 1: a shard; 0: something else that is archived with the drop. */
static int is_shard(int fd, const char *name, struct ts_error *err)
{
	const char *what = NULL;
	struct stat st;

	if (!name_is_shard(name))
		return 0;
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW)) {
		ts_error_sys(err, errno == ENOENT ? TS_E_CHANGED_WHILE_READING : TS_E_IO, errno,
			     "shard cannot be looked at");
	} else if (S_ISDIR(st.st_mode)) {
		return 0;
	} else if (S_ISLNK(st.st_mode)) {
		what = "shard is a symbolic link";
	} else if (!S_ISREG(st.st_mode)) {
		what = "shard is a device, pipe or socket";
	} else if (st.st_nlink != 1) {
		what = "shard has further hard links";
	} else {
		return 1;
	}
	if (what)
		ts_error_set(err, TS_E_NOT_A_REGULAR_FILE, "%s", what);
	text_name(ts_str_c(name), err->file, sizeof(err->file));
	return -1;
}

int folder_shards(int fd, uint64_t max_shards, char ***ret, size_t *ret_count, struct ts_error *err)
{
	CLEAN(close_entriesp) void *dir = open_entries(fd);
	CLEAN(free_namesp) char **names = NULL;
	size_t count = 0, room = 0;
	struct dirent *d;

	if (!dir)
		return ts_error_sys(err, TS_E_IO, errno, "folder cannot be read");
	while ((d = next_entry(dir))) {
		int shard = is_shard(fd, d->d_name, err);

		if (shard < 0)
			return -1;
		if (!shard)
			continue;
		if (count >= max_shards)
			return ts_error_set(err, TS_E_TOO_MANY_SHARDS,
					    "folder has more than %llu shards",
					    (unsigned long long)max_shards);
		if (count + 1 >= room) {
			size_t more = room ? room * 2 : 16;
			char **grown = reallocarray(names, more, sizeof(*names));

			if (!grown)
				return ts_error_nomem(err);
			names = grown;
			room = more;
		}
		names[count] = strdup(d->d_name);
		if (!names[count])
			return ts_error_nomem(err);
		names[++count] = NULL;
	}
	if (errno)
		return ts_error_sys(err, TS_E_IO, errno, "folder cannot be read");
	if (!count)
		return ts_error_set(err, TS_E_EMPTY_FILE, "folder has no shard");
	qsort(names, count, sizeof(*names), name_shard_cmp);
	*ret_count = count;
	*ret = TAKE(names);
	return 0;
}
