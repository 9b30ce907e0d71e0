/* tool.h: what the files of the command line tool share; private to them */
#ifndef TRACESPOOL_TOOL_H
#define TRACESPOOL_TOOL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tracespool/buf.h"
#include "tracespool/conf.h"
#include "tracespool/error.h"
#include "tracespool/text.h"

/* Exit codes; of several files the highest counts. */
enum tool_exit {
	TOOL_OK = 0,
	TOOL_REFUSED = 1, /* refused, quarantined, not ready, not found, or it failed */
	TOOL_USAGE = 2,
	TOOL_TIMEOUT = 3,
	TOOL_UNREACHABLE = 4, /* no daemon answers */
};

/* Where the daemon answers. */
struct tool_address {
	bool local;     /* Unix socket at host */
	char host[128]; /* numeric address without brackets, or the socket's path */
	unsigned port;
	char base[258];  /* prefix of all paths, empty or "/traces" */
	char named[160]; /* for messages */
};

struct tool {
	struct conf conf;
	/* Options of the command line. */
	const char *url, *socket, *spool, *after, *output;
	bool json, wait;
	bool salvage; /* check: as if ingest.salvage were set */
	uint64_t wait_s;
	/* Where it prints. */
	bool tty;       /* standard output is a terminal */
	unsigned width; /* of it */
};

int tool_check(struct tool *t, char **args);
int tool_replay(struct tool *t, int argc, char **argv); /* argv[0] is the command */
int tool_replay_misplaced(struct tool *t, char **args);
int tool_drop(struct tool *t, char **args);
int tool_wait(struct tool *t, char **args);
int tool_status(struct tool *t, char **args);
int tool_runs(struct tool *t, char **args);
int tool_summary(struct tool *t, char **args);
int tool_export(struct tool *t, char **args);

/* ---- tool_progress.c ---- "name: 40% (4.0 of 10.0 MiB)" on a terminal's standard error */
struct tool_progress {
	const char *path;
	int64_t shown_ms; /* monotonic; begins with the time of the start */
	unsigned width;
	bool shown, on;
};
void tool_progress_show(void *arg, uint64_t done, uint64_t size); /* arg: the above */
void tool_progress_erase(struct tool_progress *p);

/* ---- tool_address.c ---- */

/* --url, --socket, else the settings. Prints the message on failure. */
int tool_find_daemon(const struct tool *t, struct tool_address *ret, struct ts_error *err);

/* ---- tool_client.c ---- */

struct tool_reply {
	int status;
	struct buf body;
};

/* GET of base + target, which is encoded already. An answer of any status is success. */
int tool_get(const struct tool_address *at, const char *target, int64_t timeout_ms,
	     struct tool_reply *ret, struct ts_error *err);
void tool_reply_done(struct tool_reply *r);
/* The same for an answer of any size: with a status of 200 the body goes to out as it comes, and
 * timeout_ms is the time without a byte. */
int tool_fetch(const struct tool_address *at, const char *target, int64_t timeout_ms, FILE *out,
	       struct tool_reply *ret, struct ts_error *err);
/* The problem of an answer of 400 and above, as tool_ask prints it. */
void tool_put_problem(const struct tool *t, const struct tool_reply *r);

/* tool_get and, with a status of 400 and above, the problem on standard error (and as it came on
 * standard output with --json). Gives an exit code; the reply is the caller's if that is TOOL_OK.
 */
int tool_ask(const struct tool *t, const struct tool_address *at, const char *target,
	     struct tool_reply *ret);

/* ---- tool_wait.c ---- */

/* Waits for the final receipt of a name seen at or after after_ms (0: any). deadline_ms is
 * monotonic. Prints it and gives the exit code. */
int tool_await(struct tool *t, const char *name, int64_t after_ms, int64_t deadline_ms);

/* ---- tool_verdict.c ---- */

/* Prints what ingest_check said of a file. */
int tool_put_verdict(const struct tool *t, const char *path, const struct buf *verdict);

/* ---- tool_print.c: text from traces is not trusted by a terminal ---- */

/* Control bytes, direction marks and what is not UTF-8 are written as escapes. */
void tool_put(FILE *out, struct ts_str s);
/* Columns on a terminal, after escaping. */
unsigned tool_width(struct ts_str s);
/* At most max columns, the middle replaced by "..". */
void tool_put_cut(struct buf *out, struct ts_str s, unsigned max);
void tool_error(const struct ts_error *err); /* "tracespool: message (hint)" on stderr */
void tool_complain(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* "734003200" as "700.0 MiB"; "48211903" ns as "48.21 ms". */
#define TOOL_UNIT_MAX 32
void tool_bytes(uint64_t n, char out[static TOOL_UNIT_MAX]);
void tool_time(double ns, char out[static TOOL_UNIT_MAX]);

#endif
