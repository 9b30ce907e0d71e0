/* tool_drop.c: tracespool drop: copies aside in the drop folder, syncs, renames */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool_json.h"

#include "tracespool/spool.h"

#define SHARDS_MAX 1000000

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

/* Without SA_RESTART: a copy that is interrupted ends and is taken away. */
static void catch_signals(void)
{
	struct sigaction act = {.sa_handler = on_signal};
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaction(signals[i], &act, NULL);
}

/* The last component, without slashes at the end; malloc'd. */
static char *base_name(const char *path)
{
	size_t end = strlen(path), start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	return strndup(path + start, end - start);
}

static int check_name(const char *name, bool folder, struct ts_error *err)
{
	enum spool_name kind = spool_classify_name(name);

	if (strlen(name) > SPOOL_NAME_MAX)
		return ts_error_set(err, TS_E_BAD_NAME, "the name is longer than %d bytes",
				    SPOOL_NAME_MAX);
	if (name[0] == '.' || !name[0] || strchr(name, '/') || kind == NAME_UNFINISHED)
		return ts_error_set(err, TS_E_BAD_NAME,
				    "the daemon does not look at a name like this: it is hidden or "
				    "looks unfinished");
	if (!folder && kind != NAME_DROP_FILE)
		return ts_error_set(err, TS_E_BAD_NAME,
				    "the name does not end in .jsonl or .jsonl.gz");
	return 0;
}

/* Copies the bytes of an open regular file to a new file that the service's group can read. */
static int copy_file(int from, int folder, const char *name, struct ts_error *err)
{
	CLEAN(close_fd)
	int to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	static char part[1 << 18];

	if (to < 0)
		return ts_error_sys(err, TS_E_IO, errno, "cannot write into the drop folder");
	/* The umask of a job may have taken the group's right away. */
	if (fchmod(to, 0640) < 0)
		return ts_error_sys(err, TS_E_IO, errno, "cannot set the mode of the copy");
	for (;;) {
		ssize_t n = copy_file_range(from, NULL, to, NULL, 1 << 26, 0);

		if (n < 0 && (errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP ||
			      errno == ENOSYS || errno == EPERM)) {
			n = read(from, part, sizeof(part));
			for (ssize_t done = 0; n > 0 && done < n && !interrupted;) {
				ssize_t w = write(to, part + done, (size_t)(n - done));

				if (w < 0 && errno != EINTR)
					return ts_error_sys(err, TS_E_IO, errno, "cannot write");
				done += w > 0 ? w : 0;
			}
		}
		if (interrupted)
			return ts_error_set(err, TS_E_IO, "interrupted");
		if (n < 0 && errno != EINTR)
			return ts_error_sys(err, TS_E_IO, errno, "cannot copy");
		if (n == 0)
			break;
	}
	if (fsync(to) < 0)
		return ts_error_sys(err, TS_E_IO, errno, "cannot sync the copy");
	return 0;
}

static int open_regular(int at, const char *name, struct ts_error *err)
{
	int fd = openat(at, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return ts_error_sys(err, TS_E_IO, errno, "cannot open %s", name);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return ts_error_set(err, TS_E_NOT_A_REGULAR_FILE, "%s is not a regular file", name);
	}
	return fd;
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* from is taken. */
static int copy_folder(int from, int spool, const char *name, struct ts_error *err)
{
	CLEAN(close_dir) DIR *dir = fdopendir(from);
	CLEAN(close_fd) int to = -1;
	unsigned count = 0;
	struct dirent *e;

	if (!dir) {
		close(from);
		return ts_error_nomem(err);
	}
	if (mkdirat(spool, name, 0750) < 0)
		return ts_error_sys(err, TS_E_IO, errno, "cannot write into the drop folder");
	to = openat(spool, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return ts_error_sys(err, TS_E_IO, errno, "cannot open the copy");
	while (errno = 0, (e = readdir(dir))) {
		CLEAN(close_fd) int fd = -1;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (++count > SHARDS_MAX)
			return ts_error_set(err, TS_E_TOO_MANY_SHARDS, "too many files");
		fd = open_regular(dirfd(dir), e->d_name, err);
		if (fd < 0 || copy_file(fd, to, e->d_name, err) < 0)
			return -1;
	}
	if (errno)
		return ts_error_sys(err, TS_E_IO, errno, "cannot read the folder");
	if (fsync(to) < 0)
		return ts_error_sys(err, TS_E_IO, errno, "cannot sync the copy");
	/* The service moves the folder, which changes its "..": its group must be able to write. */
	if (fchmod(to, S_ISGID | S_ISVTX | 0770) < 0)
		return ts_error_sys(err, TS_E_IO, errno, "cannot set the mode of the copy");
	return 0;
}

/* What a failed copy left; only names that this process made. */
static void remove_copy(int spool, const char *name, bool folder)
{
	CLEAN(close_dir) DIR *dir = NULL;
	struct dirent *e;
	int fd;

	if (!folder) {
		unlinkat(spool, name, 0);
		return;
	}
	fd = openat(spool, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(dir), e->d_name, 0);
	unlinkat(spool, name, AT_REMOVEDIR);
}

/* The group may write the drop folder but not list it, so it often cannot be opened for a sync. */
static int sync_folder(int spool)
{
	CLEAN(close_fd) int fd = openat(spool, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		return fsync(fd);
	sync();
	return 0;
}

static int publish(int spool, const char *aside, const char *name, struct ts_error *err)
{
	if (renameat2(spool, aside, spool, name, RENAME_NOREPLACE) < 0) {
		if (errno == EEXIST)
			return ts_error_set(err, TS_E_BAD_NAME,
					    "another drop waits under this name");
		return ts_error_sys(err, TS_E_IO, errno, "cannot rename the copy");
	}
	return 0;
}

static int make_aside_name(const char *name, char **ret, struct ts_error *err)
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return ts_error_sys(err, TS_E_IO, errno, "no random bytes");
	if (asprintf(ret, ".%s.%016llx.part", name, (unsigned long long)random) < 0) {
		*ret = NULL;
		return ts_error_nomem(err);
	}
	return 0;
}

static int drop_into(int spool, const char *path, const char *name, struct ts_error *err)
{
	CLEAN(free_ptr) char *aside = NULL;
	CLEAN(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool folder;
	int rc;

	if (fd < 0)
		return ts_error_sys(err, TS_E_IO, errno, "cannot open it");
	if (fstat(fd, &st) < 0)
		return ts_error_sys(err, TS_E_IO, errno, "cannot look at it");
	folder = S_ISDIR(st.st_mode);
	if (!folder && !S_ISREG(st.st_mode))
		return ts_error_set(err, TS_E_NOT_A_REGULAR_FILE, "not a regular file or folder");
	if (check_name(name, folder, err) < 0 || make_aside_name(name, &aside, err) < 0)
		return -1;
	/* Said before a long copy; the rename looks again. */
	if (fstatat(spool, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return ts_error_set(err, TS_E_BAD_NAME, "another drop waits under this name");
	rc = folder ? copy_folder(take_fd(&fd), spool, aside, err)
		    : copy_file(fd, spool, aside, err);
	if (rc == 0)
		rc = publish(spool, aside, name, err);
	if (rc < 0)
		remove_copy(spool, aside, folder);
	return rc;
}

static void put_dropped(const struct tool *t, const char *path, const char *name)
{
	if (t->json) {
		json_t *j = json_pack("{s:s}", "name", name);
		char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

		printf("%s\n", text ? text : "{\"name\":null}");
		free(text);
		json_decref(j);
		return;
	}
	tool_put(stdout, ts_str_c(path));
	fputs(": dropped as ", stdout);
	tool_put(stdout, ts_str_c(name));
	putchar('\n');
}

static int drop_one(struct tool *t, const char *spool_path, int spool, const char *path)
{
	struct ts_error err = TS_ERROR_INIT;
	CLEAN(free_ptr) char *name = base_name(path);
	int64_t since = time_now_ms();

	if (!name) {
		tool_complain("no memory");
		return TOOL_REFUSED;
	}
	if (drop_into(spool, path, name, &err) < 0) {
		fputs("tracespool: ", stderr);
		tool_put(stderr, ts_str_c(path));
		fprintf(stderr, ": %s\n", err.message);
		if (err.sys == EACCES)
			fprintf(stderr, "  hint: members of the group of %s may drop\n",
				spool_path);
		return TOOL_REFUSED;
	}
	if (sync_folder(spool) < 0)
		tool_complain("cannot sync %s", spool_path);
	if (!t->wait) {
		put_dropped(t, path, name);
		return TOOL_OK;
	}
	return tool_await(t, name, since, time_mono_ms() + (int64_t)t->wait_s * 1000);
}

int tool_drop(struct tool *t, char **args)
{
	const char *path = t->spool ? t->spool : t->conf.spool.path;
	CLEAN(close_fd) int spool = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int worst = TOOL_OK;

	if (spool < 0) {
		tool_complain("cannot open the drop folder %s: %s", path, strerror(errno));
		return TOOL_REFUSED;
	}
	catch_signals();
	for (; *args && !interrupted; args++) {
		int code = drop_one(t, path, spool, *args);

		if (code > worst)
			worst = code;
	}
	return interrupted ? 128 + interrupted : worst;
}
