/* fuzz_gzip.c: bytes as a gzip file: members, trailers, lines, digest */
#include "lines_fuzz.h"

/* Reads it all in pieces of `piece` bytes and returns the length of what came out. */
static uint64_t read_all(int fd, size_t piece, struct input_facts *facts, struct ts_error *err)
{
	const struct input_limits limits = {FUZZ_LINE_BYTES, 250};
	struct ts_error later = TS_ERROR_INIT;
	struct input *in = NULL;
	uint64_t sum = 0;
	char bytes[4096];
	ssize_t n;

	HOLDS(input_open(fd, true, &limits, &in, &later) == 0);
	while ((n = input_read(in, bytes, piece, err)) > 0)
		sum += (uint64_t)n;
	HOLDS(input_finish(in, facts, &later) == 0);
	HOLDS(n < 0 || facts->decoded_bytes == sum);
	input_close(in);
	return sum;
}

static void read_lines(int fd)
{
	const struct input_limits limits = {FUZZ_LINE_BYTES, 250};
	struct ts_error err = TS_ERROR_INIT;
	struct input *in = NULL;
	struct lines *lines = NULL;
	struct line line;
	uint64_t at = 0, number = 0;
	int rc;

	HOLDS(input_open(fd, true, &limits, &in, &err) == 0);
	HOLDS(lines_open(in, &limits, &lines, &err) == 0);
	while ((rc = lines_next(lines, &line, &err)) > 0) {
		HOLDS(line.byte == at && line.number == ++number);
		HOLDS(line.text[line.len] == '\n' || line.text[line.len] == 0);
		at += line.len + 1;
	}
	if (rc < 0)
		fuzz_check_error(&err);
	lines_close(lines);
	input_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ts_error whole = TS_ERROR_INIT, bytewise = TS_ERROR_INIT;
	struct input_facts a, b;
	int fd = fuzz_file(data, size);
	uint64_t n = read_all(fd, 4096, &a, &whole);

	/* How it is read makes no difference. */
	if (n < 65536) {
		HOLDS(read_all(fd, 7, &b, &bytewise) == n);
		HOLDS(whole.code == bytewise.code && whole.byte == bytewise.byte);
		HOLDS(!strcmp(a.digest, b.digest) && a.members == b.members);
	}
	if (whole.code)
		fuzz_check_error(&whole);
	read_lines(fd);
	close(fd);
	return 0;
}
