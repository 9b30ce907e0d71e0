/* export.h: a run as a document again: trace lines, and Chrome trace events
 *
 * Both are made row by row from the run file, in bounded memory: an export needs none to speak of,
 * trace events need 4 bytes a span and some 60 bytes for each interval that is open at one time.
 * db is a run file's connection, borrowed until close. What has to be sorted is sorted by open;
 * the caller sets the deadlines.
 */
#ifndef TRACESPOOL_EXPORT_H
#define TRACESPOOL_EXPORT_H

#include "tracespool/buf.h"
#include "tracespool/error.h"
#include "tracespool/rows.h"
#include "tracespool/store.h"

/* ---- an execution run as trace lines (candle-trace.md 15) ---- */

/* A run that was salvaged without its terminal record has none here either: it is read again only
 * by a salvage. */

struct export;

int export_open(struct db *db, struct export **ret, struct ts_error *err);
void export_close(struct export *x); /* takes NULL */
uint64_t export_lines(const struct export *x);
/* Appends the line or the two lines of the next row, each with its LF: 1, or 0 at the end, -1 on
 * error. */
int export_next(struct export *x, struct buf *out, struct ts_error *err);

/* ---- a run as Chrome trace events (http-api.md 3.8) ---- */

enum trace_part {
	TRACE_SPANS = 1,  /* of a request run: its requests */
	TRACE_OPS = 2,    /* of a request run: its tool events */
	TRACE_MEMORY = 4, /* counters: live bytes, device samples */
	TRACE_EDGES = 8,  /* call edges between spans that are shown */
	TRACE_DEVICE = 16,
	TRACE_ALL = 31,
};

/* Host times below count from the start of an execution run, or from the first arrival. An interval
 * is shown if a part of it lies in [from_ns, to_ns), whole; device intervals, whose clocks are not
 * the host's, whatever the window is. */
struct trace_options {
	struct ts_str id, schema; /* for otherData; must live as long as the events */
	bool has_captured, has_to;
	int64_t captured_ms;
	uint64_t from_ns, to_ns,
		min_duration_ns; /* of spans, ops, device intervals, requests, tools */
	unsigned parts;
};

struct trace_events;

int trace_events_open(struct db *db, enum run_kind kind, const struct trace_options *options,
		      struct trace_events **ret, struct ts_error *err);
void trace_events_close(struct trace_events *t); /* takes NULL */
/* Appends the next piece of the document: 1, or 0 with the last piece, -1 on error. */
int trace_events_next(struct trace_events *t, struct buf *out, struct ts_error *err);

#endif
