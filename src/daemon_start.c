/* daemon_start.c: the order in which the daemon starts and stops, and what it refuses to start with
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon.h"

#include "tracespool/log.h"
#include "tracespool/sd.h"
#include "tracespool/text.h"

#define ADDRESS_FILE "http.address"
#define DRAIN_MS 10000
#define FIRST_SCAN_MS 10000
#define OTHER_DESCRIPTORS 256 /* files being read, run files, the catalog, the log */

static void still_starting(void *arg)
{
	(void)arg;
	sd_notify_text("EXTEND_TIMEOUT_USEC=60000000\nSTATUS=Bringing the store up to date");
}

/* Called from workers, also before there is a server. */
static void receipt_changed(void *arg)
{
	struct daemon *d = arg;
	struct http *h = atomic_load(&d->http);

	if (h)
		http_wake(h);
}

/* Called from workers. */
static void store_failed(void *arg, const struct ts_error *why)
{
	struct daemon *d = arg;
	uint64_t one = 1;

	log_error("daemon", "stopping", NULL, why);
	atomic_store(&d->failed, true);
	if (write(d->fatal_fd, &one, sizeof(one)) < 0)
		log_line(LOG_L_ERR, "daemon", "the main thread cannot be woken");
}

static bool offer(void *arg, const char *name, int64_t seen_ms)
{
	return ingest_offer(((struct daemon *)arg)->ingest, name, seen_ms);
}

static bool known(void *arg, const char *name, const struct stat *st)
{
	return ingest_is_known(((struct daemon *)arg)->ingest, name, st);
}

static void watcher_beat(void *arg)
{
	atomic_store(&((struct daemon *)arg)->watcher_beat_ms, time_mono_ms());
}

/* A service whose /tmp is its own would look healthy and see nothing of what jobs drop there. */
static int check_private_tmp(const char *key, const char *path, struct ts_error *err)
{
	if (!getenv("INVOCATION_ID") || !sd_private_tmp(path, "/proc/self/mountinfo"))
		return 0;
	ts_error_set(err, TS_E_START,
		     "%s = %s lies in a temporary folder that only this service sees "
		     "(PrivateTmp=yes)",
		     key, path);
	ts_error_hint(err, "use another folder, or write PrivateTmp=no below [Service] into "
			   "/etc/systemd/system/tracespool.service.d/tmp.conf");
	return -1;
}

/* In the unit everything but the folders it names is read-only. */
static int open_failed(const char *key, struct ts_error *err)
{
	if (err->sys == EROFS && getenv("INVOCATION_ID"))
		ts_error_hint(
			err,
			"if the unit makes %s read-only, write ReadWritePaths= with the folder "
			"below [Service] into "
			"/etc/systemd/system/tracespool.service.d/paths.conf",
			key);
	return -1;
}

static void raise_descriptor_limit(const struct conf *conf)
{
	rlim_t want = conf->limits.connections + OTHER_DESCRIPTORS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= want)
		return;
	limit.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < want)
		log_line(LOG_L_WARN, "daemon",
			 "limits.connections = %llu needs %llu descriptors, the limit is %llu",
			 (unsigned long long)conf->limits.connections, (unsigned long long)want,
			 (unsigned long long)limit.rlim_cur);
}

static int open_folders(struct daemon *d, struct ts_error *err)
{
	struct spool_options spool = {
		.path = d->conf.spool.path,
		.archive_path = d->conf.spool.archive_path,
		.quarantine_path = d->conf.spool.quarantine_path,
	};
	struct store_options store = {
		.path = d->conf.store.path,
		.wal_limit_bytes = d->conf.store.wal_limit_bytes,
		.still_starting = still_starting,
	};

	if (check_private_tmp("spool.path", d->conf.spool.path, err) < 0 ||
	    check_private_tmp("store.path", d->conf.store.path, err) < 0)
		return -1;
	if (spool_open(&spool, &d->spool, err) < 0)
		return open_failed("spool.path", err);
	if (store_open(&store, &d->store, err) < 0)
		return open_failed("store.path", err);
	return 0;
}

/* READY=1 means that what lay in the drop folder was seen. With a great many names or a slow disk
 * the scan goes on after that. */
static void await_first_scan(struct daemon *d)
{
	int64_t deadline = time_mono_ms() + FIRST_SCAN_MS;
	struct watcher_state state;

	for (;;) {
		watcher_snapshot(d->watcher, &state);
		if (state.last_scan_ms || d->stop || time_mono_ms() >= deadline)
			return;
		daemon_take_signals(d, 10, false);
	}
}

static int start_intake(struct daemon *d, struct ts_error *err)
{
	struct ingest_options ingest = {
		.conf = &d->conf,
		.spool = d->spool,
		.store = d->store,
		.changed = receipt_changed,
		.fatal = store_failed,
		.arg = d,
	};
	struct watcher_options watcher = {
		.spool = d->spool,
		.content = ingest_content(),
		.settle_ms = d->conf.spool.settle_ms,
		.scan_ms = d->conf.spool.scan_ms,
		.idle_ms = d->conf.spool.idle_ms,
		.offer = offer,
		.known = known,
		.heartbeat = watcher_beat,
		.arg = d,
	};

	sd_notify_text("EXTEND_TIMEOUT_USEC=600000000\nSTATUS=Finishing what was begun before");
	if (ingest_start(&ingest, &d->ingest, err) < 0)
		return -1;
	watcher_beat(d);
	if (watcher_start(&watcher, &d->watcher, err) < 0)
		return -1;
	ingest_set_watcher(d->ingest, d->watcher);
	await_first_scan(d);
	return 0;
}

static int write_all(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t w = write(fd, text, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return -1;
		text += w;
		n -= (size_t)w;
	}
	return 0;
}

/* STORE/http.address holds the addresses, a line each, for scripts that ask for a free port. */
static int write_addresses(struct daemon *d, struct ts_error *err)
{
	CLEAN(close_fd) int folder = open(d->conf.store.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEAN(close_fd) int fd = -1;
	const char *address;

	if (folder >= 0)
		fd = openat(folder, ADDRESS_FILE ".tmp",
			    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return ts_error_sys(err, TS_E_START, errno, "cannot write %s/" ADDRESS_FILE,
				    d->conf.store.path);
	for (unsigned i = 0; (address = http_address(atomic_load(&d->http), i)); i++) {
		if (write_all(fd, address, strlen(address)) < 0 || write_all(fd, "\n", 1) < 0)
			return ts_error_sys(err, TS_E_START, errno, "cannot write " ADDRESS_FILE);
	}
	if (renameat(folder, ADDRESS_FILE ".tmp", folder, ADDRESS_FILE) < 0)
		return ts_error_sys(err, TS_E_START, errno, "cannot rename " ADDRESS_FILE);
	return 0;
}

static void remove_addresses(struct daemon *d)
{
	CLEAN(close_fd) int folder = open(d->conf.store.path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (folder >= 0)
		unlinkat(folder, ADDRESS_FILE, 0);
}

int daemon_start(struct daemon *d, struct ts_error *err)
{
	struct http_options http = {.conf = &d->conf, .passed_fd_count = d->passed_fds};
	struct http *h = NULL;

	raise_descriptor_limit(&d->conf);
	if (open_folders(d, err) < 0)
		return -1;
	remove_addresses(d); /* of a daemon that was killed; the store's lock is ours now */
	daemon_take_signals(d, 0, false);
	if (d->stop)
		return 0;
	if (start_intake(d, err) < 0)
		return -1;
	if (d->stop)
		return 0;
	http.store = d->store;
	http.spool = d->spool;
	http.ingest = d->ingest;
	http.watcher = d->watcher;
	if (http_start(&http, &h, err) < 0)
		return -1;
	atomic_store(&d->http, h);
	if (upkeep_start(&d->upkeep, d->store, err) < 0 || write_addresses(d, err) < 0)
		return -1;
	daemon_tell(d, true);
	log_line(LOG_L_INFO, "daemon", "ready: spool %s, store %s", d->conf.spool.path,
		 d->conf.store.path);
	return 0;
}

/* Waits for a second TERM or INT while the drain runs; ended by a byte in the pipe. */
struct impatience {
	struct daemon *d;
	int pipe[2];
};

static void *await_second_signal(void *arg)
{
	struct impatience *im = arg;
	struct daemon *d = im->d;
	struct pollfd p[] = {
		{.fd = d->signal_fd, .events = POLLIN},
		{.fd = im->pipe[0], .events = POLLIN},
	};

	d->stop = false;
	while (!d->stop) {
		if (poll(p, ARRAY_LEN(p), -1) < 0 && errno != EINTR)
			return NULL;
		if (p[1].revents)
			return NULL;
		daemon_take_signals(d, 0, false);
	}
	log_line(LOG_L_NOTICE, "daemon", "second signal: open requests are cut");
	http_cut(atomic_load(&d->http));
	return NULL;
}

static void drain(struct daemon *d)
{
	struct impatience im = {.d = d, .pipe = {-1, -1}};
	struct http *h = atomic_load(&d->http);
	pthread_t thread;
	bool started;

	if (!h)
		return;
	started = pipe2(im.pipe, O_CLOEXEC) == 0 &&
		  pthread_create(&thread, NULL, await_second_signal, &im) == 0;
	http_quiesce(h, time_mono_ms() + DRAIN_MS);
	if (started) {
		close(take_fd(&im.pipe[1]));
		pthread_join(thread, NULL);
	}
	close_fd(&im.pipe[0]);
	close_fd(&im.pipe[1]);
	atomic_store(&d->http, NULL);
	http_stop(h, 0);
}

void daemon_stop(struct daemon *d)
{
	sd_notify_text("STOPPING=1\nSTATUS=Stopping");
	if (d->store)
		remove_addresses(d);
	watcher_quiesce(d->watcher);
	ingest_quiesce(d->ingest);
	drain(d);
	upkeep_stop(&d->upkeep);
	watcher_stop(d->watcher);
	ingest_stop(d->ingest);
	store_close(d->store);
	spool_close(d->spool);
}
