/* documents.h: the JSON that ingest makes: receipts, counts, provenance of a run, verdict of a
 * check */
#ifndef TRACESPOOL_INGEST_DOCUMENTS_H
#define TRACESPOOL_INGEST_DOCUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracespool/buf.h"
#include "tracespool/error.h"
#include "tracespool/rows.h"
#include "tracespool/text.h"
#include "tracespool/writer.h"

#include "load.h"

/* What a name can grow to as JSON text. */
#define NAME_TEXT (3 * 255 + 1)

enum source_action {
	SOURCE_NONE, /* nothing was done with it yet */
	SOURCE_ARCHIVED,
	SOURCE_DELETED,
	SOURCE_KEPT,
	SOURCE_QUARANTINED,
};

/* What became of the source (http-api.md 6.1, `source`). */
struct source_fate {
	enum source_action action;
	const char *path; /* raw bytes, below the spool or absolute; or NULL */
	int failed;       /* errno of a move that did not work; 0: it did, or is still to come */
};

/* A receipt (http-api.md 6.1). What is not known stays zero. */
struct receipt_doc {
	const char *name;   /* raw bytes */
	const char *digest; /* or NULL */
	struct opt_u64 size;
	const char *owner; /* or NULL */
	const char *state;
	bool final;
	int64_t seen_ms, final_ms, retry_ms; /* wall clock; 0: null */
	struct ts_str run_id;                /* no value: no run */
	enum run_kind run_kind;
	const char *run_digest;
	const struct trace_counts *counts; /* of a run that was ingested, or NULL */
	struct ts_str warnings;            /* compact JSON array, or no value: [] */
	const struct ts_error *reason;     /* or NULL */
	struct source_fate source;
};

/* Compact, without newline. */
void receipt_doc_write(const struct receipt_doc *doc, struct buf *out);

/* The receipt with another `source` object, which is always its last member. False: it is none
 * of ours. */
bool receipt_doc_change_source(struct ts_str receipt, const struct source_fate *source,
			       struct buf *out);

const char *run_kind_name(enum run_kind kind);
void write_counts(struct json_writer *w, enum run_kind kind, const struct trace_counts *c);

/* `source` of a run (http-api.md 3.2). */
void write_provenance(const struct load *l, const char *kept, const char *path, struct buf *out);

#endif
