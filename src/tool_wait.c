/* tool_wait.c: tracespool wait: the final receipt of a drop, over HTTP or from the receipt file */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tool_json.h"

#define ONE_WAIT_S 30
#define POLL_MS 200
#define RECEIPT_MAX ((size_t)4 << 20)

/* Prints a receipt; its exit code, or TOOL_TIMEOUT if it is not final. */
static int put_receipt(const struct tool *t, const char *name, const struct buf *body,
		       const json_t *receipt)
{
	struct ts_str state = tool_str(receipt, "state");
	const json_t *run = json_object_get(receipt, "run");
	bool taken = ts_str_is(state, "ingested") || ts_str_is(state, "duplicate");
	bool final = json_is_true(json_object_get(receipt, "final"));

	if (t->json) {
		fwrite(body->data, 1, body->len, stdout);
		if (!body->len || body->data[body->len - 1] != '\n')
			putchar('\n');
	} else {
		tool_put(stdout, ts_str_c(name));
		fputs(": ", stdout);
		tool_put(stdout, state);
		if (taken) {
			fputs(ts_str_is(state, "duplicate") ? " of run " : " as run ", stdout);
			tool_put(stdout, tool_str(run, "id"));
			putchar('\n');
		} else if (json_is_object(json_object_get(receipt, "reason"))) {
			fputs(": ", stdout);
			tool_put_reason(stdout, json_object_get(receipt, "reason"));
		} else {
			putchar('\n');
		}
	}
	fflush(stdout);
	return !final ? TOOL_TIMEOUT : taken ? TOOL_OK : TOOL_REFUSED;
}

static void pause_ms(int64_t ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&ts, NULL);
}

/* ---- the receipt file ---- */

static int read_receipt_file(int folder, const char *name, struct buf *out)
{
	CLEAN(free_ptr) char *path = NULL;
	CLEAN(close_fd) int fd = -1;
	char part[4096];
	ssize_t n;

	if (asprintf(&path, "%s.json", name) < 0) {
		path = NULL;
		return -1;
	}
	fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -1;
	while ((n = read(fd, part, sizeof(part))) > 0)
		buf_add(out, part, (size_t)n);
	return n < 0 || out->failed ? -1 : 0;
}

static bool seen_since(const json_t *receipt, int64_t after_ms)
{
	int64_t ms;

	return after_ms == 0 ||
	       (text_parse_time(tool_str(receipt, "seen_at"), &ms) && ms >= after_ms);
}

static int await_file(const struct tool *t, const char *name, int64_t after_ms, int64_t deadline_ms,
		      int folder)
{
	bool once = false;

	for (;;) {
		CLEAN(buf_done) struct buf body = BUF_INIT;
		CLEAN(tool_json_free) json_t *receipt = NULL;
		bool last = once && time_mono_ms() >= deadline_ms;

		once = true;
		body.max = RECEIPT_MAX;
		if (read_receipt_file(folder, name, &body) == 0)
			receipt = json_loadb(body.data ? body.data : "", body.len, JSON_ALLOW_NUL,
					     NULL);
		if (receipt && seen_since(receipt, after_ms) &&
		    (last || json_is_true(json_object_get(receipt, "final"))))
			return put_receipt(t, name, &body, receipt);
		if (last) {
			tool_complain("no receipt of %s yet", name);
			return TOOL_TIMEOUT;
		}
		pause_ms(POLL_MS);
	}
}

/* Without a daemon: the receipts folder, if it can be read. A name of 200 bytes at most has one. */
static int await_without_daemon(const struct tool *t, const char *name, int64_t after_ms,
				int64_t deadline_ms, const struct ts_error *why)
{
	const char *path = t->spool ? t->spool : t->conf.spool.path;
	CLEAN(close_fd) int spool = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEAN(close_fd) int folder = -1;

	if (spool >= 0)
		folder = openat(spool, ".receipts", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || faccessat(folder, ".", X_OK, 0) < 0 || strchr(name, '/') ||
	    !strncmp(name, "sha256:", 7)) {
		tool_error(why);
		return TOOL_UNREACHABLE;
	}
	return await_file(t, name, after_ms, deadline_ms, folder);
}

/* ---- over HTTP ---- */

static int make_target(const char *name, int64_t after_ms, int64_t wait_s, struct buf *out)
{
	struct ts_str s = ts_str_c(name);
	char after[TEXT_TIME_MAX];
	CLEAN(free_ptr) char *encoded = malloc(3 * s.n + 1);

	if (!encoded)
		return -1;
	encoded[text_percent_encode(s, encoded)] = 0;
	buf_printf(out, "/ingest/receipts/%s?wait=%lld", encoded, (long long)wait_s);
	if (after_ms && text_format_time(after_ms, after)) {
		/* Z and digits need no escape; the colons are fine in a query. */
		buf_printf(out, "&after=%s", after);
	}
	return out->failed ? -1 : 0;
}

/* One question: -1 no daemon, else its status. */
static int ask_once(const struct tool_address *at, const char *name, int64_t after_ms,
		    int64_t left_ms, struct tool_reply *ret, struct ts_error *err)
{
	CLEAN(buf_done) struct buf target = BUF_INIT;
	int64_t wait_s = left_ms / 1000;

	if (wait_s > ONE_WAIT_S)
		wait_s = ONE_WAIT_S;
	if (make_target(name, after_ms, wait_s, &target) < 0)
		return ts_error_nomem(err);
	return tool_get(at, target.data, (wait_s + 30) * 1000, ret, err);
}

void tool_put_problem(const struct tool *t, const struct tool_reply *r)
{
	CLEAN(tool_json_free) json_t *problem = NULL;

	if (t->json)
		fwrite(r->body.data, 1, r->body.len, stdout);
	problem = tool_parse(&r->body);
	if (problem) {
		fputs("tracespool: ", stderr);
		tool_put_json(stderr, json_object_get(problem, "detail"));
		fputs(" (", stderr);
		tool_put_json(stderr, json_object_get(problem, "code"));
		fputs(")\n", stderr);
	}
}

int tool_ask(const struct tool *t, const struct tool_address *at, const char *target,
	     struct tool_reply *ret)
{
	struct ts_error err = TS_ERROR_INIT;
	CLEAN(tool_reply_done) struct tool_reply r = {0};

	if (tool_get(at, target, 60000, &r, &err) < 0) {
		tool_error(&err);
		return TOOL_UNREACHABLE;
	}
	if (r.status >= 300) {
		tool_put_problem(t, &r);
		return TOOL_REFUSED;
	}
	*ret = r;
	buf_init(&r.body, 0);
	return TOOL_OK;
}

int tool_await(struct tool *t, const char *name, int64_t after_ms, int64_t deadline_ms)
{
	struct ts_error why = TS_ERROR_INIT;
	struct tool_address at;

	if (tool_find_daemon(t, &at, &why) < 0)
		return await_without_daemon(t, name, after_ms, deadline_ms, &why);
	for (;;) {
		CLEAN(tool_reply_done) struct tool_reply r = {0};
		CLEAN(tool_json_free) json_t *receipt = NULL;
		int64_t left = deadline_ms - time_mono_ms();
		bool last = left < POLL_MS;

		ts_error_init(&why);
		if (ask_once(&at, name, after_ms, left < 0 ? 0 : left, &r, &why) < 0)
			return await_without_daemon(t, name, after_ms, deadline_ms, &why);
		if (r.status == 200) {
			receipt = tool_parse(&r.body);
			if (!receipt)
				return TOOL_REFUSED;
			if (last || json_is_true(json_object_get(receipt, "final")))
				return put_receipt(t, name, &r.body, receipt);
		} else if (r.status != 404 && r.status != 429 && r.status != 503) {
			tool_put_problem(t, &r);
			return TOOL_REFUSED;
		} else if (last) {
			if (r.status == 404)
				tool_complain("nothing of the name %s was seen", name);
			else
				tool_put_problem(t, &r);
			return TOOL_TIMEOUT;
		}
		/* The answer came early: not yet known, or no place to wait. */
		if (time_mono_ms() < deadline_ms)
			pause_ms(POLL_MS);
	}
}

int tool_wait(struct tool *t, char **args)
{
	int64_t deadline = time_mono_ms() + (int64_t)t->wait_s * 1000, after = 0;
	int worst = TOOL_OK;

	if (t->after && !text_parse_time(ts_str_c(t->after), &after))
		return TOOL_USAGE;
	for (; *args; args++) {
		int code = tool_await(t, *args, after, deadline);

		if (code > worst)
			worst = code;
	}
	return worst;
}
