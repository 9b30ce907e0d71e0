/* table.h: names the watcher knows, by name and in the order they came
 *
 * Not locked; whoever shares a table locks it.
 */
#ifndef SPOOL_TABLE_H
#define SPOOL_TABLE_H

#include <stdatomic.h>

#include "tracespool/spool.h"

enum entry_state {
	ENTRY_WAITING,
	ENTRY_READY,   /* finished, but there was no room to offer it */
	ENTRY_OFFERED, /* taken by the queue; still in the folder as far as known */
	ENTRY_KNOWN,   /* kept in place after it was ingested */
};

struct entry {
	struct entry *chain;       /* same bucket */
	struct entry *next, *prev; /* order */
	uint64_t hash;
	enum entry_state state;
	bool looked;          /* first holds a look */
	bool renamed_in;      /* seen by an event */
	_Atomic bool demoted; /* set by others: the next look is the first, and in place */
	enum spool_proof proof;
	bool proof_asked; /* proof is that of the look in first */
	bool higher;      /* of a segment: a higher number was seen since this one came */
	uint64_t since;   /* tick of the watcher when it came */
	uint32_t notes;   /* of a table of returns: how many */
	struct spool_look first;
	int64_t seen_ms; /* wall clock */
	int64_t due_ms;  /* monotonic: time of the next look */
	char name[];
};

struct table {
	struct entry **buckets;
	size_t bucket_count, count;
	struct entry *head, *tail;
};

void table_done(struct table *t);
void table_clear(struct table *t);
struct entry *table_find(const struct table *t, struct ts_str name);
/* The entry of the name, new (zeros) at the end of the order if there was none. NULL: no memory. */
struct entry *table_add(struct table *t, const char *name, bool *ret_new);
void table_remove(struct table *t, struct entry *e);

#endif
