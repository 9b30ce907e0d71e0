/* routes.c: the table of routes
 */
#include "handlers.h"

static const char *const summary_params[] = {"top", NULL};
static const char *const request_params[] = {"include", NULL};
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
	{"/runs/{id}/requests", handle_requests, ALL_FORMS, request_params, &list_requests},
	{"/runs/{id}/replay", handle_replay, FORM_JSON | FORM_NDJSON, NULL, NULL},
	{"/runs/{id}/tools", handle_tools, ALL_FORMS, NULL, &list_tools},
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
