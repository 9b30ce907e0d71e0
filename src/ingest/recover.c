/* recover.c: drops found in .active/: is the receipt there already, so that only the rest is due?
 */
#include "room.h"

#include <string.h>

#include "tracespool/log.h"
#include "tracespool/util.h"

/* The very file of the receipt, as far as its inode tells; the digest is compared as well. */
static bool same_file(const struct drop *d, const struct receipt_record *r)
{
	const struct stat *st = &d->claim.st;

	return r->ino == (uint64_t)st->st_ino && r->size == (uint64_t)st->st_size &&
	       r->mtime_ns == claim_mtime_ns(&d->claim);
}

/* 1: what the receipt is about is what lies there; 0: it is not; -1: err. */
static int same_drop(struct drop *d, const struct receipt_record *r, const struct ts_error *reason,
		     struct ts_error *err)
{
	struct load_watch watch = drop_watch(d);
	struct ts_error unreadable = TS_ERROR_INIT;
	char digest[DIGEST_TEXT + 1];

	if (r->final_ms == 0 || !same_file(d, r))
		return 0;
	/* What cannot be adopted has no digest: then the reason must be the same. */
	if (reason)
		return !r->digest && ts_str_is(r->code, reason->code->code);
	if (!r->digest)
		return 0;
	if (load_digest(&d->claim, d->in->conf, &watch, digest, &unreadable) < 0) {
		if (unreadable.code->fate == TS_FATE_REFUSE)
			return 0;
		*err = unreadable;
		return -1;
	}
	return strcmp(digest, r->digest) == 0;
}

int recover_drop(struct drop *d, const struct ts_error *reason, struct ts_error *err)
{
	CLEAN(db_releasep) struct db *db = NULL;
	struct receipt_record r = {0};
	int rc;

	if (store_catalog_db(d->in->store, 0, &db, err) < 0)
		return -1;
	rc = catalog_receipt_by_name(db, ts_str_c(d->task->name), 0, &r, err);
	db_release(TAKE(db));
	if (rc <= 0)
		return rc;
	rc = same_drop(d, &r, reason, err);
	if (rc > 0)
		settle_drop(d, &r);
	receipt_record_done(&r);
	return rc;
}
