/* receipt.c: receipts and reports as files: written aside, synced, renamed, the folder synced */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define FILE_MODE 0640

static int write_synced(int dir_fd, const char *name, struct ts_str bytes)
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
	return fsync(fd) ? errno : 0;
}

/* Writes dir/NAME.json. Two writers of one name never share the file written aside. */
static int write_file(struct spool *sp, int dir_fd, const char *name, struct ts_str json,
		      struct ts_error *err)
{
	CLEAN(free_ptr) char *target = NULL;
	CLEAN(free_ptr) char *aside = NULL;
	unsigned long long no = ++sp->temp_no;
	int sys;

	if (asprintf(&target, "%s.json", name) < 0) {
		target = NULL;
		return ts_error_nomem(err);
	}
	if (asprintf(&aside, ".%s.%llu.tmp", target, no) < 0) {
		aside = NULL;
		return ts_error_nomem(err);
	}
	sys = write_synced(dir_fd, aside, json);
	if (sys == EEXIST) { /* of an earlier life of this process */
		unlinkat(dir_fd, aside, 0);
		sys = write_synced(dir_fd, aside, json);
	}
	if (!sys && renameat(dir_fd, aside, dir_fd, target))
		sys = errno;
	if (!sys)
		sys = sync_folder(dir_fd);
	if (!sys)
		return 0;
	unlinkat(dir_fd, aside, 0);
	return ts_error_sys(err, TS_E_IO, sys, "receipt or report cannot be written");
}

int spool_write_receipt(struct spool *sp, const char *name, struct ts_str json,
			struct ts_error *err)
{
	if (!name_is_plain(name) || strlen(name) > SPOOL_NAME_MAX)
		return ts_error_set(err, TS_E_BAD_NAME, "name cannot be that of a receipt file");
	return write_file(sp, sp->receipts_fd, name, json, err);
}

int spool_remove_receipt(struct spool *sp, const char *name, struct ts_error *err)
{
	CLEAN(free_ptr) char *target = NULL;

	if (!name_is_plain(name) || strlen(name) > SPOOL_NAME_MAX)
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
