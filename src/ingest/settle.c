/* settle.c: what follows a committed receipt: report, receipt file, move of the source */
#include "room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/log.h"
#include "tracespool/util.h"

struct settling {
	struct drop *d;
	const struct receipt_record *was;
	struct source_fate fate;
	char *path; /* owned; fate.path */
};

static enum source_action action_of(const struct receipt_record *r)
{
	if (ts_str_is(r->state, "quarantined"))
		return SOURCE_QUARANTINED;
	if (r->kept)
		return SOURCE_KEPT;
	return r->source_path.p ? SOURCE_ARCHIVED : SOURCE_DELETED;
}

static int set_path(struct settling *s, char *path)
{
	free(s->path);
	s->path = path;
	s->fate.path = path;
	return path ? 0 : -1;
}

/* Report and receipt file, both with a final newline. */
static int write_files(const struct settling *s, struct ts_str json, struct ts_error *err)
{
	struct spool *sp = s->d->in->spool;
	const char *name = s->d->task->name;
	struct buf text = BUF_INIT;
	int rc = 0;

	buf_add(&text, json.p, json.n);
	buf_putc(&text, '\n');
	if (text.failed)
		rc = ts_error_nomem(err);
	if (rc == 0 && s->fate.action == SOURCE_QUARANTINED)
		rc = spool_write_report(sp, s->path, ts_str(text.data, text.len), err);
	/* The receipt of a name that is too long has no file (http-api.md 6.1). */
	if (rc == 0 && strlen(name) <= SPOOL_NAME_MAX)
		rc = spool_write_receipt(sp, name, ts_str(text.data, text.len), err);
	buf_done(&text);
	return rc;
}

/* The receipt with the present fate, in the catalog and as files. */
static int rewrite(const struct settling *s, struct ts_error *err)
{
	struct receipt_record r = *s->was;
	struct buf json = BUF_INIT;
	int rc;

	receipt_doc_change_source(s->was->json, &s->fate, &json);
	if (json.failed) {
		rc = ts_error_nomem(err);
	} else {
		r.json = ts_str(json.data, json.len);
		r.source_path = ts_str_c(s->path);
		r.kept = s->fate.action == SOURCE_KEPT;
		rc = catalog_update_receipt(s->d->in->store, &r, err);
		if (rc == 0)
			rc = write_files(s, r.json, err);
	}
	buf_done(&json);
	return rc;
}

/* Something else has the place that was free: the receipt must name the new one before the move, or
 * a crash behind it would be taken for a drop that is not finished. */
static int choose_again(struct settling *s, struct ts_error *err)
{
	struct ingest *in = s->d->in;
	const char *name = s->d->task->name;
	char *path = NULL;
	int rc;

	if (s->fate.action == SOURCE_QUARANTINED) {
		rc = spool_quarantine_path(in->spool, name, s->was->no, &path, err);
	} else {
		s->fate.action = SOURCE_ARCHIVED;
		rc = spool_archive_path(in->spool, name, time_now_ms(), &path, err);
	}
	if (rc < 0)
		return -1;
	set_path(s, path);
	return rewrite(s, err);
}

static int move_once(const struct settling *s, struct ts_error *err)
{
	struct ingest *in = s->d->in;
	bool back;

	switch (s->fate.action) {
	case SOURCE_DELETED:
		return spool_delete(in->spool, s->d->task->name, err);
	case SOURCE_KEPT:
		if (spool_unclaim(in->spool, &s->d->claim, &back, err) < 0)
			return -1;
		if (back)
			return 0;
		return ts_error_sys(err, TS_E_IO, EEXIST, "its name is taken again");
	case SOURCE_NONE:
	case SOURCE_ARCHIVED:
	case SOURCE_QUARANTINED:
		break;
	}
	return spool_move(in->spool, s->d->task->name, s->path, err);
}

static int move_source(struct settling *s, struct ts_error *err)
{
	int rc = move_once(s, err);

	if (rc < 0 && err->sys == EEXIST && s->fate.action != SOURCE_DELETED) {
		ts_error_init(err);
		rc = choose_again(s, err);
		if (rc == 0)
			rc = move_once(s, err);
	}
	return rc;
}

/* The receipt says that the move failed, until it works (http-api.md 6.1). */
static void note_failed_move(struct settling *s, bool noted_before, const struct ts_error *why)
{
	struct ts_error err = TS_ERROR_INIT;

	if (noted_before)
		return;
	log_error("ingest", "source not moved", s->d->text, why);
	s->fate.failed = why->sys ? why->sys : EIO;
	if (rewrite(s, &err) < 0)
		log_error("ingest", "receipt not written", s->d->text, &err);
}

/* Does the receipt say already that a move failed? */
static bool says_failed(const struct settling *s)
{
	struct buf want = BUF_INIT;
	bool failed;

	failed = receipt_doc_change_source(s->was->json, &s->fate, &want) && !want.failed &&
		 !ts_str_eq(s->was->json, ts_str(want.data, want.len));
	buf_done(&want);
	return failed;
}

void settle_drop(struct drop *d, const struct receipt_record *r)
{
	struct settling s = {.d = d, .was = r, .fate.action = action_of(r)};
	struct ts_error err = TS_ERROR_INIT;
	bool failed_before;
	int rc = 0;

	d->settled = false;
	if (r->source_path.p && set_path(&s, strndup(r->source_path.p, r->source_path.n)) < 0)
		return;
	failed_before = says_failed(&s);
	worker_stamp(d->w, true);
	if (!failed_before)
		rc = write_files(&s, r->json, &err);
	if (rc < 0) {
		log_error("ingest", "receipt not written", d->text, &err);
	} else if (move_source(&s, &err) < 0) {
		note_failed_move(&s, failed_before, &err);
	} else {
		d->settled = true;
		if (failed_before) {
			log_line(LOG_L_INFO, "ingest", "source moved name=\"%s\"", d->text);
			if (rewrite(&s, &err) < 0)
				log_error("ingest", "receipt not written", d->text, &err);
		}
	}
	worker_stamp(d->w, false);
	free(s.path);
}

/* The usual: into the archive, in a few steps for all. What does not go so is left to
 * settle_drop, which may always be done again. */
void settle_drops(struct drop *const *drops, const struct receipt_record *const *receipts, size_t n)
{
	struct spool_settling all[SPOOL_AT_ONCE];
	struct buf texts[SPOOL_AT_ONCE];
	size_t of[SPOOL_AT_ONCE], count = 0;

	for (size_t i = 0; i < n; i++) {
		const struct receipt_record *r = receipts[i];
		struct buf *text = &texts[count];

		drops[i]->settled = false;
		if (action_of(r) != SOURCE_ARCHIVED)
			continue;
		*text = (struct buf)BUF_INIT;
		buf_add(text, r->json.p, r->json.n);
		buf_putc(text, '\n');
		if (text->failed) {
			buf_done(text);
			continue;
		}
		all[count] = (struct spool_settling){
			.name = drops[i]->task->name,
			.receipt = ts_str(text->data, text->len),
			.path = r->source_path.p,
		};
		of[count++] = i;
	}
	if (count) {
		spool_write_receipts(drops[0]->in->spool, all, count);
		spool_move_all(drops[0]->in->spool, all, count);
	}
	for (size_t k = 0; k < count; k++) {
		drops[of[k]]->settled = all[k].done;
		buf_done(&texts[k]);
	}
	for (size_t i = 0; i < n; i++)
		if (!drops[i]->settled)
			settle_drop(drops[i], receipts[i]);
}
