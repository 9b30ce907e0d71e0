/* handlers.h: the handlers that routes.c names
 */
#ifndef HTTP_HANDLERS_H
#define HTTP_HANDLERS_H

#include "router.h"

/* service.c */
handler_fn handle_index, handle_healthz, handle_readyz, handle_version, handle_ingest;
/* problems.c */
handler_fn handle_problem;
/* runs.c */
handler_fn handle_runs, handle_run, handle_summary;
/* records.c */
handler_fn handle_tensors, handle_tensor_stats, handle_gradients, handle_edges,
	handle_device_intervals;
/* health_view.c */
handler_fn handle_health_view;
/* spans.c */
handler_fn handle_spans, handle_ops;
/* span_views.c */
handler_fn handle_span_view;
/* requests.c */
handler_fn handle_requests, handle_replay, handle_tools, handle_sessions;
/* dynamo.c */
handler_fn handle_recorded;
/* workload.c */
handler_fn handle_graph, handle_arrivals;
/* captures.c */
handler_fn handle_captures, handle_capture_summary;
/* export.c */
handler_fn handle_export, handle_trace;
/* source.c */
handler_fn handle_source;
/* receipts.c */
handler_fn handle_receipts, handle_receipt, handle_quarantine, handle_quarantined;
/* memory.c */
handler_fn handle_memory, handle_memory_events, handle_view_memory, handle_view_footprints,
	handle_view_heaviest;

#endif
