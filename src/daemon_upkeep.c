/* daemon_upkeep.c: the thread that writes the catalog's log back while nobody waits for it */
#include <string.h>
#include <time.h>

#include "daemon.h"

#include "tracespool/log.h"
#include "tracespool/text.h"

#define PERIOD_S 5

/* A condition that lasts is logged when it starts and when it ends. */
static bool look_after(struct upkeep *u, bool failing)
{
	struct ts_error err = TS_ERROR_INIT;

	if (store_checkpoint(u->store, &err) < 0) {
		if (!failing)
			log_error("upkeep", "checkpoint failed", NULL, &err);
		return true;
	}
	if (failing)
		log_line(LOG_L_NOTICE, "upkeep", "checkpoint works again");
	return false;
}

static void *run(void *arg)
{
	struct upkeep *u = arg;
	bool failing = false;

	pthread_mutex_lock(&u->lock);
	while (!u->stop) {
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += PERIOD_S;
		pthread_cond_timedwait(&u->wake, &u->lock, &until);
		if (u->stop)
			break;
		pthread_mutex_unlock(&u->lock);
		atomic_store(&u->heartbeat_ms, time_mono_ms());
		failing = look_after(u, failing);
		atomic_store(&u->heartbeat_ms, time_mono_ms());
		pthread_mutex_lock(&u->lock);
	}
	pthread_mutex_unlock(&u->lock);
	return NULL;
}

int upkeep_start(struct upkeep *u, struct store *store, struct ts_error *err)
{
	pthread_condattr_t attr;
	int rc;

	u->store = store;
	u->stop = false;
	atomic_store(&u->heartbeat_ms, time_mono_ms());
	pthread_mutex_init(&u->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&u->wake, &attr);
	pthread_condattr_destroy(&attr);
	rc = pthread_create(&u->thread, NULL, run, u);
	if (rc) {
		pthread_cond_destroy(&u->wake);
		pthread_mutex_destroy(&u->lock);
		return ts_error_sys(err, TS_E_START, rc, "cannot start the upkeep thread");
	}
	pthread_setname_np(u->thread, "upkeep");
	u->started = true;
	return 0;
}

void upkeep_stop(struct upkeep *u)
{
	if (!u->started)
		return;
	pthread_mutex_lock(&u->lock);
	u->stop = true;
	pthread_cond_signal(&u->wake);
	pthread_mutex_unlock(&u->lock);
	pthread_join(u->thread, NULL);
	pthread_cond_destroy(&u->wake);
	pthread_mutex_destroy(&u->lock);
	u->started = false;
}
