/* tool_check.c: tracespool check: the daemon's verdict on files that are not dropped */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tool.h"

#include "tracespool/ingest.h"

#define PROGRESS_FROM_BYTES ((uint64_t)16 << 20)
#define PROGRESS_EVERY_MS 200

struct progress {
	const char *path;
	int64_t shown_ms;
	unsigned width;
	bool shown, on;
};

static void show_progress(void *arg, uint64_t done, uint64_t size)
{
	struct progress *p = arg;
	int64_t now = time_mono_ms();
	char done_text[TOOL_UNIT_MAX], size_text[TOOL_UNIT_MAX];
	CLEAN(buf_done) struct buf name = BUF_INIT;

	if (!p->on || size < PROGRESS_FROM_BYTES || now - p->shown_ms < PROGRESS_EVERY_MS)
		return;
	if (done > size)
		done = size;
	tool_bytes(done, done_text);
	tool_bytes(size, size_text);
	tool_put_cut(&name, ts_str_c(p->path), p->width > 60 ? p->width - 40 : 20);
	fprintf(stderr, "\r%s: %3u%% (%s of %s)\033[K", name.data ? name.data : "",
		(unsigned)((double)done / (double)size * 100), done_text, size_text);
	p->shown_ms = now;
	p->shown = true;
}

static void erase_progress(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}

static int check_one(const struct tool *t, const char *path)
{
	struct ts_error reason = TS_ERROR_INIT, err = TS_ERROR_INIT;
	struct progress progress = {.path = path, .width = t->width, .on = isatty(STDERR_FILENO)};
	struct check_options options = {.conf = &t->conf,
					.salvage = t->salvage,
					.progress = show_progress,
					.arg = &progress};
	CLEAN(buf_done) struct buf out = BUF_INIT;
	int rc;

	progress.shown_ms = time_mono_ms();
	rc = ingest_check(path, &options, &out, &reason, &err);
	erase_progress(&progress);
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
