/* daemon_run.c: the main thread while the daemon serves: signals, watchdog, status, reload */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "daemon.h"

#include "tracespool/log.h"
#include "tracespool/sd.h"

/* How old a stamp may be before a thread is taken for hung. In the store, an fsync may take
 * minutes on a slow disk without anything being wrong. */
#define STALE_MS 60000
#define STALE_IN_STORE_MS 600000
#define TICK_MS 1000
#define STATUS_MS 5000

/* All or nothing: with an error in any source the old settings stay. */
static void reload(struct daemon *d)
{
	struct ts_error err = TS_ERROR_INIT;
	const char *later[64];
	struct timespec now;
	struct conf fresh;
	unsigned n;

	clock_gettime(CLOCK_MONOTONIC, &now);
	sd_notify_text("RELOADING=1\nMONOTONIC_USEC=%lld",
		       (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	if (conf_load(&fresh, d->config_file, d->options, d->option_count, &err) < 0) {
		log_error("daemon", "settings stay as they were", NULL, &err);
	} else {
		n = conf_reload(&d->conf, &fresh, later, ARRAY_LEN(later));
		watcher_set_idle(d->watcher, d->conf.spool.idle_ms);
		for (unsigned i = 0; i < n; i++)
			log_line(LOG_L_NOTICE, "daemon", "%s changes at the next start", later[i]);
		log_line(LOG_L_INFO, "daemon", "settings read again");
	}
	conf_done(&fresh);
	watcher_rescan(d->watcher);
	daemon_tell(d, true);
}

void daemon_take_signals(struct daemon *d, int wait_ms, bool reload_too)
{
	struct pollfd p[] = {{.fd = d->signal_fd, .events = POLLIN},
			     {.fd = d->fatal_fd, .events = POLLIN}};
	struct signalfd_siginfo info;

	if (poll(p, ARRAY_LEN(p), wait_ms) <= 0)
		return;
	if (atomic_load(&d->failed))
		d->stop = true;
	while (read(d->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGHUP) {
			log_line(LOG_L_INFO, "daemon", "stopping: signal %u from pid %u",
				 info.ssi_signo, info.ssi_pid);
			d->stop = true;
		} else if (reload_too) {
			reload(d);
		}
	}
}

void daemon_tell(struct daemon *d, bool ready)
{
	const char *address = http_address(atomic_load(&d->http), 0);
	struct watcher_state watcher;
	struct ingest_state state;

	ingest_snapshot(d->ingest, &state);
	watcher_snapshot(d->watcher, &watcher);
	sd_notify_text("%sSTATUS=Listening on %s; %llu waiting, %llu queued, %llu being read%s%s",
		       ready ? "READY=1\n" : "", address ? address : "no address",
		       (unsigned long long)watcher.waiting, (unsigned long long)state.queued,
		       (unsigned long long)state.ingesting, state.paused ? "; paused: " : "",
		       state.paused ? state.paused : "");
}

/* The name of a thread that made no progress for too long, or NULL. */
static const char *stale(struct daemon *d, int64_t now)
{
	struct ingest_state state;

	if (now - atomic_load(&d->watcher_beat_ms) > STALE_MS)
		return "watcher";
	if (now - atomic_load(&d->upkeep.heartbeat_ms) > STALE_IN_STORE_MS)
		return "upkeep";
	ingest_snapshot(d->ingest, &state);
	if (state.heartbeat_ms &&
	    now - state.heartbeat_ms > (state.in_store ? STALE_IN_STORE_MS : STALE_MS))
		return "worker";
	return NULL;
}

void daemon_run(struct daemon *d)
{
	int64_t watchdog_ms = (int64_t)sd_watchdog_ms(), ping_ms = time_mono_ms();
	int64_t status_ms = ping_ms + STATUS_MS;
	const char *reported = NULL;

	while (!d->stop) {
		int64_t now = time_mono_ms();
		const char *hung = stale(d, now);

		if (hung && !reported)
			log_line(LOG_L_ERR, "daemon", "the %s thread makes no progress", hung);
		if (!hung && reported)
			log_line(LOG_L_NOTICE, "daemon", "the %s thread goes on", reported);
		reported = hung;
		if (watchdog_ms && !hung && now >= ping_ms) {
			sd_notify_text("WATCHDOG=1");
			ping_ms = now + watchdog_ms;
		}
		if (now >= status_ms) {
			daemon_tell(d, false);
			status_ms = now + STATUS_MS;
		}
		daemon_take_signals(
			d, watchdog_ms && watchdog_ms < TICK_MS ? (int)watchdog_ms : TICK_MS, true);
	}
}
