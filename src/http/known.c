/* known.c: the runs asked for last, as the catalog had them, while it does not change
 *
 * A path is looked up at one place only, which another one of the same hash takes over.
 */
#include "known.h"

#include <stdlib.h>
#include <string.h>

#include "server.h"

#define PLACES 64
#define RECORD_MAX 32768 /* bytes of a record's long texts; larger ones are read each time */

struct known_run {
	atomic_uint refs;
	uint64_t counter;
	char *id; /* as the path has it */
	size_t id_length;
	struct run_record run;
};

struct known_runs {
	pthread_mutex_t lock;
	struct known_run *places[PLACES];
};

int known_start(struct http *h, struct ts_error *err)
{
	struct known_runs *all = calloc(1, sizeof(*all));
	int failed;

	if (!all)
		return ts_error_nomem(err);
	failed = pthread_mutex_init(&all->lock, NULL);
	if (failed) {
		free(all);
		return ts_error_sys(err, TS_E_START, failed, "a lock cannot be made");
	}
	h->known = all;
	return 0;
}

void known_unref(struct known_run *k)
{
	if (!k || atomic_fetch_sub(&k->refs, 1) != 1)
		return;
	run_record_done(&k->run);
	free(k->id);
	free(k);
}

void known_stop(struct http *h)
{
	struct known_runs *all = h->known;

	if (!all)
		return;
	for (unsigned i = 0; i < PLACES; i++)
		known_unref(all->places[i]);
	pthread_mutex_destroy(&all->lock);
	free(all);
	h->known = NULL;
}

static struct known_run **place_of(struct known_runs *all, struct ts_str id)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < id.n; i++)
		hash = (hash ^ (unsigned char)id.p[i]) * UINT64_C(0x100000001b3);
	return &all->places[(hash ^ hash >> 32) % PLACES];
}

static void borrow(struct request *rq, struct known_run *k)
{
	rq->known = k;
	rq->run = k->run;
	rq->run.owned = NULL;
}

bool known_find(struct request *rq)
{
	struct known_runs *all = rq->http->known;
	struct known_run **place = place_of(all, rq->var), *k;

	pthread_mutex_lock(&all->lock);
	k = *place;
	if (k && (k->counter != rq->run_counter || k->id_length != rq->var.n ||
		  memcmp(k->id, rq->var.p, rq->var.n) != 0))
		k = NULL;
	if (k)
		atomic_fetch_add(&k->refs, 1);
	pthread_mutex_unlock(&all->lock);
	if (k)
		borrow(rq, k);
	return k;
}

void known_add(struct request *rq)
{
	struct known_runs *all = rq->http->known;
	const struct run_record *run = &rq->run;
	struct known_run *k, **place, *old;

	if (run->source.n + run->meta.n + run->tags.n + run->models.n > RECORD_MAX)
		return;
	k = calloc(1, sizeof(*k));
	if (!k)
		return;
	k->id = malloc(rq->var.n + 1);
	if (!k->id) {
		free(k);
		return;
	}
	memcpy(k->id, rq->var.p, rq->var.n);
	k->id_length = rq->var.n;
	k->counter = rq->run_counter;
	k->run = *run;
	atomic_init(&k->refs, 2);
	borrow(rq, k);
	place = place_of(all, rq->var);
	pthread_mutex_lock(&all->lock);
	old = *place;
	*place = k;
	pthread_mutex_unlock(&all->lock);
	known_unref(old);
}
