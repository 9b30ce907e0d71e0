/* request_times.c: derived times of requests and the rules that make a tool span of a record */
#include "request.h"

#include <math.h>

/* Doubles that are the first above the range: 2^64 and 2^63. */
#define U64_RANGE 18446744073709551616.0

uint64_t request_round(double d)
{
	double whole = round(d > 0 ? d : 0);

	return whole >= U64_RANGE ? UINT64_MAX : (uint64_t)whole;
}

void request_times(const struct request_record *rec, int64_t *ret_start, int64_t *ret_end)
{
	const struct request_body *req = &rec->request;
	uint64_t arrival = req->request_received_ms.v, event = rec->event_time_unix_ms, took;

	if (req->total_time_ms.has)
		took = request_round(req->total_time_ms.v);
	else
		took = event > arrival ? event - arrival : 0;
	*ret_start = i64_from_u64_sat(arrival);
	*ret_end = i64_from_u64_sat(u64_add_sat(arrival, took));
}

bool request_tool_span(const struct request_record *rec, struct row_tool *ret)
{
	const struct request_tool *tool = &rec->tool;
	bool claude = fields_has(&tool->marks, TOOL_CLAUDE);
	int64_t start, end;

	if (!fields_has(&rec->marks, RECORD_AGENT_CONTEXT) || !fields_has(&rec->marks, RECORD_TOOL))
		return false;
	end = i64_from_u64_sat(tool->ended_at_unix_ms.has ? tool->ended_at_unix_ms.v
							  : rec->event_time_unix_ms);
	if (tool->started_at_unix_ms.has)
		start = i64_from_u64_sat(tool->started_at_unix_ms.v);
	else if (tool->duration_ms.has)
		start = end - i64_from_u64_sat(request_round(tool->duration_ms.v));
	else
		start = end;
	if (end < start)
		return false;

	*ret = (struct row_tool){
		.event_type = rec->event_type,
		.session_id = rec->agent_context.session_id,
		.tool_call_id = tool->tool_call_id,
		.tool_class = tool->tool_class,
		.status = tool->status,
		.error_type = tool->error_type,
		.start_ms = start,
		.end_ms = end,
		/* Only a start that was derived from an end is negative, so this never wraps. */
		.duration_ms = tool->duration_ms.has ? tool->duration_ms.v : (double)(end - start),
		.output_bytes = tool->output_bytes,
		.output_tokens = tool->output_tokens,
		.has_claude = claude,
	};
	if (!ret->status.p)
		ret->status = ts_str_is(rec->event_type, "tool_error") ? TS_STR("error")
								       : TS_STR("succeeded");
	if (claude) {
		ret->source_request_id = tool->claude.source_request_id;
		ret->consumer_request_id = tool->claude.consumer_request_id;
		ret->child_session_id = tool->claude.child_session_id;
		ret->execution_mode = tool->claude.execution_mode;
	}
	return true;
}
