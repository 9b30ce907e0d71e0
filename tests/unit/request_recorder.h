/* request_recorder.h: a sink for tests that writes requests and tool spans down as JSON, in the
 * shape of the corpus's EXPECTED.json (plus the members that it has not)
 */
#ifndef TESTS_REQUEST_RECORDER_H
#define TESTS_REQUEST_RECORDER_H

#include "request_case.h"
#include "tracespool/writer.h"

struct recorder {
	struct sink sink;
	struct buf requests, tools;
	struct json_writer to_requests, to_tools;
	uint64_t last_no;
};

void recorder_init(struct recorder *rec);
/* The two arrays as trees in the arena; their texts live in the recorder. */
void recorder_finish(struct recorder *rec, struct arena *arena, struct node **ret_requests,
		     struct node **ret_tools);
void recorder_done(struct recorder *rec);

#endif
