/* internal.h: what the files of the spool room share */
#ifndef SPOOL_INTERNAL_H
#define SPOOL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "tracespool/spool.h"

#include "table.h"

/* Depth of folders in a folder that copy and removal go through; deeper is ELOOP. */
#define TREE_DEPTH_MAX 64

struct spool {
	char *path;
	/* The numbers never change: a replaced folder is opened and put in by dup3. */
	int fd, active_fd, receipts_fd;
	char *archive, *quarantine; /* as set, without trailing '/' */
	char *own[2];               /* first part of those below the folder, or NULL */
	pthread_mutex_t verify_lock;
	_Atomic uint64_t temp_no;

	pthread_mutex_t returns_lock;
	struct table returns; /* names put back whose event was not seen yet */
	bool watched;         /* events are read: returns are noted */
};

/* ---- names.c ---- */

bool name_is_shard(const char *name); /* ends in .jsonl or .jsonl.gz */
/* Could this be an entry that the spool takes: one part, not hidden? */
bool name_is_plain(const char *name);
/* Order of shards in a run (request-trace.md 2.3), for qsort over char *. */
int name_shard_cmp(const void *a, const void *b);

/* ---- spool.c ---- */

/* One of the daemon's own folders. */
bool spool_is_own(const struct spool *sp, const char *name);
/* The watcher reads events from now on, or no more. */
void spool_set_watched(struct spool *sp, bool watched);
/* Before and after a failed rename back into the spool. */
void spool_note_return(struct spool *sp, const char *name);
void spool_drop_return(struct spool *sp, const char *name);
/* Did the daemon itself put this name back? Takes one note away. */
bool spool_take_return(struct spool *sp, const char *name);
/* rename without replacing, also where the file system does not know the flag. 0 or errno. */
int rename_noreplace(int from_fd, const char *from, int to_fd, const char *to);
/* fsync of a folder; file systems that cannot are taken as synced. 0 or errno. */
int sync_folder(int fd);
/* Makes the folder if it is not there, opens it. Links are not followed in its last part. 0 or
 * errno. ret_made may be NULL. */
int open_or_make(int dir_fd, const char *name, mode_t mode, bool follow, int *ret_fd,
		 bool *ret_made);

/* May the daemon work in this folder below the spool folder? Whoever may drop files could have made
 * one under that name first; its owner could swap what is claimed. */
bool folder_is_trusted(int spool_fd, int fd);

/* ---- folder.c ---- */

/* What a folder drop holds, from one pass. */
struct survey {
	uint64_t hash;     /* over all entries, in any order */
	uint64_t shards;   /* regular files with a shard's name */
	uint64_t smallest; /* size of the smallest of them, 0 if there is none */
	int64_t mtime_ns;  /* latest over the entries */
	bool unfinished;   /* has an unfinished name other than *.lock */
};
/* 0 or errno. fd stays as it is. */
int folder_survey(int fd, struct survey *ret);
/* Names of the shards in load order, malloc'd, NULL-ended. */
int folder_shards(int fd, uint64_t max_shards, char ***ret, size_t *ret_count,
		  struct ts_error *err);
void free_names(char **names); /* NULL-ended; takes NULL */
int64_t stat_mtime_ns(const struct stat *st);
/* An entry that is not "." or "..", or NULL at the end or with errno set. */
struct dirent;
struct dirent *next_entry(void *dir);
/* A stream of its own on the folder. NULL with errno. */
void *open_entries(int fd);
void close_entries(void *dir);

/* ---- list.c ---- Hash over inodes, sizes and times of the files of spool_inspect_list. */
uint64_t list_hash(const struct claim *c);

/* ---- tree.c ---- 0 or errno */

/* Copies a file or tree with mode, times and, where permitted, owner, and syncs it. */
int tree_copy(int from_fd, const char *from, int to_fd, const char *to);
/* Is all of a also in b, byte for byte? EEXIST: no. */
int tree_within(int a_fd, const char *a, int b_fd, const char *b);
/* Removes it; ENOENT is no error. */
int tree_remove(int dir_fd, const char *name);

/* ---- move.c ---- */

/* Opens the folder of a path that counts from the spool folder (or is absolute), making what is
 * missing; *ret_base points into path. 0 or errno. */
int open_parent(struct spool *sp, const char *path, int *ret_fd, const char **ret_base);

#endif
