/* tool_replay.c: tracespool replay: replay rows of files, without a daemon */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

#include "tracespool/ingest.h"
#include "tracespool/replay.h"

#define WRITE_BYTES ((size_t)256 << 10)

struct replaying {
	struct replay_options options;
	const char *output; /* or NULL: standard output */
	bool json;          /* one object, else a row a line */
	FILE *out;
	char *aside; /* of output, until it is renamed */
};

enum { OPT_OPTION = 256, OPT_FORMAT, OPT_VERSION, OPT_MODE, OPT_REPLAYABLE };

static const struct option replay_long_options[] = {
	{"config", required_argument, NULL, 'c'},
	{"option", required_argument, NULL, OPT_OPTION},
	{"help", no_argument, NULL, 'h'},
	{"output", required_argument, NULL, 'o'},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"version", required_argument, NULL, OPT_VERSION},
	{"mode", required_argument, NULL, OPT_MODE},
	{"replayable", no_argument, NULL, OPT_REPLAYABLE},
	{NULL, 0, NULL, 0},
};

static void print_help(void)
{
	fputs("Usage: tracespool replay [OPTION]... FILE...\n\n"
	      "Replay rows of a request trace. Several files are the shards of one run, in this\n"
	      "order; a folder is a run with its shards.\n\n"
	      "Options:\n"
	      "      --format ndjson|json       a row a line (default), or one object\n"
	      "      --mode standard|agentic    in place of the run's own mode\n"
	      "      --version 2                agentic rows with header and typed dependencies\n"
	      "      --replayable               leave out rows that replay tools refuse\n"
	      "  -o, --output FILE              write aside and rename when complete\n"
	      "  -c, --config FILE              settings\n"
	      "      --option KEY=VALUE         one setting; can be repeated\n"
	      "  -h, --help                     print this and exit\n"
	      "\n"
	      "Exit status: 0 well, 1 refused or failed, 2 usage. See tracespool(1).\n",
	      stdout);
}

static int bad_usage(const char *what)
{
	tool_complain("%s", what);
	fputs("Try 'tracespool replay --help'.\n", stderr);
	return TOOL_USAGE;
}

int tool_replay_misplaced(struct tool *t, char **args)
{
	(void)t;
	(void)args;
	return bad_usage("the word replay has to stand in front of its options");
}

/* -1: go on; else the exit code. */
static int read_value(struct replaying *r, int option, const char *value)
{
	switch (option) {
	case OPT_FORMAT:
		if (strcmp(value, "json") != 0 && strcmp(value, "ndjson") != 0)
			return bad_usage("the format is neither ndjson nor json");
		r->json = strcmp(value, "json") == 0;
		return -1;
	case OPT_VERSION:
		if (strcmp(value, "1") != 0 && strcmp(value, "2") != 0)
			return bad_usage("the version is neither 1 nor 2");
		r->options.version2 = value[0] == '2';
		return -1;
	default:
		if (strcmp(value, "standard") != 0 && strcmp(value, "agentic") != 0)
			return bad_usage("the mode is neither standard nor agentic");
		r->options.want = value[0] == 's' ? REPLAY_AS_STANDARD : REPLAY_AS_AGENTIC;
		return -1;
	}
}

static int read_options(struct tool *t, struct replaying *r, int argc, char **argv)
{
	const char **settings = calloc((size_t)argc + 1, sizeof(*settings));
	const char *config = NULL;
	struct ts_error err = TS_ERROR_INIT;
	unsigned count = 0;
	int c, code = settings ? -1 : TOOL_REFUSED;

	while (code < 0 && (c = getopt_long(argc, argv, "c:o:h", replay_long_options, NULL)) >= 0) {
		switch (c) {
		case 'c':
			config = optarg;
			break;
		case OPT_OPTION:
			settings[count++] = optarg;
			break;
		case 'o':
			r->output = optarg;
			break;
		case 'h':
			print_help();
			code = TOOL_OK;
			break;
		case OPT_REPLAYABLE:
			r->options.replayable = true;
			break;
		case OPT_FORMAT:
		case OPT_VERSION:
		case OPT_MODE:
			code = read_value(r, c, optarg);
			break;
		default:
			fputs("Try 'tracespool replay --help'.\n", stderr);
			code = TOOL_USAGE;
		}
	}
	if (code < 0 && optind == argc)
		code = bad_usage("usage: tracespool replay FILE...");
	if (code < 0 && r->options.version2 && r->options.want == REPLAY_AS_STANDARD)
		code = bad_usage("version 2 has agentic rows only");
	if (code < 0 && conf_load(&t->conf, config, settings, count, &err) < 0) {
		tool_error(&err);
		code = TOOL_USAGE;
	}
	free(settings);
	return code;
}

static int write_failed(const struct replaying *r, struct ts_error *err)
{
	return ts_error_sys(err, errno == ENOSPC ? TS_E_DISK_FULL : TS_E_IO, errno,
			    "%s cannot be written", r->output ? r->output : "standard output");
}

static int open_output(struct replaying *r, struct ts_error *err)
{
	CLEAN(buf_done) struct buf path = BUF_INIT;
	int fd;

	r->out = stdout;
	if (!r->output)
		return 0;
	buf_printf(&path, "%s.XXXXXX.part", r->output);
	if (path.failed)
		return ts_error_nomem(err);
	r->out = NULL;
	fd = mkostemps(path.data, 5, O_CLOEXEC);
	if (fd < 0)
		return write_failed(r, err);
	r->aside = buf_take(&path);
	/* As a file made by open() would be. */
	mode_t mask = umask(0);

	umask(mask);
	if (fchmod(fd, 0666 & ~mask) < 0 || !(r->out = fdopen(fd, "w"))) {
		write_failed(r, err);
		close(fd);
		return -1;
	}
	return 0;
}

static int end_output(struct replaying *r, struct ts_error *err)
{
	FILE *out = r->out;

	if (fflush(out) != 0 || ferror(out))
		return write_failed(r, err);
	if (!r->output)
		return 0;
	r->out = NULL;
	if (fsync(fileno(out)) < 0) {
		write_failed(r, err);
		fclose(out);
		return -1;
	}
	if (fclose(out) != 0 || rename(r->aside, r->output) < 0)
		return write_failed(r, err);
	free(TAKE(r->aside));
	return 0;
}

static void drop_output(struct replaying *r)
{
	if (r->output && r->out)
		fclose(r->out);
	if (r->aside)
		unlink(r->aside);
	free(r->aside);
}

static int put(struct replaying *r, struct buf *text, struct ts_error *err)
{
	if (text->failed)
		return ts_error_nomem(err);
	if (fwrite(text->data ? text->data : "", 1, text->len, r->out) != text->len)
		return write_failed(r, err);
	buf_clear(text);
	return 0;
}

static void put_head(const struct replaying *r, struct replay *replay, struct buf *text)
{
	const struct replay_facts *facts = replay_facts(replay);

	if (r->json) {
		buf_printf(text,
			   "{\"schema\":\"tracespool/replay/1\",\"id\":null,\"mode\":\"%s\","
			   "\"trace_block_size\":%llu,",
			   facts->mode == REPLAY_AGENTIC ? "agentic" : "standard",
			   (unsigned long long)facts->trace_block_size);
		if (facts->version == 2) {
			buf_puts(text, "\"header\":");
			replay_header(replay, text, false);
			buf_putc(text, ',');
		}
		buf_puts(text, "\"rows\":[");
	} else if (replay_header(replay, text, false)) {
		buf_putc(text, '\n');
	}
}

static int put_rows(struct replaying *r, struct replay *replay, struct ts_error *err)
{
	CLEAN(buf_done) struct buf text = BUF_INIT;
	bool first = true;
	int more;

	put_head(r, replay, &text);
	for (;;) {
		size_t before = text.len;

		if (r->json && !first)
			buf_putc(&text, ',');
		more = replay_next(replay, &text, false, err);
		if (more < 0)
			return -1;
		if (more == 0) {
			text.len = before;
			break;
		}
		first = false;
		if (!r->json)
			buf_putc(&text, '\n');
		if (text.len >= WRITE_BYTES && put(r, &text, err) < 0)
			return -1;
	}
	if (r->json)
		buf_puts(&text, "]}\n");
	return put(r, &text, err);
}

static int run(struct tool *t, struct replaying *r, char **files, int count, struct ts_error *err)
{
	struct tool_progress progress = {.path = files[0],
					 .width = t->width,
					 .on = isatty(STDERR_FILENO),
					 .shown_ms = time_mono_ms()};
	struct check_options options = {
		.conf = &t->conf, .progress = tool_progress_show, .arg = &progress};
	CLEAN(runfile_freep) struct runfile *rows = NULL;
	CLEAN(replay_closep) struct replay *replay = NULL;
	int rc = ingest_load_requests((const char *const *)files, (size_t)count, &options, &rows,
				      err);

	tool_progress_erase(&progress);
	if (rc < 0 || replay_open_as(runfile_db(rows), &r->options, &replay, err) < 0 ||
	    open_output(r, err) < 0 || put_rows(r, replay, err) < 0)
		return -1;
	return end_output(r, err);
}

/* file:line: code: message, as far as the error has them. */
static void complain(const char *path, const struct ts_error *err)
{
	fputs("tracespool: ", stderr);
	tool_put(stderr, ts_str_c(err->file[0] ? err->file : path));
	if (err->line)
		fprintf(stderr, ": line %llu", (unsigned long long)err->line);
	fprintf(stderr, ": %s: ", err->code->code);
	tool_put(stderr, ts_str_c(err->message));
	fputc('\n', stderr);
}

int tool_replay(struct tool *t, int argc, char **argv)
{
	struct replaying r = {0};
	struct ts_error err = TS_ERROR_INIT;
	int code = read_options(t, &r, argc, argv);

	if (code >= 0)
		return code;
	code = TOOL_OK;
	if (run(t, &r, argv + optind, argc - optind, &err) < 0) {
		complain(argv[optind], &err);
		code = TOOL_REFUSED;
	}
	drop_output(&r);
	return code;
}
