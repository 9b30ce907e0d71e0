/* sealed.c: finished run files get their names and become durable, many at once */
#include "sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracespool/sync.h"
#include "tracespool/util.h"

struct sealed {
	struct store *st;
	int fd;
	bool named; /* below runs/, synced or not */
	uint64_t bytes;
	char name[SEALED_NAME];
	char path[RUN_PATH_MAX];
};

int sealed_make(struct store *st, int fd, const char *name, const char *digest, unsigned revision,
		struct sealed **ret, struct ts_error *err)
{
	struct sealed *s = calloc(1, sizeof(*s));
	struct stat look;

	if (!s)
		return ts_error_nomem(err);
	CHECK(store_run_path(digest, revision, s->path) && strlen(name) < sizeof(s->name));
	if (fstat(fd, &look) < 0) {
		free(s);
		return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot look at a run file");
	}
	s->st = st;
	s->fd = fd;
	s->bytes = (uint64_t)look.st_size;
	strcpy(s->name, name);
	*ret = s;
	return 0;
}

uint64_t sealed_bytes(const struct sealed *s)
{
	return s->bytes;
}

void sealed_free(struct sealed *s)
{
	if (!s)
		return;
	if (!s->named)
		unlinkat(s->st->tmp_fd, s->name, 0);
	close_fd(&s->fd);
	free(s);
}

/* Opens runs/HH, making it (and its name durable) if need be. */
static int open_shelf(const struct sealed *s, int *ret, struct ts_error *err)
{
	char name[3] = {s->path[0], s->path[1], 0};

	if (mkdirat(s->st->runs_fd, name, 0750) == 0) {
		int sys = sync_one(s->st->runs_fd, false);

		if (sys)
			return ts_error_sys(err, TS_E_INTERNAL, sys, "cannot sync the folder runs");
	} else if (errno != EEXIST) {
		return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot make runs/%s", name);
	}
	int fd = openat(s->st->runs_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot open runs/%s", name);
	*ret = fd;
	return 0;
}

/* The name comes before the sync: until the commit nobody looks there, and what a crash leaves is
 * removed at the next start. The folder stays open. */
static int give_name(struct sealed *s, int *ret_shelf, struct ts_error *err)
{
	if (open_shelf(s, ret_shelf, err) < 0)
		return -1;
	/* A file of that name is left from a commit that did not go through; it goes. */
	if (renameat(s->st->tmp_fd, s->name, *ret_shelf, s->path + 3) < 0)
		return ts_error_sys(err, TS_E_INTERNAL, errno, "cannot rename a run file");
	s->named = true;
	return 0;
}

static void note(const struct sync_item *item, const char *what, struct ts_error *err)
{
	if (item->sys && !err->code)
		ts_error_sys(err, TS_E_INTERNAL, item->sys, "cannot sync %s", what);
}

static void publish_some(struct sealed *const *all, struct ts_error *errs, size_t n)
{
	struct sync_item items[2 * SEALED_AT_ONCE];

	for (size_t i = 0; i < n; i++) {
		items[2 * i] = (struct sync_item){.fd = -1};
		items[2 * i + 1] = (struct sync_item){.fd = -1};
		ts_error_init(&errs[i]);
		if (give_name(all[i], &items[2 * i + 1].fd, &errs[i]) == 0)
			items[2 * i].fd = all[i]->fd;
	}
	sync_all(items, 2 * n);
	for (size_t i = 0; i < n; i++) {
		note(&items[2 * i], "a run file", &errs[i]);
		note(&items[2 * i + 1], "a folder of runs", &errs[i]);
		close_fd(&items[2 * i + 1].fd);
	}
}

void sealed_publish(struct sealed *const *all, struct ts_error *errs, size_t n)
{
	for (size_t i = 0; i < n; i += SEALED_AT_ONCE)
		publish_some(all + i, errs + i, n - i < SEALED_AT_ONCE ? n - i : SEALED_AT_ONCE);
}

int runfile_publish(struct runfile *rf, const char *digest, unsigned revision, uint64_t *ret_bytes,
		    struct ts_error *err)
{
	struct ts_error failed = TS_ERROR_INIT;
	struct sealed *s;

	if (runfile_seal(rf, digest, revision, &s, err) < 0)
		return -1;
	sealed_publish(&s, &failed, 1);
	*ret_bytes = sealed_bytes(s);
	sealed_free(s);
	if (!failed.code)
		return 0;
	*err = failed;
	return -1;
}
