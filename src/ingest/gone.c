/* gone.c: drops that went away before they were taken: what they left of receipts goes as well
 *
 * A drop that was never claimed has no receipt. One that failed has a receipt which is not final;
 * nothing would ever end it, so it goes with the drop.
 */
#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/log.h"
#include "tracespool/util.h"

bool name_in_active(const struct ingest *in, const char *name)
{
	struct ts_error ignored = TS_ERROR_INIT;
	char **names = NULL;
	bool found = false;

	if (spool_list_active(in->spool, &names, &ignored) < 0)
		return true;
	for (char **n = names; *n; n++) {
		found = found || strcmp(*n, name) == 0;
		free(*n);
	}
	free(names);
	return found;
}

/* What cannot be told is taken as there. */
static bool is_gone(const struct ingest *in, const char *name)
{
	struct stat st;

	return fstatat(spool_fd(in->spool), name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	       errno == ENOENT && !name_in_active(in, name);
}

/* The receipt in state failed, in the catalog and as a file. */
static void remove_failed(struct ingest *in, const char *name, uint64_t no)
{
	struct ts_error err = TS_ERROR_INIT;
	char text[NAME_TEXT];

	text_name(ts_str_c(name), text, sizeof(text));
	log_line(LOG_L_NOTICE, "ingest", "went away before it was taken name=\"%s\"", text);
	if ((no && catalog_forget_failed(in->store, no, &err) < 0) ||
	    (strlen(name) <= SPOOL_NAME_MAX && spool_remove_receipt(in->spool, name, &err) < 0))
		log_error("ingest", "receipt not removed", text, &err);
}

void forget_gone(struct drop *d)
{
	struct task *task = d->task;

	if (task->tries == 0 || task->committed || !is_gone(d->in, task->name))
		return;
	remove_failed(d->in, task->name, task->failed_no);
	free(TAKE(task->failed_json));
	task->failed_no = 0;
	task->tries = 0;
}

struct task_result look_for_drop(struct drop *d)
{
	struct task_result result = {.verdict = TASK_OVER};
	uint64_t queued, busy;

	if (!is_gone(d->in, d->task->name)) {
		result = (struct task_result){.verdict = TASK_LATER, .wants_offer = true};
		/* Nothing was tried, so a pause goes on. */
		if (d->task->probe)
			tasks_counts(&d->in->tasks, &queued, &busy, &result.pause);
		return result;
	}
	forget_gone(d);
	return result;
}

int forget_gone_failures(struct ingest *in, struct ts_error *err)
{
	CLEAN(db_releasep) struct db *db = NULL;
	struct receipt_record r = {0};
	uint64_t after = 0;
	int rc;

	if (store_catalog_db(in->store, 0, &db, err) < 0)
		return -1;
	while ((rc = catalog_next_failed(db, after, &r, err)) > 0) {
		CLEAN(free_ptr) char *name = strndup(r.name.p, r.name.n);

		after = r.no;
		receipt_record_done(&r);
		if (!name)
			return ts_error_nomem(err);
		if (is_gone(in, name))
			remove_failed(in, name, after);
	}
	return rc;
}
