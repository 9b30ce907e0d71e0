/* format.h: a trace format: claims a file by its first line, turns lines into rows
 *
 * A format sees lines and a sink, never a file or a database. Errors it sets have code, message
 * and, as far as the code has them, line, byte, event and excerpt; the file is set by the caller.
 */
#ifndef TRACESPOOL_FORMAT_H
#define TRACESPOOL_FORMAT_H

#include <stdbool.h>

#include "tracespool/error.h"
#include "tracespool/input.h"
#include "tracespool/rows.h"

struct format_state;

struct ts_format {
	const char *name; /* "candle-graph" */
	enum run_kind kind;
	/* counts is borrowed, kept up to date by record() and finish(). */
	int (*begin)(struct format_state **ret, struct trace_counts *counts, struct ts_error *err);
	/* Every line, blank ones too, in order; shards one after another. */
	int (*record)(struct format_state *st, const struct line *line, struct sink *sink,
		      struct ts_error *err);
	/* Before finish, for a salvage: the document may have no end, which counts->no_terminal
	 * then tells. NULL: it has none that could be missing. */
	void (*salvage)(struct format_state *st);
	/* After the last line of the last shard: the rules about the whole document. */
	int (*finish)(struct format_state *st, struct sink *sink, struct ts_error *err);
	void (*end)(struct format_state *st); /* takes NULL */
};

extern const struct ts_format format_candle;
extern const struct ts_format format_request;

/* Picks the format by the first line that is not blank (house rules 9): bad_json if it is no JSON
 * text, unknown_format if no format claims it. */
int format_pick(const struct line *first, const struct ts_format **ret, struct ts_error *err);

/* The first "record" of an execution trace that ends it: is this line a terminal record? Used to
 * prove that a file written in place is complete. Never fails; text[len] need not be readable. */
bool format_line_is_terminal(const char *text, size_t len);

#endif
