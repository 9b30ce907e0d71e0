/* gen_request.c: prints a request trace of any size: gen_request [-n REQUESTS] [-k HASHES] [-a]
 * [--sessions N] [-s SEED] > x.jsonl
 *
 * -n  number of requests (100000)
 * -k  mean number of input hashes a request (150); each has 20 digits
 * -a  agentic: sessions that start one another, with tool calls between their requests
 * --sessions  number of sessions (with -a; a thirtieth of the requests)
 * -s  seed (1); the same options give the same bytes
 *
 * Prompts share their beginnings as real ones do: a conversation grows from one of a few system
 * prompts, each turn keeps all full blocks of the one before. The last block of a prompt is partial
 * as a rule and then of its own.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64, CHATS = 256, PROMPTS = 16 };

/* The first arrival, and what makes a hash 20 digits long. */
#define FIRST_MS UINT64_C(1777312800000)
#define SMALLEST_HASH UINT64_C(10000000000000000000)

static uint64_t state;

static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* A number below n. */
static uint64_t draw(uint64_t n)
{
	state += UINT64_C(0x9e3779b97f4a7c15);
	return n ? mix(state) % n : 0;
}

struct chat {
	uint64_t seed, prompt, prompt_blocks, blocks;
	uint64_t clock_ms; /* when its next request can start; agentic only */
	int64_t parent;    /* number of a session; -1: none */
	bool begun;
};

struct options {
	uint64_t requests, hashes, sessions, seed;
	bool agentic;
};

static void chat_begin(struct chat *c, uint64_t hashes)
{
	c->seed = draw(UINT64_MAX);
	c->prompt = draw(PROMPTS);
	c->prompt_blocks = 1 + c->prompt * hashes / (2 * PROMPTS);
	c->blocks = c->prompt_blocks;
	c->begun = true;
}

/* One turn: some blocks more. Conversations begin with a quarter of the mean and end at 7/4. */
static void chat_turn(struct chat *c, uint64_t hashes)
{
	uint64_t most = hashes + hashes * 3 / 4;

	if (!c->begun || c->blocks >= most)
		chat_begin(c, hashes);
	else
		c->blocks += 1 + draw(hashes / 3);
	if (c->blocks > most)
		c->blocks = most;
}

static uint64_t block_hash(const struct chat *c, uint64_t i, uint64_t partial)
{
	uint64_t h = i < c->prompt_blocks ? mix(mix(c->prompt) ^ i) : mix(c->seed ^ mix(i));

	if (partial)
		h = mix(h ^ partial);
	return SMALLEST_HASH + h % (UINT64_MAX - SMALLEST_HASH);
}

/* All hashes have the same number of digits, so they are written without printf. */
static void print_hashes(const struct chat *c, uint64_t partial)
{
	for (uint64_t i = 0; i < c->blocks; i++) {
		uint64_t h = block_hash(c, i, i + 1 == c->blocks ? partial : 0);
		char digits[21];

		for (int k = 19; k >= 0; k--, h /= 10)
			digits[k] = (char)('0' + h % 10);
		digits[20] = ',';
		fwrite(digits, 1, i + 1 < c->blocks ? 21 : 20, stdout);
	}
}

static void print_head(const char *type, uint64_t event_ms, int64_t session, int64_t parent)
{
	printf("{\"timestamp\":%" PRIu64 ",\"event\":{\"schema\":\"dynamo.request.trace.v1\","
	       "\"event_type\":\"%s\",\"event_time_unix_ms\":%" PRIu64,
	       event_ms - FIRST_MS, type, event_ms);
	if (session < 0)
		return;
	printf(",\"agent_context\":{\"session_id\":\"session-%08" PRId64 "\"", session);
	if (parent >= 0)
		printf(",\"parent_session_id\":\"session-%08" PRId64 "\"", parent);
	putchar('}');
}

static void print_request(const struct chat *c, uint64_t no, uint64_t start_ms, uint64_t took_ms,
			  int64_t session)
{
	static const char *const reasons[] = {"stop", "tool_calls", "stop", "length"};
	uint64_t missing = c->blocks ? draw(BLOCK) : 0, length = c->blocks * BLOCK - missing;
	/* One after another: the order within an argument list is the compiler's choice. */
	uint64_t output = 1 + draw(800), high = draw(UINT64_C(1) << 32), low = draw(1 << 16);
	uint64_t size = 8 + 62 * draw(2), part = draw(1000), first = 10 + draw(took_ms);
	uint64_t gap = 1 + draw(40), queued = draw(32), worker = SMALLEST_HASH + draw(8);
	const char *reason = reasons[draw(4)];

	print_head("request_end", start_ms + took_ms, session, c->parent);
	printf(",\"event_source\":\"dynamo\",\"request\":{\"request_id\":\"%08" PRIx64 "-%04" PRIx64
	       "-4000-8000-%012" PRIx64 "\",\"model\":\"lab/coder-%" PRIu64 "b\","
	       "\"input_tokens\":%" PRIu64 ",\"output_tokens\":%" PRIu64
	       ",\"request_received_ms\":%" PRIu64 ",\"total_time_ms\":%" PRIu64 ".%03" PRIu64
	       ",\"ttft_ms\":%" PRIu64 ".25,\"avg_itl_ms\":%" PRIu64 ".5,\"queue_depth\":%" PRIu64
	       ",\"worker\":{\"prefill_worker_id\":%" PRIu64 ",\"prefill_dp_rank\":0}"
	       ",\"finish_reason_metadata\":{\"finish_reason\":\"%s\"}"
	       ",\"replay\":{\"trace_block_size\":%d,\"input_length\":%" PRIu64
	       ",\"input_sequence_hashes\":[",
	       high, low, no, size, length, output, start_ms, took_ms, part, first, gap, queued,
	       worker, reason, BLOCK, length);
	print_hashes(c, missing);
	fputs("]}}}}\n", stdout);
}

static void print_tool(uint64_t no, uint64_t start_ms, uint64_t took_ms, int64_t session,
		       int64_t parent)
{
	static const char *const classes[] = {"bash", "grep", "read", "edit"};
	const char *class = classes[draw(4)];
	bool failed = draw(20) == 0;
	uint64_t bytes = draw(100000);

	print_head("tool_start", start_ms, session, parent);
	printf(",\"tool\":{\"tool_call_id\":\"call-%" PRIu64 "\",\"tool_class\":\"%s\","
	       "\"started_at_unix_ms\":%" PRIu64 ",\"status\":\"running\"}}}\n",
	       no, class, start_ms);
	print_head(failed ? "tool_error" : "tool_end", start_ms + took_ms, session, parent);
	printf(",\"event_source\":\"harness\",\"tool\":{\"tool_call_id\":\"call-%" PRIu64
	       "\",\"tool_class\":\"%s\",\"started_at_unix_ms\":%" PRIu64
	       ",\"ended_at_unix_ms\":%" PRIu64 ",\"duration_ms\":%" PRIu64
	       ".5,\"output_bytes\":%" PRIu64 "%s}}}\n",
	       no, class, start_ms, start_ms + took_ms, took_ms, bytes,
	       failed ? ",\"error_type\":\"exit_status\"" : "");
}

static void run_standard(const struct options *o, struct chat *chats)
{
	uint64_t clock_ms = FIRST_MS;

	for (uint64_t no = 1; no <= o->requests; no++) {
		struct chat *c = &chats[draw(CHATS)];

		c->parent = -1;
		chat_turn(c, o->hashes);
		/* Records come in order of completion, so starts are a little out of order. */
		clock_ms += draw(40);
		uint64_t late_ms = draw(2000), took_ms = 20 + draw(9000);

		print_request(c, no, clock_ms + late_ms, took_ms, -1);
	}
}

static void run_agentic(const struct options *o, struct chat *chats)
{
	uint64_t calls = 0, started = 0;

	for (uint64_t no = 1; no <= o->requests; no++) {
		/* Every session gets its first request in time; else the youngest work most. */
		bool fresh = started < o->sessions &&
			     (started == 0 || no * o->sessions >= started * o->requests);
		uint64_t young = started < 32 ? started : 32;
		uint64_t s = fresh ? started++ : started - 1 - draw(young);
		struct chat *c = &chats[s];
		uint64_t took_ms = 20 + draw(9000);

		if (fresh) {
			c->parent = s && draw(3) ? (int64_t)(s - 1 - draw(s < 8 ? s : 8)) : -1;
			c->clock_ms = c->parent >= 0 ? chats[c->parent].clock_ms
						     : FIRST_MS + draw(1000) + s * 500;
		}
		chat_turn(c, o->hashes);
		c->clock_ms += draw(300);
		print_request(c, no, c->clock_ms, took_ms, (int64_t)s);
		c->clock_ms += took_ms;
		for (uint64_t k = draw(4); k > 0; k--) {
			uint64_t busy_ms = draw(2000), late_ms = draw(5);

			print_tool(++calls, c->clock_ms + late_ms, busy_ms, (int64_t)s, c->parent);
			c->clock_ms += draw(2) ? busy_ms + 5 : 5;
		}
	}
}

static bool take_number(const char *text, uint64_t *ret)
{
	char *end;

	*ret = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {{"sessions", required_argument, NULL, 'S'}, {0}};
	struct options o = {.requests = 100000, .hashes = 150, .seed = 1};
	bool good = true;
	int c;

	while ((c = getopt_long(argc, argv, "n:k:as:", names, NULL)) >= 0) {
		if (c == 'n')
			good &= take_number(optarg, &o.requests);
		else if (c == 'k')
			good &= take_number(optarg, &o.hashes);
		else if (c == 's')
			good &= take_number(optarg, &o.seed);
		else if (c == 'S')
			good &= take_number(optarg, &o.sessions);
		else if (c == 'a')
			o.agentic = true;
		else
			good = false;
	}
	if (!good || optind != argc) {
		fputs("usage: gen_request [-n REQUESTS] [-k HASHES] [-a] [--sessions N] [-s "
		      "SEED]\n",
		      stderr);
		return 2;
	}
	if (!o.sessions)
		o.sessions = o.requests / 30 + 1;
	state = mix(o.seed);

	struct chat *chats = calloc(o.agentic ? o.sessions : CHATS, sizeof(*chats));

	if (!chats) {
		fputs("gen_request: out of memory\n", stderr);
		return 1;
	}
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	if (o.agentic)
		run_agentic(&o, chats);
	else
		run_standard(&o, chats);
	free(chats);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fputs("gen_request: cannot write\n", stderr);
		return 1;
	}
	return 0;
}
