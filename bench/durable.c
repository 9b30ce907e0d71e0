/* durable.c: the bare durable sequence, the least that taking a file for good can cost
 *
 * durable FOLDER FILE N: N times create, write, fsync, rename, fsync of the folder and one small
 * commit of SQLite (WAL, synchronous=FULL). Prints seconds: all, the median of one.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

static sqlite3_stmt *open_commit(const char *folder, sqlite3 **ret)
{
	char path[512];
	sqlite3_stmt *insert;

	snprintf(path, sizeof(path), "%s/catalog.db", folder);
	if (sqlite3_open(path, ret) != SQLITE_OK ||
	    sqlite3_exec(*ret,
			 "pragma journal_mode = wal; pragma synchronous = full; "
			 "create table t(name text primary key, size integer)",
			 NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(*ret, "insert into t values(?, ?)", -1, &insert, NULL) != SQLITE_OK)
		bench_fail("%s: %s", path, sqlite3_errmsg(*ret));
	return insert;
}

static void take(int folder, unsigned i, const char *text, size_t size, sqlite3_stmt *insert)
{
	char aside[48], name[48];

	snprintf(name, sizeof(name), "n%u.jsonl", i);
	snprintf(aside, sizeof(aside), ".n%u.part", i);
	int fd = openat(folder, aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

	if (fd < 0 || write(fd, text, size) != (ssize_t)size || fsync(fd) < 0 || close(fd) < 0 ||
	    renameat(folder, aside, folder, name) < 0 || fsync(folder) < 0)
		bench_fail("%s: %s", name, strerror(errno));
	sqlite3_bind_text(insert, 1, name, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(insert, 2, (sqlite3_int64)size);
	if (sqlite3_step(insert) != SQLITE_DONE)
		bench_fail("commit failed");
	sqlite3_reset(insert);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fputs("usage: durable FOLDER FILE N\n", stderr);
		return 2;
	}
	size_t size, n = (size_t)bench_number(argv[3]);
	char *text = bench_load(argv[2], &size);
	double *each = calloc(n ? n : 1, sizeof(*each));
	sqlite3 *db;
	int folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (!each || folder < 0)
		bench_fail("%s: cannot be opened", argv[1]);
	sqlite3_stmt *insert = open_commit(argv[1], &db);
	double t = bench_now();

	for (unsigned i = 0; i < n; i++) {
		double at = bench_now();

		take(folder, i, text, size, insert);
		each[i] = bench_now() - at;
	}
	t = bench_now() - t;
	printf("%.6f %.6f\n", t, bench_median(each, n));
	sqlite3_finalize(insert);
	sqlite3_close(db);
	close(folder);
	free(each);
	free(text);
	return 0;
}
