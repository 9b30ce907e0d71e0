/* prover.c: proves the end of large drops by content, one at a time, beside the watcher's thread */
#include "prover.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* An answer that nobody came for makes room after this: its drop changed or went away. */
#define KEEP_MS 5000

static void forget(struct prover *p)
{
	close_fd(&p->fd);
	free(TAKE(p->name));
	p->state = PROVER_IDLE;
}

static void *run(void *arg)
{
	struct prover *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		struct spool_patience patience = {.until_ms = INT64_MAX, .leave = &p->leave};
		bool complete;

		if (p->state != PROVER_READING) {
			pthread_cond_wait(&p->wake, &p->lock);
			continue;
		}
		/* While it is reading, others touch none of this. */
		pthread_mutex_unlock(&p->lock);
		complete = p->content->complete(p->content->arg, p->fd, p->name, &patience);
		pthread_mutex_lock(&p->lock);
		if (patience.over) {
			forget(p);
			continue;
		}
		p->result = complete ? PROOF_COMPLETE : PROOF_NONE;
		p->done_ms = time_mono_ms();
		p->state = PROVER_DONE;
		close_fd(&p->fd);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int prover_start(struct prover *p, const struct spool_content *content)
{
	int sys;

	*p = (struct prover){.content = content, .fd = -1};
	if (!content)
		return 0;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	sys = pthread_create(&p->thread, NULL, run, p);
	p->started = sys == 0;
	if (sys) {
		pthread_cond_destroy(&p->wake);
		pthread_mutex_destroy(&p->lock);
	}
	return sys;
}

void prover_stop(struct prover *p)
{
	if (!p->started)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	p->leave = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	forget(p);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	p->started = false;
}

static bool begin(struct prover *p, int dir_fd, const char *name, const struct spool_look *look)
{
	p->fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	p->name = p->fd < 0 ? NULL : strdup(name);
	if (!p->name) {
		forget(p);
		return false;
	}
	p->look = *look;
	p->leave = false;
	p->state = PROVER_READING;
	pthread_cond_signal(&p->wake);
	return true;
}

enum spool_proof prover_ask(struct prover *p, int dir_fd, const char *name,
			    const struct spool_look *look)
{
	enum spool_proof proof = PROOF_LONG;
	bool ours, same;

	if (!p->started)
		return PROOF_NONE;
	pthread_mutex_lock(&p->lock);
	ours = p->name && !strcmp(p->name, name);
	same = ours && ready_same(&p->look, look);
	if (p->state == PROVER_DONE && same)
		proof = p->result;
	if (p->state == PROVER_DONE && (ours || time_mono_ms() - p->done_ms > KEEP_MS))
		forget(p);
	if (p->state == PROVER_READING && ours && !same)
		p->leave = true; /* it is about what the drop was */
	if (p->state == PROVER_IDLE && proof == PROOF_LONG && !begin(p, dir_fd, name, look))
		proof = PROOF_UNREAD;
	pthread_mutex_unlock(&p->lock);
	return proof;
}
