/* daemon.h: what the files of tracespoold share; private to them */
#ifndef TRACESPOOL_DAEMON_H
#define TRACESPOOL_DAEMON_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracespool/conf.h"
#include "tracespool/error.h"
#include "tracespool/http.h"
#include "tracespool/ingest.h"
#include "tracespool/spool.h"
#include "tracespool/store.h"

/* The thread that looks after the store. */
struct upkeep {
	struct store *store; /* borrowed */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool started, stop;
	_Atomic int64_t heartbeat_ms; /* monotonic */
};

int upkeep_start(struct upkeep *u, struct store *store, struct ts_error *err);
void upkeep_stop(struct upkeep *u); /* joins; fine if it was not started */

struct daemon {
	/* The command line. */
	const char *config_file; /* NULL: the default one */
	const char **options;    /* texts of -o */
	unsigned option_count;

	struct conf conf;
	int signal_fd;
	int fatal_fd;       /* eventfd: the store is damaged */
	atomic_bool failed; /* and so the exit code is not 0 */
	int passed_fds;
	bool stop; /* TERM or INT came */
	struct store *store;
	struct spool *spool;
	struct ingest *ingest;
	struct watcher *watcher;
	_Atomic(struct http *) http; /* workers wake it, and it starts after them */
	_Atomic int64_t watcher_beat_ms;
	struct upkeep upkeep;
};

/* daemon_run.c: from ready to the first TERM or INT. */
void daemon_run(struct daemon *d);
/* Takes what waits on the signal descriptor, for at most wait_ms; a HUP is answered only if reload.
 * d->stop says whether to end. */
void daemon_take_signals(struct daemon *d, int wait_ms, bool reload);
/* What `systemctl status` shows, and READY=1 before it if asked. */
void daemon_tell(struct daemon *d, bool ready);

/* daemon_start.c */
int daemon_start(struct daemon *d, struct ts_error *err);
void daemon_stop(struct daemon *d); /* in order, whatever was started */

#endif
