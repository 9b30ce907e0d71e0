/* receipts.c: GET /ingest/receipts, /ingest/receipts/<key> with wait, /quarantine,
 * /quarantine/<key>
 */
#include <string.h>

#include "tracespool/digest.h"
#include "tracespool/json.h"

#include "handlers.h"
#include "rows.h"
#include "server.h"

#define WAIT_MAX_S 60

/* ---- lists ---- */

/* Members of a receipt, for `fields`. */
static const char *const receipt_members[] = {
	"schema",   "name", "digest", "size_bytes", "owner",  "state",    "final",  "seen_at",
	"final_at", "run",  "counts", "warnings",   "reason", "retry_at", "source", NULL};

static const struct rows_shape receipt_shape = {
	.list = &list_receipts,
	.whole = "json",
	.extras = receipt_members,
};

static enum outcome answer_receipts(struct request *rq, const struct list_param *fixed,
				    struct ts_error *err)
{
	struct db *db CLEAN(db_releasep) = NULL;
	struct rows rows;

	rq->answer.cache = CACHE_NEVER;
	if (rows_prepare(rq, &receipt_shape, fixed, &rows, err) < 0)
		return FAILED;
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

enum outcome handle_receipts(struct request *rq, struct ts_error *err)
{
	return answer_receipts(rq, NULL, err);
}

static const struct list_param quarantined = {
	{"state", 5},
	{"quarantined", 11},
};

enum outcome handle_quarantine(struct request *rq, struct ts_error *err)
{
	struct ts_str state;

	if (request_param(rq, "state", &state, err) < 0)
		return FAILED;
	if (state.p) {
		rq->parameter = "state";
		ts_error_set(err, TS_E_BAD_PARAMETER, "state is always quarantined here");
		return FAILED;
	}
	return answer_receipts(rq, &quarantined, err);
}

/* ---- one receipt ---- */

static bool is_digest(struct ts_str key)
{
	if (key.n != DIGEST_TEXT || !ts_str_starts(key, "sha256:"))
		return false;
	for (size_t i = 7; i < key.n; i++)
		if (!strchr("0123456789abcdef", key.p[i]))
			return false;
	return true;
}

/* What is known of a key now. */
struct look {
	struct buf json;
	bool found, final;
};

struct live {
	struct buf json;
	bool found, waiting;
	int64_t seen_ms;
};

/* A drop that has no final receipt, from memory; those seen before after_ms do not count. */
static int look_live(struct request *rq, int64_t after_ms, struct live *ret, struct ts_error *err)
{
	struct arena scratch = {.limit = 0};
	struct json_value value;
	int64_t seen_ms = 0;

	if (!ingest_live_receipt(rq->http->options.ingest, rq->var, &ret->json))
		return 0;
	if (ret->json.failed)
		return ts_error_nomem(err);
	if (json_find(ret->json.data, ret->json.len, "seen_at", &value, &scratch) == JSON_STRING)
		text_parse_time(value.str, &seen_ms);
	if (json_find(ret->json.data, ret->json.len, "state", &value, &scratch) == JSON_STRING)
		ret->waiting = ts_str_is(value.str, "waiting");
	arena_done(&scratch);
	ret->seen_ms = seen_ms;
	ret->found = seen_ms >= after_ms;
	return 0;
}

static int look_in_catalog(struct request *rq, int64_t after_ms, struct receipt_record *ret,
			   struct ts_error *err)
{
	struct db *db CLEAN(db_releasep) = NULL;
	char digest[DIGEST_TEXT + 1];

	if (request_catalog(rq, &db, err) < 0)
		return -1;
	if (!is_digest(rq->var))
		return catalog_receipt_by_name(db, rq->var, after_ms, ret, err);
	memcpy(digest, rq->var.p, DIGEST_TEXT);
	digest[DIGEST_TEXT] = 0;
	return catalog_receipt_by_digest(db, digest, after_ms, ret, err);
}

/* A drop under way that was seen later is another one. Seen no later, it is the receipt's own: then
 * a final one tells more, and so does one that says why the last try failed, until the next. */
static bool live_wins(const struct live *live, const struct receipt_record *r)
{
	return live->seen_ms > r->seen_ms || (r->final_ms == 0 && !live->waiting);
}

/* Memory first: what leaves it is in the catalog by then. */
static int look(struct request *rq, int64_t after_ms, struct look *ret, struct ts_error *err)
{
	struct receipt_record record = {0};
	struct live live = {.json = BUF_INIT};
	int result = 0;

	if (!is_digest(rq->var))
		result = look_live(rq, after_ms, &live, err);
	if (result == 0)
		result = look_in_catalog(rq, after_ms, &record, err);
	if (result >= 0) {
		bool stored = result > 0;

		if (live.found && (!stored || live_wins(&live, &record))) {
			ret->found = true;
			ret->json = live.json;
			live.json = (struct buf)BUF_INIT;
		} else if (stored) {
			ret->found = true;
			ret->final = record.final_ms != 0;
			buf_add(&ret->json, record.json.p, record.json.n);
		}
		result = ret->json.failed ? ts_error_nomem(err) : 0;
	}
	receipt_record_done(&record);
	buf_done(&live.json);
	return result;
}

static int unknown_receipt(struct ts_error *err)
{
	return ts_error_set(err, TS_E_UNKNOWN_RECEIPT, "nothing of this name or digest was seen");
}

static int read_after(struct request *rq, int64_t *ret, struct ts_error *err)
{
	struct ts_str text;

	if (request_param(rq, "after", &text, err) < 0)
		return -1;
	*ret = INT64_MIN;
	if (text.p && !text_parse_time(text, ret)) {
		rq->parameter = "after";
		return ts_error_set(err, TS_E_BAD_PARAMETER,
				    "after is no RFC 3339 time with offset");
	}
	return 0;
}

/* Suspends until something changes, if there is time left. */
static int wait_on(struct request *rq, uint64_t wait_s, bool *ret_waits, struct ts_error *err)
{
	int64_t now_ms = time_mono_ms();

	*ret_waits = false;
	if (rq->wait_until_ms == 0)
		rq->wait_until_ms = now_ms + (int64_t)wait_s * 1000;
	if (now_ms >= rq->wait_until_ms || atomic_load(&rq->http->stopping))
		return 0;
	if (request_take_place(rq, err) < 0)
		return -1;
	*ret_waits = true;
	return 0;
}

enum outcome handle_receipt(struct request *rq, struct ts_error *err)
{
	struct look seen = {.json = BUF_INIT};
	uint64_t wait_s = 0;
	int64_t after_ms;
	bool waits = true;

	rq->answer.cache = CACHE_NEVER;
	if (request_param_u64(rq, "wait", 0, WAIT_MAX_S, &wait_s, err) < 0 ||
	    read_after(rq, &after_ms, err) < 0)
		return FAILED;
	while (waits) {
		rq->wait_seen = waits_change(rq->http);
		buf_done(&seen.json);
		seen = (struct look){.json = BUF_INIT};
		if (look(rq, after_ms, &seen, err) < 0)
			break;
		if (seen.final || wait_on(rq, wait_s, &waits, err) < 0)
			break;
		if (waits && waits_add(rq->http, rq)) {
			buf_done(&seen.json);
			return WAITING;
		}
	}
	if (!err->code && !seen.found)
		unknown_receipt(err);
	if (!err->code)
		answer_stored_json(rq, 200, ts_str(seen.json.data, seen.json.len));
	buf_done(&seen.json);
	return err->code ? FAILED : ANSWERED;
}

/* ---- one quarantined drop ---- */

/* The newest one of this name that was refused, also if a later drop of the name was taken. */
static int find_quarantined(struct request *rq, struct buf *out, struct ts_error *err)
{
	struct list_param params[] = {quarantined, {{"name", 4}, rq->var}};
	struct list_request query = {.params = params, .param_count = 2, .limit = 1};
	struct db *db CLEAN(db_releasep) = NULL;
	struct page *page CLEAN(page_closep) = NULL;
	int more;

	if (request_catalog(rq, &db, err) < 0 ||
	    page_open(db, &list_receipts, &query, &page, err) < 0)
		return -1;
	more = page_next(page, err);
	if (more > 0) {
		struct ts_str json = query_str(page_row(page), 0);

		buf_add(out, json.p, json.n);
	}
	return more;
}

enum outcome handle_quarantined(struct request *rq, struct ts_error *err)
{
	struct receipt_record record = {0};
	struct buf json = BUF_INIT;
	int found;

	rq->answer.cache = CACHE_NEVER;
	found = look_in_catalog(rq, INT64_MIN, &record, err);
	if (found > 0 && ts_str_is(record.state, "quarantined"))
		buf_add(&json, record.json.p, record.json.n);
	else if (found > 0 && !is_digest(rq->var))
		found = find_quarantined(rq, &json, err);
	receipt_record_done(&record);
	if (found >= 0 && json.failed)
		ts_error_nomem(err);
	else if (found >= 0 && json.len == 0)
		ts_error_set(err, TS_E_UNKNOWN_RECEIPT,
			     "nothing of this name or digest is quarantined");
	if (!err->code)
		answer_stored_json(rq, 200, ts_str(json.data, json.len));
	buf_done(&json);
	return err->code ? FAILED : ANSWERED;
}
