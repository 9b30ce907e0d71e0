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
/* requests.c */
handler_fn handle_requests, handle_replay, handle_tools;
/* receipts.c */
handler_fn handle_receipts, handle_receipt, handle_quarantine, handle_quarantined;
/* memory.c */
handler_fn handle_memory, handle_memory_events, handle_view_memory, handle_view_footprints,
	handle_view_heaviest;

#endif
