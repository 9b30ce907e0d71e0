/* gen_nasty.c: ordinary-looking traces that hurt: gen_nasty SHAPE [N] to stdout, the same each time
 *
 * nested    an execution trace with N spans, each the parent of the next (100000)
 * ring      N spans whose parents form a ring (1000)
 * live      N storages live at once, the peak rising to the end (1000000)
 * children  one span with N children (1000000)
 * line      one op with a line of N bytes (67108864, the longest that is permitted)
 * members   gzip: N tiny members, a few lines each at most (100000); of a trace with N spans
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static int members; /* each record is a gzip member of its own */
static uint64_t bytes;

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "gen_nasty: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void put(const void *p, size_t n)
{
	if (fwrite(p, 1, n, stdout) != n)
		give_up("write");
	bytes += n;
}

static void put_member(char *text, size_t n)
{
	static z_stream z; /* used again for each member */
	static int made;
	unsigned char out[2048];

	if (!made && deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 1, Z_DEFAULT_STRATEGY) != Z_OK)
		give_up("zlib");
	made = 1;
	z.next_in = (unsigned char *)text;
	z.avail_in = (unsigned)n;
	z.next_out = out;
	z.avail_out = sizeof(out);
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		give_up("zlib");
	put(out, sizeof(out) - z.avail_out);
	deflateReset(&z);
}

__attribute__((format(printf, 1, 2))) static void record(const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(text) - 1)
		give_up("a record");
	text[n] = '\n';
	if (members)
		put_member(text, (size_t)n + 1);
	else
		put(text, (size_t)n + 1);
}

static void meta(const char *shape)
{
	record("{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"nasty-%s\","
	       "\"correlation_id\":\"nasty\",\"entrypoint\":\"nasty\",\"phase\":\"train\","
	       "\"timestamp\":\"2026-03-01T10:00:"
	       "00Z\","
	       "\"capture_step\":0,\"warmup_steps\":0,\"device\":\"cpu\","
	       "\"measured_region_device_synchronized\":true,\"timing_mode\":\"host\","
	       "\"capture_contract\":{\"measurement_scope\":\"profiled_work\","
	       "\"operations\":\"complete\",\"tensors\":\"partial\",\"gradients\":\"partial\","
	       "\"logical_memory\":\"complete\",\"physical_memory\":\"partial\","
	       "\"device_timing\":\"partial\",\"required_semantic_labels\":[]},"
	       "\"tags\":{},\"candle_version\":\"0.9.1\"}",
	       shape);
}

static void start(uint64_t no, uint64_t parent, uint64_t at)
{
	char named[48] = "";

	if (parent)
		snprintf(named, sizeof(named), "\"parent_id\":\"s%" PRIu64 "\",", parent);
	record("{\"kind\":\"span_start\",\"id\":\"s%" PRIu64
	       "\",%s\"name\":\"work\",\"start_ns\":%" PRIu64 ",\"span_kind\":\"function\"}",
	       no, named, at);
}

static void end(uint64_t no, uint64_t duration)
{
	record("{\"kind\":\"span_end\",\"id\":\"s%" PRIu64 "\",\"duration_ns\":%" PRIu64 "}", no,
	       duration);
}

static void nested(uint64_t n)
{
	for (uint64_t i = 1; i <= n; i++)
		start(i, i - 1, i);
	for (uint64_t i = n; i > 0; i--)
		end(i, 2 * (n - i) + 1);
}

static void ring(uint64_t n)
{
	for (uint64_t i = 1; i <= n; i++)
		start(i, i == 1 ? n : i - 1, i);
	for (uint64_t i = n; i > 0; i--)
		end(i, 2 * (n - i) + 1);
}

static void children(uint64_t n)
{
	start(1, 0, 1);
	for (uint64_t i = 2; i <= n + 1; i++) {
		start(i, 1, 2 * i);
		end(i, 1);
	}
	end(1, 2 * n + 10);
}

static void live(uint64_t n)
{
	start(1, 0, 1);
	for (uint64_t i = 1; i <= n; i++)
		record("{\"kind\":\"memory\",\"timestamp_ns\":%" PRIu64
		       ",\"storage_id\":\"m%" PRIu64 "\",\"tensor_id\":\"t%" PRIu64
		       "\",\"span_id\":\"s1\",\"device\":\"cpu\",\"bytes\":%" PRIu64
		       ",\"action\":\"alloc\",\"dtype\":\"f32\"}",
		       i + 1, i, i, 4 * (1 + i % 1000));
	end(1, n + 10);
}

static void line(uint64_t n)
{
	static const char head[] =
		"{\"kind\":\"op\",\"span_id\":\"s1\",\"op_name\":\"concat\",\"inputs\":[";
	static const char tail[] =
		"\"t\"],\"shape\":[4],\"dtype\":\"f32\",\"device\":\"cpu\",\"duration_ns\":1,"
		"\"input_dense_bytes\":16}\n";
	char input[32];

	start(1, 0, 1);
	uint64_t before = bytes, room = sizeof(tail) + 24;

	put(head, sizeof(head) - 1);
	for (uint64_t i = 0; bytes - before + room < n; i++)
		put(input, (size_t)snprintf(input, sizeof(input), "\"t%" PRIu64 "\",", i));
	put(tail, sizeof(tail) - 1);
	end(1, 10);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(uint64_t n);
		uint64_t n;
	} shapes[] = {
		{"nested", nested, 100000}, {"ring", ring, 1000},
		{"live", live, 1000000},    {"children", children, 1000000},
		{"line", line, 67108864},   {"members", children, 100000},
	};
	static char buffer[1 << 18];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		uint64_t n = shapes[i].n;
		char *stop = NULL;

		if (argc < 2 || strcmp(argv[1], shapes[i].name) != 0)
			continue;
		if (argc > 2)
			n = strtoull(argv[2], &stop, 10);
		if (n == 0 || (stop && *stop))
			break;
		members = strcmp(argv[1], "members") == 0;
		/* Of a child a start and an end: two members. */
		if (members)
			n = n / 2 + 1;
		meta(shapes[i].name);
		shapes[i].make(n);
		record("{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":%" PRIu64
		       "}",
		       4 * n + 100);
		if (fflush(stdout) == EOF)
			give_up("write");
		return 0;
	}
	fputs("usage: gen_nasty nested|ring|live|children|line|members [N]\n", stderr);
	return 2;
}
