/* tool_export.c: tracespool export: an execution run as a trace file again */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

#define SILENCE_MS 60000

/* A file beside the one that is meant, so that a cut answer never stands under its name. */
static FILE *open_aside(const char *output, char **ret_path)
{
	char *path = NULL;
	mode_t mask;
	FILE *file;
	int fd;

	if (asprintf(&path, "%s.XXXXXX.part", output) < 0)
		return NULL;
	fd = mkostemps(path, 5, O_CLOEXEC);
	if (fd < 0) {
		tool_complain("%s: %s", output, strerror(errno));
		free(path);
		return NULL;
	}
	mask = umask(0);
	umask(mask);
	file = fchmod(fd, 0666 & ~mask) == 0 ? fdopen(fd, "w") : NULL;
	if (!file) {
		tool_complain("%s: %s", output, strerror(errno));
		close(fd);
		unlink(path);
		free(path);
		return NULL;
	}
	*ret_path = path;
	return file;
}

static int fetch(const struct tool *t, const struct tool_address *at, const char *target, FILE *out)
{
	CLEAN(tool_reply_done) struct tool_reply reply = {0};
	struct ts_error err = TS_ERROR_INIT;

	if (tool_fetch(at, target, SILENCE_MS, out, &reply, &err) < 0) {
		tool_error(&err);
		return TOOL_UNREACHABLE;
	}
	if (reply.status == 200)
		return TOOL_OK;
	tool_put_problem(t, &reply);
	return TOOL_REFUSED;
}

static int fetch_to_file(const struct tool *t, const struct tool_address *at, const char *target)
{
	CLEAN(free_ptr) char *path = NULL;
	FILE *file = open_aside(t->output, &path);
	bool written;
	int code;

	if (!file)
		return TOOL_REFUSED;
	code = fetch(t, at, target, file);
	written = fflush(file) == 0 && fsync(fileno(file)) == 0;
	written = fclose(file) == 0 && written;
	if (code == TOOL_OK && written && rename(path, t->output) == 0)
		return TOOL_OK;
	if (code == TOOL_OK) {
		tool_complain("%s: %s", t->output, strerror(errno));
		code = TOOL_REFUSED;
	}
	unlink(path);
	return code;
}

int tool_export(struct tool *t, char **args)
{
	struct ts_error err = TS_ERROR_INIT;
	struct ts_str id = ts_str_c(args[0]);
	CLEAN(free_ptr) char *encoded = malloc(3 * id.n + 1);
	CLEAN(buf_done) struct buf target = BUF_INIT;
	struct tool_address at;

	if (!id.n || ts_str_is(id, ".") || ts_str_is(id, "..")) {
		tool_complain("an id like this cannot stand in a path: give the run's digest");
		return TOOL_USAGE;
	}
	if (encoded) {
		encoded[text_percent_encode(id, encoded)] = 0;
		buf_printf(&target, "/runs/%s/export?format=ndjson", encoded);
	}
	if (!encoded || target.failed) {
		tool_complain("no memory");
		return TOOL_REFUSED;
	}
	if (tool_find_daemon(t, &at, &err) < 0) {
		tool_error(&err);
		return TOOL_UNREACHABLE;
	}
	return t->output ? fetch_to_file(t, &at, target.data) : fetch(t, &at, target.data, stdout);
}
