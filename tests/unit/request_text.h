/* request_text.h: lines of request traces as text, for tests; a run made from them and its rows */
#ifndef TESTS_REQUEST_TEXT_H
#define TESTS_REQUEST_TEXT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request_case.h"
#include "tracespool/replay.h"
#include "tracespool/store.h"

#define EVENT(type, time, context, rest)                                                           \
	"{\"schema\":\"dynamo.request.trace.v1\",\"event_type\":\"" type                           \
	"\",\"event_time_unix_ms\":" #time "," context rest "}\n"
#define IN(session) "\"agent_context\":{\"session_id\":\"" session "\"},"
#define BELOW(session, parent)                                                                     \
	"\"agent_context\":{\"session_id\":\"" session "\",\"parent_session_id\":\"" parent "\"},"
#define REQUEST(id, start, finish, context, output, block, length, hashes)                         \
	EVENT("request_end", finish, context,                                                      \
	      "\"request\":{\"request_id\":\"" id "\",\"request_received_ms\":" #start             \
	      ",\"output_tokens\":" #output ",\"replay\":{\"trace_block_size\":" #block            \
	      ",\"input_length\":" #length ",\"input_sequence_hashes\":" hashes "}}")
#define SHORT(id, start, finish, context) REQUEST(id, start, finish, context, 1, 4, 4, "[1]")
#define EMPTY(id, start, finish, context) REQUEST(id, start, finish, context, 1, 4, 0, "[]")
#define TOOL(id, start, finish, context, rest)                                                     \
	EVENT("tool_end", finish, context,                                                         \
	      "\"tool\":{\"tool_call_id\":\"" id "\",\"tool_class\":\"ls\","                       \
	      "\"started_at_unix_ms\":" #start rest "}")
#define CLAUDE(source, mode, more)                                                                 \
	",\"claude\":{\"source_request_id\":\"" source "\",\"execution_mode\":\"" mode "\"" more "}"

/* The run at hand and what was made of it. */
extern struct ts_error err;
extern struct runfile *file;
extern struct trace_counts counts;
extern struct replay *replay;
extern struct buf rows;

void run_end(void);              /* frees all of it; also a fixture */
void run_begin(void);            /* an empty run */
void run_load(const char *text); /* a run of these lines */
void read_rows(void);            /* of `replay`, with the header if there is one, into `rows` */

#endif
