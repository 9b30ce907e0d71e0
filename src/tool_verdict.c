/* tool_verdict.c: what tracespool check says of a file */
#include "tool_json.h"

static void put_count(const json_t *counts, const char *member, const char *one, const char *more)
{
	uint64_t n;

	if (tool_u64(counts, member, &n))
		printf(", %llu %s", (unsigned long long)n, n == 1 ? one : more);
}

/* "FILE: ok, execution run train-0007, 412 spans, 1893 ops" */
static void put_accepted(const char *path, const json_t *verdict)
{
	const json_t *counts = json_object_get(verdict, "counts");
	const json_t *warnings = json_object_get(verdict, "warnings");
	const json_t *warning;
	struct ts_str kind = tool_str(verdict, "kind");
	size_t i;

	tool_put(stdout, ts_str_c(path));
	printf(": ok, %s run ", ts_str_is(kind, "execution") ? "execution" : "request");
	tool_put(stdout, tool_str(verdict, "run_id"));
	if (ts_str_is(kind, "execution")) {
		put_count(counts, "spans", "span", "spans");
		put_count(counts, "ops", "op", "ops");
	} else {
		put_count(counts, "requests", "request", "requests");
		put_count(counts, "tools", "tool", "tools");
	}
	putchar('\n');
	json_array_foreach(warnings, i, warning)
	{
		printf("  %s ",
		       ts_str_is(tool_str(warning, "severity"), "error") ? "error" : "warning");
		tool_put(stdout, tool_str(warning, "code"));
		fputs(": ", stdout);
		tool_put(stdout, tool_str(warning, "message"));
		putchar('\n');
	}
}

int tool_put_verdict(const struct tool *t, const char *path, const struct buf *out)
{
	CLEAN(tool_json_free) json_t *verdict = NULL;

	if (t->json) {
		fwrite(out->data, 1, out->len, stdout);
		if (!out->len || out->data[out->len - 1] != '\n')
			putchar('\n');
		return 0;
	}
	verdict = tool_parse(out);
	if (!verdict)
		return -1;
	if (json_is_true(json_object_get(verdict, "accepted"))) {
		put_accepted(path, verdict);
	} else {
		tool_put(stdout, ts_str_c(path));
		fputs(": refused: ", stdout);
		tool_put_reason(stdout, json_object_get(verdict, "reason"));
	}
	return 0;
}
