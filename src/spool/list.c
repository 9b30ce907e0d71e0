/* list.c: files at paths of their own as the shards of one run */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static uint64_t add(uint64_t hash, uint64_t v)
{
	return (hash ^ v) * UINT64_C(0x100000001b3);
}

uint64_t list_hash(const struct claim *c)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < c->shard_count; i++) {
		struct stat st = {0};

		/* One that is gone or changed its kind is noticed where it is opened. */
		if (!fstatat(c->fd, c->shards[i], &st, AT_SYMLINK_NOFOLLOW)) {
			hash = add(hash, st.st_ino);
			hash = add(hash, (uint64_t)st.st_size);
			hash = add(hash, (uint64_t)stat_mtime_ns(&st));
		}
	}
	return hash;
}

int spool_inspect_list(const char *const *paths, size_t n, struct claim *ret, struct ts_error *err)
{
	const char *slash = strrchr(paths[0], '/');

	*ret = (struct claim){.folder = true, .list = true, .seen_ms = time_now_ms()};
	ret->fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ret->fd < 0)
		return ts_error_sys(err, TS_E_IO, errno, "the current folder cannot be opened");
	ret->name = strdup(slash ? slash + 1 : paths[0]);
	ret->shards = calloc(n + 1, sizeof(*ret->shards));
	if (!ret->name || !ret->shards)
		return ts_error_nomem(err);
	for (; ret->shard_count < n; ret->shard_count++) {
		ret->shards[ret->shard_count] = strdup(paths[ret->shard_count]);
		if (!ret->shards[ret->shard_count])
			return ts_error_nomem(err);
	}
	ret->entries = list_hash(ret);
	return 0;
}
