/* commit.c: an accepted drop becomes a run, as far as that goes without waiting for the disk:
 * look-up, analysis, the finished file; group.c does the rest
 */
#include "room.h"

#include <inttypes.h>
#include <string.h>

#include "tracespool/analyze.h"
#include "tracespool/log.h"
#include "tracespool/util.h"

static void log_ingested(const struct drop *d, const struct run_record *run)
{
	char id[3 * STORE_RUN_ID_MAX + 1];

	text_name(run->id, id, sizeof(id));
	log_line(LOG_L_INFO, "ingest",
		 "ingested name=\"%s\" run=\"%s\" kind=%s lines=%" PRIu64 " bytes=%" PRIu64
		 " ms=%" PRId64 "%s%s",
		 d->text, id, run_kind_name(run->kind), d->load.counts.lines, d->load.file_bytes,
		 time_mono_ms() - d->begun_ms, d->load.damage.code ? " salvaged=" : "",
		 d->load.damage.code ? d->load.damage.code->code : "");
}

static void log_duplicate(const struct drop *d, const struct run_record *other)
{
	char id[3 * STORE_RUN_ID_MAX + 1];

	text_name(other->id, id, sizeof(id));
	log_line(LOG_L_INFO, "ingest", "duplicate name=\"%s\" run=\"%s\" digest=%s", d->text, id,
		 d->load.digest);
}

/* The bytes are a run already: only a receipt. */
static void become_duplicate(struct commit *c)
{
	struct pending *p = &c->receipt;

	p->doc.state = "duplicate";
	p->doc.run_id = c->other.id;
	p->doc.run_kind = c->other.kind;
	p->doc.run_digest = c->other.digest;
}

/* Looks for what is there before the costly part begins. 1: a duplicate; 0: go on; -1: err. */
static int look_up(struct commit *c, struct ts_error *err)
{
	CLEAN(db_releasep) struct db *db = NULL;
	struct ingest *in = c->d->in;
	struct ts_error by_id = TS_ERROR_INIT;
	struct run_record other = {0};
	int rc;

	if (store_catalog_db(in->store, 0, &db, err) < 0)
		return -1;
	rc = catalog_run_by_digest(db, c->d->load.digest, &c->other, err);
	if (rc != 0)
		return rc;
	if (CONF_LIVE(in->conf->ingest.on_run_id_conflict) == CONFLICT_REPLACE)
		return 0;
	rc = catalog_run(db, c->run.id, &other, &by_id);
	if (rc > 0) {
		ts_error_set(err, TS_E_RUN_ID_CONFLICT, "the run with this id is %s", other.digest);
		run_record_done(&other);
		return -1;
	}
	/* An id whose run was removed is free again. */
	if (rc < 0 && !ts_error_is(&by_id, TS_E_RUN_REMOVED)) {
		*err = by_id;
		return -1;
	}
	return 0;
}

static int describe_source(struct commit *c, struct ts_error *err)
{
	static const char *const kept[] = {
		[SOURCE_ARCHIVED] = "archive",
		[SOURCE_DELETED] = "none",
		[SOURCE_KEPT] = "in_place",
	};

	write_provenance(&c->d->load, kept[c->receipt.doc.source.action], c->receipt.path,
			 &c->source);
	if (c->source.failed)
		return ts_error_nomem(err);
	c->run.source = ts_str(c->source.data, c->source.len);
	return 0;
}

static int analyze(struct commit *c, struct ts_error *err)
{
	struct load *l = &c->d->load;
	struct run_record *run = &c->run;
	struct db *db;
	int rc;

	if (runfile_flush(l->rf, err) < 0)
		return -1;
	l->counts.seen = runfile_seen(l->rf);
	db = runfile_db(l->rf);
	worker_stamp(c->d->w, true);
	rc = l->kind == RUN_EXECUTION
		     ? analyze_execution(db, &l->counts, ANALYZE_KEPT_BYTES, run, &c->keep,
					 &c->summary, err)
		     : analyze_requests(db, &l->counts, run, &c->keep, &c->summary, err);
	if (rc < 0)
		return -1;
	if (c->summary.failed || c->keep.failed)
		return ts_error_nomem(err);
	run->summary = ts_str(c->summary.data, c->summary.len);
	if (buf_gzip(run->summary, &c->summary_gzip) < 0)
		return ts_error_nomem(err);
	run->summary_gzip = ts_str(c->summary_gzip.data, c->summary_gzip.len);
	return 0;
}

static int seal(struct commit *c, struct ts_error *err)
{
	struct runfile *rf = c->d->load.rf;

	worker_stamp(c->d->w, true);
	if (runfile_index(rf, err) < 0)
		return -1;
	worker_stamp(c->d->w, true);
	return runfile_seal(rf, c->run.digest, c->run.revision, &c->sealed, err);
}

static void describe_receipt(struct commit *c)
{
	struct pending *p = &c->receipt;

	p->doc.run_id = c->run.id;
	p->doc.run_kind = c->run.kind;
	p->doc.run_digest = c->run.digest;
	p->doc.counts = &c->d->load.counts;
	p->doc.warnings = c->run.issues;
}

void commit_take_back(struct commit *c)
{
	CLEAN(db_releasep) struct db *db = NULL;
	struct ts_error err = TS_ERROR_INIT;
	struct run_record other = {0};
	int rc;

	if (!c->sealed)
		return;
	rc = store_catalog_db(c->d->in->store, 0, &db, &err);
	if (rc == 0)
		rc = catalog_run_by_digest(db, c->run.digest, &other, &err);
	if (rc > 0)
		run_record_done(&other);
	else if (rc == 0)
		rc = store_unlink_run(c->d->in->store, c->run.digest, c->run.revision, &err);
	/* Else it is an orphan until the next try replaces it or the next start removes it. */
	if (rc < 0)
		log_error("ingest", "run file left over", c->d->text, &err);
}

void commit_log(const struct commit *c, const struct catalog_item *item)
{
	if (!c->sealed)
		log_duplicate(c->d, &c->other);
	else if (item->result == COMMIT_DUPLICATE)
		log_duplicate(c->d, &item->other);
	else if (item->result == COMMIT_CONFLICT)
		log_error("ingest", "refused", c->d->text, &c->receipt.conflict);
	else
		log_ingested(c->d, &c->run);
}

static int describe_run(struct commit *c, struct ts_error *err)
{
	const struct load *l = &c->d->load;
	const struct claim *claim = l->claim;
	struct run_record *run = &c->run;

	*run = (struct run_record){
		.id = l->run_id,
		.kind = l->kind,
		.revision = STORE_RUN_REVISION,
		.name = ts_str_c(c->d->text),
		.owner = ts_str_c(claim->owner[0] ? claim->owner : NULL),
		.structurally_valid = -1,
	};
	memcpy(run->digest, l->digest, sizeof(run->digest));
	if (l->kind == RUN_REQUESTS) {
		struct ts_str prefix;
		uint64_t number;

		run->trace_schema = TS_STR("dynamo.request.trace.v1");
		if (!claim->folder && spool_segment(claim->name, &prefix, &number)) {
			char *text = arena_alloc(&c->keep, 3 * prefix.n + 1);

			if (text) {
				run->capture =
					ts_str(text, text_name(prefix, text, 3 * prefix.n + 1));
				run->segment = (struct opt_u64){number, true};
			}
		}
	}
	if (c->keep.failed)
		return ts_error_nomem(err);
	return salvage_describe(l, &c->keep, &run->salvaged, err);
}

static int prepare_locked(struct commit *c, struct ts_error *err)
{
	int rc = look_up(c, err);

	if (rc < 0 || pending_choose(&c->receipt, err) < 0)
		return -1;
	if (rc > 0) {
		become_duplicate(c);
		return 0;
	}
	if (describe_source(c, err) < 0 || analyze(c, err) < 0 || seal(c, err) < 0)
		return -1;
	describe_receipt(c);
	return 0;
}

/* Who waits for a digest must hold none: the other worker may wait for that. */
static int lock_digest(struct commit *c, struct ts_error *err)
{
	struct drop *d = c->d;
	int rc = store_digest_try(d->in->store, d->load.digest, err);

	if (rc == 0) {
		group_finish(d->w);
		rc = store_digest_lock(d->in->store, d->load.digest, err) < 0 ? -1 : 1;
	}
	c->locked = rc > 0;
	return rc > 0 ? 0 : -1;
}

int commit_prepare(struct commit *c, struct drop *d, struct ts_error *err)
{
	*c = (struct commit){
		.d = d,
		.source = BUF_INIT,
		.summary = BUF_INIT,
		.summary_gzip = BUF_INIT,
	};
	pending_init(&c->receipt, d, "ingested");
	worker_stamp(d->w, true);
	int rc = describe_run(c, err) < 0 || lock_digest(c, err) < 0 ? -1 : prepare_locked(c, err);

	worker_stamp(d->w, false);
	return rc;
}

void commit_done(struct commit *c)
{
	if (c->locked)
		store_digest_unlock(c->d->in->store, c->d->load.digest);
	c->locked = false;
	sealed_free(TAKE(c->sealed));
	run_record_done(&c->other);
	pending_done(&c->receipt);
	buf_done(&c->source);
	buf_done(&c->summary);
	buf_done(&c->summary_gzip);
	arena_done(&c->keep);
}
