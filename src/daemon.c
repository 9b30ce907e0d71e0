/* daemon.c: tracespoold: its command line */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include "daemon.h"

#include "tracespool/log.h"
#include "tracespool/sd.h"
#include "tracespool/util.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unreleased"
#endif

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

enum { OPT_CHECK = 256, OPT_PRINT, OPT_VERSION };

static const struct option long_options[] = {
	{"config", required_argument, NULL, 'c'},
	{"option", required_argument, NULL, 'o'},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{"check-config", no_argument, NULL, OPT_CHECK},
	{"print-config", no_argument, NULL, OPT_PRINT},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static void print_help(void)
{
	printf("Usage: tracespoold [OPTION]...\n"
	       "Takes finished trace files from a drop folder and serves their figures over HTTP.\n"
	       "\n"
	       "  -c, --config FILE       read FILE and conf.d/*.conf beside it, instead of\n"
	       "                          %s\n"
	       "  -o, --option KEY=VALUE  one setting; wins over the files; can be repeated\n"
	       "  -v, --verbose           log more\n"
	       "      --check-config      check the settings and exit\n"
	       "      --print-config      print the settings and exit\n"
	       "      --version           print the version and exit\n"
	       "  -h, --help              print this and exit\n"
	       "\n"
	       "It stays in the foreground and logs to standard error. See tracespoold(8) and\n"
	       "tracespool.conf(5).\n",
	       conf_default_file());
}

/* What a command line asks for besides running. */
struct request {
	bool check, print;
};

/* -1: go on; else the exit code. */
static int read_command_line(struct daemon *d, struct request *ask, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "c:o:vh", long_options, NULL)) >= 0) {
		switch (c) {
		case 'c':
			d->config_file = optarg;
			break;
		case 'o':
			d->options[d->option_count++] = optarg;
			break;
		case 'v':
			log_set_level(LOG_L_DEBUG);
			break;
		case 'h':
			print_help();
			return EXIT_OK;
		case OPT_CHECK:
			ask->check = true;
			break;
		case OPT_PRINT:
			ask->print = true;
			break;
		case OPT_VERSION:
			printf("tracespoold %s\n", PACKAGE_VERSION);
			return EXIT_OK;
		default:
			fputs("Try 'tracespoold --help'.\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "tracespoold: unexpected argument '%s'\n", argv[optind]);
		return EXIT_USAGE;
	}
	return -1;
}

/* Before any thread starts, so that all of them inherit it. */
static int block_signals(struct daemon *d, struct ts_error *err)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigaction(SIGPIPE, &ignore, NULL) < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return ts_error_sys(err, TS_E_START, errno, "cannot set signals");
	d->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (d->signal_fd < 0)
		return ts_error_sys(err, TS_E_START, errno, "cannot make a signal descriptor");
	d->fatal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->fatal_fd < 0)
		return ts_error_sys(err, TS_E_START, errno, "cannot make an event descriptor");
	return 0;
}

static void print_error(const struct ts_error *err)
{
	const char *hint = ts_error_get_hint(err);

	fprintf(stderr, "tracespoold: %s%s%s%s\n", err->message, hint ? " (" : "", hint ? hint : "",
		hint ? ")" : "");
}

static void log_failed_start(const struct ts_error *err)
{
	const char *hint = ts_error_get_hint(err);

	log_error("daemon", "cannot start", NULL, err);
	if (hint)
		log_line(LOG_L_ERR, "daemon", "hint: %s", hint);
	sd_notify_text("STATUS=Cannot start: %s", err->message);
}

static int serve(struct daemon *d)
{
	struct ts_error err = TS_ERROR_INIT;
	int rc;

	log_line(LOG_L_INFO, "daemon", "tracespoold %s starts", PACKAGE_VERSION);
	rc = block_signals(d, &err);
	if (rc == 0)
		rc = daemon_start(d, &err);
	if (rc < 0)
		log_failed_start(&err);
	else if (!d->stop)
		daemon_run(d);
	daemon_stop(d);
	if (rc < 0 || atomic_load(&d->failed))
		return EXIT_FAILED;
	log_line(LOG_L_INFO, "daemon", "stopped");
	return EXIT_OK;
}

static int run(struct daemon *d, int argc, char **argv)
{
	struct ts_error err = TS_ERROR_INIT;
	struct request ask = {false, false};
	int code = read_command_line(d, &ask, argc, argv);

	if (code >= 0)
		return code;
	d->passed_fds = sd_listen_count();
	if (conf_load(&d->conf, d->config_file, d->options, d->option_count, &err) < 0) {
		if (ask.check || ask.print)
			print_error(&err);
		else
			log_failed_start(&err);
		return EXIT_FAILED;
	}
	if (ask.print)
		conf_print(&d->conf, stdout, false);
	if (ask.print || ask.check)
		return fflush(stdout) == 0 ? EXIT_OK : EXIT_FAILED;
	return serve(d);
}

int main(int argc, char **argv)
{
	struct daemon d = {.signal_fd = -1, .fatal_fd = -1};
	int code;

	large_blocks_apart();
	/* Each -o takes at least one word. */
	d.options = calloc((size_t)argc + 1, sizeof(*d.options));
	if (!d.options) {
		fputs("tracespoold: no memory\n", stderr);
		return EXIT_FAILED;
	}
	code = run(&d, argc, argv);
	conf_done(&d.conf);
	close_fd(&d.signal_fd);
	close_fd(&d.fatal_fd);
	free(d.options);
	return code;
}
