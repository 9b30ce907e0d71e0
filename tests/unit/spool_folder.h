/* spool_folder.h: a private folder for one test of the spool room, and the steps that jobs take */
#ifndef TESTS_SPOOL_FOLDER_H
#define TESTS_SPOOL_FOLDER_H

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracespool/spool.h"

/* Everything is below this; removed by folder_done. */
static char folder_root[512];

/* A path below the root, in one of a few buffers used in turn. */
PRINTF_LIKE(1, 2) static inline const char *at(const char *fmt, ...)
{
	static __thread char bytes[8][1024];
	static __thread unsigned turn;
	char *p = bytes[turn++ % 8];
	va_list ap;
	int n = snprintf(p, sizeof(bytes[0]), "%s/", folder_root);

	va_start(ap, fmt);
	vsnprintf(p + n, sizeof(bytes[0]) - (size_t)n, fmt, ap);
	va_end(ap);
	return p;
}

static inline void folder_init(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(folder_root, sizeof(folder_root), "%s/tracespool-test-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(folder_root));
}

static inline int folder_remove_one(const char *path, const struct stat *st, int type,
				    struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void folder_remove(const char *path)
{
	nftw(path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void folder_done(void)
{
	folder_remove(folder_root);
}

static inline void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static inline void append_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* As a job should: under a name that is ignored, then renamed. */
static inline void rename_in(const char *name, const char *text)
{
	char aside[600];

	snprintf(aside, sizeof(aside), "%s", at("spool/.%.200s.part", name));
	write_file(aside, text);
	ck_assert_int_eq(rename(aside, at("spool/%s", name)), 0);
}

static inline bool exists(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

/* The text of a file of less than 4 KiB, in one buffer. */
static inline const char *text_of(const char *path)
{
	static char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	n = read(fd, text, sizeof(text) - 1);
	ck_assert_int_ge(n, 0);
	text[n] = 0;
	close(fd);
	return text;
}

static inline struct spool *open_spool_with(const char *archive, const char *quarantine)
{
	struct ts_error err = TS_ERROR_INIT;
	struct spool *sp = NULL;
	char path[600];

	snprintf(path, sizeof(path), "%s", at("spool"));
	struct spool_options options = {
		.path = path, .archive_path = archive, .quarantine_path = quarantine};

	ck_assert_msg(!spool_open(&options, &sp, &err), "%s", err.message);
	return sp;
}

static inline struct spool *open_spool(void)
{
	return open_spool_with(".archive", ".quarantine");
}

#endif
