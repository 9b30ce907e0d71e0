/* service.c: GET /, /healthz, /readyz, /version, /ingest
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "handlers.h"
#include "reply.h"
#include "server.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unreleased"
#endif

#define SCAN_LATE_MS 30000 /* beyond three times the interval: the watcher stands still */
#define REASON_MAX 600

/* ---- index ---- */

enum outcome handle_index(struct request *rq, struct ts_error *err)
{
	struct json_writer w;

	(void)err;
	jw_init(&w, &rq->answer.body, rq->numbers);
	jw_open_object(&w);
	jw_kv_text(&w, "schema", "tracespool/index/1");
	jw_kv_text(&w, "version", PACKAGE_VERSION);
	jw_key(&w, "paths");
	jw_open_array(&w);
	for (const struct route *route = http_routes; route->pattern; route++)
		jw_text(&w, route->pattern);
	jw_close_array(&w);
	jw_close_object(&w);
	answer_json(rq, 200);
	return ANSWERED;
}

enum outcome handle_healthz(struct request *rq, struct ts_error *err)
{
	(void)err;
	buf_puts(&rq->answer.body, "{\"status\":\"ok\"}");
	answer_json(rq, 200);
	rq->answer.cache = CACHE_NEVER;
	return ANSWERED;
}

enum outcome handle_version(struct request *rq, struct ts_error *err)
{
	static const char *const answers[] = {
		"tracespool/capture-list/1",  "tracespool/index/1",     "tracespool/ingest/1",
		"tracespool/op-group-list/1", "tracespool/op-list/1",   "tracespool/problem/1",
		"tracespool/receipt-list/1",  "tracespool/receipt/1",   "tracespool/replay/1",
		"tracespool/request-list/1",  "tracespool/run-list/1",  "tracespool/run-summary/1",
		"tracespool/run/1",           "tracespool/span-list/1", "tracespool/tool-list/1",
		"tracespool/version/1",       "tracespool/view/1",
	};
	static const char *const traces[] = {
		"candle-graph/trace/9",
		"candle-graph/trace/10",
		"dynamo.request.trace.v1",
	};
	struct db *db CLEAN(db_releasep) = NULL;
	struct query *q CLEAN(query_closep) = NULL;
	struct json_writer w;

	if (request_catalog(rq, &db, err) < 0 || query_open(db, "versions", &q, err) < 0 ||
	    query_step(q, err) < 0)
		return FAILED;
	jw_init(&w, &rq->answer.body, rq->numbers);
	jw_open_object(&w);
	jw_kv_text(&w, "schema", "tracespool/version/1");
	jw_kv_text(&w, "version", PACKAGE_VERSION);
	jw_key(&w, "api_schemas");
	jw_open_array(&w);
	for (size_t i = 0; i < ARRAY_LEN(answers); i++)
		jw_text(&w, answers[i]);
	jw_close_array(&w);
	jw_key(&w, "trace_schemas_read");
	jw_open_array(&w);
	for (size_t i = 0; i < ARRAY_LEN(traces); i++)
		jw_text(&w, traces[i]);
	jw_close_array(&w);
	jw_kv_u64(&w, "store_schema", query_u64(q, 1));
	jw_kv_str(&w, "sqlite_version", query_str(q, 0));
	jw_close_object(&w);
	answer_json(rq, 200);
	return ANSWERED;
}

/* ---- readiness ---- */

/* Each check writes a sentence into out, or leaves it empty. */
static void check_store(struct http *h, char *out, size_t size)
{
	const char *trouble = store_trouble(h->store);
	struct ingest_state state;

	ingest_snapshot(h->options.ingest, &state);
	if (trouble)
		snprintf(out, size, "the last write to the store failed: %s", trouble);
	else if (state.paused && strcmp(state.paused, "disk_floor") != 0)
		snprintf(out, size, "intake stands still: %s", state.paused);
}

static void check_spool(struct http *h, char *out, size_t size)
{
	struct stat at_path, opened;
	const char *path = spool_path(h->options.spool);

	if (stat(path, &at_path) < 0)
		snprintf(out, size, "the spool folder %s cannot be seen: %m", path);
	else if (fstat(spool_fd(h->options.spool), &opened) < 0 ||
		 at_path.st_dev != opened.st_dev || at_path.st_ino != opened.st_ino)
		snprintf(out, size, "the spool folder %s was replaced", path);
	else if (faccessat(AT_FDCWD, path, R_OK | W_OK | X_OK, AT_EACCESS) < 0)
		snprintf(out, size, "the spool folder %s cannot be used: %m", path);
}

static void check_watch(struct http *h, char *out, size_t size)
{
	struct watcher_state state;
	int64_t late_ms = (int64_t)h->conf->spool.scan_ms * 3 + SCAN_LATE_MS;

	watcher_snapshot(h->options.watcher, &state);
	if (state.last_scan_ms == 0)
		snprintf(out, size, "the spool folder was not looked at yet");
	else if (time_now_ms() - state.last_scan_ms > late_ms)
		snprintf(out, size, "the last look at the spool folder is %lld s ago",
			 (long long)(time_now_ms() - state.last_scan_ms) / 1000);
}

static bool free_bytes(const char *path, uint64_t *ret)
{
	struct statvfs fs;

	if (statvfs(path, &fs) < 0)
		return false;
	*ret = u64_mul_sat(fs.f_bavail, fs.f_frsize);
	return true;
}

static void check_disk(struct http *h, char *out, size_t size)
{
	uint64_t floor = CONF_LIVE(h->conf->store.min_free_bytes), free = 0;
	const char *places[] = {store_path(h->store), spool_path(h->options.spool)};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (!free_bytes(places[i], &free))
			snprintf(out, size, "free space at %s cannot be read: %m", places[i]);
		else if (free < floor)
			snprintf(out, size,
				 "%llu bytes are free at %s, store.min_free_bytes is %llu",
				 (unsigned long long)free, places[i], (unsigned long long)floor);
		else
			continue;
		return;
	}
}

enum outcome handle_readyz(struct request *rq, struct ts_error *err)
{
	static const struct {
		const char *name;
		void (*check)(struct http *h, char *out, size_t size);
	} checks[] = {
		{"store", check_store},
		{"spool", check_spool},
		{"watch", check_watch},
		{"disk", check_disk},
	};
	char reasons[ARRAY_LEN(checks)][REASON_MAX];
	struct json_writer w;
	bool ready = true;

	(void)err;
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		reasons[i][0] = 0;
		checks[i].check(rq->http, reasons[i], sizeof(reasons[i]));
		ready = ready && !reasons[i][0];
	}
	jw_init(&w, &rq->answer.body, rq->numbers);
	jw_open_object(&w);
	jw_kv_text(&w, "status", ready ? "ready" : "not_ready");
	jw_key(&w, "checks");
	jw_open_object(&w);
	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		jw_kv_text(&w, checks[i].name, reasons[i][0] ? reasons[i] : "ok");
	jw_close_object(&w);
	jw_close_object(&w);
	answer_json(rq, ready ? 200 : 503);
	if (!ready)
		answer_header(rq, MHD_HTTP_HEADER_RETRY_AFTER, "5");
	rq->answer.cache = CACHE_NEVER;
	return ANSWERED;
}

/* ---- ingest ---- */

static void write_time(struct json_writer *w, const char *key, int64_t ms)
{
	if (ms)
		jw_kv_time(w, key, ms);
	else
		jw_kv_null(w, key);
}

static void write_spool(struct json_writer *w, struct http *h, const struct ingest_state *state)
{
	struct watcher_state watch;
	char path[REASON_MAX];

	watcher_snapshot(h->options.watcher, &watch);
	text_name(ts_str_c(spool_path(h->options.spool)), path, sizeof(path));
	jw_open_object(w);
	jw_kv_text(w, "path", path);
	jw_kv_text(w, "watch", watch.inotify ? "inotify" : "poll");
	write_time(w, "last_scan_at", watch.last_scan_ms);
	jw_kv_u64(w, "waiting", watch.waiting + state->queued);
	jw_kv_u64(w, "ingesting", state->ingesting);
	jw_kv_u64(w, "ignored", watch.ignored);
	jw_kv_i64(w, "oldest_waiting_ms", watch.oldest_waiting_ms);
	jw_kv_u64(w, "overflows", watch.overflows);
	jw_kv_u64(w, "rescans", watch.rescans);
	jw_close_object(w);
}

enum outcome handle_ingest(struct request *rq, struct ts_error *err)
{
	struct http *h = rq->http;
	struct store_sizes sizes;
	struct ingest_state state;
	struct json_writer w;

	if (store_sizes(h->store, &sizes, err) < 0)
		return FAILED;
	ingest_snapshot(h->options.ingest, &state);
	jw_init(&w, &rq->answer.body, rq->numbers);
	jw_open_object(&w);
	jw_kv_text(&w, "schema", "tracespool/ingest/1");
	jw_key(&w, "spools");
	jw_open_array(&w);
	write_spool(&w, h, &state);
	jw_close_array(&w);
	jw_kv_u64(&w, "quarantine_count", store_quarantine_count(h->store));
	write_time(&w, "last_ingested_at", store_last_ingested_ms(h->store));
	jw_key(&w, "store");
	jw_open_object(&w);
	jw_kv_u64(&w, "size_bytes", u64_add_sat(sizes.catalog_bytes, sizes.runs_bytes));
	jw_kv_u64(&w, "wal_bytes", sizes.wal_bytes);
	jw_kv_u64(&w, "free_bytes", sizes.free_bytes);
	jw_close_object(&w);
	jw_kv_text(&w, "paused", state.paused);
	jw_close_object(&w);
	answer_json(rq, 200);
	rq->answer.cache = CACHE_NEVER;
	return ANSWERED;
}
