/* tool.c: tracespool: its command line and commands */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <getopt.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tool.h"
#include "tracespool/util.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unreleased"
#endif

#define WAIT_DEFAULT_S 60
#define WAIT_MAX_S 31536000

enum {
	OPT_JSON = 256,
	OPT_URL,
	OPT_SOCKET,
	OPT_SPOOL,
	OPT_WAIT,
	OPT_TIMEOUT,
	OPT_AFTER,
	OPT_OPTION,
	OPT_OUTPUT,
	OPT_SALVAGE,
	OPT_VERSION
};

static const struct option long_options[] = {
	{"config", required_argument, NULL, 'c'},
	{"option", required_argument, NULL, OPT_OPTION},
	{"output", required_argument, NULL, OPT_OUTPUT},
	{"help", no_argument, NULL, 'h'},
	{"json", no_argument, NULL, OPT_JSON},
	{"url", required_argument, NULL, OPT_URL},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"spool", required_argument, NULL, OPT_SPOOL},
	{"wait", optional_argument, NULL, OPT_WAIT},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"after", required_argument, NULL, OPT_AFTER},
	{"salvage", no_argument, NULL, OPT_SALVAGE},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

/* Options that not every command takes. */
enum {
	TAKES_HTTP = 1,
	TAKES_SPOOL = 2,
	TAKES_WAIT = 4,
	TAKES_TIMEOUT = 8,
	TAKES_OUTPUT = 16,
	TAKES_SALVAGE = 32
};

static const struct command {
	const char *name;
	int (*run)(struct tool *t, char **args);
	unsigned takes;
	int min_args, max_args;
	const char *usage, *meaning;
} commands[] = {
	{"check", tool_check, TAKES_SALVAGE, 1, INT32_MAX, "check FILE...",
	 "would these files be accepted? (needs no daemon)"},
	{"replay", tool_replay_misplaced, 0, 0, INT32_MAX, "replay FILE...",
	 "replay rows of a request trace (needs no daemon; see replay --help)"},
	{"drop", tool_drop, TAKES_HTTP | TAKES_SPOOL | TAKES_WAIT, 1, INT32_MAX, "drop FILE...",
	 "copy files or folders of shards into the drop folder"},
	{"wait", tool_wait, TAKES_HTTP | TAKES_SPOOL | TAKES_TIMEOUT, 1, INT32_MAX, "wait NAME...",
	 "wait for the final receipt of a drop"},
	{"status", tool_status, TAKES_HTTP, 0, 0, "status",
	 "is the daemon ready, what does it do?"},
	{"runs", tool_runs, TAKES_HTTP, 0, INT32_MAX, "runs [NAME=VALUE]...",
	 "list runs; filters, sort and limit as in GET /runs"},
	{"summary", tool_summary, TAKES_HTTP, 1, 1, "summary ID", "the figures of one run"},
	{"export", tool_export, TAKES_HTTP | TAKES_OUTPUT, 1, 1, "export ID [-o FILE]",
	 "an execution run as a trace file again"},
};

static void print_help(void)
{
	fputs("Usage: tracespool COMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n", stdout);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		printf("  %-22s %s\n", commands[i].usage, commands[i].meaning);
	printf("\n"
	       "Options:\n"
	       "  -c, --config FILE       settings, instead of %s\n"
	       "  -o, --option KEY=VALUE  one setting; can be repeated\n"
	       "  -o, --output FILE       export: write there, not to standard output\n"
	       "      --json              print JSON as the daemon gives it\n"
	       "      --url URL           the daemon's address, http://127.0.0.1:7117\n"
	       "      --socket PATH       the daemon's Unix socket\n"
	       "      --salvage           check: what would be taken of a file that was cut?\n"
	       "      --spool DIR         drop, wait: the drop folder\n"
	       "      --wait [SECONDS]    drop: wait for the receipts, at most 60 s\n"
	       "      --timeout SECONDS   wait: at most this long, 60 s\n"
	       "      --after TIME        wait: only a receipt seen from this time on (RFC 3339)\n"
	       "  -h, --help              print this and exit\n"
	       "      --version           print the version and exit\n"
	       "\n"
	       "Exit status: 0 well, 1 refused or failed, 2 usage, 3 time over, 4 no daemon\n"
	       "answers. See tracespool(1).\n",
	       conf_default_file());
}

PRINTF_LIKE(1, 2) static int usage(const char *fmt, ...)
{
	va_list args;

	fputs("tracespool: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("\nTry 'tracespool --help'.\n", stderr);
	return TOOL_USAGE;
}

struct command_line {
	const char *config_file;
	const char **options; /* --option */
	const char **shorts;  /* -o: a setting or an output, as the command has it */
	unsigned option_count, short_count;
	unsigned needs; /* TAKES_ of the options that were given */
};

static bool read_seconds(const char *text, uint64_t *ret)
{
	return text_parse_u64(ts_str_c(text), ret) && *ret <= WAIT_MAX_S;
}

static bool is_digits(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

/* -1: go on; else the exit code. */
static int read_options(struct tool *t, struct command_line *line, int argc, char **argv)
{
	int64_t ms;
	int c;

	while ((c = getopt_long(argc, argv, "c:o:h", long_options, NULL)) >= 0) {
		switch (c) {
		case 'c':
			line->config_file = optarg;
			break;
		case 'o':
			line->shorts[line->short_count++] = optarg;
			break;
		case OPT_OPTION:
			line->options[line->option_count++] = optarg;
			break;
		case OPT_OUTPUT:
			line->needs |= TAKES_OUTPUT;
			t->output = optarg;
			break;
		case 'h':
			print_help();
			return TOOL_OK;
		case OPT_VERSION:
			printf("tracespool %s\n", PACKAGE_VERSION);
			return TOOL_OK;
		case OPT_JSON:
			t->json = true;
			break;
		case OPT_URL:
			line->needs |= TAKES_HTTP;
			t->url = optarg;
			break;
		case OPT_SOCKET:
			line->needs |= TAKES_HTTP;
			t->socket = optarg;
			break;
		case OPT_SPOOL:
			line->needs |= TAKES_SPOOL;
			t->spool = optarg;
			break;
		case OPT_WAIT:
			/* "--wait 30": getopt knows only "--wait=30". A folder of that name is
			 * dropped as ./30. */
			if (!optarg && optind < argc && is_digits(argv[optind]))
				optarg = argv[optind++];
			/* fall through */
		case OPT_TIMEOUT:
			line->needs |= c == OPT_WAIT ? TAKES_WAIT : TAKES_TIMEOUT;
			t->wait = true;
			if (optarg && !read_seconds(optarg, &t->wait_s))
				return usage("%s is not a number of seconds", optarg);
			break;
		case OPT_SALVAGE:
			line->needs |= TAKES_SALVAGE;
			t->salvage = true;
			break;
		case OPT_AFTER:
			line->needs |= TAKES_TIMEOUT;
			if (!text_parse_time(ts_str_c(optarg), &ms))
				return usage("%s is not a time such as 2025-11-03T09:14:07Z",
					     optarg);
			t->after = optarg;
			break;
		default:
			fputs("Try 'tracespool --help'.\n", stderr);
			return TOOL_USAGE;
		}
	}
	if (t->url && t->socket)
		return usage("--url and --socket exclude each other");
	return -1;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static int run(struct tool *t, struct command_line *line, int argc, char **argv)
{
	struct ts_error err = TS_ERROR_INIT;
	const struct command *command;
	int code;

	/* Its options have other meanings, so it has to stand in front of them. */
	if (argc > 1 && !strcmp(argv[1], "replay"))
		return tool_replay(t, argc - 1, argv + 1);
	code = read_options(t, line, argc, argv);

	if (code >= 0)
		return code;
	if (optind == argc)
		return usage("a command is missing");
	command = find_command(argv[optind++]);
	if (!command)
		return usage("unknown command '%s'", argv[optind - 1]);
	if (line->needs & ~command->takes)
		return usage("'%s' does not take one of these options", command->name);
	if (argc - optind < command->min_args || argc - optind > command->max_args)
		return usage("usage: tracespool %s", command->usage);
	for (unsigned i = 0; i < line->short_count; i++) {
		if (command->takes & TAKES_OUTPUT)
			t->output = line->shorts[i];
		else
			line->options[line->option_count++] = line->shorts[i];
	}
	if (conf_load(&t->conf, line->config_file, line->options, line->option_count, &err) < 0) {
		tool_error(&err);
		return TOOL_USAGE;
	}
	return command->run(t, argv + optind);
}

static void look_at_terminal(struct tool *t)
{
	struct winsize size;

	t->tty = isatty(STDOUT_FILENO);
	t->width = 80;
	if (t->tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
		t->width = size.ws_col;
}

int main(int argc, char **argv)
{
	struct tool t = {.wait_s = WAIT_DEFAULT_S};
	struct command_line line = {0};
	int code;

	large_blocks_apart();
	setlocale(LC_CTYPE, "");
	look_at_terminal(&t);
	line.options = calloc((size_t)argc + 1, sizeof(*line.options));
	line.shorts = calloc((size_t)argc + 1, sizeof(*line.shorts));
	if (!line.options || !line.shorts) {
		tool_complain("no memory");
		return TOOL_REFUSED;
	}
	code = run(&t, &line, argc, argv);
	conf_done(&t.conf);
	free(line.options);
	free(line.shorts);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		tool_complain("cannot write to standard output");
		return code == TOOL_OK ? TOOL_REFUSED : code;
	}
	return code;
}
