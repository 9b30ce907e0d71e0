/* watcher.c: watcher thread: inotify for hints, a timer for truth; start, stop, snapshot */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "tracespool/log.h"

#include "watch.h"

#define ROOM "spool"

/* A wake at least this often, for the heartbeat. */
#define WAKE_MS 1000
/* Passes over the due entries are this far apart, so that many names with scattered times do not
 * make as many passes. */
#define PASS_GAP_MS 20
#define SCAN_MS_MIN 10
#define EVENT_BYTES 65536

#define EVENTS                                                                                     \
	(IN_MOVED_TO | IN_CREATE | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

/* ---- the watch ---- */

static void drop_watch(struct watcher *w)
{
	if (w->wd >= 0)
		inotify_rm_watch(w->inotify_fd, w->wd);
	w->wd = -1;
	spool_set_watched(w->o.spool, false);
}

/* Watches the folder that the spool has open now, if it does not yet. */
static void renew_watch(struct watcher *w)
{
	struct stat st;
	int wd = -1;

	if (w->o.no_inotify || fstat(spool_fd(w->o.spool), &st))
		return;
	if (w->wd >= 0 && st.st_dev == w->watched.st_dev && st.st_ino == w->watched.st_ino)
		return;
	if (w->inotify_fd < 0)
		w->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->inotify_fd >= 0)
		wd = inotify_add_watch(w->inotify_fd, spool_path(w->o.spool), EVENTS);
	if (wd < 0) {
		if (!w->watch_bad)
			log_line(LOG_L_WARN, ROOM, "no events for %s, polling only: %s",
				 spool_path(w->o.spool), strerror(errno));
		w->watch_bad = true;
		drop_watch(w);
		return;
	}
	if (w->watch_bad)
		log_line(LOG_L_NOTICE, ROOM, "events for %s again", spool_path(w->o.spool));
	w->watch_bad = false;
	if (w->wd >= 0 && w->wd != wd)
		inotify_rm_watch(w->inotify_fd, w->wd);
	w->wd = wd;
	w->watched = st;
	spool_set_watched(w->o.spool, true);
}

static void ask_scan(struct watcher *w, enum rescan_trigger trigger)
{
	w->scan_ms = INT64_MIN;
	w->trigger = trigger;
}

/* ---- names ---- */

enum candidate { NOT_ONE, IGNORED_NAME, CANDIDATE };

/* is_folder -1: not known. */
static enum candidate judge_name(struct watcher *w, const char *name, int is_folder)
{
	enum spool_name kind = spool_classify_name(name);
	struct stat st;

	if (spool_is_own(w->o.spool, name))
		return NOT_ONE;
	if (kind == NAME_DROP_FILE)
		return CANDIDATE;
	if (kind == NAME_UNFINISHED || name[0] == '.')
		return IGNORED_NAME;
	if (is_folder < 0)
		is_folder = !fstatat(spool_fd(w->o.spool), name, &st, AT_SYMLINK_NOFOLLOW) &&
			    S_ISDIR(st.st_mode);
	return is_folder ? CANDIDATE : IGNORED_NAME;
}

/* ---- events ---- */

static void take_name_event(struct watcher *w, const struct inotify_event *ev)
{
	bool moved = ev->mask & IN_MOVED_TO;
	bool returned = moved && spool_take_return(w->o.spool, ev->name);
	struct entry *e;

	if (judge_name(w, ev->name, (ev->mask & IN_ISDIR) != 0) != CANDIDATE)
		return;
	w->tick++;
	watch_note_segment(w, ev->name);
	e = watch_add(w, ev->name);
	if (!e) {
		/* No room to remember it. What was renamed in needs no second look, and must not
		 * stand behind names that somebody lets lie; else a later scan has room. */
		if (moved && !returned)
			w->o.offer(w->o.arg, ev->name, time_now_ms());
		return;
	}
	if (moved)
		watch_restart(w, e, !returned, !returned);
	else if (ev->mask & IN_CREATE)
		watch_restart(w, e, false, e->state == ENTRY_OFFERED || e->state == ENTRY_KNOWN);
	watch_look(w, e);
}

static void take_event(struct watcher *w, const struct inotify_event *ev)
{
	if (ev->mask & IN_Q_OVERFLOW) {
		pthread_mutex_lock(&w->lock);
		w->state.overflows++;
		pthread_mutex_unlock(&w->lock);
		/* Returns may be among the lost. */
		spool_set_watched(w->o.spool, true);
		ask_scan(w, RESCAN_OVERFLOW);
	} else if (ev->wd != w->wd) {
		return; /* of a folder that was replaced */
	} else if (ev->mask & IN_IGNORED) {
		w->wd = -1;
		ask_scan(w, RESCAN_TIMER);
	} else if (ev->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
		ask_scan(w, RESCAN_TIMER);
	} else if (ev->len) {
		take_name_event(w, ev);
	}
}

/* One buffer of events; more wake the next poll. */
static void read_events(struct watcher *w)
{
	_Alignas(struct inotify_event) char bytes[EVENT_BYTES];
	ssize_t n = read(w->inotify_fd, bytes, sizeof(bytes));
	const struct inotify_event *ev;

	for (ssize_t at = 0; at < n && !w->stop; at += (ssize_t)(sizeof(*ev) + ev->len)) {
		ev = (const struct inotify_event *)(const void *)(bytes + at);
		take_event(w, ev);
	}
}

/* ---- scan ---- */

/* Adds what stands in the folder to the table. Looking comes after, when all segments are known. */
static int list_folder(struct watcher *w, uint64_t *ret_ignored, struct ts_error *err)
{
	void *dir = open_entries(spool_fd(w->o.spool));
	uint64_t ignored = 0;
	struct dirent *d;
	int sys;

	if (!dir)
		return ts_error_sys(err, TS_E_IO, errno, "spool folder cannot be read");
	watch_forget_segments(w);
	w->tick++;
	while (!w->stop && (d = next_entry(dir))) {
		int is_folder = d->d_type == DT_UNKNOWN ? -1 : d->d_type == DT_DIR;
		enum candidate kind = judge_name(w, d->d_name, is_folder);

		watch_beat(w);
		if (kind == IGNORED_NAME)
			ignored++;
		if (kind != CANDIDATE)
			continue;
		watch_note_segment(w, d->d_name);
		watch_add(w, d->d_name);
	}
	sys = w->stop ? 0 : errno;
	close_entries(dir);
	if (sys)
		return ts_error_sys(err, TS_E_IO, sys, "spool folder cannot be read");
	*ret_ignored = ignored;
	return 0;
}

static void scan(struct watcher *w)
{
	struct ts_error err = TS_ERROR_INIT;
	enum rescan_trigger trigger = w->trigger;
	uint64_t ignored = 0;

	w->trigger = RESCAN_TIMER;
	pthread_mutex_lock(&w->lock);
	w->beyond = 0;
	pthread_mutex_unlock(&w->lock);
	if (spool_verify(w->o.spool, &err)) {
		drop_watch(w);
	} else {
		renew_watch(w); /* first, so that nothing falls between */
		list_folder(w, &ignored, &err);
	}
	if (err.code && !w->folder_bad)
		log_error(ROOM, "spool folder cannot be watched", NULL, &err);
	if (!err.code && w->folder_bad)
		log_line(LOG_L_NOTICE, ROOM, "spool folder can be watched again");
	w->folder_bad = err.code != NULL;
	if (!err.code)
		watch_look_all(w, false);
	pthread_mutex_lock(&w->lock);
	w->state.inotify = w->wd >= 0;
	if (!err.code) {
		w->state.ignored = ignored;
		w->state.last_scan_ms = time_now_ms();
		w->state.rescans++;
		w->state.rescans_by[trigger]++;
	}
	pthread_mutex_unlock(&w->lock);
	w->passed_ms = time_mono_ms();
	w->scan_ms = w->passed_ms + i64_from_u64_sat(w->o.scan_ms);
}

/* ---- the thread ---- */

static int wait_ms(const struct watcher *w)
{
	int64_t now = time_mono_ms(), at = w->scan_ms;
	int64_t due = w->due_ms;

	if (due < w->passed_ms + PASS_GAP_MS)
		due = w->passed_ms + PASS_GAP_MS;
	if (due < at)
		at = due;
	if (at <= now)
		return 0;
	return at - now > WAKE_MS ? WAKE_MS : (int)(at - now);
}

static void *run(void *arg)
{
	struct watcher *w = arg;
	int64_t now;

	while (!w->stop) {
		struct pollfd fds[2] = {{.fd = w->wake_fd, .events = POLLIN},
					{.fd = w->inotify_fd, .events = POLLIN}};
		uint64_t wakes;

		watch_beat(w);
		if (poll(fds, 2, wait_ms(w)) < 0 && errno != EINTR)
			log_line(LOG_L_ERR, ROOM, "poll: %s", strerror(errno));
		if (fds[0].revents & POLLIN)
			(void)!read(w->wake_fd, &wakes, sizeof(wakes));
		if (w->stop)
			break;
		if (atomic_exchange(&w->rescan, false))
			ask_scan(w, RESCAN_RELOAD);
		if (fds[1].revents & POLLIN)
			read_events(w);
		now = time_mono_ms();
		if (now >= w->scan_ms) {
			scan(w);
		} else if (now >= w->due_ms && now >= w->passed_ms + PASS_GAP_MS) {
			watch_look_all(w, true);
			w->passed_ms = time_mono_ms();
		}
	}
	return NULL;
}

static void wake(struct watcher *w)
{
	uint64_t one = 1;

	(void)!write(w->wake_fd, &one, sizeof(one));
}

static void watcher_free(struct watcher *w)
{
	prover_stop(&w->prover);
	spool_set_watched(w->o.spool, false);
	close_fd(&w->wake_fd);
	close_fd(&w->inotify_fd);
	table_done(&w->names);
	watch_forget_segments(w);
	free(w->tops);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

int watcher_start(const struct watcher_options *options, struct watcher **ret, struct ts_error *err)
{
	struct watcher *w = calloc(1, sizeof(*w));
	int sys;

	if (!w)
		return ts_error_nomem(err);
	w->o = *options;
	w->prover = (struct prover){.fd = -1};
	if (w->o.scan_ms < SCAN_MS_MIN)
		w->o.scan_ms = SCAN_MS_MIN;
	w->idle_ms = options->idle_ms;
	w->inotify_fd = w->wd = -1;
	w->due_ms = INT64_MAX;
	ask_scan(w, RESCAN_START);
	pthread_mutex_init(&w->lock, NULL);
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->wake_fd < 0) {
		ts_error_sys(err, TS_E_START, errno, "watcher cannot start");
		watcher_free(w);
		return -1;
	}
	renew_watch(w);
	w->state.inotify = w->wd >= 0;
	sys = prover_start(&w->prover, w->o.content);
	if (!sys)
		sys = pthread_create(&w->thread, NULL, run, w);
	if (sys) {
		watcher_free(w);
		return ts_error_sys(err, TS_E_START, sys, "watcher cannot start");
	}
	*ret = w;
	return 0;
}

void watcher_quiesce(struct watcher *w)
{
	if (!w || w->stop)
		return;
	w->stop = true;
	wake(w);
	pthread_join(w->thread, NULL);
	prover_stop(&w->prover);
}

void watcher_stop(struct watcher *w)
{
	if (!w)
		return;
	watcher_quiesce(w);
	watcher_free(w);
}

void watcher_rescan(struct watcher *w)
{
	w->rescan = true;
	wake(w);
}

void watcher_set_idle(struct watcher *w, uint64_t idle_ms)
{
	w->idle_ms = idle_ms;
	watcher_rescan(w); /* times of next looks were worked out with the old one */
}

/* ---- for other threads ---- */

static bool waits(const struct entry *e)
{
	return e->state == ENTRY_WAITING || e->state == ENTRY_READY;
}

void watcher_snapshot(struct watcher *w, struct watcher_state *ret)
{
	int64_t oldest = INT64_MAX, now = time_now_ms();

	pthread_mutex_lock(&w->lock);
	*ret = w->state;
	ret->waiting = w->beyond;
	for (const struct entry *e = w->names.head; e; e = e->next) {
		if (!waits(e))
			continue;
		ret->waiting++;
		if (e->seen_ms < oldest)
			oldest = e->seen_ms;
	}
	pthread_mutex_unlock(&w->lock);
	ret->oldest_waiting_ms = oldest < now ? now - oldest : 0;
}

bool watcher_is_waiting(struct watcher *w, struct ts_str name, int64_t *ret_seen_ms)
{
	struct entry *e;
	bool waiting;

	pthread_mutex_lock(&w->lock);
	e = table_find(&w->names, name);
	waiting = e && waits(e);
	if (waiting)
		*ret_seen_ms = e->seen_ms;
	pthread_mutex_unlock(&w->lock);
	return waiting;
}

void watcher_demote(struct watcher *w, const char *name)
{
	struct entry *e;

	pthread_mutex_lock(&w->lock);
	e = table_find(&w->names, ts_str_c(name));
	if (e)
		e->demoted = true;
	pthread_mutex_unlock(&w->lock);
}
