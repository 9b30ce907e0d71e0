/* tool_summary.c: tracespool summary: the figures of one run as a screen */
#include <stdlib.h>
#include <string.h>

#include "tool_json.h"

#define LABEL_WIDTH 26

enum unit { UNIT_PLAIN, UNIT_NS, UNIT_MS, UNIT_BYTES };

/* Called by their names in JSON, so that people and scripts have the same words. */
static const struct row {
	const char *member;
	enum unit unit;
} rows[] = {
	{"id", UNIT_PLAIN},
	{"kind", UNIT_PLAIN},
	{"correlation_id", UNIT_PLAIN},
	{"entrypoint", UNIT_PLAIN},
	{"phase", UNIT_PLAIN},
	{"device", UNIT_PLAIN},
	{"timing_mode", UNIT_PLAIN},
	{"capture_step", UNIT_PLAIN},
	{"warmup_steps", UNIT_PLAIN},
	{"capture", UNIT_PLAIN},
	{"segment", UNIT_PLAIN},
	{"captured_at", UNIT_PLAIN},
	{"outcome", UNIT_PLAIN},
	{"outcome_reason", UNIT_PLAIN},
	{"total_ns", UNIT_NS},
	{"span_count", UNIT_PLAIN},
	{"root_span_count", UNIT_PLAIN},
	{"max_depth", UNIT_PLAIN},
	{"op_count", UNIT_PLAIN},
	{"alloc_count", UNIT_PLAIN},
	{"free_count", UNIT_PLAIN},
	{"logical_peak_bytes", UNIT_BYTES},
	{"retained_bytes", UNIT_BYTES},
	{"device_peak_used_bytes", UNIT_BYTES},
	{"tensor_count", UNIT_PLAIN},
	{"tensor_stats_count", UNIT_PLAIN},
	{"non_finite_count", UNIT_PLAIN},
	{"mode", UNIT_PLAIN},
	{"trace_block_size", UNIT_PLAIN},
	{"shards", UNIT_PLAIN},
	{"requests", UNIT_PLAIN},
	{"unreplayable_rows", UNIT_PLAIN},
	{"sessions", UNIT_PLAIN},
	{"root_sessions", UNIT_PLAIN},
	{"tools", UNIT_PLAIN},
	{"tool_time_ms", UNIT_MS},
	{"input_tokens_total", UNIT_PLAIN},
	{"output_tokens_total", UNIT_PLAIN},
	{"duration_ms", UNIT_MS},
	{"arrival_span_ms", UNIT_MS},
	{"arrival_rate_rps", UNIT_PLAIN},
	{"concurrency_peak", UNIT_PLAIN},
	{"concurrency_mean", UNIT_PLAIN},
	{"blocks_total", UNIT_PLAIN},
	{"blocks_unique", UNIT_PLAIN},
	{"prefix_hit_blocks", UNIT_PLAIN},
	{"prefix_reuse_ratio", UNIT_PLAIN},
	{"prefix_hit_tokens", UNIT_PLAIN},
	{"prefix_reuse_token_ratio", UNIT_PLAIN},
};

static void put_label(const char *label)
{
	printf("%-*s", LABEL_WIDTH, label);
}

/* A scalar as it is in JSON, without quotes. */
static void put_plain(const json_t *v)
{
	if (json_is_real(v))
		printf("%.6g", json_real_value(v));
	else if (json_is_integer(v))
		printf("%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else if (json_is_boolean(v))
		fputs(json_is_true(v) ? "yes" : "no", stdout);
	else
		tool_put_json(stdout, v);
}

static bool number_of(const json_t *object, const char *member, double *ret)
{
	const json_t *v = json_object_get(object, member);
	uint64_t n;

	if (json_is_real(v)) {
		*ret = json_real_value(v);
		return true;
	}
	if (!tool_u64(object, member, &n))
		return false;
	*ret = (double)n;
	return true;
}

static void put_value(const json_t *summary, const struct row *row)
{
	char text[TOOL_UNIT_MAX];
	uint64_t bytes;
	double n;

	if (row->unit == UNIT_BYTES && tool_u64(summary, row->member, &bytes)) {
		tool_bytes(bytes, text);
		printf("%s (%llu)", text, (unsigned long long)bytes);
	} else if (row->unit != UNIT_PLAIN && number_of(summary, row->member, &n)) {
		double ns = row->unit == UNIT_MS ? n * 1e6 : n;

		tool_time(ns, text);
		if (ns < 1e3) {
			puts(text);
			return;
		}
		printf("%s (", text);
		put_plain(json_object_get(summary, row->member));
		printf(" %s)", row->unit == UNIT_MS ? "ms" : "ns");
	} else {
		put_plain(json_object_get(summary, row->member));
	}
	putchar('\n');
}

/* Members of a small object on one line: "stop 1101, length 18". */
static void put_map(const json_t *summary, const char *member)
{
	const json_t *map = json_object_get(summary, member);
	const char *name, *comma = "";
	size_t len;
	json_t *v;

	if (!json_object_size(map))
		return;
	put_label(member);
	json_object_keylen_foreach((json_t *)(uintptr_t)map, name, len, v)
	{
		fputs(comma, stdout);
		tool_put(stdout, ts_str(name, len));
		putchar(' ');
		put_plain(v);
		comma = ", ";
	}
	putchar('\n');
}

static void put_distributions(const json_t *summary)
{
	static const char *const members[] = {"input_tokens", "output_tokens", "latency_ms",
					      "ttft_ms"};
	static const char *const figures[] = {"min", "p50", "p90", "p95", "p99", "max"};

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *d = json_object_get(summary, members[i]);

		if (!json_is_object(d))
			continue;
		put_label(members[i]);
		for (size_t f = 0; f < ARRAY_LEN(figures); f++) {
			printf("%s%s ", f ? "  " : "", figures[f]);
			put_plain(json_object_get(d, figures[f]));
		}
		putchar('\n');
	}
}

static void put_health(const json_t *summary)
{
	const json_t *health = json_object_get(summary, "health");
	const json_t *valid = json_object_get(health, "structurally_valid");
	const json_t *complete = json_object_get(health, "capture_complete");
	const json_t *issue;
	size_t i;

	if (!json_is_object(health))
		return;
	put_label("structurally_valid");
	puts(json_is_boolean(valid) ? json_is_true(valid) ? "yes" : "no" : "unknown");
	put_label("capture_complete");
	puts(json_is_boolean(complete) ? json_is_true(complete) ? "yes" : "no" : "unknown");
	json_array_foreach(json_object_get(health, "issues"), i, issue)
	{
		put_label(i ? "" : "issues");
		tool_put_json(stdout, json_object_get(issue, "severity"));
		putchar(' ');
		tool_put_json(stdout, json_object_get(issue, "code"));
		fputs(": ", stdout);
		tool_put_json(stdout, json_object_get(issue, "message"));
		putchar('\n');
	}
}

static void put_replay(const json_t *summary)
{
	const json_t *replay = json_object_get(summary, "replay");

	if (!json_is_object(replay))
		return;
	put_label("replay.rows");
	if (json_is_string(json_object_get(replay, "error"))) {
		fputs("none: ", stdout);
		tool_put_json(stdout, json_object_get(replay, "error"));
	} else {
		put_plain(json_object_get(replay, "rows"));
	}
	putchar('\n');
}

static void put_summary(const json_t *summary)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const json_t *v = json_object_get(summary, rows[i].member);

		if (!v || json_is_object(v) || json_is_array(v))
			continue;
		put_label(rows[i].member);
		put_value(summary, &rows[i]);
	}
	put_map(summary, "models");
	put_map(summary, "finish_reasons");
	put_map(summary, "tool_status");
	put_distributions(summary);
	put_replay(summary);
	put_health(summary);
	put_map(summary, "tags");
}

int tool_summary(struct tool *t, char **args)
{
	struct ts_error err = TS_ERROR_INIT;
	struct ts_str id = ts_str_c(args[0]);
	CLEAN(free_ptr) char *encoded = malloc(3 * id.n + 1);
	CLEAN(buf_done) struct buf target = BUF_INIT;
	CLEAN(tool_reply_done) struct tool_reply reply = {0};
	CLEAN(tool_json_free) json_t *summary = NULL;
	struct tool_address at;
	int code;

	if (!id.n || ts_str_is(id, ".") || ts_str_is(id, "..")) {
		tool_complain("an id like this cannot stand in a path: give the run's digest");
		return TOOL_USAGE;
	}
	if (encoded) {
		encoded[text_percent_encode(id, encoded)] = 0;
		buf_printf(&target, "/runs/%s/summary%s", encoded,
			   t->json ? "" : "?numbers=string");
	}
	if (!encoded || target.failed) {
		tool_complain("no memory");
		return TOOL_REFUSED;
	}
	if (tool_find_daemon(t, &at, &err) < 0) {
		tool_error(&err);
		return TOOL_UNREACHABLE;
	}
	code = tool_ask(t, &at, target.data, &reply);
	if (code != TOOL_OK)
		return code;
	if (t->json) {
		fwrite(reply.body.data, 1, reply.body.len, stdout);
		return TOOL_OK;
	}
	summary = tool_parse(&reply.body);
	if (!summary)
		return TOOL_REFUSED;
	put_summary(summary);
	return TOOL_OK;
}
