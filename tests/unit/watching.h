/* watching.h: a watcher on a private spool, with what it offered and a few ways to answer it; waits
 * for conditions with a deadline */
#ifndef TESTS_WATCHING_H
#define TESTS_WATCHING_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "tracespool/map.h"

#include "spool_folder.h"

#define NEVER 600000 /* ms: longer than any test */
#define DEADLINE_MS 20000

static struct {
	struct spool *sp;
	struct watcher *w;
	pthread_mutex_t lock;
	struct strmap names; /* offered and accepted, in order of the first time */
	uint64_t offers;     /* accepted ones */
	atomic_int refuse;   /* that many offers more */
	atomic_int refused, beats, proofs, known_calls;
	atomic_bool take;  /* an accepted drop is moved away, as a worker would */
	atomic_bool block; /* offers do not return */
	atomic_bool known; /* all is known */
} t = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

#define wait_until(cond)                                                                           \
	do {                                                                                       \
		int64_t end_ = time_mono_ms() + DEADLINE_MS;                                       \
		while (!(cond)) {                                                                  \
			ck_assert_msg(time_mono_ms() < end_, "never: %s", #cond);                  \
			nap();                                                                     \
		}                                                                                  \
	} while (0)

static inline bool on_offer(void *arg, const char *name, int64_t seen_ms)
{
	(void)arg;
	ck_assert_int_gt(seen_ms, 0);
	while (t.block)
		nap();
	if (t.refuse > 0) {
		t.refuse--;
		t.refused++;
		return false;
	}
	pthread_mutex_lock(&t.lock);
	strmap_add(&t.names, ts_str_c(name), NULL);
	t.offers++;
	pthread_mutex_unlock(&t.lock);
	if (t.take)
		(void)!renameat(spool_fd(t.sp), name, AT_FDCWD, at("taken/%s", name));
	return true;
}

static inline bool on_known(void *arg, const char *name, const struct stat *st)
{
	(void)arg, (void)name;
	t.known_calls++;
	return t.known && st->st_size == 4;
}

static inline void on_beat(void *arg)
{
	(void)arg;
	t.beats++;
}

/* Content ends with a line "end". */
static inline bool ends(void *arg, int fd, const char *name, const struct spool_pulse *pulse)
{
	char tail[4];

	(void)arg, (void)name, (void)pulse;
	t.proofs++;
	return lseek(fd, -4, SEEK_END) >= 0 && read(fd, tail, 4) == 4 && !memcmp(tail, "end\n", 4);
}

static const struct spool_content ends_content = {.complete = ends};

static inline void watch_setup(void)
{
	umask(022);
	folder_init();
	ck_assert_int_eq(mkdir(at("taken"), 0755), 0);
	t.sp = open_spool();
}

static inline void watch_teardown(void)
{
	t.block = false;
	watcher_stop(t.w);
	spool_close(t.sp);
	strmap_done(&t.names);
	folder_done();
}

static inline void watch_with(uint64_t settle_ms, uint64_t scan_ms, uint64_t idle_ms,
			      bool poll_only)
{
	struct ts_error err = TS_ERROR_INIT;
	struct watcher_options options = {.spool = t.sp,
					  .content = &ends_content,
					  .settle_ms = settle_ms,
					  .scan_ms = scan_ms,
					  .idle_ms = idle_ms,
					  .no_inotify = poll_only,
					  .offer = on_offer,
					  .known = on_known,
					  .heartbeat = on_beat};

	ck_assert_msg(!watcher_start(&options, &t.w, &err), "%s", err.message);
}

static inline uint64_t offered_names(void)
{
	pthread_mutex_lock(&t.lock);
	uint64_t n = t.names.count;
	pthread_mutex_unlock(&t.lock);
	return n;
}

static inline uint64_t offers(void)
{
	pthread_mutex_lock(&t.lock);
	uint64_t n = t.offers;
	pthread_mutex_unlock(&t.lock);
	return n;
}

static inline bool offered(const char *name)
{
	pthread_mutex_lock(&t.lock);
	bool is = strmap_find(&t.names, ts_str_c(name)) != STRMAP_NONE;
	pthread_mutex_unlock(&t.lock);
	return is;
}

static inline struct watcher_state state(void)
{
	struct watcher_state s;

	watcher_snapshot(t.w, &s);
	return s;
}

static inline bool waiting(const char *name)
{
	int64_t seen_ms = 0;
	bool is = watcher_is_waiting(t.w, ts_str_c(name), &seen_ms);

	ck_assert(!is || seen_ms > 0);
	return is;
}

/* The watcher had the time to look that many times. */
static inline void let_scan(unsigned times)
{
	uint64_t goal = state().rescans + times;

	wait_until(state().rescans >= goal);
}

#endif
