/* replay.h: lowering of a request run to replay rows (request-trace.md 10 to 12, 16), and the graph
 * of what waits for what
 *
 * replay_open reads what it needs of the requests in replay order and finds every lowering error,
 * so that rows, once begun, cannot fail but for the disk. Memory: below 200 bytes a request and
 * 32 bytes a distinct hash. Where the rows were stored (replay_store, once, when the run is made)
 * it reads nothing in advance, and rows come one after another along their table; not so version 2,
 * the graph, and agentic rows of which some are left out.
 */
#ifndef TRACESPOOL_REPLAY_H
#define TRACESPOOL_REPLAY_H

#include "tracespool/buf.h"
#include "tracespool/error.h"
#include "tracespool/store.h"
#include "tracespool/writer.h"

enum replay_mode { REPLAY_STANDARD, REPLAY_AGENTIC };

struct replay;

struct replay_facts {
	enum replay_mode mode;
	unsigned version; /* 2: versioned agentic rows, else 1 */
	uint64_t trace_block_size;
	uint64_t rows;              /* that replay_next gives, the header not among them */
	uint64_t unreplayable_rows; /* input_length 0 */
};

enum replay_want {
	REPLAY_OF_RUN,      /* as the run's mode is */
	REPLAY_AS_STANDARD, /* without sessions, as independent arrivals */
	REPLAY_AS_AGENTIC,  /* of a standard run: not_agentic */
};

struct replay_options {
	enum replay_want want;
	bool version2; /* section 16; wants agentic */
	/* Leaves out rows with input_length 0. What such a row waits for, the next row of its
	 * session waits for; what waits for it, waits for the row before it in its session. So the
	 * order that the run has stays, and no row names one that is not there. */
	bool replayable;
	bool graph; /* only for replay_graph; finds the errors of sections 9 to 11 */
};

/* db is a run file's connection, borrowed until replay_close. Errors: the lowering classes, in the
 * order of request-trace.md 15 (stage lower); store errors. The mode is that of the run. */
int replay_open(struct db *db, struct replay **ret, struct ts_error *err);
/* The same in another form; cycles of version 2 are judged on its own edges. */
int replay_open_as(struct db *db, const struct replay_options *options, struct replay **ret,
		   struct ts_error *err);
void replay_close(struct replay *r); /* takes NULL */
void replay_closep(struct replay **r);
const struct replay_facts *replay_facts(const struct replay *r);

/* Appends the next row, a JSON object without newline, members in the order of section 12, to out:
 * 1, or 0 at the end, -1 on error. numbers_string: integers as decimal strings. */
int replay_next(struct replay *r, struct buf *out, bool numbers_string, struct ts_error *err);
/* Appends the header of version 2, an object without newline; false: this form has none. */
bool replay_header(const struct replay *r, struct buf *out, bool numbers_string);

/* Stores the rows in the run file, for replay_open_as to stream them from there; r is open in the
 * run's own mode and at its beginning. Meanwhile tells of each row, in replay order. */
struct replay_note {
	struct ts_str session; /* no value in standard mode */
	double tool_wait_ms;   /* 0: it has none */
	uint64_t input_length;
	uint64_t blocks;        /* of the input */
	uint64_t known_blocks;  /* how many of those in front some earlier input had, too */
	uint64_t unique_blocks; /* distinct ones of this and all earlier inputs */
};
typedef int (*replay_note_fn)(void *arg, const struct replay_note *note, struct ts_error *err);
int replay_store(struct replay *r, replay_note_fn take, void *arg, struct ts_error *err);

/* Writes the members `nodes` (the first max_nodes requests in replay order, of that session if it
 * has a value), `edges` between them (http-api.md 4.3), `truncated` and `total`. *ret_total: 0 if
 * no request has that session. */
int replay_graph(struct replay *r, struct ts_str session, uint64_t max_nodes, struct json_writer *w,
		 uint64_t *ret_total, struct ts_error *err);

#endif
