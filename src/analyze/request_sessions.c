/* request_sessions.c: sessions of a request run: counts, times, depth, as rows of the run file */
#include "request.h"

#include <stdlib.h>

#include "tracespool/map.h"

#define NO_SESSION UINT32_MAX
#define DEPTH_UNSEEN UINT32_MAX
#define DEPTH_ON_PATH (UINT32_MAX - 1)
#define DEPTH_RING (UINT32_MAX - 2) /* its parents never end */

struct session {
	uint64_t requests, tools, busy;
	int64_t first_start, last_end;
	int64_t covered; /* end of the union of what came so far */
	double tool_wait;
	uint32_t parent, depth;
};

struct sessions {
	struct strmap names; /* also of parents that the run does not have */
	struct session *v;
	size_t cap;
};

static void sessions_done(struct sessions *s)
{
	strmap_done(&s->names);
	free(s->v);
}

static uint32_t number_of(struct sessions *s, struct ts_str name)
{
	uint32_t number = strmap_add(&s->names, name, NULL);

	if (number == STRMAP_NONE || number < s->cap)
		return number;
	size_t cap = s->cap ? s->cap + s->cap / 2 : 64;
	struct session *bigger = reallocarray(s->v, cap, sizeof(*bigger));

	if (!bigger)
		return NO_SESSION;
	for (size_t i = s->cap; i < cap; i++)
		bigger[i] = (struct session){.parent = NO_SESSION, .depth = DEPTH_UNSEEN};
	s->v = bigger;
	s->cap = cap;
	return number;
}

/* Requests come by start. */
static void add_request(struct session *s, int64_t start, int64_t end)
{
	if (!s->requests++) {
		s->first_start = start;
		s->last_end = end;
		s->covered = start;
	}
	if (end > s->last_end)
		s->last_end = end;
	if (start > s->covered)
		s->covered = start;
	if (end > s->covered) {
		s->busy += (uint64_t)(end - s->covered);
		s->covered = end;
	}
}

static int read_requests(struct db *db, struct sessions *s, struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;
	int more;

	if (query_open(db, "analyze_sessions_scan", &q, err) < 0)
		return -1;
	while ((more = query_step(q, err)) > 0) {
		struct ts_str parent = query_str(q, 1);
		uint32_t at = number_of(s, query_str(q, 0));

		if (at == NO_SESSION)
			return ts_error_nomem(err);
		add_request(&s->v[at], query_i64(q, 2), query_i64(q, 3));
		if (parent.p && s->v[at].parent == NO_SESSION) {
			uint32_t number = number_of(s, parent);

			if (number == NO_SESSION)
				return ts_error_nomem(err);
			s->v[at].parent = number;
		}
	}
	return more;
}

static int read_tools(struct db *db, struct sessions *s, struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;
	int more;

	if (query_open(db, "analyze_sessions_tools", &q, err) < 0)
		return -1;
	while ((more = query_step(q, err)) > 0) {
		uint32_t at = strmap_find(&s->names, query_str(q, 0));

		if (at != STRMAP_NONE)
			s->v[at].tools = query_u64(q, 1);
	}
	return more;
}

struct noting {
	struct sessions *sessions;
	struct request_figures *figures;
	uint64_t block_size;
};

static int take_note(void *arg, const struct replay_note *note, struct ts_error *err)
{
	struct noting *n = arg;

	(void)err;
	reuse_add(n->figures, note->blocks, note->known_blocks, n->block_size, note->input_length);
	n->figures->blocks_unique = note->unique_blocks;
	if (note->tool_wait_ms > 0) {
		uint32_t at = strmap_find(&n->sessions->names, note->session);

		if (at != STRMAP_NONE)
			n->sessions->v[at].tool_wait += note->tool_wait_ms;
	}
	return 0;
}

static uint32_t next_up(const struct sessions *s, uint32_t at)
{
	uint32_t parent = s->v[at].parent;

	return parent != NO_SESSION && s->v[parent].requests ? parent : NO_SESSION;
}

/* A session whose parent has no requests is at the top, as one without parent. */
static void find_depths(struct sessions *s)
{
	for (uint32_t i = 0; i < s->names.count; i++) {
		uint32_t at = i, steps = 0, top;
		bool ring;

		while (at != NO_SESSION && s->v[at].depth == DEPTH_UNSEEN) {
			s->v[at].depth = DEPTH_ON_PATH;
			at = next_up(s, at);
			steps++;
		}
		ring = at != NO_SESSION &&
		       (s->v[at].depth == DEPTH_ON_PATH || s->v[at].depth == DEPTH_RING);
		top = at == NO_SESSION || ring ? 0 : s->v[at].depth + 1;
		for (at = i; steps-- > 0; at = next_up(s, at))
			s->v[at].depth = ring ? DEPTH_RING : top + steps;
	}
}

static int write_rows(struct db *db, const struct sessions *s, bool waits, struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;
	uint64_t no = 0;

	if (query_open(db, "analyze_sessions_insert", &q, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->names.count; i++) {
		const struct session *one = &s->v[i];

		if (!one->requests)
			continue;
		query_bind_u64(q, 1, ++no);
		query_bind_str(q, 2, strmap_get(&s->names, i));
		query_bind_str(q, 3,
			       one->parent == NO_SESSION ? ts_str(NULL, 0)
							 : strmap_get(&s->names, one->parent));
		query_bind_u64(q, 4, one->requests);
		query_bind_u64(q, 5, one->tools);
		query_bind_i64(q, 6, one->first_start);
		query_bind_i64(q, 7, one->last_end);
		query_bind_u64(q, 8, one->busy);
		if (waits)
			query_bind_double(q, 9, one->tool_wait);
		else
			query_bind_null(q, 9);
		if (one->depth == DEPTH_RING)
			query_bind_null(q, 10);
		else
			query_bind_u64(q, 10, one->depth);
		if (query_step(q, err) < 0)
			return -1;
		query_reset(q);
	}
	return 0;
}

static void count_sessions(const struct sessions *s, struct request_figures *f)
{
	for (size_t i = 0; i < s->names.count; i++) {
		uint32_t parent = s->v[i].parent;

		if (!s->v[i].requests)
			continue;
		f->sessions++;
		if (parent == NO_SESSION || parent == i || !s->v[parent].requests)
			f->root_sessions++;
	}
}

int sessions_write(struct db *db, struct replay *replay, struct request_figures *f,
		   struct ts_error *err)
{
	CLEAN(sessions_done) struct sessions s = {0};
	struct noting noting = {.sessions = &s, .figures = f};

	if (read_requests(db, &s, err) < 0 || read_tools(db, &s, err) < 0)
		return -1;
	count_sessions(&s, f);
	if (replay) {
		noting.block_size = replay_facts(replay)->trace_block_size;
		if (replay_store(replay, take_note, &noting, err) < 0)
			return -1;
	}
	find_depths(&s);
	return write_rows(db, &s, replay != NULL, err);
}
