/* watch.h: the watcher's state, shared by watcher.c (thread, events) and looks.c (judging) */
#ifndef SPOOL_WATCH_H
#define SPOOL_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "tracespool/map.h"

#include "internal.h"
#include "prover.h"

/* Names in the table; what is beyond waits for a later scan. */
#define WATCH_NAMES_MAX 131072
/* Prefixes of segments that the highest number is known of. */
#define WATCH_PREFIXES_MAX 65536

struct watcher {
	struct watcher_options o;
	_Atomic uint64_t idle_ms;
	_Atomic bool stop, rescan;
	int wake_fd, inotify_fd, wd; /* -1: none */
	pthread_t thread;
	struct prover prover;

	/* Entries are added, removed and changed by the thread only, and what others read of them
	 * under the lock; the thread itself reads without it. */
	pthread_mutex_t lock;
	struct table names;
	struct watcher_state state; /* under the lock; waiting and oldest are counted on demand */
	uint64_t beyond;            /* names found without room, in the last scan */

	/* Of the thread alone. */
	struct strmap prefixes; /* of the segments seen since the last scan began */
	struct segment_top {
		uint64_t number, tick; /* the highest, and when it was seen last */
	} * tops;                      /* by number in prefixes */
	size_t top_room;
	uint64_t tick;               /* grows with each scan and each event */
	bool full;                   /* an offer was refused since the last pass began */
	int64_t due_ms;              /* monotonic: earliest due of the entries */
	int64_t beat_ms;             /* monotonic: last heartbeat */
	int64_t scan_ms;             /* monotonic: time of the next scan */
	int64_t passed_ms;           /* monotonic: end of the last pass over due entries */
	enum rescan_trigger trigger; /* of the next scan */
	struct stat watched;         /* the folder that wd is for */
	bool folder_bad, watch_bad;  /* logged, until it is over */
};

/* ---- looks.c: all of the thread only ---- */

void watch_beat(struct watcher *w);
/* Remembers the number if the name is a segment. */
void watch_note_segment(struct watcher *w, const char *name);
/* Before a scan: entries keep what was seen for them. A recorder that starts again begins at 000000
 * again, so numbers seen before an entry came say nothing about it. */
void watch_forget_segments(struct watcher *w);
/* The entry of a name seen in the folder. NULL: no room; the name waits for a later scan. */
struct entry *watch_add(struct watcher *w, const char *name);
/* The next look is the first, and this is how the name came. */
void watch_restart(struct watcher *w, struct entry *e, bool renamed_in, bool fresh);
/* Looks, judges, offers. The entry may be gone afterwards. */
void watch_look(struct watcher *w, struct entry *e);
/* All entries (scan), or those that are due. */
void watch_look_all(struct watcher *w, bool only_due);

#endif
