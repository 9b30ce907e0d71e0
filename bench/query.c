/* query.c: the bound of bench/query: one prepared statement on a run file, all columns read
 *
 * query FILE SQL SECONDS: immutable and with mmap, as the daemon reads; prints p50 and p99 in
 * microseconds and the rows of one round.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { ROUNDS_MAX = 1 << 20 };

static size_t sum; /* so that nothing is left out as unused */

static unsigned round_of(sqlite3_stmt *s)
{
	unsigned rows = 0;
	int rc;

	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(s); i++) {
			if (sqlite3_column_type(s, i) == SQLITE_INTEGER)
				sum += (size_t)sqlite3_column_int64(s, i);
			else if (sqlite3_column_text(s, i))
				sum += (size_t)sqlite3_column_bytes(s, i);
		}
		rows++;
	}
	if (rc != SQLITE_DONE)
		bench_fail("step: %s", sqlite3_errstr(rc));
	sqlite3_reset(s);
	return rows;
}

int main(int argc, char **argv)
{
	char uri[1024];
	sqlite3 *db = NULL;
	sqlite3_stmt *s;

	if (argc != 4) {
		fputs("usage: query FILE SQL SECONDS\n", stderr);
		return 2;
	}
	double length = (double)bench_number(argv[3]);
	double *took = malloc(ROUNDS_MAX * sizeof(*took));
	size_t rounds = 0;
	unsigned rows = 0;

	snprintf(uri, sizeof(uri), "file:%s?immutable=1", argv[1]);
	if (!took ||
	    sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK ||
	    sqlite3_exec(db, "pragma mmap_size = 268435456", NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, argv[2], -1, &s, NULL) != SQLITE_OK)
		bench_fail("%s: %s", argv[1], sqlite3_errmsg(db));
	for (double begin = bench_now(), now = begin;
	     now - begin < length && rounds < ROUNDS_MAX;) {
		rows = round_of(s);
		double after = bench_now();

		took[rounds++] = after - now;
		now = after;
	}
	double p50 = bench_median(took, rounds);

	printf("%.1f %.1f %u\n", p50 * 1e6, bench_quantile(took, rounds, 0.99) * 1e6, rows);
	sqlite3_finalize(s);
	sqlite3_close(db);
	free(took);
	return sum == 0;
}
