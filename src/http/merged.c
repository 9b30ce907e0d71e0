/* merged.c: captures merged into one file each, kept while nothing is added to them
 *
 * One entry a state of a capture: its merged file, its summary, and what is wrong with it. A new
 * state replaces the older ones of the capture. Files are many and large, so only a few are kept;
 * one that goes away stays readable for those who have it open.
 */
#include <stdlib.h>
#include <string.h>

#include "merged.h"
#include "merging.h"
#include "server.h"

#define FILES_MAX 4
#define FILE_BYTES_MAX (UINT64_C(4) << 30) /* of all files but the newest */
#define ENTRIES_MAX 64

struct entry {
	struct entry *next;
	char digest[DIGEST_TEXT + 1];
	struct buf name;
	uint64_t segments, newest_no;
	bool building;
	struct merged result;
};

struct merged_cache {
	pthread_mutex_t lock;
	pthread_cond_t built;
	struct entry *first; /* used last */
};

static void entry_free(struct entry *e)
{
	merged_done(&e->result);
	buf_done(&e->name);
	free(e);
}

int merged_start(struct http *h, struct ts_error *err)
{
	struct merged_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return ts_error_nomem(err);
	pthread_mutex_init(&cache->lock, NULL);
	pthread_cond_init(&cache->built, NULL);
	h->merged = cache;
	return 0;
}

void merged_stop(struct http *h)
{
	struct merged_cache *cache = h->merged;
	struct entry *e;

	if (!cache)
		return;
	while ((e = cache->first)) {
		cache->first = e->next;
		entry_free(e);
	}
	pthread_cond_destroy(&cache->built);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
	h->merged = NULL;
}

/* Moves the entry to the front. The lock is held, as in all that follows. */
static struct entry *find(struct merged_cache *cache, const char *digest)
{
	for (struct entry **at = &cache->first; *at; at = &(*at)->next) {
		struct entry *e = *at;

		if (strcmp(e->digest, digest) != 0)
			continue;
		*at = e->next;
		e->next = cache->first;
		cache->first = e;
		return e;
	}
	return NULL;
}

static void forget(struct merged_cache *cache, struct entry *e)
{
	struct entry **at = &cache->first;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	entry_free(e);
}

/* Older states of the capture are asked for no more. */
static void forget_older(struct merged_cache *cache, const struct capture *c)
{
	for (struct entry **at = &cache->first; *at;) {
		struct entry *e = *at;

		if (e->building || !ts_str_eq(ts_str(e->name.data, e->name.len), c->name)) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		entry_free(e);
	}
}

static struct entry *add(struct merged_cache *cache, const struct capture *c)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	buf_init(&e->name, SIZE_MAX);
	buf_add(&e->name, c->name.p, c->name.n);
	if (e->name.failed) {
		entry_free(e);
		return NULL;
	}
	memcpy(e->digest, c->digest, sizeof(e->digest));
	e->segments = c->count;
	e->newest_no = c->newest_no;
	e->building = true;
	e->next = cache->first;
	cache->first = e;
	return e;
}

static void keep_bounds(struct merged_cache *cache)
{
	unsigned files = 0, entries = 0;
	uint64_t bytes = 0;

	for (struct entry **at = &cache->first; *at;) {
		struct entry *e = *at;

		if (!e->building && ++entries > ENTRIES_MAX) {
			*at = e->next;
			entry_free(e);
			continue;
		}
		if (e->result.file) {
			bytes = u64_add_sat(bytes, merge_bytes(e->result.file));
			if (++files > FILES_MAX || (files > 1 && bytes > FILE_BYTES_MAX))
				merge_free(TAKE(e->result.file));
		}
		at = &e->next;
	}
}

/* Makes the entry; the lock is given up meanwhile. */
static struct entry *build(struct merged_cache *cache, struct request *rq, struct ts_error *err)
{
	struct merged result = {0};
	struct entry *e;

	forget_older(cache, &rq->capture);
	e = add(cache, &rq->capture);
	if (!e) {
		ts_error_nomem(err);
		return NULL;
	}
	pthread_mutex_unlock(&cache->lock);
	int failed = merged_make(rq, &result, err);

	pthread_mutex_lock(&cache->lock);
	e->building = false;
	pthread_cond_broadcast(&cache->built);
	if (failed < 0) {
		merged_done(&result);
		forget(cache, e);
		return NULL;
	}
	e->result = result;
	e = find(cache, e->digest);
	keep_bounds(cache);
	return e;
}

/* The entry of the capture, with its file if that is asked for and there is one. */
static struct entry *get(struct merged_cache *cache, struct request *rq, bool file,
			 struct ts_error *err)
{
	for (;;) {
		struct entry *e = find(cache, rq->capture.digest);

		if (!e || (!e->building && file && !e->result.file && !e->result.clash))
			return build(cache, rq, err);
		if (!e->building)
			return e;
		pthread_cond_wait(&cache->built, &cache->lock);
	}
}

/* Tells the error of an entry, with its places for the problem document. */
static int tell(struct request *rq, const struct merged *m, struct ts_error *err)
{
	const char *places = arena_dup(&rq->arena, m->places.data, m->places.len);

	*err = m->error;
	rq->places = ts_str(places, places ? m->places.len : 0);
	return -1;
}

int merged_open(struct request *rq, bool rows_wanted, struct db **ret, struct ts_error *err)
{
	struct merged_cache *cache = rq->http->merged;
	int result = -1;

	pthread_mutex_lock(&cache->lock);
	struct entry *e = get(cache, rq, true, err);

	if (e && (e->result.clash || (rows_wanted && e->result.error.code)))
		result = tell(rq, &e->result, err);
	else if (e)
		result = merge_read(e->result.file, request_deadline_ms(rq), ret, err);
	pthread_mutex_unlock(&cache->lock);
	return result;
}

int merged_summary(struct request *rq, struct buf *out, struct ts_error *err)
{
	struct merged_cache *cache = rq->http->merged;
	int result = -1;

	pthread_mutex_lock(&cache->lock);
	struct entry *e = get(cache, rq, false, err);

	if (e && e->result.error.code) {
		result = tell(rq, &e->result, err);
	} else if (e) {
		buf_add(out, e->result.summary.data, e->result.summary.len);
		result = out->failed ? ts_error_nomem(err) : 0;
	}
	pthread_mutex_unlock(&cache->lock);
	return result;
}

bool merged_has_clash(struct http *h, struct ts_str name, uint64_t segments, uint64_t newest_no)
{
	struct merged_cache *cache = h->merged;
	bool clash = false;

	pthread_mutex_lock(&cache->lock);
	for (const struct entry *e = cache->first; e; e = e->next)
		if (!e->building && e->result.clash && e->segments == segments &&
		    e->newest_no == newest_no && ts_str_eq(ts_str(e->name.data, e->name.len), name))
			clash = true;
	pthread_mutex_unlock(&cache->lock);
	return clash;
}
