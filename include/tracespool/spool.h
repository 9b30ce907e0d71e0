/* spool.h: the drop folder: names, readiness, claims, archive, quarantine, the watcher
 *
 * Nothing here reads traces beyond a first line and an end, and nothing is deleted that was not
 * asked for. All moves are renames within one mount, or copy, sync, rename, unlink where the
 * archive is on another (never the other way round).
 */
#ifndef TRACESPOOL_SPOOL_H
#define TRACESPOOL_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tracespool/error.h"
#include "tracespool/text.h"

#define SPOOL_NAME_MAX 200 /* bytes; longer names are refused as bad_name */

struct spool;

struct spool_options {
	const char *path;            /* made if its parent exists */
	const char *archive_path;    /* below path, or absolute */
	const char *quarantine_path; /* the same */
};

int spool_open(const struct spool_options *options, struct spool **ret, struct ts_error *err);
void spool_close(struct spool *sp);
const char *spool_path(const struct spool *sp);
int spool_fd(const struct spool *sp); /* of the folder; borrowed */
/* The folder at the path is still the one that was opened, with its own folders in it; what was
 * replaced or removed below the path is opened or made anew. The number of spool_fd stays. */
int spool_verify(struct spool *sp, struct ts_error *err);

/* ---- names ---- */

enum spool_name {
	NAME_DROP_FILE,  /* *.jsonl, *.jsonl.gz */
	NAME_IGNORED,    /* leading dot, unfinished ending, other ending */
	NAME_UNFINISHED, /* .tmp .part .partial .lock .swp ~ : also ignored, but named so */
};
/* Only the name; a folder is a drop unless the name is hidden or unfinished. */
enum spool_name spool_classify_name(const char *name);

/* PREFIX.NNNNNN.jsonl.gz with at least six digits (request-trace.md 2.3, 2.4). The prefix points
 * into name. False: not a segment, or a number above 2^63-1. */
bool spool_segment(const char *name, struct ts_str *ret_prefix, uint64_t *ret_number);

/* ---- readiness: pure rules over looks ---- */

/* One look at a drop. Of a folder, size is that of its smallest shard (0: it has none), mtime_ns
 * the latest over its entries. What is neither file nor folder has size 1. */
struct spool_look {
	uint64_t dev, ino, size;
	int64_t mtime_ns;
	uint64_t entries; /* folder: hash over the names, inodes, sizes and times in it */
	int64_t at_ms;    /* monotonic time of the look */
	bool folder, special;
};

/* Looks at an entry of the folder, without following links. 0, or -1 with errno (ENOENT: gone).
 * ret_st may be NULL. */
int ready_look(int dir_fd, const char *name, struct spool_look *ret, struct stat *ret_st);
/* Nothing that a look shows differs (the times of the looks may). */
bool ready_same(const struct spool_look *a, const struct spool_look *b);

/* What the content says about the end; read only when at rest. */
enum spool_proof {
	PROOF_NONE,     /* not complete as far as can be seen; the same until the drop changes */
	PROOF_COMPLETE, /* its end is proved */
	PROOF_UNREAD,   /* could not be opened or read just now; worth asking again */
	PROOF_LONG,     /* takes longer than the patience */
};

/* How long content may be read. */
struct spool_patience {
	int64_t until_ms; /* monotonic; INT64_MAX: as long as it takes */
	const _Atomic bool
		*leave; /* becomes true when the answer is not wanted any more, or NULL */
	bool over;      /* it was broken off */
};
/* To be asked now and then while reading: true: break off, the answer does not count. */
bool spool_patience_over(struct spool_patience *p);

/* Knowledge of formats, from a higher level: does the content of this regular file prove its end
 * (http-api.md 6, all files in place but segments)? fd is at 0, for this call only. Called from
 * the watcher's threads, from two at a time. */
struct spool_content {
	bool (*complete)(void *arg, int fd, const char *name, struct spool_patience *patience);
	void *arg;
};

enum ready_state { READY_NO, READY_YES };

/* Everything that decides whether a drop made in place is finished (http-api.md 6). */
struct ready_view {
	const struct spool_look *first; /* the look since which nothing changed */
	const struct spool_look *now;
	uint64_t settle_ms, idle_ms;
	bool renamed_in; /* seen by the watcher */
	bool proof;      /* PROOF_COMPLETE of the content */
};
enum ready_state ready_judge(const struct ready_view *view);
/* Two looks at least settle_ms apart saw the same, and a size above 0: time for the proof. */
bool ready_at_rest(const struct ready_view *view);

/* The proof for a drop at rest: by name for segments (higher_segment: a higher number of the prefix
 * was seen), by entries for folders, else by content (NULL: none is proved). Links, sockets and
 * devices are complete: there is nothing to wait for before they are refused. Never claims. */
enum spool_proof ready_proof(int dir_fd, const char *name, bool folder, bool higher_segment,
			     const struct spool_content *content, struct spool_patience *patience);

/* ---- claims and moves ---- */

/* A claimed drop: in .active/ under its own name, opened and checked. */
struct claim {
	char *name; /* raw bytes of the name; owned */
	bool folder;
	bool list; /* of spool_inspect_list: shards are paths of their own */
	int fd;    /* file: the file; folder: the folder */
	struct stat st;
	char owner[64]; /* account name or uid:N */
	char **shards;  /* folder: names in load order (request-trace.md 2.3), NULL-ended; owned */
	size_t shard_count;
	uint64_t entries; /* folder: as in struct spool_look */
	int64_t seen_ms;  /* wall clock: now; a caller that knows when it was first seen sets it */
};

/* Moves the drop into .active/ and opens it: O_NOFOLLOW, one link, regular (each shard too).
 * 1 claimed; 0 it is gone, or the name is being ingested; -1 error with the drop in .active/ if
 * the error's fate is refuse (ret is filled as far as known: name, st), else back in the spool if
 * the name is still free there. claim_done is due after 1 and -1. */
int spool_claim(struct spool *sp, const char *name, uint64_t max_shards, struct claim *ret,
		struct ts_error *err);
/* The same for what is in .active/ already (start-up). */
int spool_adopt(struct spool *sp, const char *name, uint64_t max_shards, struct claim *ret,
		struct ts_error *err);
/* The same look at a drop anywhere; nothing is moved. 0, or -1 with ret filled as far as known. */
int spool_inspect(const char *path, uint64_t max_shards, struct claim *ret, struct ts_error *err);
/* The files at these paths as the shards of one folder, in this order; named after the first. */
int spool_inspect_list(const char *const *paths, size_t n, struct claim *ret, struct ts_error *err);
void claim_done(struct claim *c);
/* Opens shard n of a folder (n 0 of a file: the claim's own descriptor, duplicated). */
int spool_open_shard(const struct claim *c, size_t n, int *ret_fd, struct ts_error *err);
/* Size, time and entries are those of the claim: nothing was written meanwhile. */
bool spool_unchanged(const struct claim *c);
/* Where the source of a run was put, and what it was: one file, or shard `shard` of a folder. */
struct spool_kept {
	struct ts_str path; /* from the spool folder, or absolute */
	bool folder;
	uint64_t shard, shard_count; /* 0 and 1 of a file */
	uint64_t size;
	int64_t mtime_ms;
};
/* Opens it for reading if it is still there and the same: a regular file with one link, of that
 * size and time. Error: source_not_kept. */
int spool_open_kept(struct spool *sp, const struct spool_kept *kept, int *ret_fd,
		    struct ts_error *err);
/* Is the open file still so? */
bool spool_kept_same(int fd, const struct spool_kept *kept);
/* Names in .active/, malloc'd, NULL-ended. */
int spool_list_active(struct spool *sp, char ***ret, struct ts_error *err);

/* Back into the spool under its own name, if that is free; else it stays in .active/ (0 either way;
 * *ret_back says which). The watcher takes what comes back so as made in place. */
int spool_unclaim(struct spool *sp, const struct claim *c, bool *ret_back, struct ts_error *err);

/* Where the source will go; a free name: ".archive/2025/11/03/NAME" (UTC) or, if that is taken,
 * ".archive/2025/11/03/K/NAME" with a free K from 2 (a name of digits only: always so, from 1; it
 * would stand where a K may have to). ".quarantine/N-NAME", with K in the same way; NAME cut to
 * SPOOL_NAME_MAX bytes. Absolute if the setting is. Returned malloc'd. Makes no folder yet. */
int spool_archive_path(struct spool *sp, const char *name, int64_t now_ms, char **ret,
		       struct ts_error *err);
int spool_quarantine_path(struct spool *sp, const char *name, uint64_t receipt_no, char **ret,
			  struct ts_error *err);
/* Moves .active/NAME there, making and syncing folders. Done before is fine (nothing in .active/,
 * the target is there); half done too (target complete, source not yet removed: it is removed). A
 * target that holds something else is an error with EEXIST: ask for another path. err->sys has the
 * errno. */
int spool_move(struct spool *sp, const char *name, const char *path, struct ts_error *err);
/* Does the target of a move exist? */
bool spool_path_exists(struct spool *sp, const char *path);
/* Removes .active/NAME (spool.after = delete); a folder with its entries. */
int spool_delete(struct spool *sp, const char *name, struct ts_error *err);

/* ---- receipts and reports as files ---- */

/* Writes `.receipts/NAME.json` aside, syncs, renames, syncs the folder. */
int spool_write_receipt(struct spool *sp, const char *name, struct ts_str json,
			struct ts_error *err);
int spool_remove_receipt(struct spool *sp, const char *name, struct ts_error *err);
/* The same for the report beside a quarantined drop: PATH.json. */
int spool_write_report(struct spool *sp, const char *quarantine_path, struct ts_str json,
		       struct ts_error *err);

/* ---- several drops at once ---- */

#define SPOOL_AT_ONCE 64

/* A drop that is ingested: its receipt, and where its source goes. */
struct spool_settling {
	const char *name; /* of the drop */
	struct ts_str receipt;
	const char *path; /* as for spool_move */
	bool done;        /* result */
};
/* spool_write_receipt of each; what they wait for, they wait for together. What is not done is to
 * be done one by one, which tells why. At most SPOOL_AT_ONCE. */
void spool_write_receipts(struct spool *sp, struct spool_settling *all, size_t n);
/* spool_move of those that are done, and stay so if that is simple and works. The same holds. */
void spool_move_all(struct spool *sp, struct spool_settling *all, size_t n);

/* ---- the watcher ---- */

struct watcher_options {
	struct spool *spool;
	const struct spool_content *content; /* borrowed; NULL: nothing is proved by content */
	uint64_t settle_ms, scan_ms, idle_ms;
	bool no_inotify; /* scan only (tests; file systems without events) */
	/* A finished drop; called from the watcher's thread. False: no room, offer again later.
	 * Offering a name twice is harmless. */
	bool (*offer)(void *arg, const char *name, int64_t seen_ms);
	/* Is this drop in place one that was taken before (spool.after = keep)? May be NULL. */
	bool (*known)(void *arg, const char *name, const struct stat *st);
	void (*heartbeat)(void *arg); /* at least every two seconds; may be NULL */
	void *arg;
};

/* Why the whole folder was looked through (metrics: start, timer, overflow, reload). */
enum rescan_trigger {
	RESCAN_START,
	RESCAN_TIMER,
	RESCAN_OVERFLOW,
	RESCAN_RELOAD, /* watcher_rescan */
	RESCAN_TRIGGER_COUNT,
};

struct watcher_state { /* a snapshot */
	bool inotify;
	int64_t last_scan_ms; /* wall clock, 0: none yet */
	uint64_t waiting, ignored, overflows;
	uint64_t rescans; /* sum of rescans_by */
	uint64_t rescans_by[RESCAN_TRIGGER_COUNT];
	int64_t oldest_waiting_ms; /* age; 0 if none wait */
};

struct watcher;

/* Starts the thread: watch first, then scan. */
int watcher_start(const struct watcher_options *options, struct watcher **ret,
		  struct ts_error *err);
/* Ends the thread; the watcher can still be asked and told until watcher_stop. Takes NULL. */
void watcher_quiesce(struct watcher *w);
void watcher_stop(struct watcher *w); /* quiesces and frees; takes NULL */
void watcher_snapshot(struct watcher *w, struct watcher_state *ret);
/* Names that wait and since when they are seen (wall clock); false: not waiting. */
bool watcher_is_waiting(struct watcher *w, struct ts_str name, int64_t *ret_seen_ms);
/* A drop that failed or changed while it was read: as made in place from now on. */
void watcher_demote(struct watcher *w, const char *name);
/* Look at everything now. */
void watcher_rescan(struct watcher *w);
/* spool.idle_ms was read again. */
void watcher_set_idle(struct watcher *w, uint64_t idle_ms);

#endif
