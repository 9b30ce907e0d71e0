/* parse.c: benchmark T1: lines to fields, against jansson reading lines and extracting all fields
 *
 * parse EXECUTION.jsonl REQUESTS.jsonl FEW-EVENTS.jsonl
 * parse -1 FILE   one pass over a file and nothing else (run by the program itself below callgrind)
 *
 * Both sides get the same bytes in memory, split them into lines and take every field of a line;
 * ours also applies all rules of the format. Input (SHA-256) is a row of its own.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "parse_jansson.h"
#include "recorded.h"
#include "tracespool/format.h"
#include "tracespool/util.h"

struct counter {
	struct sink sink;
	uint64_t rows;
};

static int count_row(struct sink *sink, enum row_kind kind, const void *row, struct ts_error *err)
{
	(void)kind, (void)row, (void)err;
	((struct counter *)sink)->rows++;
	return 0;
}

static _Noreturn void refused(const struct ts_error *err)
{
	bench_fail("line %llu: %s", (unsigned long long)err->line, err->message);
}

/* Not inlined: callgrind counts what happens inside. */
__attribute__((noinline)) uint64_t parse_pass(const char *text, size_t size);

uint64_t parse_pass(const char *text, size_t size)
{
	struct counter counter = {.sink.row = count_row};

	return record_text(text, size, &counter.sink);
}

/* Through input.h as ingest reads: pread, SHA-256, lines, UTF-8, format. */
static void input_pass(const char *path)
{
	static const struct input_limits limits = {.line_bytes = 67108864, .expansion_ratio = 250};
	struct counter counter = {.sink.row = count_row};
	struct ts_error err = TS_ERROR_INIT;
	struct trace_counts counts = {0};
	struct input_facts facts;
	struct format_state *state = NULL;
	const struct ts_format *format = NULL;
	struct input *in = NULL;
	struct lines *lines = NULL;
	struct line line;
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0 || input_open(fd, false, &limits, &in, &err) < 0 ||
	    lines_open(in, &limits, &lines, &err) < 0)
		bench_fail("%s: cannot be read", path);
	while ((rc = lines_next(lines, &line, &err)) > 0) {
		if (!format && (format_pick(&line, &format, &err) < 0 ||
				format->begin(&state, &counts, &err) < 0))
			refused(&err);
		if (format->record(state, &line, &counter.sink, &err) < 0)
			refused(&err);
	}
	if (rc < 0 || !format || format->finish(state, &counter.sink, &err) < 0 ||
	    input_finish(in, &facts, &err) < 0)
		refused(&err);
	format->end(state);
	lines_close(lines);
	input_close(in);
	close(fd);
}

static void speed(char *out, size_t size, double bytes, double s)
{
	snprintf(out, size, "%.1f MB/s", bytes / s / 1e6);
}

static uint64_t jansson_sum; /* so that nothing is left out as unused */

static void compare(const char *what, const char *path, bool big)
{
	double ours[BENCH_RUNS_MAX], peer[BENCH_RUNS_MAX], input[BENCH_RUNS_MAX];
	unsigned runs = bench_runs();
	char mine[32], his[32], title[128];
	size_t size;
	char *text = bench_load(path, &size);
	uint64_t rss;

	parse_pass(text, size);
	rss = bench_rss_peak();
	for (unsigned i = 0; i < runs; i++) {
		double t = bench_now();

		parse_pass(text, size);
		ours[i] = bench_now() - t;
		t = bench_now();
		jansson_sum += jansson_pass(text, size, big);
		peer[i] = bench_now() - t;
		t = bench_now();
		input_pass(path);
		input[i] = bench_now() - t;
	}
	double a = bench_median(ours, runs), b = bench_median(peer, runs);
	double c = bench_median(input, runs);

	speed(mine, sizeof(mine), (double)size, a);
	speed(his, sizeof(his), (double)size, b);
	strcat(his, " jansson");
	snprintf(title, sizeof(title), "%s: line to fields", what);
	bench_row(title, mine, his, b / a, rss, "T1", 15);
	speed(mine, sizeof(mine), (double)size, c);
	snprintf(title, sizeof(title), "%s: file to fields, with SHA-256", what);
	bench_row(title, mine, his, b / c, 0, "", 0);
	free(text);
}

/* Instructions of parse_pass a line, counted by callgrind. */
static void instructions(const char *self, const char *path)
{
	char command[1024], buffer[512], shown[32];
	unsigned long long collected = 0;
	size_t size;
	uint64_t lines = 0;

	if (system("valgrind --version >/dev/null 2>&1") != 0) {
		puts("instructions an event: skipped, no valgrind");
		return;
	}
	char *text = bench_load(path, &size);

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	free(text);
	snprintf(command, sizeof(command),
		 "valgrind --tool=callgrind --callgrind-out-file=${BENCH_CALLGRIND:-/dev/null} "
		 "--toggle-collect=parse_pass '%s' -1 '%s' 2>&1",
		 self, path);
	FILE *f = popen(command, "r");

	if (!f)
		bench_fail("cannot run valgrind");
	while (fgets(buffer, sizeof(buffer), f)) {
		const char *at = strstr(buffer, "Collected :");

		if (at)
			collected = strtoull(at + strlen("Collected :"), NULL, 10);
	}
	if (pclose(f) != 0 || !collected || !lines)
		bench_fail("valgrind did not count");
	double each = (double)collected / (double)lines;

	snprintf(shown, sizeof(shown), "%.0f", each);
	bench_row("instructions an execution event (callgrind)", shown, "2200", each, 0, "T1",
		  -2200);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "-1") == 0) {
		size_t size;
		char *text = bench_load(argv[2], &size);

		parse_pass(text, size);
		free(text);
		return 0;
	}
	if (argc != 4) {
		fputs("usage: parse EXECUTION.jsonl REQUESTS.jsonl FEW-EVENTS.jsonl\n", stderr);
		return 2;
	}
	bench_head("bench/parse: reading and extracting all fields of a line");
	compare("execution", argv[1], false);
	compare("requests", argv[2], true);
	instructions(argv[0], argv[3]);
	return jansson_sum == 0;
}
