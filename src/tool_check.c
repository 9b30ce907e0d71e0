/* tool_check.c: tracespool check: the daemon's verdict on files that are not dropped */
#include <unistd.h>

#include "tool.h"

#include "tracespool/ingest.h"

static int check_one(const struct tool *t, const char *path)
{
	struct ts_error reason = TS_ERROR_INIT, err = TS_ERROR_INIT;
	struct tool_progress progress = {
		.path = path, .width = t->width, .on = isatty(STDERR_FILENO)};
	struct check_options options = {.conf = &t->conf,
					.salvage = t->salvage,
					.progress = tool_progress_show,
					.arg = &progress};
	CLEAN(buf_done) struct buf out = BUF_INIT;
	int rc;

	progress.shown_ms = time_mono_ms();
	rc = ingest_check(path, &options, &out, &reason, &err);
	tool_progress_erase(&progress);
	if (rc < 0) {
		fputs("tracespool: ", stderr);
		tool_put(stderr, ts_str_c(path));
		fprintf(stderr, ": could not be checked: %s\n", err.message);
		return TOOL_REFUSED;
	}
	if (out.failed) {
		tool_complain("no memory");
		return TOOL_REFUSED;
	}
	if (tool_put_verdict(t, path, &out) < 0)
		return TOOL_REFUSED;
	return rc ? TOOL_OK : TOOL_REFUSED;
}

int tool_check(struct tool *t, char **args)
{
	int worst = TOOL_OK;

	for (; *args; args++) {
		int code = check_one(t, *args);

		if (code > worst)
			worst = code;
		fflush(stdout);
	}
	return worst;
}
