/* routes.c: the table of routes
 */
#include "tracespool/capture.h"

#include "handlers.h"

static const char *const summary_params[] = {"top", NULL};
static const char *const request_params[] = {"include", NULL};
static const char *const op_params[] = {"group_by", NULL};
static const char *const slow_params[] = {"limit", NULL};
static const char *const replay_params[] = {"mode", "version", "replayable", NULL};
static const char *const graph_params[] = {"session", NULL};
static const char *const arrival_params[] = {"bucket_ms", "interval_s", NULL};
static const char *const source_params[] = {"decode", "shard", NULL};
static const char *const trace_params[] = {"from_ns", "to_ns",    "min_duration_ns",
					   "include", "download", NULL};
static const char *const memory_params[] = {"device", "category", "points", "top", "plane", NULL};
static const char *const footprint_params[] = {"limit", NULL};
static const char *const receipt_params[] = {"wait", "after", NULL};

#define ALL_FORMS (FORM_JSON | FORM_ARRAY | FORM_NDJSON)

const struct route http_routes[] = {
	{"/", handle_index, FORM_JSON, NULL, NULL},
	{"/healthz", handle_healthz, FORM_JSON, NULL, NULL},
	{"/readyz", handle_readyz, FORM_JSON, NULL, NULL},
	{"/version", handle_version, FORM_JSON, NULL, NULL},
	{"/problems/{code}", handle_problem, FORM_JSON, NULL, NULL},
	{"/runs", handle_runs, ALL_FORMS, NULL, &list_runs},
	{"/runs/{id}", handle_run, FORM_JSON, NULL, NULL},
	{"/runs/{id}/summary", handle_summary, FORM_JSON, summary_params, NULL},
	{"/runs/{id}/requests", handle_requests, ALL_FORMS | FORM_DYNAMO, request_params,
	 &list_requests},
	{"/runs/{id}/replay", handle_replay, FORM_JSON | FORM_NDJSON, replay_params, NULL},
	{"/runs/{id}/tools", handle_tools, ALL_FORMS, NULL, &list_tools},
	{"/runs/{id}/tensors", handle_tensors, ALL_FORMS, NULL, &list_tensors},
	{"/runs/{id}/tensor-stats", handle_tensor_stats, ALL_FORMS, NULL, &list_tensor_stats},
	{"/runs/{id}/gradients", handle_gradients, ALL_FORMS, NULL, &list_gradients},
	{"/runs/{id}/edges", handle_edges, ALL_FORMS, NULL, &list_edges},
	{"/runs/{id}/device-intervals", handle_device_intervals, ALL_FORMS, NULL,
	 &list_device_intervals},
	{"/runs/{id}/views/health", handle_health_view, FORM_JSON, NULL, NULL},
	{"/runs/{id}/spans", handle_spans, ALL_FORMS, NULL, &list_spans},
	{"/runs/{id}/ops", handle_ops, ALL_FORMS, op_params, &list_ops},
	{"/runs/{id}/views/timing", handle_span_view, FORM_JSON, NULL, NULL},
	{"/runs/{id}/views/spans", handle_span_view, FORM_JSON, NULL, NULL},
	{"/runs/{id}/views/slowest-host", handle_span_view, FORM_JSON, NULL, NULL},
	{"/runs/{id}/views/slowest-device", handle_span_view, FORM_JSON, NULL, NULL},
	{"/runs/{id}/views/slow-ops", handle_span_view, FORM_JSON, slow_params, NULL},
	{"/runs/{id}/sessions", handle_sessions, ALL_FORMS, NULL, &list_sessions},
	{"/runs/{id}/dag", handle_graph, FORM_JSON, graph_params, NULL},
	{"/runs/{id}/arrivals", handle_arrivals, FORM_JSON, arrival_params, NULL},
	{"/captures", handle_captures, ALL_FORMS, NULL, &list_captures},
	{"/captures/{name}/summary", handle_capture_summary, FORM_JSON, summary_params, NULL},
	{"/captures/{name}/requests", handle_requests, ALL_FORMS | FORM_DYNAMO, request_params,
	 &list_requests},
	{"/captures/{name}/replay", handle_replay, FORM_JSON | FORM_NDJSON, replay_params, NULL},
	{"/runs/{id}/export", handle_export, FORM_NDJSON, NULL, NULL},
	{"/runs/{id}/trace.json", handle_trace, FORM_JSON, trace_params, NULL},
	{"/runs/{id}/source", handle_source, FORM_BYTES, source_params, NULL},
	{"/runs/{id}/memory", handle_memory, FORM_JSON, memory_params, NULL},
	{"/runs/{id}/memory/events", handle_memory_events, ALL_FORMS, NULL, &list_memory_events},
	{"/runs/{id}/views/memory", handle_view_memory, FORM_JSON, NULL, NULL},
	{"/runs/{id}/views/footprints", handle_view_footprints, FORM_JSON, footprint_params, NULL},
	{"/runs/{id}/views/heaviest", handle_view_heaviest, FORM_JSON, NULL, NULL},
	{"/ingest", handle_ingest, FORM_JSON, NULL, NULL},
	{"/ingest/receipts", handle_receipts, ALL_FORMS, NULL, &list_receipts},
	{"/ingest/receipts/{key}", handle_receipt, FORM_JSON, receipt_params, NULL},
	{"/quarantine", handle_quarantine, ALL_FORMS, NULL, &list_receipts},
	{"/quarantine/{key}", handle_quarantined, FORM_JSON, NULL, NULL},
	{0},
};
