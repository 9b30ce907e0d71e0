/* kept.c: small answers about runs, finished, in memory
 */
#include "kept.h"

#include <stdlib.h>
#include <string.h>

#include "negotiate.h"
#include "server.h"

#define BUCKETS 4096
#define KEY_MAX 2048         /* bytes of a target and an Accept header */
#define HEAD_BYTES 2048      /* what a response holds besides its body, roughly */
#define SHARE_OF_AN_ANSWER 8 /* one answer has at most this part of all bytes */

struct kept {
	struct kept *next;          /* in the bucket */
	struct kept *newer, *older; /* by last use */
	atomic_uint refs;           /* that of the table, and of those that send */
	uint64_t hash;
	char *key;
	size_t key_length, bytes;
	char digest[DIGEST_TEXT + 1]; /* the run */
	unsigned revision;
	uint64_t run_no;
	uint64_t counter;             /* of the catalog when the path surely led to that run */
	char *etag;                   /* without quotes and coding */
	struct MHD_Response *full;    /* or NULL */
	struct MHD_Response *same[2]; /* 304 with the tag of the plain and of the gzip form */
};

struct kept_cache {
	pthread_mutex_t lock;
	struct kept *buckets[BUCKETS];
	struct kept *newest, *oldest;
	size_t bytes, limit;
};

int kept_start(struct http *h, struct ts_error *err)
{
	struct kept_cache *c = calloc(1, sizeof(*c));
	int failed;

	if (!c)
		return ts_error_nomem(err);
	failed = pthread_mutex_init(&c->lock, NULL);
	if (failed) {
		free(c);
		return ts_error_sys(err, TS_E_START, failed, "a lock cannot be made");
	}
	c->limit = h->conf->limits.kept_bytes < SIZE_MAX ? (size_t)h->conf->limits.kept_bytes
							 : SIZE_MAX;
	h->kept = c;
	return 0;
}

void kept_unref(struct kept *k)
{
	if (!k || atomic_fetch_sub(&k->refs, 1) != 1)
		return;
	if (k->full)
		MHD_destroy_response(k->full);
	for (unsigned i = 0; i < ARRAY_LEN(k->same); i++)
		if (k->same[i])
			MHD_destroy_response(k->same[i]);
	free(k->etag);
	free(k->key);
	free(k);
}

/* ---- the table, its lock held ---- */

static void unlink_by_use(struct kept_cache *c, struct kept *k)
{
	*(k->newer ? &k->newer->older : &c->newest) = k->older;
	*(k->older ? &k->older->newer : &c->oldest) = k->newer;
	k->newer = k->older = NULL;
}

static void put_newest(struct kept_cache *c, struct kept *k)
{
	k->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = k;
	c->newest = k;
}

/* Out of the table; the caller has its reference then. */
static void take_out(struct kept_cache *c, struct kept *k)
{
	struct kept **at = &c->buckets[k->hash % BUCKETS];

	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	unlink_by_use(c, k);
	c->bytes -= k->bytes;
}

/* What was used longest ago, until the rest has room; a chain by `next` for free_all. */
static struct kept *make_room(struct kept_cache *c)
{
	struct kept *out = NULL;

	while (c->bytes > c->limit) {
		struct kept *k = c->oldest;

		take_out(c, k);
		k->next = out;
		out = k;
	}
	return out;
}

static void free_all(struct kept *chain)
{
	while (chain) {
		struct kept *next = chain->next;

		kept_unref(chain);
		chain = next;
	}
}

void kept_stop(struct http *h)
{
	struct kept_cache *c = h->kept;

	if (!c)
		return;
	c->limit = 0;
	free_all(make_room(c));
	pthread_mutex_destroy(&c->lock);
	free(c);
	h->kept = NULL;
}

/* ---- keys ---- */

/* Target and Accept as they came, and whether gzip is allowed: neither can hold a line feed. The
 * route, its parameters and the form all follow from these. */
struct key {
	struct ts_str target, accept;
	bool gzip;
	size_t length;
	uint64_t hash;
};

static uint64_t hash_add(uint64_t hash, struct ts_str s)
{
	for (size_t i = 0; i < s.n; i++)
		hash = (hash ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* A name that begins with '_' makes the target one of a kind. */
static bool is_unique(struct ts_str query)
{
	for (size_t i = 0; i < query.n; i++)
		if (query.p[i] == '_' && (i == 0 || query.p[i - 1] == '&'))
			return true;
	return false;
}

static bool make_key(const struct request *rq, struct key *k)
{
	k->target = ts_str_c(rq->sent);
	k->accept = rq->accept.p ? rq->accept : ts_str("", 0);
	k->gzip = rq->gzip;
	k->length = k->target.n + k->accept.n + 2;
	if (k->length > KEY_MAX || rq->http->kept->limit == 0 || is_unique(rq->target.query))
		return false;
	k->hash = hash_add(UINT64_C(0xcbf29ce484222325), k->target);
	k->hash = hash_add((k->hash ^ '\n') * UINT64_C(0x100000001b3), k->accept);
	k->hash = (k->hash ^ k->gzip) * UINT64_C(0x100000001b3);
	k->hash ^= k->hash >> 32;
	return true;
}

static bool is_key(const struct kept *k, const struct key *key)
{
	const char *at = k->key;

	return k->hash == key->hash && k->key_length == key->length &&
	       memcmp(at, key->target.p, key->target.n) == 0 && at[key->target.n] == '\n' &&
	       memcmp(at + key->target.n + 1, key->accept.p, key->accept.n) == 0 &&
	       at[key->length - 1] == (key->gzip ? '1' : '0');
}

static struct kept *look(struct kept_cache *c, const struct key *key)
{
	struct kept *k = c->buckets[key->hash % BUCKETS];

	while (k && !is_key(k, key))
		k = k->next;
	return k;
}

static bool is_run(const struct kept *k, const struct run_record *run)
{
	return k->run_no == run->no && k->revision == run->revision &&
	       memcmp(k->digest, run->digest, sizeof(k->digest)) == 0;
}

/* ---- answers ---- */

static struct MHD_Response *choose(const struct request *rq, const struct kept *k)
{
	bool gzip = false;

	if (rq->if_none_match.p &&
	    negotiate_unchanged(rq->if_none_match, ts_str_c(k->etag), rq->gzip, &gzip))
		return k->same[gzip];
	return k->full;
}

static void use(struct kept_cache *c, struct request *rq, struct kept *k)
{
	if (c->newest != k) {
		unlink_by_use(c, k);
		put_newest(c, k);
	}
	atomic_fetch_add(&k->refs, 1);
	kept_unref(rq->kept);
	rq->kept = k;
}

bool kept_find(struct request *rq)
{
	struct kept_cache *c = rq->http->kept;
	struct MHD_Response *response = NULL;
	uint64_t counter;
	struct key key;

	if (!make_key(rq, &key) || !store_settled_counter(rq->http->store, &counter))
		return false;
	pthread_mutex_lock(&c->lock);
	struct kept *k = look(c, &key);

	if (k && k->counter == counter)
		response = choose(rq, k);
	if (response)
		use(c, rq, k);
	pthread_mutex_unlock(&c->lock);
	rq->kept_response = response;
	rq->kept_status = response && response != k->full ? 304 : 200;
	return response;
}

bool kept_find_of_run(struct request *rq)
{
	struct kept_cache *c = rq->http->kept;
	bool found = false;
	struct key key;

	if (!make_key(rq, &key))
		return false;
	pthread_mutex_lock(&c->lock);
	struct kept *k = look(c, &key);

	if (k && k->full && is_run(k, &rq->run) && strcmp(k->etag, rq->answer.etag) == 0) {
		if (rq->run_settled)
			k->counter = rq->run_counter;
		use(c, rq, k);
		rq->kept_response = k->full;
		rq->kept_status = 200;
		found = true;
	}
	pthread_mutex_unlock(&c->lock);
	return found;
}

enum MHD_Result kept_send(struct request *rq)
{
	return MHD_queue_response(rq->connection, rq->kept_status, rq->kept_response);
}

bool kept_wants(const struct request *rq, size_t bytes)
{
	const struct kept_cache *c = rq->http->kept;

	return rq->keepable && rq->run_settled && rq->answer.etag &&
	       (rq->answer.status == 200 || rq->answer.status == 304) && !rq->answer.stream &&
	       bytes <= c->limit / SHARE_OF_AN_ANSWER;
}

static struct kept *new_entry(const struct request *rq, const struct key *key)
{
	struct kept *k = calloc(1, sizeof(*k));
	size_t n = key->target.n;

	if (!k)
		return NULL;
	atomic_init(&k->refs, 1);
	k->key = malloc(key->length);
	k->etag = strdup(rq->answer.etag);
	if (!k->key || !k->etag) {
		kept_unref(k);
		return NULL;
	}
	memcpy(k->key, key->target.p, n);
	k->key[n] = '\n';
	memcpy(k->key + n + 1, key->accept.p, key->accept.n);
	k->key[key->length - 1] = key->gzip ? '1' : '0';
	k->key_length = key->length;
	k->hash = key->hash;
	memcpy(k->digest, rq->run.digest, sizeof(k->digest));
	k->revision = rq->run.revision;
	k->run_no = rq->run.no;
	k->bytes = sizeof(*k) + key->length + strlen(k->etag) + 1;
	return k;
}

/* Puts a new entry into the table, in place of one of another run. */
static struct kept *replace(struct kept_cache *c, struct kept *fresh, struct kept *old)
{
	if (old)
		take_out(c, old);
	fresh->next = c->buckets[fresh->hash % BUCKETS];
	c->buckets[fresh->hash % BUCKETS] = fresh;
	put_newest(c, fresh);
	c->bytes += fresh->bytes;
	return old;
}

void kept_add(struct request *rq, struct MHD_Response *response, size_t bytes)
{
	struct kept_cache *c = rq->http->kept;
	struct kept *fresh, *k, *old = NULL, *out;
	struct MHD_Response **place;
	struct key key;

	fresh = make_key(rq, &key) ? new_entry(rq, &key) : NULL;
	if (!fresh) {
		MHD_destroy_response(response);
		return;
	}
	pthread_mutex_lock(&c->lock);
	k = look(c, &key);
	if (!k || !is_run(k, &rq->run) || strcmp(k->etag, fresh->etag) != 0) {
		old = replace(c, fresh, k);
		k = fresh;
		fresh = NULL;
	}
	k->counter = rq->run_counter;
	place = rq->answer.status == 200 ? &k->full : &k->same[rq->answer.etag_gzip];
	if (!*place) {
		*place = response;
		response = NULL;
		k->bytes += bytes + HEAD_BYTES;
		c->bytes += bytes + HEAD_BYTES;
	}
	out = make_room(c);
	pthread_mutex_unlock(&c->lock);
	if (response)
		MHD_destroy_response(response);
	kept_unref(fresh);
	kept_unref(old);
	free_all(out);
}
