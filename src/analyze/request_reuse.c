/* request_reuse.c: figures of a request run that need an order: sessions, prefix reuse, tool time
 */
#include "request.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/map.h"

#define NO_PARENT UINT32_MAX

struct sessions {
	struct strmap names; /* also of parents that have no request */
	struct session_note {
		uint32_t parent; /* the first one found, or NO_PARENT */
		bool present;    /* has a request */
	} * v;
	size_t cap;
};

static void sessions_done(struct sessions *s)
{
	strmap_done(&s->names);
	free(s->v);
}

static int session_note(struct sessions *s, struct ts_str name, uint32_t *ret, struct ts_error *err)
{
	uint32_t number = strmap_add(&s->names, name, NULL);

	if (number == STRMAP_NONE)
		return ts_error_nomem(err);
	if (number == s->cap) {
		size_t cap = s->cap ? s->cap + s->cap / 2 : 64;
		struct session_note *bigger = reallocarray(s->v, cap, sizeof(*bigger));

		if (!bigger)
			return ts_error_nomem(err);
		for (size_t i = s->cap; i < cap; i++)
			bigger[i] = (struct session_note){.parent = NO_PARENT};
		s->v = bigger;
		s->cap = cap;
	}
	*ret = number;
	return 0;
}

static int take_session(struct sessions *s, struct ts_str name, struct ts_str parent,
			struct ts_error *err)
{
	uint32_t number, above;

	if (session_note(s, name, &number, err) < 0)
		return -1;
	s->v[number].present = true;
	if (!parent.p || s->v[number].parent != NO_PARENT)
		return 0;
	if (session_note(s, parent, &above, err) < 0)
		return -1;
	s->v[number].parent = above;
	return 0;
}

static void count_sessions(const struct sessions *s, struct request_figures *f)
{
	for (size_t i = 0; i < s->names.count; i++) {
		uint32_t parent = s->v[i].parent;

		if (!s->v[i].present)
			continue;
		f->sessions++;
		if (parent == NO_PARENT || parent == i || !s->v[parent].present)
			f->root_sessions++;
	}
}

/* The hashes that earlier requests had, counted up to the first that none had; then all of this
 * request's become known. */
static int take_hashes(struct u64map *seen, struct ts_str blob, uint64_t *ret_hits,
		       struct ts_error *err)
{
	size_t n = blob.n / sizeof(uint64_t);
	uint64_t hash, hits = 0;
	uint32_t value;
	bool fresh;

	for (size_t i = 0; i < n; i++, hits++) {
		memcpy(&hash, blob.p + i * sizeof(hash), sizeof(hash));
		if (u64map_get(seen, le64toh(hash)) == UINT32_MAX)
			break;
	}
	for (size_t i = hits; i < n; i++) {
		memcpy(&hash, blob.p + i * sizeof(hash), sizeof(hash));
		if (u64map_put(seen, le64toh(hash), 0, &value, &fresh) < 0)
			return ts_error_nomem(err);
	}
	*ret_hits = hits;
	return 0;
}

static void u64map_clean(struct u64map *m)
{
	u64map_done(m);
}

int figures_of_order(struct db *db, struct request_figures *f, struct ts_error *err)
{
	CLEAN(query_closep) struct query *order = NULL, *hashes = NULL;
	CLEAN(sessions_done) struct sessions sessions = {0};
	CLEAN(u64map_clean) struct u64map seen = {0};
	int more;

	if (query_open(db, "analyze_requests_order", &order, err) < 0 ||
	    query_open(db, "analyze_requests_hashes", &hashes, err) < 0)
		return -1;
	while ((more = query_step(order, err)) > 0) {
		struct ts_str session = query_str(order, 1), blob;
		uint64_t size = query_u64(order, 3), length = query_u64(order, 4), hits = 0, tokens;

		if (session.p && take_session(&sessions, session, query_str(order, 2), err) < 0)
			return -1;
		query_bind_u64(hashes, 1, query_u64(order, 0));
		if (query_step(hashes, err) < 0)
			return -1;
		blob = query_str(hashes, 0);
		if (take_hashes(&seen, blob, &hits, err) < 0)
			return -1;
		f->blocks_total += blob.n / sizeof(uint64_t);
		f->hit_blocks += hits;
		tokens = u64_mul_sat(hits, size);
		f->hit_tokens = u64_add_sat(f->hit_tokens, tokens < length ? tokens : length);
		query_reset(hashes);
	}
	if (more < 0)
		return -1;
	f->blocks_unique = seen.count;
	count_sessions(&sessions, f);
	return 0;
}

int figures_of_tools(struct db *db, struct request_figures *f, struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;
	double sum = 0.0;
	int more;

	if (query_open(db, "analyze_requests_tool_times", &q, err) < 0)
		return -1;
	while ((more = query_step(q, err)) > 0)
		sum += query_double(q, 0);
	if (more < 0)
		return -1;
	f->tool_time = (struct opt_double){.v = sum, .has = isfinite(sum)};
	return 0;
}
