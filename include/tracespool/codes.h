/* codes.h: every stable error code, once. No include guard: error.h and codes.c read it with
 * their own TS_CODE(id, code, title, http_status, log_level, fate, hint).
 *
 * Those of the format documents come word for word from candle-trace.md 18 and request-trace.md
 * 15; the daemon's own from http-api.md 2.10 and 6.1. A status is given only to codes that can
 * answer a request.
 */

/* Bytes, lines and JSON of a trace file (both formats). */
TS_CODE(TS_E_IO, "io_error", "File could not be read", 500, 4, TS_FATE_WAIT,
	"check the file system that the spool is on")
TS_CODE(TS_E_GZIP_TRUNCATED, "gzip_truncated", "Gzip data end before a member is complete", 0, 5,
	TS_FATE_REFUSE,
	"drop it again when it is complete; if its writer was killed, salvage takes what is whole")
TS_CODE(TS_E_GZIP_CORRUPT, "gzip_corrupt", "Gzip data are damaged", 0, 5, TS_FATE_REFUSE,
	"the name ends in .gz, so the file must be whole gzip members and nothing else")
TS_CODE(TS_E_EXPANSION_RATIO, "expansion_ratio", "Gzip data inflate beyond the permitted ratio", 0,
	5, TS_FATE_REFUSE, "limits.expansion_ratio sets the bound")
TS_CODE(TS_E_LINE_TOO_LONG, "line_too_long", "Line is longer than the limit", 0, 5, TS_FATE_REFUSE,
	"limits.line_bytes sets the bound")
TS_CODE(TS_E_BAD_UTF8, "bad_utf8", "Line is not valid UTF-8", 0, 5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_BAD_JSON, "bad_json", "Line is not one JSON text", 0, 5, TS_FATE_REFUSE,
	"the file may have been cut while it was written: drop it by rename when finished")

/* Records of execution traces (candle-trace.md 4, 6, 7). */
TS_CODE(TS_E_NOT_AN_OBJECT, "not_an_object", "Record is not an object", 0, 5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_UNKNOWN_KIND, "unknown_kind", "Record kind is not known", 0, 5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_MISSING_FIELD, "missing_field", "Required member is missing", 0, 5, TS_FATE_REFUSE,
	NULL)
TS_CODE(TS_E_BAD_FIELD, "bad_field", "Member has a wrong type or range", 0, 5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_DUPLICATE_FIELD, "duplicate_field", "Member occurs twice", 0, 5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_RECORD_AFTER_TERMINAL, "record_after_terminal", "Record follows the terminal record",
	0, 5, TS_FATE_REFUSE, "one file holds one trace")
TS_CODE(TS_E_META_NOT_FIRST, "meta_not_first", "Meta record is not the first record", 0, 5,
	TS_FATE_REFUSE, "one file holds one trace")
TS_CODE(TS_E_DUPLICATE_SPAN_START, "duplicate_span_start", "Span is started twice", 0, 5,
	TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_SPAN_END_UNKNOWN, "span_end_unknown", "Ended span was not started", 0, 5,
	TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_DUPLICATE_SPAN_END, "duplicate_span_end", "Span is ended twice", 0, 5, TS_FATE_REFUSE,
	NULL)
TS_CODE(TS_E_INVALID_TENSOR_STATS, "invalid_tensor_stats", "Tensor statistics are inconsistent", 0,
	5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_MISSING_META, "missing_meta", "Trace has no meta record", 0, 5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_MISSING_TERMINAL, "missing_terminal", "Trace has no terminal record", 0, 5,
	TS_FATE_REFUSE,
	"the job may have died before it could finish its trace: salvage takes what is there")
TS_CODE(TS_E_UNSUPPORTED_SCHEMA, "unsupported_schema", "Trace schema is not supported", 0, 5,
	TS_FATE_REFUSE,
	"read are candle-graph/trace/9, candle-graph/trace/10 and dynamo.request.trace.v1")
TS_CODE(TS_E_TENSOR_STATS_IN_TRACE9, "tensor_stats_in_trace9",
	"Schema trace/9 has no tensor_stats records", 0, 5, TS_FATE_REFUSE,
	"a producer of tensor_stats declares candle-graph/trace/10")
TS_CODE(TS_E_COMPLETE_WITH_REASON, "complete_with_reason", "Complete outcome has a reason", 0, 5,
	TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_FAILED_WITHOUT_REASON, "failed_without_reason", "Failed outcome has no reason", 0, 5,
	TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_TERMINAL_PRECEDES_EVIDENCE, "terminal_precedes_evidence",
	"Terminal time lies before recorded host times", 0, 5, TS_FATE_REFUSE, NULL)

/* Records of request traces (request-trace.md 6, 7, 9). */
TS_CODE(TS_E_UNSUPPORTED_EVENT, "unsupported_event", "Event type is not supported", 0, 5,
	TS_FATE_REFUSE, "read are request_end, tool_start, tool_end, tool_error, request_payload")
TS_CODE(TS_E_MISSING_REQUEST, "missing_request", "Record has no request", 0, 5, TS_FATE_REFUSE,
	NULL)
TS_CODE(TS_E_MISSING_REPLAY, "missing_replay", "Request has no replay member", 0, 5, TS_FATE_REFUSE,
	NULL)
TS_CODE(TS_E_ZERO_BLOCK_SIZE, "zero_block_size", "Block size is zero", 0, 5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_HASH_COUNT_MISMATCH, "hash_count_mismatch",
	"Number of hashes does not fit the input length", 0, 5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_MISSING_REQUEST_RECEIVED_MS, "missing_request_received_ms",
	"Request has no arrival time", 0, 5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_MISSING_OUTPUT_TOKENS, "missing_output_tokens", "Request has no output token count", 0,
	5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_COMPLETION_LENGTH_OVERFLOW, "completion_length_overflow",
	"Input and output length exceed 64 bits", 0, 5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_COMPLETION_HASH_COUNT_MISMATCH, "completion_hash_count_mismatch",
	"Number of completion hashes does not fit the lengths", 0, 5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_COMPLETION_PREFIX_MISMATCH, "completion_prefix_mismatch",
	"Completion hashes do not extend the input hashes", 0, 5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_DUPLICATE_REQUEST_ID, "duplicate_request_id", "Request id occurs twice in the run",
	409, 5, TS_FATE_REFUSE,
	"a recorder with two sinks writes every record twice: drop one of the files")
TS_CODE(TS_E_NO_REQUESTS, "no_requests", "Trace has no request", 0, 5, TS_FATE_REFUSE, NULL)

/* Lowering: the run is ingested, but no rows exist (request-trace.md 9 to 11, 16). */
TS_CODE(TS_E_MIXED_AGENT_CONTEXT, "mixed_agent_context",
	"Requests with and without agent context are mixed", 409, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_MIXED_BLOCK_SIZE, "mixed_block_size", "Requests differ in block size", 409, 6,
	TS_FATE_NONE, NULL)
TS_CODE(TS_E_CONFLICTING_PARENT, "conflicting_parent", "Session has two different parents", 409, 6,
	TS_FATE_NONE, NULL)
TS_CODE(TS_E_UNSUPPORTED_EXECUTION_MODE, "unsupported_execution_mode",
	"Tool execution mode is not supported", 409, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_UNKNOWN_TOOL_REQUEST, "unknown_tool_request", "Tool names a request not in the run",
	409, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_TOOL_SESSION_MISMATCH, "tool_session_mismatch",
	"Tool and its request differ in session", 409, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_DUPLICATE_CHILD_TOOL, "duplicate_child_tool", "Two tools claim the same child session",
	409, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_TOOL_SOURCE_NOT_IN_PARENT, "tool_source_not_in_parent",
	"Source request is not in the parent session", 409, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_TOOL_CONSUMER_NOT_IN_PARENT, "tool_consumer_not_in_parent",
	"Consumer request is not in the parent session", 409, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_DEPENDENCY_CYCLE, "dependency_cycle", "Requests wait for each other", 409, 6,
	TS_FATE_NONE, NULL)
TS_CODE(TS_E_PARENT_CYCLE, "parent_cycle", "Sessions are parents of each other", 409, 6,
	TS_FATE_NONE, NULL)
TS_CODE(TS_E_OUTPUT_TOO_LARGE, "output_too_large", "Output tokens exceed what rows can list", 409,
	6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_HASH_ID_OVERFLOW, "hash_id_overflow", "Run has more distinct hashes than ids", 409, 6,
	TS_FATE_NONE, NULL)

/* Drops: the daemon's own reasons. */
TS_CODE(TS_E_UNKNOWN_FORMAT, "unknown_format", "First record is of no known trace format", 0, 5,
	TS_FATE_REFUSE, "read are candle-graph execution traces and dynamo request traces")
TS_CODE(TS_E_EMPTY_FILE, "empty_file", "Nothing in the drop to read", 0, 5, TS_FATE_REFUSE, NULL)
TS_CODE(TS_E_RUN_ID_CONFLICT, "run_id_conflict", "Another run has this id", 409, 5, TS_FATE_REFUSE,
	"give each capture its own run_id, or set ingest.on_run_id_conflict = replace")
TS_CODE(TS_E_BAD_RUN_ID, "bad_run_id", "Run id cannot be served", 0, 5, TS_FATE_REFUSE,
	"at most 512 bytes, no U+0000, not beginning with sha256:")
TS_CODE(TS_E_BAD_NAME, "bad_name", "Name cannot be taken", 400, 5, TS_FATE_REFUSE,
	"at most 200 bytes, ending in .jsonl or .jsonl.gz")
TS_CODE(TS_E_TOO_MANY_SHARDS, "too_many_shards", "Folder has too many shards", 0, 5, TS_FATE_REFUSE,
	"limits.shards sets the bound")
TS_CODE(TS_E_NOT_A_REGULAR_FILE, "not_a_regular_file", "Not a regular file with one link", 0, 5,
	TS_FATE_REFUSE, "drop the file itself, not a link, device or socket")
TS_CODE(TS_E_UNREADABLE, "unreadable", "Service may not read the file", 0, 4, TS_FATE_WAIT,
	"make it readable for the service's group: chmod g+r")
TS_CODE(TS_E_CHANGED_WHILE_READING, "changed_while_reading", "File changed while it was read", 0, 5,
	TS_FATE_WAIT, "write under another name and rename when finished")
TS_CODE(TS_E_STORE_BUSY, "store_busy", "Store is locked or slow", 503, 4, TS_FATE_RETRY,
	"another process may hold the catalog")
TS_CODE(TS_E_DISK_FULL, "disk_full", "No room on the disk", 0, 3, TS_FATE_RETRY,
	"make room on the file system of store.path or spool.path")
TS_CODE(TS_E_DISK_FLOOR, "disk_floor", "Less room than store.min_free_bytes", 0, 4, TS_FATE_RETRY,
	"make room on the file system of store.path or spool.path")
TS_CODE(TS_E_INTERNAL, "internal", "Internal error", 500, 3, TS_FATE_RETRY, NULL)

/* Start-up and store. */
TS_CODE(TS_E_STORE_DAMAGED, "store_damaged", "Store is damaged", 0, 3, TS_FATE_STOP,
	"keep the folder and ask before anything is repaired")
TS_CODE(TS_E_STORE_NEWER, "store_newer", "Store was made by a newer version", 0, 3, TS_FATE_STOP,
	"run the version that made it, or a newer one")
TS_CODE(TS_E_STORE_IN_USE, "store_in_use", "Another daemon uses this store", 0, 3, TS_FATE_STOP,
	NULL)
TS_CODE(TS_E_BAD_SETTING, "bad_setting", "Setting is not valid", 0, 3, TS_FATE_STOP, NULL)
TS_CODE(TS_E_START, "start_failed", "Daemon cannot start", 0, 3, TS_FATE_STOP, NULL)
TS_CODE(TS_E_SHUTDOWN, "shutting_down", "Service is shutting down", 503, 6, TS_FATE_WAIT, NULL)

/* HTTP. */
TS_CODE(TS_E_UNKNOWN_PARAMETER, "unknown_parameter", "Parameter is not known here", 400, 6,
	TS_FATE_NONE, NULL)
TS_CODE(TS_E_BAD_PARAMETER, "bad_parameter", "Parameter has a bad value", 400, 6, TS_FATE_NONE,
	NULL)
TS_CODE(TS_E_LIMIT_TOO_LARGE, "limit_too_large", "Limit is larger than 1000", 400, 6, TS_FATE_NONE,
	"follow next_cursor, or ask for format=ndjson")
TS_CODE(TS_E_BAD_CURSOR, "bad_cursor", "Cursor does not fit this query", 400, 6, TS_FATE_NONE,
	"use a cursor only with the filters and the sort it came from")
TS_CODE(TS_E_BAD_ENCODING, "bad_encoding", "Path or query is badly encoded", 400, 6, TS_FATE_NONE,
	"percent-encode each byte outside A-Z a-z 0-9 - . _ ~")
TS_CODE(TS_E_UNKNOWN_RUN, "unknown_run", "No such run", 404, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_UNKNOWN_RECEIPT, "unknown_receipt", "No such receipt", 404, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_UNKNOWN_CAPTURE, "unknown_capture", "No such recording", 404, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_UNKNOWN_PATH, "unknown_path", "No such path", 404, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_UNKNOWN_SPAN, "unknown_span", "Run has no such span", 404, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_SOURCE_NOT_KEPT, "source_not_kept", "Source of the run was not kept", 404, 6,
	TS_FATE_NONE, "spool.after = archive or keep leaves sources there")
TS_CODE(TS_E_SCOPE_MISSING, "scope_missing", "More rights are needed", 403, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_WRONG_KIND, "wrong_kind", "Run is of another kind", 404, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_METHOD_NOT_ALLOWED, "method_not_allowed", "Method is not allowed here", 405, 6,
	TS_FATE_NONE, NULL)
TS_CODE(TS_E_NOT_ACCEPTABLE, "not_acceptable", "No form of the answer fits Accept", 406, 6,
	TS_FATE_NONE, NULL)
TS_CODE(TS_E_GRAPH_UNAVAILABLE, "graph_unavailable", "Run has no span graph", 409, 6, TS_FATE_NONE,
	"only complete and structurally valid runs have one; the lists of spans and ops are there")
TS_CODE(TS_E_NOT_AGENTIC, "not_agentic", "Run has no sessions", 409, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_AMBIGUOUS_ID, "ambiguous_id", "Digest prefix fits several runs", 409, 6, TS_FATE_NONE,
	"give more digits")
TS_CODE(TS_E_RUN_REMOVED, "run_removed", "Run was removed", 410, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_BAD_RANGE, "bad_range", "Range lies behind the end", 416, 6, TS_FATE_NONE,
	"Content-Range tells the size")
TS_CODE(TS_E_URI_TOO_LONG, "uri_too_long", "Query is longer than 8 KiB", 414, 6, TS_FATE_NONE, NULL)
TS_CODE(TS_E_HEAD_TOO_LARGE, "head_too_large", "Request head is larger than 16 KiB", 431, 6,
	TS_FATE_NONE, NULL)
TS_CODE(TS_E_UNKNOWN_HOST, "unknown_host", "Host is not served here", 421, 6, TS_FATE_NONE,
	"http.hosts lists further names")
TS_CODE(TS_E_TOO_MANY_STREAMS, "too_many_streams", "Too many streams are open", 429, 6,
	TS_FATE_NONE, "limits.streams sets the bound")
TS_CODE(TS_E_NOT_READY, "not_ready", "Service is not ready", 503, 6, TS_FATE_NONE, NULL)
