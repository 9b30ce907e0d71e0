/* replay.h: lowering of a request run to replay rows (request-trace.md 10 to 12)
 *
 * replay_open reads what it needs of the requests in replay order and finds every lowering error,
 * so that rows, once begun, cannot fail but for the disk. Memory: below 200 bytes a request and
 * 32 bytes a distinct hash.
 */
#ifndef TRACESPOOL_REPLAY_H
#define TRACESPOOL_REPLAY_H

#include "tracespool/buf.h"
#include "tracespool/error.h"
#include "tracespool/store.h"

enum replay_mode { REPLAY_STANDARD, REPLAY_AGENTIC };

struct replay;

struct replay_facts {
	enum replay_mode mode;
	uint64_t trace_block_size;
	uint64_t rows;
	uint64_t unreplayable_rows; /* input_length 0 */
};

/* db is a run file's connection, borrowed until replay_close. Errors: the lowering classes, in the
 * order of request-trace.md 15 (stage lower); store errors. The mode is that of the run. */
int replay_open(struct db *db, struct replay **ret, struct ts_error *err);
void replay_close(struct replay *r); /* takes NULL */
void replay_closep(struct replay **r);
const struct replay_facts *replay_facts(const struct replay *r);

/* Appends the next row, a JSON object without newline, members in the order of section 12, to out:
 * 1, or 0 at the end, -1 on error. numbers_string: integers as decimal strings. */
int replay_next(struct replay *r, struct buf *out, bool numbers_string, struct ts_error *err);

#endif
