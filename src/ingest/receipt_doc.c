/* receipt_doc.c: receipts as JSON, with all members in every state */
#include "documents.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

#define SOURCE_KEY ",\"source\":"

const char *run_kind_name(enum run_kind kind)
{
	return kind == RUN_EXECUTION ? "execution" : "requests";
}

void write_counts(struct json_writer *w, enum run_kind kind, const struct trace_counts *c)
{
	jw_open_object(w);
	if (kind == RUN_EXECUTION) {
		jw_kv_u64(w, "lines", c->lines);
		jw_kv_u64(w, "records", c->records);
		jw_kv_u64(w, "spans", c->spans);
		jw_kv_u64(w, "closed_spans", c->closed_spans);
		jw_kv_u64(w, "ops", c->ops);
		jw_kv_u64(w, "tensors", c->tensors);
		jw_kv_u64(w, "tensor_stats", c->tensor_stats);
		jw_kv_u64(w, "memory", c->memory);
		jw_kv_u64(w, "device_memory", c->device_memory);
		jw_kv_u64(w, "device_intervals", c->device_intervals);
		jw_kv_u64(w, "gradients", c->gradients);
		jw_kv_u64(w, "call_edges", c->call_edges);
		jw_kv_u64(w, "data_edges", c->data_edges);
	} else {
		jw_kv_u64(w, "shards", c->shards);
		jw_kv_u64(w, "lines", c->lines);
		jw_kv_u64(w, "requests", c->request_end);
		jw_kv_u64(w, "tools", c->tools);
	}
	jw_close_object(w);
}

/* An id that cannot stand in a path is reached by its digest (http-api.md 2.2). */
static void write_summary_path(struct json_writer *w, const struct receipt_doc *doc)
{
	struct ts_str id = doc->run_id;
	struct buf path = BUF_INIT;
	char *encoded;

	if (id.n == 0 || ts_str_is(id, ".") || ts_str_is(id, ".."))
		id = ts_str_c(doc->run_digest);
	encoded = malloc(3 * id.n + 1);
	if (!encoded) {
		w->out->failed = true;
		return;
	}
	encoded[text_percent_encode(id, encoded)] = 0;
	buf_printf(&path, "/runs/%s/summary", encoded);
	if (path.failed)
		w->out->failed = true;
	else
		jw_kv_str(w, "summary", ts_str(path.data, path.len));
	buf_done(&path);
	free(encoded);
}

static void write_run(struct json_writer *w, const struct receipt_doc *doc)
{
	jw_key(w, "run");
	if (!doc->run_id.p) {
		jw_null(w);
		return;
	}
	jw_open_object(w);
	jw_kv_str(w, "id", doc->run_id);
	jw_kv_text(w, "kind", run_kind_name(doc->run_kind));
	write_summary_path(w, doc);
	jw_close_object(w);
}

static void write_time(struct json_writer *w, const char *key, int64_t ms)
{
	if (ms)
		jw_kv_time(w, key, ms);
	else
		jw_kv_null(w, key);
}

static void write_source(struct json_writer *w, const struct source_fate *source)
{
	static const char *const words[] = {
		[SOURCE_ARCHIVED] = "archived",
		[SOURCE_DELETED] = "deleted",
		[SOURCE_KEPT] = "kept",
		[SOURCE_QUARANTINED] = "quarantined",
	};
	char path[3 * 4096 + 1];

	if (source->action == SOURCE_NONE) {
		jw_null(w);
		return;
	}
	jw_open_object(w);
	jw_kv_text(w, "action", source->failed ? "failed" : words[source->action]);
	if (source->path)
		text_name(ts_str_c(source->path), path, sizeof(path));
	jw_kv_text(w, "path", source->path ? path : NULL);
	if (source->failed) {
		char words_buf[128];

		jw_kv_i64(w, "errno", source->failed);
		jw_kv_text(w, "error", strerror_r(source->failed, words_buf, sizeof(words_buf)));
	}
	jw_close_object(w);
}

void receipt_doc_write(const struct receipt_doc *doc, struct buf *out)
{
	char name[NAME_TEXT];
	struct json_writer w;

	text_name(ts_str_c(doc->name), name, sizeof(name));
	jw_init(&w, out, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	jw_kv_text(&w, "schema", "tracespool/receipt/1");
	jw_kv_text(&w, "name", name);
	jw_kv_text(&w, "digest", doc->digest);
	if (doc->size.has)
		jw_kv_u64(&w, "size_bytes", doc->size.v);
	else
		jw_kv_null(&w, "size_bytes");
	jw_kv_text(&w, "owner", doc->owner);
	jw_kv_text(&w, "state", doc->state);
	jw_kv_bool(&w, "final", doc->final);
	write_time(&w, "seen_at", doc->seen_ms);
	write_time(&w, "final_at", doc->final_ms);
	write_run(&w, doc);
	jw_key(&w, "counts");
	if (doc->counts)
		write_counts(&w, doc->run_kind, doc->counts);
	else
		jw_null(&w);
	jw_key(&w, "warnings");
	jw_raw(&w, doc->warnings.p ? doc->warnings : TS_STR("[]"));
	jw_key(&w, "reason");
	if (doc->reason)
		jw_reason(&w, doc->reason);
	else
		jw_null(&w);
	write_time(&w, "retry_at", doc->retry_ms);
	jw_key(&w, "source");
	write_source(&w, &doc->source);
	jw_close_object(&w);
}

bool receipt_doc_change_source(struct ts_str receipt, const struct source_fate *source,
			       struct buf *out)
{
	const size_t key = sizeof(SOURCE_KEY) - 1;
	struct json_writer w;

	/* Within a string the quotes would have backslashes, and no object follows this one, so
	 * the last place that reads like the key is the key. */
	for (size_t at = receipt.n < key ? 0 : receipt.n - key; at > 0; at--) {
		if (memcmp(receipt.p + at, SOURCE_KEY, key) != 0)
			continue;
		buf_add(out, receipt.p, at + key);
		jw_init(&w, out, JSON_NUMBERS_DEFAULT);
		write_source(&w, source);
		buf_putc(out, '}');
		return true;
	}
	return false;
}
