/* refuse.c: receipts into the catalog; what a refused and what a failed drop gets */
#include "room.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/log.h"
#include "tracespool/util.h"

void pending_init(struct pending *p, struct drop *d, const char *state)
{
	*p = (struct pending){
		.d = d,
		.doc =
			{
				.name = d->task->name,
				.digest = d->load.digest[0] ? d->load.digest : NULL,
				.size = drop_size(d),
				.owner = d->claim.owner[0] ? d->claim.owner : NULL,
				.state = state,
				.final = true,
				.seen_ms = d->claim.seen_ms,
			},
		.conflict = TS_ERROR_INIT,
		.json = BUF_INIT,
	};
}

void pending_done(struct pending *p)
{
	free(TAKE(p->path));
	buf_done(&p->json);
}

int pending_choose(struct pending *p, struct ts_error *err)
{
	struct ingest *in = p->d->in;
	const char *name = p->d->task->name;

	switch (CONF_LIVE(in->conf->spool.after)) {
	case AFTER_DELETE:
		p->doc.source.action = SOURCE_DELETED;
		return 0;
	case AFTER_KEEP:
		p->doc.source.action = SOURCE_KEPT;
		p->kept = true;
		p->path = strdup(name);
		return p->path ? 0 : ts_error_nomem(err);
	case AFTER_ARCHIVE:
		break;
	}
	p->doc.source.action = SOURCE_ARCHIVED;
	return spool_archive_path(in->spool, name, time_now_ms(), &p->path, err);
}

static int choose_quarantine(struct pending *p, uint64_t no, struct ts_error *err)
{
	struct ingest *in = p->d->in;

	free(TAKE(p->path));
	p->kept = false;
	p->doc.source.action = SOURCE_QUARANTINED;
	return spool_quarantine_path(in->spool, p->d->task->name, no, &p->path, err);
}

static void become_duplicate(struct pending *p, const struct run_record *other)
{
	p->doc.state = "duplicate";
	p->doc.run_id = other->id;
	p->doc.run_kind = other->kind;
	p->doc.run_digest = other->digest;
	p->doc.counts = NULL;
	p->doc.warnings = ts_str_c(NULL);
}

static void become_conflict(struct pending *p, const struct run_record *other)
{
	ts_error_set(&p->conflict, TS_E_RUN_ID_CONFLICT, "the run with this id is %s",
		     other->digest);
	p->doc.state = "quarantined";
	p->doc.run_id = ts_str_c(NULL);
	p->doc.counts = NULL;
	p->doc.warnings = ts_str_c(NULL);
	p->doc.reason = &p->conflict;
}

static void fill_record(struct pending *p, struct receipt_record *r)
{
	const struct receipt_doc *doc = &p->doc;
	const struct stat *st = &p->d->claim.st;

	r->name = ts_str_c(doc->name);
	r->digest = doc->digest;
	r->owner = ts_str_c(doc->owner);
	r->state = ts_str_c(doc->state);
	r->code = ts_str_c(doc->reason ? doc->reason->code->code : NULL);
	r->seen_ms = doc->seen_ms;
	r->final_ms = doc->final_ms;
	r->run_id = doc->run_id;
	r->source_path = ts_str_c(p->path);
	r->json = ts_str(p->json.data, p->json.len);
	r->dev = (uint64_t)st->st_dev;
	r->ino = (uint64_t)st->st_ino;
	r->size = (uint64_t)st->st_size;
	r->mtime_ns = claim_mtime_ns(&p->d->claim);
	r->kept = p->kept;
}

int pending_build(void *arg, uint64_t no, enum commit_result result, const struct run_record *other,
		  struct receipt_record *r, struct ts_error *err)
{
	struct pending *p = arg;

	if (result == COMMIT_DUPLICATE)
		become_duplicate(p, other);
	else if (result == COMMIT_CONFLICT)
		become_conflict(p, other);
	if (strcmp(p->doc.state, "quarantined") == 0 && choose_quarantine(p, no, err) < 0)
		return -1;
	p->doc.source.path = p->path;
	p->doc.final_ms = p->doc.final ? time_now_ms() : 0;
	buf_clear(&p->json);
	receipt_doc_write(&p->doc, &p->json);
	if (p->json.failed)
		return ts_error_nomem(err);
	fill_record(p, r);
	p->record = *r;
	p->record.no = no;
	return 0;
}

int refuse_drop(struct drop *d, const struct ts_error *reason, struct ts_error *err)
{
	enum commit_result result;
	struct pending p;
	int rc;

	pending_init(&p, d, "quarantined");
	p.doc.reason = reason;
	worker_stamp(d->w, true);
	rc = catalog_commit(d->in->store, NULL, false, pending_build, &p, &result, NULL, err);
	if (rc == 0) {
		log_error("ingest", "refused", d->text, reason);
		settle_drop(d, &p.record);
	}
	worker_stamp(d->w, false);
	pending_done(&p);
	return rc;
}

static void keep_failure(struct drop *d, const struct pending *p)
{
	free(d->task->failed_json);
	d->task->failed_json = strndup(p->json.data, p->json.len);
}

/* The first failure makes a receipt in the catalog, further ones change it. */
static int store_failure(struct drop *d, struct pending *p, struct ts_error *err)
{
	struct receipt_record r = {.no = d->task->failed_no};
	struct store *st = d->in->store;
	enum commit_result result;

	if (r.no == 0) {
		if (catalog_commit(st, NULL, false, pending_build, p, &result, NULL, err) < 0)
			return -1;
		d->task->failed_no = p->record.no;
		return 0;
	}
	if (pending_build(p, r.no, COMMIT_DONE, NULL, &r, err) < 0)
		return -1;
	return catalog_update_receipt(st, &r, err);
}

void report_failure(struct drop *d, const struct ts_error *reason, int64_t retry_ms)
{
	struct ts_error err = TS_ERROR_INIT;
	struct receipt_record unused = {0};
	struct pending p;
	int rc;

	pending_init(&p, d, "failed");
	p.doc.final = false;
	p.doc.reason = reason;
	p.doc.retry_ms = retry_ms;
	worker_stamp(d->w, true);
	/* Where the store has just failed, asking it again would only take its time. */
	rc = reason->sql ? pending_build(&p, 0, COMMIT_DONE, NULL, &unused, &err)
			 : store_failure(d, &p, &err);
	if (rc < 0 && p.json.len == 0)
		pending_build(&p, 0, COMMIT_DONE, NULL, &unused, &err);
	if (p.json.len && !p.json.failed) {
		keep_failure(d, &p);
		buf_putc(&p.json, '\n');
		if (strlen(d->task->name) <= SPOOL_NAME_MAX && !p.json.failed &&
		    spool_write_receipt(d->in->spool, d->task->name,
					ts_str(p.json.data, p.json.len), &err) < 0)
			rc = -1;
	}
	if (rc < 0 && d->task->tries == 1)
		log_error("ingest", "receipt not written", d->text, &err);
	worker_stamp(d->w, false);
	pending_done(&p);
}
