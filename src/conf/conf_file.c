/* conf_file.c: settings from a file and from the drop-ins of the conf.d beside it */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "table.h"

#ifndef TRACESPOOL_SYSCONFDIR
#define TRACESPOOL_SYSCONFDIR "/etc"
#endif

#define FILE_BYTES_MAX (1024 * 1024)
#define DROP_INS_MAX 1000

const char *conf_default_file(void)
{
	return TRACESPOOL_SYSCONFDIR "/tracespool/tracespool.conf";
}

static void free_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Cuts the comment and the white space at both ends. */
static char *strip(char *text)
{
	char *end;

	for (char *p = text; *p; p++) {
		if (*p != '#' || (p > text && !is_blank(p[-1])))
			continue;
		*p = 0;
		break;
	}
	while (is_blank(*text))
		text++;
	for (end = text + strlen(text); end > text && is_blank(end[-1]);)
		*--end = 0;
	return text;
}

static int read_line(struct conf *conf, char *text, const char *where, unsigned *seen,
		     unsigned line, struct ts_error *err)
{
	char *value, *end;

	text = strip(text);
	if (!*text)
		return 0;
	value = strchr(text, '=');
	if (!value || value == text)
		return ts_error_set(err, TS_E_BAD_SETTING, "%s: not a line of key = value", where);
	*value++ = 0;
	for (end = text + strlen(text); end > text && is_blank(end[-1]);)
		*--end = 0;
	while (is_blank(*value))
		value++;
	return conf_put(conf, text, value, where, false, seen, line, err);
}

/* fd is taken. path is for messages. */
static int read_file(struct conf *conf, int fd, const char *path, struct ts_error *err)
{
	CLEAN(free_file) FILE *f = fdopen(fd, "r");
	CLEAN(free_ptr) char *text = NULL;
	unsigned seen[SETTING_COUNT] = {0};
	size_t cap = 0, total = 0;
	ssize_t n;

	if (!f) {
		close(fd);
		return ts_error_nomem(err);
	}
	for (unsigned line = 1; (n = getline(&text, &cap, f)) >= 0; line++) {
		char where[512];

		snprintf(where, sizeof(where), "%s:%u", path, line);
		total += (size_t)n;
		if (total > FILE_BYTES_MAX)
			return ts_error_set(err, TS_E_BAD_SETTING, "%s: file is larger than 1 MiB",
					    where);
		if (memchr(text, 0, (size_t)n))
			return ts_error_set(err, TS_E_BAD_SETTING, "%s: line has a zero byte",
					    where);
		if (read_line(conf, text, where, seen, line, err) < 0)
			return -1;
	}
	if (!feof(f))
		return ts_error_sys(err, TS_E_BAD_SETTING, errno, "cannot read %s", path);
	return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_drop_in(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return e->d_name[0] != '.' && n > 5 && !strcmp(e->d_name + n - 5, ".conf");
}

static int read_drop_ins(struct conf *conf, const char *file, struct ts_error *err)
{
	const char *slash = strrchr(file, '/');
	CLEAN(close_fd) int folder = -1;
	CLEAN(free_ptr) char *path = NULL;
	struct dirent **names = NULL;
	int count, rc = 0;

	if (asprintf(&path, "%.*sconf.d", slash ? (int)(slash + 1 - file) : 0, file) < 0) {
		path = NULL;
		return ts_error_nomem(err);
	}
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : ts_error_sys(err, TS_E_BAD_SETTING, errno, "cannot read %s", path);
	count = scandirat(folder, ".", &names, is_drop_in, by_name);
	if (count < 0)
		return ts_error_sys(err, TS_E_BAD_SETTING, errno, "cannot read %s", path);
	if (count > DROP_INS_MAX)
		rc = ts_error_set(err, TS_E_BAD_SETTING, "%s holds more than %d files", path,
				  DROP_INS_MAX);
	for (int i = 0; i < count; i++) {
		char full[512];
		int fd;

		snprintf(full, sizeof(full), "%s/%s", path, names[i]->d_name);
		if (rc == 0) {
			fd = openat(folder, names[i]->d_name, O_RDONLY | O_CLOEXEC);
			rc = fd < 0 ? ts_error_sys(err, TS_E_BAD_SETTING, errno, "cannot open %s",
						   full)
				    : read_file(conf, fd, full, err);
		}
		free(names[i]);
	}
	free(names);
	return rc;
}

int conf_read_files(struct conf *conf, const char *file, struct ts_error *err)
{
	const char *path = file ? file : conf_default_file();
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && (file || errno != ENOENT))
		return ts_error_sys(err, TS_E_BAD_SETTING, errno, "cannot open %s", path);
	if (fd >= 0 && read_file(conf, fd, path, err) < 0)
		return -1;
	return read_drop_ins(conf, path, err);
}
