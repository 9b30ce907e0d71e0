/* events.h: what the files of the trace events share */
#ifndef EXPORT_EVENTS_H
#define EXPORT_EVENTS_H

#include "nest.h"
#include "tracespool/export.h"
#include "tracespool/writer.h"

/* A statement whose next row is there already. */
struct cursor {
	struct query *q;
	bool has;
};

/* One part of the document after another. */
struct part {
	int (*open)(struct trace_events *t, struct ts_error *err);
	/* 1: more may come, 0: the part is over, -1. May append nothing. */
	int (*next)(struct trace_events *t, struct buf *out, struct ts_error *err);
};

#define PARTS_MAX 8

struct trace_events {
	struct db *db;
	struct trace_options options;
	const struct part *parts[PARTS_MAX];
	size_t part_count, part;
	bool begun;     /* the head of the document was written */
	bool any;       /* an event was written */
	uint64_t flows; /* ids given to flows */
	uint64_t edges_left_out;

	/* execution runs */
	uint64_t span_count, terminal_ns;
	uint32_t *track_of; /* of a span by its number, 0: not shown */
	struct nest nest;
	uint32_t named; /* tracks of the nest that have a name event */
	struct cursor spans, ops, starts, ends, samples, edges, device;
	unsigned __int128 live;
	struct buf group; /* device, stream, clock of the present tracks */
	bool grouped;
	uint32_t first_tid; /* of the group's tracks, minus 1 */

	/* request runs */
	int64_t origin_ms;
	bool has_origin;
	struct cursor requests, tools;
	struct buf session;
	bool in_session, session_has_name;
	uint32_t session_no;
};

/* pids of execution runs */
enum { PID_HOST = 1, PID_MEMORY = 2, PID_DEVICE = 3 };

extern const struct part part_spans, part_live, part_samples, part_edges, part_device,
	part_requests;

int cursor_open(struct trace_events *t, const char *query, struct cursor *c, struct ts_error *err);
int cursor_next(struct cursor *c, struct ts_error *err);

/* One event: begin, further members, end. */
void event_begin(struct trace_events *t, struct json_writer *w, struct buf *out, const char *phase,
		 const char *category);
void event_end(struct json_writer *w);
/* A member in microseconds with three places. */
void event_time(struct json_writer *w, const char *key, __int128 ns);
/* "process_name" or "thread_name". */
void event_name(struct trace_events *t, struct buf *out, const char *what, uint32_t pid,
		uint32_t tid, struct ts_str name);

/* Does [start, end] show in the window, and is it long enough? */
bool window_shows(const struct trace_options *o, uint64_t start, uint64_t end);
bool window_shows_point(const struct trace_options *o, uint64_t at);

#endif
