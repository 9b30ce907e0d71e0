/* group.c: drops that wait together are made durable together, in the order of durability (house
 * rules 3, step 5): each step is done for all before the next one begins
 */
#include "room.h"

#include <stdlib.h>

#include "tracespool/util.h"

enum {
	MEMBERS_MAX = 64,
	OPEN_MS = 100, /* how long the first one waits for others that are worked on */
};
_Static_assert(MEMBERS_MAX <= CATALOG_ITEMS_MAX && MEMBERS_MAX <= SPOOL_AT_ONCE,
	       "a group is one transaction");

struct member {
	struct drop drop;
	struct commit commit;
	struct task_result result;
	bool over; /* result is set */
};

struct group {
	struct member *all;                      /* one more than the limit */
	struct member *members[MEMBERS_MAX + 1]; /* the joined ones, then the next */
	size_t count, limit;
	int64_t since_ms;
};

int group_new(size_t limit, struct group **ret, struct ts_error *err)
{
	struct group *g = calloc(1, sizeof(*g));

	if (!g)
		return ts_error_nomem(err);
	g->limit = limit < 4 ? 4 : limit < MEMBERS_MAX ? limit : MEMBERS_MAX;
	g->all = calloc(g->limit + 1, sizeof(*g->all));
	if (!g->all) {
		group_free(g);
		return ts_error_nomem(err);
	}
	for (size_t i = 0; i <= g->limit; i++)
		g->members[i] = &g->all[i];
	*ret = g;
	return 0;
}

void group_free(struct group *g)
{
	if (!g)
		return;
	CHECK(g->count == 0);
	free(g->all);
	free(g);
}

void group_place(struct group *g, struct drop **ret_drop, struct commit **ret_commit)
{
	*ret_drop = &g->members[g->count]->drop;
	*ret_commit = &g->members[g->count]->commit;
}

void group_join(struct group *g)
{
	CHECK(g->count < g->limit);
	if (g->count == 0)
		g->since_ms = time_mono_ms();
	g->members[g->count++]->over = false;
}

bool group_is_open(const struct group *g)
{
	return g->count < g->limit && (g->count == 0 || time_mono_ms() - g->since_ms < OPEN_MS);
}

static void fail(struct member *m, const struct ts_error *err)
{
	m->over = true;
	/* It may let the digest go, and take the drop's file for its own. */
	commit_done(&m->commit);
	m->result = drop_judge(&m->drop, true, err);
}

static void publish(struct group *g)
{
	struct sealed *sealed[MEMBERS_MAX];
	struct ts_error errs[MEMBERS_MAX];
	size_t of[MEMBERS_MAX], n = 0;

	for (size_t i = 0; i < g->count; i++) {
		if (!g->members[i]->commit.sealed)
			continue;
		sealed[n] = g->members[i]->commit.sealed;
		of[n++] = i;
	}
	if (n)
		sealed_publish(sealed, errs, n);
	for (size_t k = 0; k < n; k++)
		if (errs[k].code)
			fail(g->members[of[k]], &errs[k]);
}

static void settle(struct group *g, const struct catalog_item *items, const size_t *of, size_t n)
{
	const struct receipt_record *receipts[MEMBERS_MAX];
	struct drop *drops[MEMBERS_MAX];
	size_t count = 0;

	for (size_t k = 0; k < n; k++) {
		struct member *m = g->members[of[k]];

		if (m->over)
			continue;
		if (items[k].result != COMMIT_DONE)
			commit_take_back(&m->commit);
		commit_log(&m->commit, &items[k]);
		receipts[count] = &m->commit.receipt.record;
		drops[count++] = &m->drop;
	}
	settle_drops(drops, receipts, count);
}

static void commit(struct ingest *in, struct group *g)
{
	bool replace = CONF_LIVE(in->conf->ingest.on_run_id_conflict) == CONFLICT_REPLACE;
	struct catalog_item items[MEMBERS_MAX];
	size_t of[MEMBERS_MAX], n = 0;
	int64_t now = time_now_ms();

	for (size_t i = 0; i < g->count; i++) {
		struct commit *c = &g->members[i]->commit;

		if (g->members[i]->over)
			continue;
		c->run.ingested_ms = now;
		items[n] = (struct catalog_item){
			.run = c->sealed ? &c->run : NULL,
			.build = pending_build,
			.arg = &c->receipt,
		};
		of[n++] = i;
	}
	if (n == 0)
		return;
	catalog_commit_all(in->store, items, n, replace);
	for (size_t k = 0; k < n; k++) {
		struct member *m = g->members[of[k]];

		if (!items[k].err.code)
			continue;
		commit_take_back(&m->commit);
		fail(m, &items[k].err);
	}
	settle(g, items, of, n);
	for (size_t k = 0; k < n; k++)
		if (!items[k].err.code && items[k].result != COMMIT_DONE)
			run_record_done(&items[k].other);
}

static void let_go(struct worker *w, struct member *m)
{
	struct task_result result = m->over ? m->result : drop_settled(&m->drop);
	struct task *task = m->drop.task;

	if (!m->over)
		commit_done(&m->commit);
	load_done(&m->drop.load);
	claim_done(&m->drop.claim);
	drop_over(w, task, &result);
}

void group_finish(struct worker *w)
{
	struct group *g = w->group;
	size_t n = g->count;

	if (n == 0)
		return;
	worker_stamp(w, true);
	publish(g);
	worker_stamp(w, true);
	commit(w->in, g);
	for (size_t i = 0; i < n; i++)
		let_go(w, g->members[i]);
	/* What is being worked on has the place behind them. */
	struct member *next = g->members[n];

	g->members[n] = g->members[0];
	g->members[0] = next;
	g->count = 0;
	worker_stamp(w, false);
}
