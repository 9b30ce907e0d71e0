/* runs.c: GET /runs, /runs/<id>, /runs/<id>/summary
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/json.h"

#include "handlers.h"
#include "known.h"
#include "merged.h"
#include "rows.h"
#include "server.h"
#include "summary_top.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unreleased"
#endif

#define TOP_MAX 50

static int check_kind(const struct request *rq, int kind, struct ts_error *err)
{
	const struct run_record *run = &rq->run;

	if (kind < 0 || run->kind == (enum run_kind)kind)
		return 0;
	return ts_error_set(err, TS_E_WRONG_KIND, "the run is %s run, this path is for those of %s",
			    run->kind == RUN_EXECUTION ? "an execution" : "a request",
			    run->kind == RUN_EXECUTION ? "requests" : "executions");
}

/* When and why, for the problem document; left out if that cannot be read. */
static void look_for_removal(struct request *rq, struct db *db)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct ts_error ignored = TS_ERROR_INIT;
	bool digest = ts_str_starts(rq->var, "sha256:");
	char *behind;

	if (query_open(db, digest ? "tombstone_by_digest" : "tombstone_by_id", &q, &ignored) < 0)
		return;
	query_bind_str(q, 1, rq->var);
	if (digest) {
		behind = arena_dup(&rq->arena, rq->var.p, rq->var.n);
		if (!behind)
			return;
		behind[rq->var.n - 1]++;
		query_bind_str(q, 2, ts_str(behind, rq->var.n));
	}
	if (query_step(q, &ignored) == 1) {
		struct ts_str why = query_str(q, 1);

		rq->removed_ms = query_i64(q, 0);
		rq->removed_why = why.p ? arena_dup(&rq->arena, why.p, why.n) : NULL;
	}
}

int request_find_run(struct request *rq, int kind, struct ts_error *err)
{
	struct db *db CLEAN(db_releasep) = NULL;
	int found;

	if (request_is_capture(rq))
		return request_find_capture(rq, err);
	run_record_done(&rq->run);
	known_unref(TAKE(rq->known));
	/* Read before the run: what is newer than its counter is only read again. */
	rq->run_settled = store_settled_counter(rq->http->store, &rq->run_counter);
	if (rq->run_settled && known_find(rq))
		return check_kind(rq, kind, err);
	if (request_catalog(rq, &db, err) < 0)
		return -1;
	found = catalog_run(db, rq->var, &rq->run, err);
	if (found < 0) {
		if (ts_error_is(err, TS_E_RUN_REMOVED))
			look_for_removal(rq, db);
		return -1;
	}
	if (found == 0)
		return ts_error_set(err, TS_E_UNKNOWN_RUN, "no run has this id or digest");
	if (rq->run_settled)
		known_add(rq);
	return check_kind(rq, kind, err);
}

int request_check_graph(struct request *rq, struct ts_error *err)
{
	struct ts_str source = rq->run.source;
	struct json_value v;
	bool complete = ts_str_is(rq->run.outcome, "complete");

	if (complete && source.p)
		complete = json_find(source.p, source.n, "salvaged", &v, &rq->arena) != JSON_TRUE;
	if (complete && rq->run.structurally_valid == 1)
		return 0;
	return ts_error_set(err, TS_E_GRAPH_UNAVAILABLE, "the run is not %s",
			    complete ? "structurally valid" : "complete");
}

/* FNV-1a of what a catalog answer depends on besides the catalog. */
static uint64_t query_hash(const struct request *rq)
{
	uint64_t hash = target_hash(&rq->target);

	return (hash ^ (uint64_t)rq->form) * UINT64_C(0x100000001b3);
}

/* The counter is read before the rows: a change between the two costs one answer, not the truth. */
static bool is_unchanged(struct request *rq)
{
	return answer_is_unchanged(rq, "%.8s.%" PRIu64 ".%016" PRIx64, rq->http->start_tag,
				   store_change_counter(rq->http->store), query_hash(rq));
}

/* ---- links ---- */

static void write_link(struct json_writer *w, const char *key, const char *base,
		       const char *encoded, const char *rest)
{
	struct buf path = BUF_INIT;

	buf_printf(&path, "%s/runs/%s%s", base, encoded, rest);
	if (path.failed)
		w->out->failed = true;
	else
		jw_kv_str(w, key, ts_str(path.data, path.len));
	buf_done(&path);
}

/* An id that cannot stand in a path is reached by its digest (http-api.md 2.2). */
static void write_links(struct json_writer *w, const struct http *h, struct ts_str id,
			struct ts_str digest, bool execution)
{
	const char *base = h->conf->http.base_path;
	struct ts_str name = id;
	char *encoded;

	if (id.n == 0 || ts_str_is(id, ".") || ts_str_is(id, ".."))
		name = digest;
	encoded = malloc(3 * name.n + 1);
	if (!encoded) {
		w->out->failed = true;
		jw_null(w);
		return;
	}
	encoded[text_percent_encode(name, encoded)] = 0;
	jw_open_object(w);
	write_link(w, "self", base, encoded, "");
	write_link(w, "summary", base, encoded, "/summary");
	write_link(w, "trace", base, encoded, "/trace.json");
	write_link(w, "source", base, encoded, "/source");
	if (execution) {
		write_link(w, "spans", base, encoded, "/spans");
		write_link(w, "ops", base, encoded, "/ops");
		write_link(w, "export", base, encoded, "/export");
	} else {
		write_link(w, "requests", base, encoded, "/requests");
		write_link(w, "replay", base, encoded, "/replay");
		write_link(w, "tools", base, encoded, "/tools");
		write_link(w, "sessions", base, encoded, "/sessions");
		write_link(w, "dag", base, encoded, "/dag");
		write_link(w, "arrivals", base, encoded, "/arrivals");
	}
	jw_close_object(w);
	free(encoded);
}

static int column_of(const struct list *l, const char *member)
{
	int i = 0;

	while (l->columns[i].member && strcmp(l->columns[i].member, member) != 0)
		i++;
	CHECK(l->columns[i].member);
	return i;
}

static void write_list_links(struct json_writer *w, const struct rows *rows, unsigned extra,
			     struct query *row)
{
	const struct list *l = rows->shape->list;

	(void)extra;
	write_links(w, rows->rq->http, query_str(row, column_of(l, "id")),
		    query_str(row, column_of(l, "digest")),
		    ts_str_is(query_str(row, column_of(l, "kind")), "execution"));
}

/* ---- the list ---- */

static const char *const run_extras[] = {"links", NULL};

static const struct rows_shape run_shape = {
	.list = &list_runs,
	.extras = run_extras,
	.write_extra = write_list_links,
};

enum outcome handle_runs(struct request *rq, struct ts_error *err)
{
	struct db *db CLEAN(db_releasep) = NULL;
	struct rows rows;

	if (rows_prepare(rq, &run_shape, NULL, &rows, err) < 0)
		return FAILED;
	if (rq->form != FORM_NDJSON && is_unchanged(rq))
		return ANSWERED;
	if (rq->form == FORM_NDJSON) {
		if (request_take_place(rq, err) < 0)
			return FAILED;
		if (!rq->on_worker)
			return LATER;
		return rows_answer_lines(&rows, NULL, err) < 0 ? FAILED : ANSWERED;
	}
	if (rows.count && !rq->on_worker)
		return LATER;
	if (request_catalog(rq, &db, err) < 0)
		return FAILED;
	return rows_answer_page(&rows, db, err) < 0 ? FAILED : ANSWERED;
}

/* ---- one run ---- */

static void write_opt(struct json_writer *w, const char *key, struct opt_u64 v)
{
	if (v.has)
		jw_kv_u64(w, key, v.v);
	else
		jw_kv_null(w, key);
}

static void write_raw(struct json_writer *w, const char *key, struct ts_str json)
{
	jw_key(w, key);
	if (json.p)
		jw_raw(w, json);
	else
		jw_null(w);
}

/* The item of the list, from the record. */
static void write_item(struct json_writer *w, const struct run_record *run)
{
	jw_kv_str(w, "id", run->id);
	jw_kv_text(w, "kind", run->kind == RUN_EXECUTION ? "execution" : "requests");
	jw_kv_text(w, "digest", run->digest);
	jw_kv_str(w, "entrypoint", run->entrypoint);
	jw_kv_str(w, "phase", run->phase);
	jw_kv_str(w, "device", run->device);
	jw_kv_str(w, "outcome", run->outcome);
	if (run->structurally_valid < 0)
		jw_kv_null(w, "structurally_valid");
	else
		jw_kv_bool(w, "structurally_valid", run->structurally_valid);
	if (run->has_captured)
		jw_kv_time(w, "captured_at", run->captured_ms);
	else
		jw_kv_null(w, "captured_at");
	jw_kv_time(w, "ingested_at", run->ingested_ms);
	jw_kv_str(w, "owner", run->owner);
	write_raw(w, "tags", run->tags);
	write_opt(w, "total_ns", run->total_ns);
	write_opt(w, "span_count", run->span_count);
	write_opt(w, "op_count", run->op_count);
	write_opt(w, "logical_peak_bytes", run->logical_peak_bytes);
	write_opt(w, "requests", run->requests);
	write_opt(w, "tools", run->tools);
	write_opt(w, "sessions", run->sessions);
	jw_kv_str(w, "capture", run->capture);
	jw_kv_bool(w, "pinned", run->pinned);
}

enum outcome handle_run(struct request *rq, struct ts_error *err)
{
	const struct run_record *run = &rq->run;
	bool unchanged = is_unchanged(rq);
	struct json_writer w;

	if (request_find_run(rq, -1, err) < 0)
		return FAILED;
	rq->answer.modified_ms = run->ingested_ms;
	if (unchanged)
		return ANSWERED;
	jw_init(&w, &rq->answer.body, rq->numbers);
	jw_open_object(&w);
	jw_kv_text(&w, "schema", "tracespool/run/1");
	write_item(&w, run);
	jw_key(&w, "links");
	write_links(&w, rq->http, run->id, ts_str_c(run->digest), run->kind == RUN_EXECUTION);
	write_raw(&w, "source", run->source);
	jw_kv_str(&w, "trace_schema", run->trace_schema);
	jw_kv_u64(&w, "store_revision", run->revision);
	jw_kv_text(&w, "parser_version", PACKAGE_VERSION);
	if (run->kind == RUN_EXECUTION)
		write_raw(&w, "meta", run->meta);
	jw_close_object(&w);
	answer_json(rq, 200);
	return ANSWERED;
}

/* ---- summary ---- */

enum outcome handle_summary(struct request *rq, struct ts_error *err)
{
	struct db *db CLEAN(db_releasep) = NULL;
	struct buf stored CLEAN(buf_done) = BUF_INIT;
	bool as_stored = !rq->pretty && rq->numbers != JSON_NUMBERS_STRING;
	uint64_t top = SUMMARY_TOP_STORED;

	if (request_param_u64(rq, "top", 0, TOP_MAX, &top, err) < 0 ||
	    request_find_run(rq, -1, err) < 0)
		return FAILED;
	rq->answer.modified_ms = rq->run.ingested_ms;
	if (rq->run.kind != RUN_EXECUTION)
		top = SUMMARY_TOP_STORED; /* it has no such rows */
	if (answer_is_known(rq, "%.12s.%u.s1", rq->run.digest + 7, rq->run.revision))
		return ANSWERED;
	if (request_catalog(rq, &db, err) < 0)
		return FAILED;
	if (as_stored && top == SUMMARY_TOP_STORED) {
		if (catalog_summary(db, rq->run.no, rq->gzip, &rq->answer.body,
				    &rq->answer.body_is_gzip, err) < 0)
			return FAILED;
		rq->answer.status = 200;
		rq->answer.content_type = "application/json";
		return ANSWERED;
	}
	if (catalog_summary(db, rq->run.no, false, &stored, &rq->answer.body_is_gzip, err) < 0)
		return FAILED;
	if (top != SUMMARY_TOP_STORED)
		return summary_with_top(rq, ts_str(stored.data, stored.len), top, err) < 0
			       ? FAILED
			       : ANSWERED;
	answer_stored_json(rq, 200, ts_str(stored.data, stored.len));
	return ANSWERED;
}
