/* gen_candle.c: writes a valid execution trace of any size to stdout: same options, same bytes
 *
 * One training update of a layered model, with as many micro-batches as it takes: nested spans,
 * ops, tensors and statistics, allocations that are released in the backward pass, device
 * samples and intervals, gradients, edges. Spans nest in time, so the trace is healthy too.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAYERS = 24, BLOCKS = 2, OPS = 4, LIVE_MAX = LAYERS * BLOCKS * OPS };

struct storage {
	uint64_t id, bytes;
	unsigned rows, columns;
};

struct span {
	uint64_t id, start_ns;
};

static uint64_t state;     /* of the random numbers */
static uint64_t now_ns;    /* of the trace */
static uint64_t device_ns; /* of the device's clock */
static uint64_t records, bytes, spans, storages, gradients;
static uint64_t live_bytes;
static uint64_t want_records = 2000000, want_bytes;
static struct storage live[LIVE_MAX]; /* activations that the backward pass will release */
static unsigned live_count;

static const char *const block_names[BLOCKS] = {"attention", "mlp"};
static const char *const op_names[BLOCKS][OPS] = {
	{"layer_norm", "matmul", "softmax", "matmul"},
	{"layer_norm", "matmul", "gelu", "matmul"},
};

static uint64_t draw(uint64_t below)
{
	uint64_t x = state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (x ^ x >> 31) % below;
}

__attribute__((format(printf, 1, 2))) static void record(const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vprintf(fmt, ap);
	va_end(ap);
	if (n < 0 || putchar('\n') == EOF) {
		fprintf(stderr, "gen_candle: write: %s\n", strerror(errno));
		exit(1);
	}
	bytes += (uint64_t)n + 1;
	records++;
}

static bool reached(void)
{
	return want_bytes ? bytes >= want_bytes : records >= want_records;
}

static struct span span_start(const struct span *parent, const char *name, const char *kind,
			      const char *more)
{
	struct span span = {.id = ++spans, .start_ns = now_ns};
	char parent_id[48] = "";

	if (parent)
		snprintf(parent_id, sizeof(parent_id), "\"parent_id\":\"s%" PRIu64 "\",",
			 parent->id);
	record("{\"kind\":\"span_start\",\"id\":\"s%" PRIu64 "\",%s\"name\":\"%s\","
	       "\"start_ns\":%" PRIu64 ",\"span_kind\":\"%s\"%s}",
	       span.id, parent_id, name, span.start_ns, kind, more);
	now_ns += 20 + draw(80);
	return span;
}

static void span_end(const struct span *span, const struct span *parent)
{
	now_ns += 20 + draw(80);
	record("{\"kind\":\"span_end\",\"id\":\"s%" PRIu64 "\",\"duration_ns\":%" PRIu64 "}",
	       span->id, now_ns - span->start_ns);
	if (parent)
		record("{\"kind\":\"edge\",\"edge_kind\":\"call\",\"from_span\":\"s%" PRIu64
		       "\",\"to_span\":\"s%" PRIu64 "\",\"host_duration_ns\":%" PRIu64 "}",
		       parent->id, span->id, now_ns - span->start_ns);
}

static void memory(const struct span *span, const struct storage *s, const char *action,
		   const char *op)
{
	record("{\"kind\":\"memory\",\"timestamp_ns\":%" PRIu64 ",\"storage_id\":\"m%" PRIu64
	       "\",\"tensor_id\":\"t%" PRIu64 "\",\"span_id\":\"s%" PRIu64
	       "\",\"op_name\":\"%s\",\"device\":\"cuda:0\",\"bytes\":%" PRIu64
	       ",\"action\":\"%s\",\"shape\":[%u,%u],\"dtype\":\"f32\","
	       "\"category\":\"activation\"}",
	       now_ns, s->id, s->id, span->id, op, s->bytes, action, s->rows, s->columns);
	live_bytes = *action == 'a' ? live_bytes + s->bytes : live_bytes - s->bytes;
}

/* An op with its output. The output's id is that of its storage. */
static struct storage operation(const struct span *span, const char *name, uint64_t input,
				const char *weight)
{
	struct storage out = {.id = ++storages};

	out.rows = 1u << (3 + draw(4));
	out.columns = 64u * (unsigned)(1 + draw(12));
	out.bytes = (uint64_t)out.rows * out.columns * 4;

	uint64_t duration_ns = 500 + draw(20000);

	memory(span, &out, "alloc", name);
	record("{\"kind\":\"op\",\"span_id\":\"s%" PRIu64
	       "\",\"op_name\":\"%s\",\"inputs\":[\"t%" PRIu64 "\",\"%s\"],\"output\":\"t%" PRIu64
	       "\",\"shape\":[%u,%u],\"dtype\":\"f32\",\"device\":\"cuda:0\",\"duration_ns\":"
	       "%" PRIu64 ",\"timestamp_ns\":%" PRIu64 ",\"output_dense_bytes\":%" PRIu64
	       ",\"input_dense_bytes\":%" PRIu64 "}",
	       span->id, name, input, weight, out.id, out.rows, out.columns, duration_ns, now_ns,
	       out.bytes, out.bytes * 2);
	now_ns += duration_ns + draw(200);
	return out;
}

static void tensor(const struct span *span, const struct storage *s, const char *label)
{
	record("{\"kind\":\"tensor\",\"span_id\":\"s%" PRIu64 "\",\"tensor_id\":\"t%" PRIu64
	       "\",\"label\":\"%s\",\"shape\":[%u,%u],\"dtype\":\"f32\",\"device\":\"cuda:0\","
	       "\"requires_grad\":%s,\"dense_bytes\":%" PRIu64 ",\"category\":\"activation\"}",
	       span->id, s->id, label, s->rows, s->columns, draw(2) ? "true" : "false", s->bytes);
}

static void tensor_stats(const struct span *span, const struct storage *s, const char *label)
{
	double rms = (double)draw(1000000) / 65536, abs_max = rms * (1 + (double)draw(100) / 16);

	record("{\"kind\":\"tensor_stats\",\"span_id\":\"s%" PRIu64
	       "\",\"label\":\"%s\",\"shape\":[%u,%u],\"dtype\":\"f32\",\"elements\":%" PRIu64
	       ",\"non_finite\":0,\"rms\":%.17g,\"abs_max\":%.17g,\"mean\":%.17g}",
	       span->id, label, s->rows, s->columns, s->bytes / 4, rms, abs_max,
	       (double)draw(2001) / 1000 - 1);
}

static void device_sample(void)
{
	uint64_t capacity = (uint64_t)24 << 30, used = ((uint64_t)3 << 30) + live_bytes;

	record("{\"kind\":\"device_memory\",\"timestamp_ns\":%" PRIu64
	       ",\"device\":\"cuda:0\",\"used_bytes\":%" PRIu64 ",\"free_bytes\":%" PRIu64
	       ",\"reserved_bytes\":%" PRIu64 ",\"capacity_bytes\":%" PRIu64 "}",
	       now_ns, used, capacity - used, used + draw(1 << 20), capacity);
}

static void device_interval(const struct span *span, uint64_t duration_ns)
{
	device_ns += draw(500);
	record("{\"kind\":\"device_interval\",\"span_id\":\"s%" PRIu64
	       "\",\"device\":\"cuda:0\",\"stream_id\":\"%" PRIu64
	       "\",\"clock_id\":\"gpu0\",\"backend\":\"cuda\",\"start_ns\":%" PRIu64
	       ",\"duration_ns\":%" PRIu64 "}",
	       span->id, draw(3), device_ns, duration_ns);
	device_ns += duration_ns;
}

/* One half of a layer: ops whose outputs stay until the backward pass. */
static uint64_t forward_block(const struct span *layer, unsigned layer_no, unsigned block,
			      uint64_t input)
{
	struct span span = span_start(layer, block_names[block], "op", ",\"step\":null");
	char weight[48], label[48];

	for (unsigned i = 0; i < OPS; i++) {
		snprintf(weight, sizeof(weight), "layer.%u.%s.w%u", layer_no, block_names[block],
			 i);
		struct storage out = operation(&span, op_names[block][i], input, weight);

		if (i == OPS - 1) {
			snprintf(label, sizeof(label), "layer.%u.%s.out", layer_no,
				 block_names[block]);
			tensor(&span, &out, label);
			if (draw(8) == 0)
				tensor_stats(&span, &out, label);
			record("{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_tensor\":"
			       "\"t%" PRIu64 "\",\"to_tensor\":\"t%" PRIu64 "\"}",
			       input, out.id);
		}
		live[live_count++] = out;
		input = out.id;
	}
	if (draw(4) == 0)
		device_interval(&span, now_ns - span.start_ns);
	span_end(&span, layer);
	return input;
}

static unsigned forward(const struct span *micro)
{
	struct span pass = span_start(micro, "forward", "function",
				      ",\"measured\":false,\"step\":\"forward\"");
	uint64_t input = ++storages;
	unsigned made = 0;
	char name[32];

	for (; made < LAYERS && (made == 0 || !reached()); made++) {
		snprintf(name, sizeof(name), "layer.%u", made);
		struct span layer = span_start(&pass, name, "module", "");

		for (unsigned block = 0; block < BLOCKS; block++)
			input = forward_block(&layer, made, block, input);
		span_end(&layer, &pass);
	}
	device_sample();
	span_end(&pass, micro);
	return made;
}

static void gradient(unsigned layer_no, unsigned block)
{
	bool zero = draw(50) == 0;

	record("{\"kind\":\"gradient\",\"event_id\":\"g%" PRIu64
	       "\",\"root\":\"vars\",\"key\":\"layer.%u.%s.w1\",\"state\":\"%s\",\"norm\":%.17g}",
	       ++gradients, layer_no, block_names[block], zero ? "zero" : "present",
	       zero ? 0.0 : (double)(1 + draw(1000000)) / 4096);
}

/* The layers again from the last to the first, releasing what the forward pass left. */
static void backward(const struct span *micro, unsigned layers)
{
	struct span pass = span_start(micro, "backward", "function", ",\"step\":\"backward\"");
	char name[32], weight[48];

	while (layers-- > 0) {
		snprintf(name, sizeof(name), "layer.%u.grad", layers);
		struct span layer = span_start(&pass, name, "module", "");

		for (unsigned block = BLOCKS; block-- > 0;) {
			for (unsigned i = OPS; i-- > 0;) {
				struct storage used = live[--live_count];

				snprintf(weight, sizeof(weight), "layer.%u.%s.w%u", layers,
					 block_names[block], i);
				struct storage out =
					operation(&layer, "matmul_grad", used.id, weight);

				memory(&layer, &used, "free", "matmul_grad");
				memory(&layer, &out, "free", "accumulate");
			}
			gradient(layers, block);
		}
		span_end(&layer, &pass);
	}
	device_sample();
	span_end(&pass, micro);
}

static void optimizer(const struct span *update)
{
	struct span pass = span_start(update, "optimizer", "function", ",\"step\":\"optimizer\"");
	struct storage out;

	out = operation(&pass, "adamw", ++storages, "layer.0.attention.w1");
	memory(&pass, &out, "free", "adamw");
	span_end(&pass, update);
}

static void meta(const char *run_id, uint64_t seed)
{
	record("{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"%s\","
	       "\"correlation_id\":\"gen/%" PRIu64 "\",\"entrypoint\":\"trainer::update\","
	       "\"phase\":\"train\",\"timestamp\":\"2026-03-01T10:00:00Z\",\"capture_step\":10,"
	       "\"warmup_steps\":9,\"device\":\"cuda:0\","
	       "\"measured_region_device_synchronized\":true,\"timing_mode\":\"host\","
	       "\"capture_contract\":{\"measurement_scope\":\"profiled_work\","
	       "\"operations\":\"complete\",\"tensors\":\"partial\",\"gradients\":\"partial\","
	       "\"logical_memory\":\"complete\",\"physical_memory\":\"partial\","
	       "\"device_timing\":\"partial\",\"required_semantic_labels\":[\"update\"]},"
	       "\"comparison_identity\":{\"workload_id\":\"gen\",\"model_id\":\"layers-%d\","
	       "\"config_id\":\"default\",\"data_id\":\"synthetic\",\"seed_policy\":\"fixed\","
	       "\"precision\":\"f32\",\"device_state\":\"exclusive\",\"physical_batch\":8,"
	       "\"accumulation_steps\":1,\"implementation_id\":\"gen-candle\"},"
	       "\"tags\":{\"generator\":\"gen_candle\",\"seed\":\"%" PRIu64 "\"},"
	       "\"candle_version\":\"0.9.1\"}",
	       run_id, seed, LAYERS, seed);
}

static void trace(const char *run_id, uint64_t seed)
{
	meta(run_id, seed);
	struct span root = span_start(NULL, "capture", "function", "");
	struct span update = span_start(&root, "update", "function", ",\"measured\":true");

	do {
		struct span micro = span_start(&update, "micro_batch", "function", "");

		unsigned layers = forward(&micro);

		backward(&micro, layers);
		span_end(&micro, &update);
	} while (!reached());
	optimizer(&update);
	span_end(&update, &root);
	span_end(&root, NULL);
	record("{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":%" PRIu64 "}",
	       now_ns + draw(1000));
}

static void usage(FILE *to)
{
	fputs("usage: gen_candle [-n RECORDS | -b BYTES] [-s SEED] [-r RUN_ID]\n"
	      "Writes a valid candle-graph/trace/10 file to standard output.\n"
	      "  -n RECORDS  end the trace once it has this many records (2000000)\n"
	      "  -b BYTES    end it once it has this many bytes\n"
	      "  -s SEED     of the random numbers (1); same options, same bytes\n"
	      "  -r RUN_ID   letters, digits, - . _ : / (gen-SEED)\n"
	      "What is open when the size is reached is still ended, some hundred records more.\n",
	      to);
}

static uint64_t number(const char *text)
{
	char *end;

	errno = 0;
	uint64_t value = strtoull(text, &end, 10);

	if (errno || *end || end == text || *text == '-') {
		fprintf(stderr, "gen_candle: not a number: %s\n", text);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	static char buffer[1 << 18];
	const char *run_id = NULL;
	char made[32];
	uint64_t seed = 1;
	int option;

	while ((option = getopt(argc, argv, "n:b:s:r:h")) != -1) {
		switch (option) {
		case 'n':
			want_records = number(optarg);
			break;
		case 'b':
			want_bytes = number(optarg);
			break;
		case 's':
			seed = number(optarg);
			break;
		case 'r':
			run_id = optarg;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind < argc || (run_id && run_id[strspn(run_id, "abcdefghijklmnopqrstuvwxyz"
							      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
							      "0123456789-._:/")])) {
		usage(stderr);
		return 2;
	}
	state = seed;
	snprintf(made, sizeof(made), "gen-%" PRIu64, seed);
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	trace(run_id ? run_id : made, seed);
	if (fflush(stdout) == EOF) {
		fprintf(stderr, "gen_candle: write: %s\n", strerror(errno));
		return 1;
	}
	return 0;
}
