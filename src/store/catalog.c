/* catalog.c: what is written to the catalog: runs with their receipts, in small transactions */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog.h"
#include "tracespool/json.h"
#include "tracespool/util.h"

enum {
	CHECKPOINT_BYTES = 4 * 1024 * 1024, /* a commit writes the log back above this */
};

/* A statement without parameters, by name. */
static int run_named(struct store *st, const char *name, struct ts_error *err)
{
	struct query *q;

	return query_open(st->writer, name, &q, err) < 0 ? -1 : query_run(q, err);
}

int catalog_begin(struct store *st, struct ts_error *err)
{
	return run_named(st, "writer_begin", err);
}

static void count_change(struct store *st, const struct catalog_change *c)
{
	atomic_fetch_add(&st->quarantined, (uint64_t)c->quarantined);
	atomic_fetch_add(&st->runs_bytes, c->bytes_added - c->bytes_removed);
	if (c->ingested_ms > atomic_load(&st->last_ingested_ms))
		atomic_store(&st->last_ingested_ms, c->ingested_ms);
}

int catalog_end(struct store *st, int result, const struct catalog_change *c, size_t n,
		struct ts_error *err)
{
	uint64_t change = 0;
	struct query *q;

	if (result == 0) {
		result = query_open(st->writer, "counter_next", &q, err);
		if (result == 0) {
			query_bind_str(q, 1, TS_STR("change"));
			result = query_step(q, err) == 1 ? 0 : -1;
			change = result == 0 ? query_u64(q, 0) : 0;
			query_close(q);
		}
	}
	/* From here until the counter is stored others may read either state. */
	atomic_store(&st->committing, true);
	if (result == 0)
		result = run_named(st, "writer_commit", err);
	if (result < 0) {
		/* It may be over already: SQLite rolls back by itself on some errors. */
		if (!sqlite3_get_autocommit(st->writer->h))
			sqlite3_exec(st->writer->h, "rollback", NULL, NULL, NULL);
		atomic_store(&st->committing, false);
		store_note_write(st, err);
		return -1;
	}
	for (size_t i = 0; i < n; i++)
		count_change(st, &c[i]);
	atomic_store(&st->change, change);
	atomic_store(&st->committing, false);

	struct ts_error later = TS_ERROR_INIT;

	/* The commit stands; a log that cannot be written back is a trouble of its own. */
	store_note_write(st,
			 store_checkpoint_above(st, CHECKPOINT_BYTES, &later) < 0 ? &later : NULL);
	return 0;
}

static uint64_t run_file_bytes(struct store *st, const char *digest, unsigned revision)
{
	char path[RUN_PATH_MAX];
	struct stat s;

	if (!store_run_path(digest, revision, path) ||
	    fstatat(st->runs_fd, path, &s, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return (uint64_t)s.st_size;
}

static void bind_opt(struct query *q, int i, struct opt_u64 v)
{
	if (v.has)
		query_bind_u64(q, i, v.v);
	else
		query_bind_null(q, i);
}

static void bind_run(struct query *q, const struct run_record *r, uint64_t bytes)
{
	int i = 1;

	query_bind_str(q, i++, r->id);
	query_bind_str(q, i++, ts_str_c(r->kind == RUN_EXECUTION ? "execution" : "requests"));
	query_bind_str(q, i++, ts_str_c(r->digest));
	query_bind_u64(q, i++, r->revision);
	query_bind_u64(q, i++, bytes);
	query_bind_blob(q, i++, r->name.p ? r->name.p : "", r->name.n);
	query_bind_str(q, i++, r->owner);
	query_bind_str(q, i++, r->entrypoint);
	query_bind_str(q, i++, r->phase);
	query_bind_str(q, i++, r->device);
	query_bind_str(q, i++, r->outcome);
	query_bind_str(q, i++, r->correlation_id);
	query_bind_str(q, i++, r->trace_schema);
	query_bind_str(q, i++, r->model_one);
	query_bind_str(q, i++, r->capture);
	bind_opt(q, i++, r->segment);
	if (r->structurally_valid < 0)
		query_bind_null(q, i++);
	else
		query_bind_u64(q, i++, r->structurally_valid != 0);
	if (r->has_captured)
		query_bind_i64(q, i++, r->captured_ms);
	else
		query_bind_null(q, i++);
	query_bind_i64(q, i++, r->ingested_ms);
	bind_opt(q, i++, r->total_ns);
	bind_opt(q, i++, r->span_count);
	bind_opt(q, i++, r->op_count);
	bind_opt(q, i++, r->logical_peak_bytes);
	bind_opt(q, i++, r->requests);
	bind_opt(q, i++, r->tools);
	bind_opt(q, i++, r->sessions);
	bind_opt(q, i++, r->first_start_ms);
	bind_opt(q, i++, r->trace_block_size);
	bind_opt(q, i++, r->unreplayable_rows);
	query_bind_str(q, i++, r->mode);
	query_bind_str(q, i++, r->replay_error);
	query_bind_u64(q, i++, r->pinned);
	query_bind_str(q, i++, r->tags);
	query_bind_str(q, i++, r->models);
}

/* A row for each member of a compact JSON object of strings (tags) or numbers (models). */
static int insert_members(struct db *db, const char *statement, uint64_t run_no, struct ts_str json,
			  struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct buf text CLEAN(buf_done) = BUF_INIT;
	struct arena scratch CLEAN(arena_done) = {0};
	struct json j;
	struct json_value v;
	struct ts_str key;

	if (!json.p)
		return 0;
	buf_add(&text, json.p, json.n);
	if (text.failed)
		return ts_error_nomem(err);
	if (query_open(db, statement, &q, err) < 0)
		return -1;
	json_begin(&j, text.data, text.len, &scratch);
	if (json_value(&j, &v) != JSON_OBJECT)
		return ts_error_set(err, TS_E_INTERNAL, "%s: not an object", statement);
	for (bool first = true; json_key(&j, first, &key); first = false) {
		enum json_type type = json_value(&j, &v);

		query_bind_u64(q, 1, run_no);
		query_bind_str(q, 2, key);
		if (type == JSON_U64)
			query_bind_u64(q, 3, v.u64);
		else
			query_bind_str(q, 3, type == JSON_STRING ? v.str : ts_str(NULL, 0));
		if (query_step(q, err) < 0)
			return -1;
		query_reset(q);
	}
	if (json_end(&j) < 0)
		return ts_error_set(err, TS_E_INTERNAL, "%s: %s", statement,
				    j.error ? j.error : "bad JSON");
	return 0;
}

static int insert_run_row(struct store *st, const struct run_record *run, struct catalog_change *c,
			  uint64_t *ret_no, struct ts_error *err)
{
	struct query *q;
	uint64_t bytes = run_file_bytes(st, run->digest, run->revision), no;

	if (query_open(st->writer, "run_insert", &q, err) < 0)
		return -1;
	bind_run(q, run, bytes);
	int n = query_step(q, err);

	no = n == 1 ? query_u64(q, 0) : 0;
	query_close(q);
	if (n != 1)
		return -1;
	if (query_open(st->writer, "run_details_insert", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, no);
	query_bind_str(q, 2, run->source);
	query_bind_str(q, 3, run->meta);
	query_bind_str(q, 4, run->summary.p ? run->summary : TS_STR(""));
	query_bind_blob(q, 5, run->summary_gzip.p, run->summary_gzip.n);
	if (query_run(q, err) < 0)
		return -1;
	c->bytes_added = bytes;
	c->ingested_ms = run->ingested_ms;
	*ret_no = no;
	if (insert_members(st->writer, "run_tag_insert", no, run->tags, err) < 0)
		return -1;
	return insert_members(st->writer, "run_model_insert", no, run->models, err);
}

/* A segment with the name of its recording, which only this transaction knows, in place of its
 * prefix. A summary that has to change is kept plain only. */
static int insert_segment(struct store *st, const struct run_record *run, struct catalog_change *c,
			  struct ts_error *err)
{
	struct segment_place place = {.name = BUF_INIT};
	struct buf summary = BUF_INIT;
	struct run_record named = *run;
	uint64_t no;
	int result = capture_assign(st->writer, run, &place, err);

	if (result == 0)
		named.capture = ts_str(place.name.data, place.name.len);
	if (result == 0 && !ts_str_eq(named.capture, run->capture)) {
		result = capture_rename_summary(run->summary, run->capture, named.capture, &summary,
						err);
		named.summary = ts_str(summary.data, summary.len);
		named.summary_gzip = ts_str(NULL, 0);
	}
	if (result == 0)
		result = insert_run_row(st, &named, c, &no, err);
	if (result == 0)
		result = capture_insert(st->writer, run, &place, no, err);
	buf_done(&place.name);
	buf_done(&summary);
	return result;
}

static int insert_run(struct store *st, const struct run_record *run, struct catalog_change *c,
		      struct ts_error *err)
{
	uint64_t no;

	if (run->capture.p && run->segment.has)
		return insert_segment(st, run, c, err);
	return insert_run_row(st, run, c, &no, err);
}

static int remove_run(struct store *st, const struct run_record *old, const char *why,
		      struct catalog_change *c, struct ts_error *err)
{
	struct query *q;

	if (query_open(st->writer, "tombstone_insert", &q, err) < 0)
		return -1;
	query_bind_str(q, 1, old->id);
	query_bind_str(q, 2, ts_str_c(old->digest));
	query_bind_i64(q, 3, time_now_ms());
	query_bind_str(q, 4, ts_str_c(why));
	if (query_run(q, err) < 0 || query_open(st->writer, "run_delete", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, old->no);
	if (query_run(q, err) < 0)
		return -1;
	c->bytes_removed = run_file_bytes(st, old->digest, old->revision);
	memcpy(c->old_digest, old->digest, sizeof(c->old_digest));
	c->old_revision = old->revision;
	return 0;
}

/* Looks for what stands in the way of the run. *other is filled if something does. */
static int judge(struct store *st, const struct run_record *run, enum commit_result *ret,
		 struct run_record *other, struct ts_error *err)
{
	int n = catalog_run_by_digest(st->writer, run->digest, other, err);

	if (n)
		*ret = COMMIT_DUPLICATE;
	if (n == 0) {
		n = catalog_find_run(st->writer, run->id, other, err);
		if (n)
			*ret = COMMIT_CONFLICT;
	}
	if (n == 0)
		*ret = COMMIT_DONE;
	return n < 0 ? -1 : 0;
}

static int insert_receipt(struct store *st, const struct receipt_record *r,
			  struct catalog_change *c, struct ts_error *err)
{
	struct query *q;

	if (query_open(st->writer, "receipt_insert", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, r->no);
	query_bind_blob(q, 2, r->name.p ? r->name.p : "", r->name.n);
	query_bind_str(q, 3, ts_str_c(r->digest));
	query_bind_str(q, 4, r->owner);
	query_bind_str(q, 5, r->state);
	query_bind_str(q, 6, r->code);
	query_bind_i64(q, 7, r->seen_ms);
	if (r->final_ms)
		query_bind_i64(q, 8, r->final_ms);
	query_bind_str(q, 9, r->run_id);
	query_bind_blob(q, 10, r->source_path.p, r->source_path.n);
	query_bind_u64(q, 11, r->dev);
	query_bind_u64(q, 12, r->ino);
	query_bind_u64(q, 13, r->size);
	query_bind_i64(q, 14, r->mtime_ns);
	query_bind_u64(q, 15, r->kept);
	query_bind_str(q, 16, r->json);
	c->quarantined = ts_str_is(r->state, "quarantined");
	return query_run(q, err);
}

/* One receipt a drop: what failed and was tried again has a newer one now. */
static int remove_superseded(struct store *st, const struct receipt_record *r, struct ts_error *err)
{
	struct query *q;

	if (query_open(st->writer, "receipt_supersede", &q, err) < 0)
		return -1;
	query_bind_blob(q, 1, r->name.p ? r->name.p : "", r->name.n);
	query_bind_u64(q, 2, r->no);
	return query_run(q, err);
}

static int next_receipt_no(struct store *st, uint64_t *ret, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(st->writer, "counter_next", &q, err) < 0)
		return -1;
	query_bind_str(q, 1, TS_STR("receipt"));
	if (query_step(q, err) != 1)
		return err->code ? -1
				 : ts_error_set(err, TS_E_STORE_DAMAGED, "a counter is missing");
	*ret = query_u64(q, 0);
	return 0;
}

/* The part of a commit between begin and end. */
static int write_commit(struct store *st, struct catalog_item *item, bool replace,
			struct catalog_change *c)
{
	const struct run_record *run = item->run;
	struct run_record *other = &item->other;
	struct receipt_record receipt = {0};
	struct ts_error *err = &item->err;

	if (run && judge(st, run, &item->result, other, err) < 0)
		return -1;
	if (item->result == COMMIT_CONFLICT && replace) {
		if (remove_run(st, other, "replaced", c, err) < 0)
			return -1;
		item->result = COMMIT_DONE;
	}
	if (next_receipt_no(st, &receipt.no, err) < 0 ||
	    item->build(item->arg, receipt.no, item->result,
			item->result == COMMIT_DONE ? NULL : other, &receipt, err) < 0)
		return -1;
	if (insert_receipt(st, &receipt, c, err) < 0 || remove_superseded(st, &receipt, err) < 0)
		return -1;
	return run && item->result == COMMIT_DONE ? insert_run(st, run, c, err) : 0;
}

/* One of several: what fails is undone alone. -1: nothing of the transaction is left. */
static int write_item(struct store *st, struct catalog_item *item, bool replace, bool alone,
		      struct catalog_change *c, struct ts_error *err)
{
	*c = (struct catalog_change){0};
	if (!alone && run_named(st, "item_begin", err) < 0)
		return -1;
	if (write_commit(st, item, replace, c) == 0)
		return alone ? 0 : run_named(st, "item_keep", err);
	*c = (struct catalog_change){0};
	/* SQLite rolls all of it back by itself on some errors. */
	if (alone || sqlite3_get_autocommit(st->writer->h)) {
		*err = item->err;
		return -1;
	}
	return run_named(st, "item_undo", err) < 0 ? -1 : run_named(st, "item_keep", err);
}

static void forget_replaced(struct store *st, const struct catalog_change *c)
{
	struct ts_error later = TS_ERROR_INIT;

	/* A file that stays is found at the next start (store_remove_orphans). */
	if (c->old_digest[0])
		store_unlink_run(st, c->old_digest, c->old_revision, &later);
}

void catalog_commit_all(struct store *st, struct catalog_item *items, size_t n, bool replace)
{
	struct catalog_change changes[CATALOG_ITEMS_MAX];
	struct ts_error err = TS_ERROR_INIT;
	size_t i = 0;

	CHECK(n <= CATALOG_ITEMS_MAX);
	for (; i < n; i++) {
		items[i].result = COMMIT_DONE;
		items[i].other = (struct run_record){0};
		ts_error_init(&items[i].err);
	}
	i = 0;
	pthread_mutex_lock(&st->write_lock);
	int result = catalog_begin(st, &err);

	if (result == 0) {
		while (result == 0 && i < n) {
			result = write_item(st, &items[i], replace, n == 1, &changes[i], &err);
			i++;
		}
		result = catalog_end(st, result, changes, i, &err);
	} else {
		store_note_write(st, &err);
	}
	pthread_mutex_unlock(&st->write_lock);
	for (i = 0; i < n; i++) {
		if (result < 0)
			items[i].err = err;
		else
			forget_replaced(st, &changes[i]);
		if (items[i].err.code || items[i].result == COMMIT_DONE)
			run_record_done(&items[i].other);
	}
}

int catalog_commit(struct store *st, const struct run_record *run, bool replace,
		   receipt_build_fn build, void *arg, enum commit_result *ret_result,
		   struct run_record *ret_other, struct ts_error *err)
{
	struct catalog_item item = {.run = run, .build = build, .arg = arg};

	catalog_commit_all(st, &item, 1, replace);
	if (item.err.code) {
		*err = item.err;
		return -1;
	}
	*ret_result = item.result;
	if (ret_other && item.result != COMMIT_DONE)
		*ret_other = item.other;
	else
		run_record_done(&item.other);
	return 0;
}

int catalog_load_counters(struct store *st, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(st->writer, "counters_load", &q, err) < 0 || query_step(q, err) < 0)
		return -1;
	atomic_store(&st->change, query_u64(q, 0));
	atomic_store(&st->quarantined, query_u64(q, 1));
	atomic_store(&st->runs_bytes, query_u64(q, 2));
	atomic_store(&st->last_ingested_ms, query_i64(q, 3));
	return 0;
}
