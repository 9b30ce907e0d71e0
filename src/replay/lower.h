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

/* Numbers, one after another; the memory is used again. */
struct numbers {
	uint32_t *v;
	size_t n, cap;
};

enum request_kind { KIND_FOREGROUND, KIND_AGENT, KIND_BACKGROUND_AGENT, KIND_COUNT };

/* What a row holds, texts apart: found in the run (row.c), or read as it was stored (packed.c). */
struct row {
	uint32_t no; /* of request_rows */
	uint64_t input_length, output_tokens, offset_ms;
	struct numbers ids;    /* of the input's blocks */
	uint32_t known;        /* how many of them in front earlier inputs had; only when found */
	bool has_output_ids;   /* it has completion hashes */
	struct numbers output; /* ids of the blocks from the one on in which the output begins */

	/* Agentic only. Requests and tool spans by their numbers in request_rows and tool_rows. */
	enum request_kind kind;
	bool prefix_reset;
	uint64_t gap_ms, busy_ms;              /* of what waits (11.7) */
	struct numbers waits, branches, tools; /* tools: the spans that are kept */
};

/* Of a request, what its row is made of; texts where the mode has use for them. */
struct input {
	int64_t start_ms;
	uint64_t output_tokens, input_length;
	struct ts_str hashes, completion, request_id, model;
};

struct tool_event {
	struct ts_str call, class, status, error;
	int64_t start_ms, end_ms;
	double duration_ms;
	struct opt_u64 bytes, tokens;
};

/* Rows that are asked for by NUMBERED numbers. */
struct wanted {
	uint64_t *v;
	size_t n, cap;
};

/* Requests first to first + n - 1 as they were read. */
struct window {
	struct query *query, *id_query, *tool_query;
	uint32_t first, n, size; /* size: of the next one */
	bool with_texts;         /* also what row after row takes by window_id and window_event */
	bool full, no_memory;    /* while it is read */
	bool scattered;          /* its requests lie far from one another in the file */
	struct input *inputs;
	struct ts_str *ids;
	struct tool_event *events;
	size_t inputs_cap, ids_cap, ids_at, events_cap, events_at;
	struct wanted wanted, wanted_tools;
	char *bytes; /* of the texts */
	size_t used, bytes_cap;
	struct arena long_texts; /* of a window of one request that bytes have no room for */
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
	struct u64ids ids;      /* dense ids of hashes */
	size_t first_new;       /* which hash of the last list was the first to get an id */
	uint32_t inputs_found;  /* ids below this one are of inputs that were gone through */
	struct agentic *ag;     /* NULL in standard mode, and where rows are stored */
	struct query *request_id, *tool;
	struct window window;
	const struct input *input; /* of request `next`, while its row is made */
	struct query *stored;      /* the rows that the run file has; NULL: they are found */
	bool stored_agentic;
	struct row at;  /* scratch: the row that is written */
	uint32_t *kept; /* scratch: ranks of the spans of one row */
	size_t kept_cap;
	struct arena texts; /* scratch of one row */
};

/* lower.c: a step that must give a row: 0, or -1. */
int step_row(struct query *q, struct ts_error *err);

/* order.c: r->no and origin_ms of a standard run. */
int order_find(struct replay *r, struct ts_error *err);

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
/* Adds to ret the ids of the hashes from .. behind - 1 of a blob. */
int hashes_ids(struct replay *r, struct ts_str blob, uint64_t from, uint64_t behind,
	       struct numbers *ret, struct ts_error *err);

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
/* The same of a number in request_rows, with its session. */
int request_texts(struct replay *r, uint32_t no, struct ts_str *ret_id, struct ts_str *ret_session,
		  struct ts_error *err);

/* lower.c: sets not_agentic. Returns -1. */
int not_agentic(struct ts_error *err);

/* row.c */
int numbers_room(struct numbers *list, size_t more, struct ts_error *err);
int numbers_add(struct numbers *list, uint32_t v, struct ts_error *err);
void row_done(struct row *row);
uint64_t blocks_of(uint64_t tokens, uint64_t size);
/* Fills row with request i, of which r->input is. */
int row_find(struct replay *r, uint32_t i, struct row *row, struct ts_error *err);
/* Its agentic part only. */
int row_find_waits(struct replay *r, uint32_t i, struct row *row, struct ts_error *err);
static inline double row_tool_wait(const struct row *row)
{
	return (double)(row->busy_ms < row->gap_ms ? row->busy_ms : row->gap_ms);
}

/* packed.c: a row but for its no as bytes, below 5 a hash. Unpacking checks all that a row is
 * written by: store_damaged. agentic: with what only agentic rows have. */
void row_pack(const struct row *row, bool agentic, struct buf *out);
int row_unpack(struct ts_str bytes, uint64_t block_size, bool agentic, struct row *row,
	       struct ts_error *err);

/* stored.c: opens r on the rows that the run file has: 1; 0: it has none that fit r->options. */
int stored_open(struct replay *r, struct ts_error *err);
/* The next row into r->at: 1, or 0 at the end. */
int stored_next(struct replay *r, struct ts_error *err);

/* window.c: when the mode is known. */
int window_open(struct replay *r, struct ts_error *err);
void window_close(struct window *w);
/* The input of request i, borrowed until another window is read. */
int window_input(struct replay *r, uint32_t i, const struct input **ret, struct ts_error *err);
/* Goes on to the next request that has a row: 1: r->input is that of r->next; 0: there are no
 * more. */
int window_seek(struct replay *r, struct ts_error *err);
bool window_skips(const struct replay *r, const struct input *in);
/* The next request id that rows name (waits, then branches, row by row), the next tool span. */
struct ts_str window_id(struct replay *r);
const struct tool_event *window_event(struct replay *r);

/* rows.c: the columns of a tool span from `column` on; texts are borrowed of the statement. */
void tool_event_read(struct query *q, int column, struct tool_event *ret);

#endif
