/* bench.c: clocks, medians, peak memory and table rows of the benchmark programs */
#include "bench.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

void bench_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("bench: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) < 0)
		bench_fail("no clock: %s", strerror(errno));
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double bench_now(void)
{
	return seconds(CLOCK_MONOTONIC);
}

double bench_cpu(void)
{
	return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t bench_rss_peak(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) < 0)
		bench_fail("no resource usage: %s", strerror(errno));
	return (uint64_t)usage.ru_maxrss;
}

uint64_t bench_number(const char *text)
{
	char *end;

	errno = 0;
	uint64_t value = strtoull(text, &end, 10);

	if (errno || *end || *text < '0' || *text > '9')
		bench_fail("not a number: %s", text);
	return value;
}

unsigned bench_runs(void)
{
	const char *text = getenv("BENCH_RUNS");
	uint64_t runs = text && *text ? bench_number(text) : BENCH_RUNS;

	if (runs < BENCH_RUNS)
		runs = BENCH_RUNS;
	return runs > BENCH_RUNS_MAX ? BENCH_RUNS_MAX : (unsigned)runs;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t n, double share)
{
	if (n == 0)
		return 0;
	qsort(values, n, sizeof(*values), compare);
	size_t at = (size_t)((double)n * share);

	return values[at < n ? at : n - 1];
}

double bench_median(double *values, size_t n)
{
	return bench_quantile(values, n, 0.5);
}

char *bench_load(const char *path, size_t *ret_size)
{
	FILE *f = fopen(path, "rb");
	struct stat st;

	if (!f || fstat(fileno(f), &st) < 0)
		bench_fail("%s: %s", path, strerror(errno));
	size_t size = (size_t)st.st_size;
	char *text = malloc(size + 1);

	if (!text)
		bench_fail("no memory for %s", path);
	if (fread(text, 1, size, f) != size)
		bench_fail("%s: cannot be read", path);
	fclose(f);
	text[size] = 0;
	*ret_size = size;
	return text;
}

void bench_head(const char *title)
{
	printf("\n%s\n%-46s %14s %22s %7s %9s  %s\n", title, "what", "ours", "bound or peer",
	       "ratio", "peak RSS", "target");
	fflush(stdout);
}

void bench_row(const char *what, const char *ours, const char *peer, double ratio, uint64_t rss_kib,
	       const char *name, double target)
{
	char rss[32] = "-", goal[64] = "-", shown[32] = "-";

	if (rss_kib)
		snprintf(rss, sizeof(rss), "%.1f MiB", (double)rss_kib / 1024);
	if (ratio > 0)
		snprintf(shown, sizeof(shown), "%.2f", ratio);
	if (target > 0)
		snprintf(goal, sizeof(goal), "%s >= %.6g: %s", name, target,
			 ratio >= target ? "met" : "missed");
	else if (target < 0)
		snprintf(goal, sizeof(goal), "%s <= %.6g: %s", name, -target,
			 ratio <= -target ? "met" : "missed");
	printf("%-46s %14s %22s %7s %9s  %s\n", what, ours, peer, shown, rss, goal);
	fflush(stdout);
}
