/* claim.c: takes a drop by renaming it into .active/, opens and checks it; puts it back */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
#define ACCOUNT_BYTES_MAX (1u << 20)
#define OWNER_KEEP_MS 1000

void claim_done(struct claim *c)
{
	free(c->name);
	free_names(c->shards);
	close_fd(&c->fd);
	*c = (struct claim){.fd = -1};
}

static void ask_owner(uid_t uid, char *owner, size_t size)
{
	struct passwd entry, *found = NULL;

	for (size_t room = 1024; room <= ACCOUNT_BYTES_MAX; room *= 4) {
		CLEAN(free_ptr) char *bytes = malloc(room);
		int sys = bytes ? getpwuid_r(uid, &entry, bytes, room, &found) : ENOMEM;

		if (sys == ERANGE)
			continue;
		if (!sys && found && strlen(found->pw_name) < size) {
			snprintf(owner, size, "%s", found->pw_name);
			return;
		}
		break;
	}
	snprintf(owner, size, "uid:%lu", (unsigned long)uid);
}

/* Accounts are asked for again after a while: their names are files or services elsewhere. */
static void find_owner(uid_t uid, char *owner, size_t size)
{
	static _Thread_local struct {
		uid_t uid;
		int64_t until_ms;
		char name[64];
	} last;
	int64_t now = time_mono_ms();

	if (now >= last.until_ms || last.uid != uid) {
		ask_owner(uid, last.name, sizeof(last.name));
		last.uid = uid;
		last.until_ms = now + OWNER_KEEP_MS;
	}
	snprintf(owner, size, "%s", last.name);
}

/* What a failed open means for the drop. */
static int open_error(struct ts_error *err, int sys, const char *what)
{
	switch (sys) {
	case ELOOP:
	case ENXIO:
	case ENODEV:
	case ENOTDIR:
		return ts_error_sys(err, TS_E_NOT_A_REGULAR_FILE, sys, "%s is a link or device",
				    what);
	case EACCES:
	case EPERM:
		return ts_error_sys(err, TS_E_UNREADABLE, sys, "%s may not be read by the service",
				    what);
	case ENOENT:
		return ts_error_sys(err, TS_E_CHANGED_WHILE_READING, sys, "%s went away", what);
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		return ts_error_sys(err, TS_E_INTERNAL, sys, "%s cannot be opened", what);
	default:
		return ts_error_sys(err, TS_E_IO, sys, "%s cannot be opened", what);
	}
}

static int check_file(const struct stat *st, const char *what, struct ts_error *err)
{
	if (S_ISLNK(st->st_mode))
		return ts_error_set(err, TS_E_NOT_A_REGULAR_FILE, "%s is a symbolic link", what);
	if (!S_ISREG(st->st_mode))
		return ts_error_set(err, TS_E_NOT_A_REGULAR_FILE, "%s is a device, pipe or socket",
				    what);
	if (st->st_nlink != 1)
		return ts_error_set(err, TS_E_NOT_A_REGULAR_FILE, "%s has %lu hard links", what,
				    (unsigned long)st->st_nlink);
	return 0;
}

static int open_file_drop(int dir_fd, const char *name, const char *what, int *ret_fd,
			  struct stat *ret_st, struct ts_error *err)
{
	CLEAN(close_fd) int fd = openat(dir_fd, name, OPEN_FLAGS);
	struct stat st;

	if (fd < 0)
		return open_error(err, errno, what);
	if (fstat(fd, &st))
		return ts_error_sys(err, TS_E_IO, errno, "%s cannot be looked at", what);
	if (check_file(&st, what, err))
		return -1;
	*ret_fd = take_fd(&fd);
	*ret_st = st;
	return 0;
}

static int open_folder_drop(int dir_fd, struct claim *c, uint64_t max_shards, struct ts_error *err)
{
	struct survey survey;
	int sys;

	c->fd = openat(dir_fd, c->name, OPEN_FLAGS | O_DIRECTORY);
	if (c->fd < 0) {
		sys = errno;
		open_error(err, sys, "folder");
		if (sys == EACCES)
			ts_error_hint(err, "make the folder and its files readable for the "
					   "service's group: chmod -R g+rwX");
		return -1;
	}
	sys = folder_survey(c->fd, &survey);
	if (sys)
		return open_error(err, sys, "folder");
	c->entries = survey.hash;
	return folder_shards(c->fd, max_shards, &c->shards, &c->shard_count, err);
}

/* Fills the claim from what stands in .active/. */
static int inspect(int dir_fd, struct claim *c, uint64_t max_shards, struct ts_error *err)
{
	size_t length = strlen(c->name);

	if (fstatat(dir_fd, c->name, &c->st, AT_SYMLINK_NOFOLLOW))
		return open_error(err, errno, "drop");
	c->folder = S_ISDIR(c->st.st_mode);
	find_owner(c->st.st_uid, c->owner, sizeof(c->owner));
	if (length > SPOOL_NAME_MAX)
		return ts_error_set(err, TS_E_BAD_NAME, "name has %zu bytes, more than %d", length,
				    SPOOL_NAME_MAX);
	if (c->folder)
		return open_folder_drop(dir_fd, c, max_shards, err);
	if (check_file(&c->st, "drop", err)) /* before open: a device may do things when opened */
		return -1;
	return open_file_drop(dir_fd, c->name, "file", &c->fd, &c->st, err);
}

int spool_inspect(const char *path, uint64_t max_shards, struct claim *ret, struct ts_error *err)
{
	CLEAN(free_ptr) char *copy = strdup(path);
	CLEAN(close_fd) int dir_fd = -1;
	size_t n = copy ? strlen(copy) : 0;
	const char *dir = ".";
	char *name = copy;
	char *slash;

	*ret = (struct claim){.fd = -1, .seen_ms = time_now_ms()};
	if (!copy)
		return ts_error_nomem(err);
	while (n > 1 && copy[n - 1] == '/')
		copy[--n] = 0;
	slash = strrchr(copy, '/');
	if (slash) {
		name = slash + 1;
		*slash = 0;
		dir = slash == copy ? "/" : copy;
	}
	ret->name = strdup(name);
	if (!ret->name)
		return ts_error_nomem(err);
	if (!name_is_plain(name))
		return ts_error_set(err, TS_E_BAD_NAME, "a drop of this name is not looked at");
	dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return ts_error_sys(err, TS_E_UNREADABLE, errno, "folder %s cannot be opened", dir);
	return inspect(dir_fd, ret, max_shards, err);
}

/* The event of a return must not make a drop look renamed in: it is noted before it can come. */
static int put_back(struct spool *sp, const char *name)
{
	int sys;

	spool_note_return(sp, name);
	sys = rename_noreplace(sp->active_fd, name, sp->fd, name);
	if (sys)
		spool_drop_return(sp, name);
	return sys;
}

/* What is in .active/ under the claim's name becomes the claim, or goes where its error sends it.
 */
static int take(struct spool *sp, uint64_t max_shards, struct claim *c, struct ts_error *err)
{
	if (!inspect(sp->active_fd, c, max_shards, err))
		return 1;
	/* If the name is taken again the drop stays in .active/, where recovery finds it. */
	if (err->code && err->code->fate != TS_FATE_REFUSE)
		put_back(sp, c->name);
	return -1;
}

static int begin(const char *name, struct claim *ret, struct ts_error *err)
{
	*ret = (struct claim){.fd = -1, .seen_ms = time_now_ms()};
	ret->name = strdup(name);
	return ret->name ? 0 : ts_error_nomem(err);
}

static int claim_error(struct ts_error *err, int sys)
{
	if (sys != EACCES && sys != EPERM && sys != EBUSY && sys != EXDEV)
		return ts_error_sys(err, TS_E_IO, sys, "drop cannot be claimed");
	/* A folder of another account can only be moved with write permission on itself. */
	ts_error_sys(err, TS_E_UNREADABLE, sys, "drop cannot be moved by the service");
	ts_error_hint(err, "a folder must be writable for the service's group (chmod -R g+rwX) and "
			   "may not be a mount of its own");
	return -1;
}

int spool_claim(struct spool *sp, const char *name, uint64_t max_shards, struct claim *ret,
		struct ts_error *err)
{
	struct stat st;
	int sys;

	*ret = (struct claim){.fd = -1};
	if (!name_is_plain(name) || spool_is_own(sp, name))
		return 0;
	if (begin(name, ret, err))
		return -1;
	sys = rename_noreplace(sp->fd, name, sp->active_fd, name);
	if (sys == ENOENT && !fstatat(sp->fd, name, &st, AT_SYMLINK_NOFOLLOW)) {
		/* The drop is there, so .active/ is not. */
		if (spool_verify(sp, err))
			return -1;
		sys = rename_noreplace(sp->fd, name, sp->active_fd, name);
	}
	if (sys == ENOENT || sys == EEXIST) {
		claim_done(ret);
		return 0;
	}
	if (sys) {
		if (!fstatat(sp->fd, name, &ret->st, AT_SYMLINK_NOFOLLOW)) {
			ret->folder = S_ISDIR(ret->st.st_mode);
			find_owner(ret->st.st_uid, ret->owner, sizeof(ret->owner));
		}
		return claim_error(err, sys);
	}
	return take(sp, max_shards, ret, err);
}

int spool_adopt(struct spool *sp, const char *name, uint64_t max_shards, struct claim *ret,
		struct ts_error *err)
{
	struct stat st;

	*ret = (struct claim){.fd = -1};
	if (!name_is_plain(name) || fstatat(sp->active_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (begin(name, ret, err))
		return -1;
	return take(sp, max_shards, ret, err);
}

int spool_open_shard(const struct claim *c, size_t n, int *ret_fd, struct ts_error *err)
{
	struct stat st;
	int fd;

	if (!c->folder) {
		fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return open_error(err, errno, "file");
		if (lseek(fd, 0, SEEK_SET) < 0) { /* the position is shared with the claim's */
			int sys = errno;

			close(fd);
			return ts_error_sys(err, TS_E_IO, sys, "file cannot be read");
		}
		*ret_fd = fd;
		return 0;
	}
	CHECK(n < c->shard_count);
	if (!open_file_drop(c->fd, c->shards[n], "shard", ret_fd, &st, err))
		return 0;
	text_name(ts_str_c(c->shards[n]), err->file, sizeof(err->file));
	return -1;
}

bool spool_unchanged(const struct claim *c)
{
	struct survey survey;
	struct stat st;

	if (c->list)
		return list_hash(c) == c->entries;
	if (c->folder)
		return !folder_survey(c->fd, &survey) && survey.hash == c->entries;
	return !fstat(c->fd, &st) && st.st_ino == c->st.st_ino && st.st_size == c->st.st_size &&
	       stat_mtime_ns(&st) == stat_mtime_ns(&c->st);
}

int spool_list_active(struct spool *sp, char ***ret, struct ts_error *err)
{
	void *dir = open_entries(sp->active_fd);
	char **names = calloc(1, sizeof(*names));
	size_t count = 0, room = 1;
	struct dirent *d;
	int sys = 0;

	if (!dir)
		sys = errno;
	else if (!names)
		sys = ENOMEM;
	while (!sys && (d = next_entry(dir))) {
		if (count + 1 >= room) {
			char **grown = reallocarray(names, room * 2, sizeof(*names));

			if (!grown) {
				sys = ENOMEM;
				break;
			}
			names = grown;
			room *= 2;
		}
		names[count] = strdup(d->d_name);
		if (!names[count]) {
			sys = ENOMEM;
			break;
		}
		names[++count] = NULL;
	}
	if (!sys)
		sys = errno; /* of the last next_entry */
	close_entries(dir);
	if (sys) {
		free_names(names);
		return ts_error_sys(err, TS_E_IO, sys,
				    "folder .active in the spool cannot be read");
	}
	*ret = names;
	return 0;
}

int spool_unclaim(struct spool *sp, const struct claim *c, bool *ret_back, struct ts_error *err)
{
	int sys = put_back(sp, c->name);
	struct stat st;

	if (sys && sys != EEXIST) {
		if (sys != ENOENT || fstatat(sp->fd, c->name, &st, AT_SYMLINK_NOFOLLOW))
			return ts_error_sys(err, TS_E_IO, sys, "drop cannot be put back");
		sys = 0; /* it is back already */
	}
	*ret_back = !sys;
	return 0;
}
