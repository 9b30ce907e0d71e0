/* lower.h: what the files of the replay room share: the run in replay order, its sessions, waits
 * and tool spans, held compactly by numbers
 *
 * A request is known here by its index in R, the replay order (request-trace.md 10.3); its texts
 * and hashes are read from the run file when a row needs them.
 */
#ifndef REPLAY_LOWER_H
#define REPLAY_LOWER_H

#include "tracespool/map.h"
#include "tracespool/replay.h"

#define NONE UINT32_MAX            /* no request, no session */
#define OUTPUT_TOKENS_MAX 16777216 /* that a row can list (10.5) */

/* Longest piece of a text from the trace that a message quotes. */
#define QUOTED(s) (int)((s).n < 120 ? (s).n : 120), (s).p

/* Lists of numbers by number: those of i are to[at[i]] to to[at[i + 1] - 1], in the order in which
 * they were added. at NULL: all are empty. */
struct links {
	uint32_t *at, *to;
};
struct link_pair {
	uint32_t from, to;
};
struct link_pairs {
	struct link_pair *v;
	size_t n, cap;
};

struct session {
	uint32_t parent;           /* number of its name, or NONE */
	uint32_t chain_at, count;  /* its requests in `chain` */
	uint32_t source, consumer; /* of its explicit tool (11.3); source NONE: it has none */
	uint32_t spawn;            /* what its first request waits for (11.5), or NONE */
	uint32_t root;             /* where following parents ends (16); version 2 only */
	bool background;
};

enum tool_mode { MODE_FOREGROUND, MODE_BLOCKING, MODE_BACKGROUND, MODE_UNKNOWN };

/* source and consumer are numbers in `named` until 11.3 has resolved them to requests. */
struct tool_span {
	int64_t start_ms, end_ms;
	uint32_t no, session, source, consumer, child;
	uint8_t mode; /* enum tool_mode; MODE_FOREGROUND: without `claude` */
};

/* What only agentic rows need. */
struct agentic {
	struct strmap names; /* of sessions, also of those without requests */
	struct session *sessions;
	size_t sessions_cap;

	/* One entry a request. */
	int64_t *start_ms, *end_ms;
	uint32_t *session, *previous; /* previous of its session, or NONE */
	uint32_t *chain;              /* requests by session, in R order within */
	struct links waits;           /* beyond previous, which comes first in wait_for */
	bool typed;                   /* relations are told apart: waits has only joins */
	bool *left_out;               /* NULL: no request is */
	struct links branches;

	/* Sorted by session, start, end, load order; an index here is a rank. */
	struct tool_span *tools;
	size_t tool_count, tools_cap;
	uint32_t *by_end; /* ranks of spans that are kept by time, by session and end */
	size_t by_end_count;
	struct links consumed; /* ranks of the spans that name the request as consumer */

	/* Request ids that tool spans name, and the requests they are; only while opening. */
	struct strmap named;
	uint32_t *named_requests;
};

struct replay {
	struct db *db; /* borrowed */
	struct replay_facts facts;
	uint32_t *no; /* of each request in R order */
	int64_t origin_ms;
	struct replay_options options;
	uint64_t requests;      /* of the run */
	uint64_t next;          /* request whose row comes next */
	uint64_t unique_inputs; /* blocks_unique; version 2 only */
	struct u64map ids;      /* hash to dense id */
	struct agentic *ag;     /* NULL in standard mode */
	struct query *row, *request_id, *tool;
	uint32_t *kept; /* scratch: ranks of the spans of one row */
	size_t kept_cap;
	struct arena texts; /* scratch of one row */
};

/* lower.c: a step that must give a row: 0, or -1. */
int step_row(struct query *q, struct ts_error *err);

/* links.c */
int pairs_add(struct link_pairs *p, uint32_t from, uint32_t to, struct ts_error *err);
void pairs_done(struct link_pairs *p);
/* Groups pairs with `from` below n by it. */
int links_build(struct links *l, const struct link_pairs *p, uint32_t n, struct ts_error *err);
void links_done(struct links *l);
static inline uint32_t links_count(const struct links *l, uint32_t i)
{
	return l->at ? l->at[i + 1] - l->at[i] : 0;
}

/* hashes.c: dense ids. Assigns all of the run in the order of 10.4 and 10.5 when completion hashes
 * or sheer number make that order or an overflow matter; else rows assign theirs as they come. */
int hashes_prepare(struct replay *r, uint64_t input_hashes, struct ts_error *err);
int hashes_id(struct replay *r, uint64_t hash, uint32_t *ret, struct ts_error *err);
uint64_t hash_at(struct ts_str blob, size_t i);

/* agentic.c: sessions, causality, waits (11.1 to 11.6). */
int agentic_open(struct replay *r, struct ts_error *err);
void agentic_free(struct agentic *ag);
/* The number of a session's name; sessions has an entry for it. NONE: no memory. */
uint32_t session_number(struct agentic *ag, struct ts_str name);

/* waits.c: spawn and join points, and that nothing waits for itself (11.5, 11.6). */
int waits_find(struct replay *r, struct ts_error *err);
/* The request in front of what i waits for: the one before it in its session, or with typed links
 * what its session was started by; or NONE. */
uint32_t waits_ahead(const struct agentic *ag, uint32_t i);

/* versioned.c: version 2 (16). */
int versioned_roots(struct replay *r, struct ts_error *err);
int versioned_row(struct replay *r, struct json_writer *w, uint32_t i, struct ts_error *err);

/* left_out.c: takes the requests that are left out from what waits for what. */
int left_out_unlink(struct replay *r, struct link_pairs *waits, struct link_pairs *branches,
		    struct ts_error *err);

/* tools.c: tool spans. Loading comes before the requests are read, resolving (11.3) after. */
int tools_load(struct replay *r, struct ts_error *err);
int tools_resolve(struct replay *r, struct ts_error *err);
int tools_group(struct replay *r, struct ts_error *err);
/* The spans of 11.7 step 5 of request i, as ranks in order, in r->kept. */
int tools_kept(struct replay *r, uint32_t i, int64_t from, size_t *ret_count, struct ts_error *err);

/* The request_id of request i, borrowed until the next call; for rows and messages. */
int request_id_text(struct replay *r, uint32_t i, struct ts_str *ret, struct ts_error *err);

#endif
