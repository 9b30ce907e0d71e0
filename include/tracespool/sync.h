/* sync.h: many files and folders made durable at once
 *
 * A sync waits for the disk. Those that wait together share the journal's commit and the flush of
 * the disk's cache, so sixty at once take little longer than three in a row.
 */
#ifndef TRACESPOOL_SYNC_H
#define TRACESPOOL_SYNC_H

#include <stdbool.h>
#include <stddef.h>

struct sync_item {
	int fd;      /* borrowed; below 0: passed over */
	bool folder; /* file systems that cannot sync a folder are taken as synced */
	int sys;     /* result: 0 or errno */
};

/* Returns when all are done. Each is tried once: after a failed sync another one proves nothing. */
void sync_all(struct sync_item *items, size_t n);
/* One. 0 or errno. */
int sync_one(int fd, bool folder);

#endif
