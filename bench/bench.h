/* bench.h: what the benchmark programs share: clocks, medians, peak memory, rows of their tables */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_RUNS = 5, BENCH_RUNS_MAX = 99 };

/* Ends the program with a message when what a benchmark stands on does not work. */
_Noreturn void bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

double bench_now(void);                  /* seconds, monotonic */
double bench_cpu(void);                  /* seconds of this process */
uint64_t bench_rss_peak(void);           /* KiB of this process */
unsigned bench_runs(void);               /* BENCH_RUNS of the environment, at least 5 */
uint64_t bench_number(const char *text); /* decimal, else it fails */

/* Sorts values; the middle one. */
double bench_median(double *values, size_t n);
/* Sorts values; the one at this share of them (0.99: p99). */
double bench_quantile(double *values, size_t n, double share);

/* A whole file in memory, with a NUL behind it. */
char *bench_load(const char *path, size_t *ret_size);

/* The head of a table, and a row of it. ratio and the target are compared: target above 0 is the
 * least, below 0 the most that the ratio may be, 0 no target. rss_kib 0: not known. */
void bench_head(const char *title);
void bench_row(const char *what, const char *ours, const char *peer, double ratio, uint64_t rss_kib,
	       const char *name, double target);

#endif
