/* prover.h: a thread that reads the content of one large drop at a time for the watcher
 *
 * A gzip file proves its end only when all of it was inflated, which takes minutes for a large one.
 * Meanwhile the watcher must see to the other names, and show that it lives.
 */
#ifndef SPOOL_PROVER_H
#define SPOOL_PROVER_H

#include <pthread.h>
#include <stdatomic.h>

#include "tracespool/spool.h"

struct prover {
	const struct spool_content *content;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	_Atomic bool leave; /* what is being read is not wanted any more */
	/* Under the lock. */
	bool stop;
	enum { PROVER_IDLE, PROVER_READING, PROVER_DONE } state;
	int fd;
	char *name;
	struct spool_look look;  /* what it is about */
	enum spool_proof result; /* of PROVER_DONE */
	int64_t done_ms;         /* monotonic */
};

/* In place. content may be NULL: there is nothing to ask then. 0 or errno. */
int prover_start(struct prover *p, const struct spool_content *content);
/* Gives up what is being read. Takes one that was never started. */
void prover_stop(struct prover *p);
/* The proof of that state of the drop; PROOF_LONG: not known yet, ask again. */
enum spool_proof prover_ask(struct prover *p, int dir_fd, const char *name,
			    const struct spool_look *look);

#endif
