/* lookup.c: what is read from the catalog by key: runs, summaries, receipts */
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "tracespool/util.h"

void run_record_done(struct run_record *r)
{
	if (r->owned) {
		arena_done(r->owned);
		free(r->owned);
	}
	*r = (struct run_record){0};
}

void receipt_record_done(struct receipt_record *r)
{
	if (r->owned) {
		arena_done(r->owned);
		free(r->owned);
	}
	*r = (struct receipt_record){0};
}

struct ts_str store_prefix_end(struct ts_str prefix, char *out)
{
	size_t n = prefix.n;

	while (n && (unsigned char)prefix.p[n - 1] == 0xff)
		n--;
	if (n == 0)
		return ts_str(NULL, 0);
	memcpy(out, prefix.p, n);
	out[n - 1] = (char)((unsigned char)out[n - 1] + 1);
	return ts_str(out, n);
}

static struct ts_str keep(struct arena *a, struct query *q, int i)
{
	struct ts_str s = query_str(q, i);

	if (s.p)
		s.p = arena_dup(a, s.p, s.n);
	return s;
}

/* The columns of run_by_id and run_by_digest. */
static int read_run(struct query *q, struct run_record *ret, struct ts_error *err)
{
	struct arena *a = calloc(1, sizeof(*a));
	int i = 0;

	if (!a)
		return ts_error_nomem(err);
	struct run_record r = {.owned = a};

	r.no = query_u64(q, i++);
	r.id = keep(a, q, i++);
	r.kind = ts_str_is(query_str(q, i++), "execution") ? RUN_EXECUTION : RUN_REQUESTS;
	struct ts_str digest = query_str(q, i++);

	if (digest.n == DIGEST_TEXT)
		memcpy(r.digest, digest.p, DIGEST_TEXT);
	r.revision = (unsigned)query_u64(q, i++);
	r.name = keep(a, q, i++);
	r.owner = keep(a, q, i++);
	r.entrypoint = keep(a, q, i++);
	r.phase = keep(a, q, i++);
	r.device = keep(a, q, i++);
	r.outcome = keep(a, q, i++);
	r.correlation_id = keep(a, q, i++);
	r.trace_schema = keep(a, q, i++);
	r.model_one = keep(a, q, i++);
	r.capture = keep(a, q, i++);
	r.segment = query_opt_u64(q, i++);
	r.structurally_valid = query_is_null(q, i) ? -1 : (int)query_i64(q, i);
	i++;
	r.has_captured = !query_is_null(q, i);
	r.captured_ms = query_i64(q, i++);
	r.ingested_ms = query_i64(q, i++);
	r.total_ns = query_opt_u64(q, i++);
	r.span_count = query_opt_u64(q, i++);
	r.op_count = query_opt_u64(q, i++);
	r.logical_peak_bytes = query_opt_u64(q, i++);
	r.requests = query_opt_u64(q, i++);
	r.tools = query_opt_u64(q, i++);
	r.sessions = query_opt_u64(q, i++);
	r.first_start_ms = query_opt_u64(q, i++);
	r.trace_block_size = query_opt_u64(q, i++);
	r.unreplayable_rows = query_opt_u64(q, i++);
	r.mode = keep(a, q, i++);
	r.replay_error = keep(a, q, i++);
	r.pinned = query_u64(q, i++) != 0;
	r.tags = keep(a, q, i++);
	r.models = keep(a, q, i++);
	r.source = keep(a, q, i++);
	r.meta = keep(a, q, i++);
	if (a->failed) {
		run_record_done(&r);
		return ts_error_nomem(err);
	}
	*ret = r;
	return 0;
}

int catalog_find_run(struct db *db, struct ts_str id, struct run_record *ret, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "run_by_id", &q, err) < 0)
		return -1;
	query_bind_str(q, 1, id);
	int n = query_step(q, err);

	return n == 1 ? (read_run(q, ret, err) < 0 ? -1 : 1) : n;
}

/* Runs whose digest begins so: 1 (the only one), 0, or -1 (ambiguous_id). */
static int find_by_digest(struct db *db, struct ts_str prefix, struct run_record *ret,
			  struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct run_record found = {0};
	char behind[DIGEST_TEXT];

	if (query_open(db, "run_by_digest", &q, err) < 0)
		return -1;
	query_bind_str(q, 1, prefix);
	query_bind_str(q, 2, store_prefix_end(prefix, behind));
	int n = query_step(q, err);

	if (n != 1)
		return n;
	if (read_run(q, &found, err) < 0)
		return -1;
	n = query_step(q, err);
	if (n != 0) {
		run_record_done(&found);
		return n < 0 ? -1
			     : ts_error_set(err, TS_E_AMBIGUOUS_ID, "%.*s fits more than one run",
					    (int)prefix.n, prefix.p);
	}
	*ret = found;
	return 1;
}

int catalog_run_by_digest(struct db *db, const char *digest, struct run_record *ret,
			  struct ts_error *err)
{
	size_t n = strlen(digest);

	return n == DIGEST_TEXT ? find_by_digest(db, ts_str(digest, n), ret, err) : 0;
}

/* 0, or -1 with run_removed if the statement finds a tombstone. */
static int look_for_tombstone(struct query *q, struct ts_error *err)
{
	char when[TEXT_TIME_MAX];
	int n = query_step(q, err);

	if (n != 1)
		return n;
	struct ts_str why = query_str(q, 1);

	if (!text_format_time(query_i64(q, 0), when))
		strcpy(when, "an unknown time");
	return ts_error_set(err, TS_E_RUN_REMOVED, "the run was removed at %s (%.*s)", when,
			    (int)why.n, why.p);
}

/* "sha256:" and 12 to 64 hex digits, in lower case into out. No value: not one. */
static struct ts_str digest_prefix(struct ts_str id, char out[static DIGEST_TEXT])
{
	if (!ts_str_starts(id, "sha256:") || id.n < 7 + 12 || id.n > DIGEST_TEXT)
		return ts_str(NULL, 0);
	memcpy(out, id.p, 7);
	for (size_t i = 7; i < id.n; i++) {
		char c = id.p[i];

		if (c >= 'A' && c <= 'F')
			c = (char)(c - 'A' + 'a');
		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return ts_str(NULL, 0);
		out[i] = c;
	}
	return ts_str(out, id.n);
}

int catalog_run(struct db *db, struct ts_str id, struct run_record *ret, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	char digest[DIGEST_TEXT], behind[DIGEST_TEXT];
	struct ts_str prefix = ts_str(NULL, 0);
	int n;

	if (ts_str_starts(id, "sha256:")) {
		/* No run's id begins so. */
		prefix = digest_prefix(id, digest);
		if (!prefix.p)
			return 0;
		n = find_by_digest(db, prefix, ret, err);
	} else {
		n = catalog_find_run(db, id, ret, err);
	}
	if (n != 0)
		return n;
	if (query_open(db, prefix.p ? "tombstone_by_digest" : "tombstone_by_id", &q, err) < 0)
		return -1;
	query_bind_str(q, 1, prefix.p ? prefix : id);
	if (prefix.p)
		query_bind_str(q, 2, store_prefix_end(prefix, behind));
	return look_for_tombstone(q, err);
}

static int add_summary(struct db *db, const char *statement, uint64_t run_no, struct buf *out,
		       struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, statement, &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, run_no);
	int n = query_step(q, err);

	if (n != 1)
		return n;
	struct ts_str s = query_str(q, 0);

	buf_add(out, s.p, s.n);
	return out->failed ? ts_error_nomem(err) : 1;
}

int catalog_summary(struct db *db, uint64_t run_no, bool gzip, struct buf *out, bool *ret_gzip,
		    struct ts_error *err)
{
	int n = gzip ? add_summary(db, "run_summary_gzip", run_no, out, err) : 0;

	if (n < 0)
		return -1;
	*ret_gzip = n == 1;
	if (n == 0)
		n = add_summary(db, "run_summary", run_no, out, err);
	return n == 0 ? ts_error_set(err, TS_E_UNKNOWN_RUN, "the run is gone") : n < 0 ? -1 : 0;
}

/* The columns of receipt_by_*. */
static int read_receipt(struct query *q, struct receipt_record *ret, struct ts_error *err)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (!a)
		return ts_error_nomem(err);
	struct receipt_record r = {.owned = a};

	r.no = query_u64(q, 0);
	r.name = keep(a, q, 1);
	r.digest = keep(a, q, 2).p;
	r.owner = keep(a, q, 3);
	r.state = keep(a, q, 4);
	r.code = keep(a, q, 5);
	r.seen_ms = query_i64(q, 6);
	r.final_ms = query_i64(q, 7);
	r.run_id = keep(a, q, 8);
	r.source_path = keep(a, q, 9);
	r.dev = query_u64(q, 10);
	r.ino = query_u64(q, 11);
	r.size = query_u64(q, 12);
	r.mtime_ns = query_i64(q, 13);
	r.kept = query_u64(q, 14) != 0;
	r.json = keep(a, q, 15);
	if (a->failed) {
		receipt_record_done(&r);
		return ts_error_nomem(err);
	}
	*ret = r;
	return 1;
}

int catalog_receipt_by_name(struct db *db, struct ts_str name, int64_t after_ms,
			    struct receipt_record *ret, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "receipt_by_name", &q, err) < 0)
		return -1;
	query_bind_blob(q, 1, name.p ? name.p : "", name.n);
	query_bind_i64(q, 2, after_ms);
	int n = query_step(q, err);

	return n == 1 ? read_receipt(q, ret, err) : n;
}

int catalog_receipt_by_digest(struct db *db, const char *digest, int64_t after_ms,
			      struct receipt_record *ret, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "receipt_by_digest", &q, err) < 0)
		return -1;
	query_bind_str(q, 1, ts_str_c(digest));
	query_bind_i64(q, 2, after_ms);
	int n = query_step(q, err);

	return n == 1 ? read_receipt(q, ret, err) : n;
}

int catalog_receipt_of_run(struct db *db, const char *digest, struct receipt_record *ret,
			   struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "receipt_of_run", &q, err) < 0)
		return -1;
	query_bind_str(q, 1, ts_str_c(digest));
	int n = query_step(q, err);

	return n == 1 ? read_receipt(q, ret, err) : n;
}

int catalog_receipt_by_no(struct db *db, uint64_t no, struct receipt_record *ret,
			  struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "receipt_by_no", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, no);
	int n = query_step(q, err);

	return n == 1 ? read_receipt(q, ret, err) : n;
}

int catalog_next_failed(struct db *db, uint64_t after, struct receipt_record *ret,
			struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "receipt_next_failed", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, after);
	int n = query_step(q, err);

	return n == 1 ? read_receipt(q, ret, err) : n;
}

int catalog_is_kept(struct db *db, struct ts_str name, uint64_t ino, uint64_t size,
		    int64_t mtime_ns, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "receipt_kept", &q, err) < 0)
		return -1;
	query_bind_blob(q, 1, name.p ? name.p : "", name.n);
	query_bind_u64(q, 2, ino);
	query_bind_u64(q, 3, size);
	query_bind_i64(q, 4, mtime_ns);
	return query_step(q, err);
}
