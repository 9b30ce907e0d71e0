/* receipt.c: receipts and reports as files: written aside, synced, renamed, the folder synced */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "tracespool/sync.h"

#define FILE_MODE 0640

/* A file on its way: written aside, then synced, then renamed. */
struct aside {
	char *target, *name; /* NAME.json, and what it is called until it is whole */
	int fd, sys;
};

static int write_open(int dir_fd, const char *name, struct ts_str bytes, int *ret_fd)
{
	CLEAN(close_fd)
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			FILE_MODE);

	if (fd < 0)
		return errno;
	while (bytes.n) {
		ssize_t done = write(fd, bytes.p, bytes.n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno;
		bytes.p += done;
		bytes.n -= (size_t)done;
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Two writers of one name never share the file written aside. */
static void write_aside(struct spool *sp, int dir_fd, const char *name, struct ts_str json,
			struct aside *a)
{
	unsigned long long no = ++sp->temp_no;

	*a = (struct aside){.fd = -1};
	if (asprintf(&a->target, "%s.json", name) < 0)
		a->target = NULL;
	if (a->target && asprintf(&a->name, ".%s.%llu.tmp", a->target, no) < 0)
		a->name = NULL;
	if (!a->name) {
		a->sys = ENOMEM;
		return;
	}
	a->sys = write_open(dir_fd, a->name, json, &a->fd);
	if (a->sys == EEXIST) { /* of an earlier life of this process */
		unlinkat(dir_fd, a->name, 0);
		a->sys = write_open(dir_fd, a->name, json, &a->fd);
	}
}

static void aside_done(struct aside *a, int dir_fd)
{
	if (a->sys && a->name)
		unlinkat(dir_fd, a->name, 0);
	close_fd(&a->fd);
	free(a->target);
	free(a->name);
}

/* Syncs, renames, syncs the folder. Each has its result in sys. */
static void name_all(struct aside *all, size_t n, int dir_fd)
{
	struct sync_item items[SPOOL_AT_ONCE];
	size_t named = 0;

	for (size_t i = 0; i < n; i++)
		items[i] = (struct sync_item){.fd = all[i].sys ? -1 : all[i].fd};
	sync_all(items, n);
	for (size_t i = 0; i < n; i++) {
		if (!all[i].sys)
			all[i].sys = items[i].sys;
		if (!all[i].sys && renameat(dir_fd, all[i].name, dir_fd, all[i].target))
			all[i].sys = errno;
		named += !all[i].sys;
	}
	int sys = named ? sync_folder(dir_fd) : 0;

	for (size_t i = 0; i < n; i++)
		if (!all[i].sys)
			all[i].sys = sys;
}

static int write_error(struct ts_error *err, int sys)
{
	return ts_error_sys(err, TS_E_IO, sys, "receipt or report cannot be written");
}

/* Writes dir/NAME.json. */
static int write_file(struct spool *sp, int dir_fd, const char *name, struct ts_str json,
		      struct ts_error *err)
{
	struct aside a;
	int sys;

	write_aside(sp, dir_fd, name, json, &a);
	name_all(&a, 1, dir_fd);
	sys = a.sys;
	aside_done(&a, dir_fd);
	return sys ? write_error(err, sys) : 0;
}

static bool has_receipt(const char *name)
{
	return name_is_plain(name) && strlen(name) <= SPOOL_NAME_MAX;
}

int spool_write_receipt(struct spool *sp, const char *name, struct ts_str json,
			struct ts_error *err)
{
	if (!has_receipt(name))
		return ts_error_set(err, TS_E_BAD_NAME, "name cannot be that of a receipt file");
	return write_file(sp, sp->receipts_fd, name, json, err);
}

void spool_write_receipts(struct spool *sp, struct spool_settling *all, size_t n)
{
	struct aside asides[SPOOL_AT_ONCE];

	CHECK(n <= SPOOL_AT_ONCE);
	for (size_t i = 0; i < n; i++) {
		if (has_receipt(all[i].name))
			write_aside(sp, sp->receipts_fd, all[i].name, all[i].receipt, &asides[i]);
		else
			asides[i] = (struct aside){.fd = -1, .sys = EINVAL};
	}
	name_all(asides, n, sp->receipts_fd);
	for (size_t i = 0; i < n; i++) {
		all[i].done = asides[i].sys == 0;
		aside_done(&asides[i], sp->receipts_fd);
	}
}

int spool_remove_receipt(struct spool *sp, const char *name, struct ts_error *err)
{
	CLEAN(free_ptr) char *target = NULL;

	if (!has_receipt(name))
		return 0; /* such a name has none */
	if (asprintf(&target, "%s.json", name) < 0) {
		target = NULL;
		return ts_error_nomem(err);
	}
	if (!unlinkat(sp->receipts_fd, target, 0) || errno == ENOENT)
		return 0;
	return ts_error_sys(err, TS_E_IO, errno, "receipt of an earlier drop cannot be removed");
}

int spool_write_report(struct spool *sp, const char *quarantine_path, struct ts_str json,
		       struct ts_error *err)
{
	CLEAN(close_fd) int fd = -1;
	const char *base;
	int sys = open_parent(sp, quarantine_path, &fd, &base);

	if (sys)
		return ts_error_sys(err, TS_E_IO, sys, "report beside %s cannot be written",
				    quarantine_path);
	return write_file(sp, fd, base, json, err);
}
