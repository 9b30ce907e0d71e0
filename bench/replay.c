/* replay.c: benchmark T14: lowering of a request run to replay rows
 *
 * replay FILE: loads the file, then lowers the run; prints rows, bytes of the rows and seconds, the
 * median of the runs. Reading the file is not in the seconds. The peer is peers/lower.py.
 */
#include <stdio.h>

#include "bench.h"
#include "tracespool/conf.h"
#include "tracespool/ingest.h"
#include "tracespool/replay.h"

static uint64_t lower(struct runfile *rf, uint64_t *ret_rows)
{
	struct ts_error err = TS_ERROR_INIT;
	struct replay *r;
	struct buf out;
	uint64_t bytes = 0;
	int rc;

	*ret_rows = 0;
	buf_init(&out, SIZE_MAX);
	if (replay_open(runfile_db(rf), &r, &err) < 0)
		bench_fail("%s", err.message);
	while ((rc = replay_next(r, &out, false, &err)) > 0) {
		bytes += out.len + 1;
		buf_clear(&out);
		++*ret_rows;
	}
	if (rc < 0)
		bench_fail("%s", err.message);
	replay_close(r);
	buf_done(&out);
	return bytes;
}

int main(int argc, char **argv)
{
	double took[BENCH_RUNS_MAX];
	unsigned runs = bench_runs();
	struct ts_error err = TS_ERROR_INIT;
	struct conf conf;
	uint64_t rows = 0, bytes = 0;
	struct runfile *rf;

	if (argc != 2) {
		fputs("usage: replay FILE\n", stderr);
		return 2;
	}
	if (conf_load(&conf, "/dev/null", NULL, 0, &err) < 0)
		bench_fail("%s", err.message);
	struct check_options options = {.conf = &conf};
	const char *paths[] = {argv[1]};

	if (ingest_load_requests(paths, 1, &options, &rf, &err) < 0)
		bench_fail("%s", err.message);
	for (unsigned i = 0; i < runs; i++) {
		double t = bench_now();

		bytes = lower(rf, &rows);
		took[i] = bench_now() - t;
	}
	printf("%llu %llu %.6f %llu\n", (unsigned long long)rows, (unsigned long long)bytes,
	       bench_median(took, runs), (unsigned long long)bench_rss_peak());
	runfile_free(rf);
	conf_done(&conf);
	return 0;
}
