/* kept.c: opens the kept source of a run again, in the archive or in place */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracespool/util.h"

static int not_there(struct ts_error *err, int sys)
{
	if (sys == ENOENT || sys == ENOTDIR || sys == ELOOP)
		return ts_error_set(err, TS_E_SOURCE_NOT_KEPT,
				    "the source is no longer where it was kept");
	return ts_error_sys(err, TS_E_IO, sys, "the kept source cannot be opened");
}

static void free_namesp(char ***names)
{
	free_names(*names);
}

/* Shard n of the folder, counted as at ingest. */
static int open_shard(int folder, const struct spool_kept *kept, int *ret_fd, struct ts_error *err)
{
	CLEAN(free_namesp) char **names = NULL;
	struct ts_error why = TS_ERROR_INIT;
	size_t count;

	if (folder_shards(folder, kept->shard_count, &names, &count, &why) < 0 ||
	    count != kept->shard_count)
		return ts_error_set(err, TS_E_SOURCE_NOT_KEPT, "the kept folder has other shards");
	*ret_fd = openat(folder, names[kept->shard],
			 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return *ret_fd < 0 ? not_there(err, errno) : 0;
}

/* Rounded towards the past, as at ingest. */
static int64_t mtime_ms(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

bool spool_kept_same(int fd, const struct spool_kept *kept)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	       (uint64_t)st.st_size == kept->size && mtime_ms(&st) == kept->mtime_ms;
}

int spool_open_kept(struct spool *sp, const struct spool_kept *kept, int *ret_fd,
		    struct ts_error *err)
{
	CLEAN(free_ptr) char *path = strndup(kept->path.p, kept->path.n);
	CLEAN(close_fd) int fd = -1;
	CLEAN(close_fd) int folder = -1;

	if (!path)
		return ts_error_nomem(err);
	if (strlen(path) != kept->path.n || kept->shard >= kept->shard_count)
		return not_there(err, ENOENT);
	if (kept->folder) {
		folder = openat(sp->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (folder < 0)
			return not_there(err, errno);
		if (open_shard(folder, kept, &fd, err) < 0)
			return -1;
	} else {
		fd = openat(sp->fd, path,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0)
			return not_there(err, errno);
	}
	if (!spool_kept_same(fd, kept))
		return ts_error_set(err, TS_E_SOURCE_NOT_KEPT,
				    "the kept source is not the file that was ingested any more");
	*ret_fd = take_fd(&fd);
	return 0;
}
