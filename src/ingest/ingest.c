/* ingest.c: one drop from claim to receipt, and what each fate of an error makes of it */
#include "room.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "tracespool/log.h"
#include "tracespool/util.h"

#define WAIT_MAX_MS (5 * 60000) /* between two tries of a drop that cannot be read */
#define RETRY_MAX_MS 30000      /* where the store or the disk is in the way */
/* Below it a drop is quick to read (a gzip file counts eightfold). */
#define SMALL_BYTES ((uint64_t)256 << 10)

void ingest_changed(const struct ingest *in)
{
	if (in->options.changed)
		in->options.changed(in->options.arg);
}

struct opt_u64 drop_size(const struct drop *d)
{
	const struct claim *c = &d->claim;

	if (c->folder)
		return (struct opt_u64){d->load.file_bytes, d->load.digest[0] != 0};
	return (struct opt_u64){c->st.st_size > 0 ? (uint64_t)c->st.st_size : 0,
				S_ISREG(c->st.st_mode)};
}

int64_t claim_mtime_ns(const struct claim *c)
{
	int64_t ns;

	/* Times that do not fit are only compared with themselves. */
	if (__builtin_mul_overflow((int64_t)c->st.st_mtim.tv_sec, 1000000000, &ns))
		return c->st.st_mtim.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return (int64_t)((uint64_t)ns + (uint64_t)c->st.st_mtim.tv_nsec);
}

static void stamp_tick(void *arg, uint64_t done)
{
	(void)done;
	worker_stamp(arg, false);
}

struct load_watch drop_watch(struct drop *d)
{
	return (struct load_watch){.stop = &d->in->stop, .tick = stamp_tick, .arg = d->w};
}

/* ---- free space ---- */

static bool below(const struct statvfs *v, uint64_t floor)
{
	return u64_mul_sat(v->f_bavail, v->f_frsize) < floor;
}

/* What cannot be asked is taken as fine: the write itself will tell. */
static bool below_floor(const struct ingest *in)
{
	uint64_t floor = CONF_LIVE(in->conf->store.min_free_bytes);
	struct statvfs v;

	if (floor == 0)
		return false;
	return (statvfs(store_path(in->store), &v) == 0 && below(&v, floor)) ||
	       (fstatvfs(spool_fd(in->spool), &v) == 0 && below(&v, floor));
}

/* ---- failures ---- */

/* Puts the drop back where the watcher sees it, as a file made in place. */
static void give_back(struct drop *d, bool adopted)
{
	struct ts_error err = TS_ERROR_INIT;
	struct watcher *w = atomic_load(&d->in->watcher);
	bool back = false;

	tasks_forget_offers(&d->in->tasks, d->task);
	if (w)
		watcher_demote(w, d->task->name);
	if (!adopted) /* the claim put it back itself, if it could */
		back = !name_in_active(d->in, d->task->name);
	else if (spool_unclaim(d->in->spool, &d->claim, &back, &err) < 0)
		log_error("ingest", "not put back", d->text, &err);
	d->task->claimed = !back;
}

/* The code that intake pauses for, or NULL: the drop alone has to wait. An internal error that is
 * not the store's may come from the drop, and the next one is not delayed by that. */
static const char *pause_of(const struct ts_error *err)
{
	enum ts_fate fate = err->code->fate;

	if (fate == TS_FATE_STOP ||
	    (fate == TS_FATE_RETRY && (!ts_error_is(err, TS_E_INTERNAL) || err->sql)))
		return err->code->code;
	return NULL;
}

static struct task_result fail_drop(struct drop *d, const struct ts_error *err, bool adopted)
{
	struct task_result result = {.verdict = TASK_LATER, .pause = pause_of(err)};

	d->task->tries++;
	result.delay_ms =
		tasks_backoff_ms(d->task->tries, result.pause ? RETRY_MAX_MS : WAIT_MAX_MS);
	give_back(d, adopted);
	result.wants_offer = ts_error_is(err, TS_E_CHANGED_WHILE_READING) && !d->task->claimed;
	if (d->task->tries == 1)
		log_error("ingest", "failed", d->text, err);
	report_failure(d, err, time_now_ms() + result.delay_ms);
	if (err->code->fate == TS_FATE_STOP && d->in->options.fatal)
		d->in->options.fatal(d->in->options.arg, err);
	return result;
}

/* ---- the way of a drop ---- */

/* A drop kept in place that was offered once more before the watcher could know it. */
static bool kept_already(const struct drop *d)
{
	struct ingest *in = d->in;
	struct stat st;

	return !d->task->claimed && CONF_LIVE(in->conf->spool.after) == AFTER_KEEP &&
	       fstatat(spool_fd(in->spool), d->task->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ingest_is_known(in, d->task->name, &st);
}

/* 1: in .active/, open; 0: gone, or nothing to do; -1: err. */
static int take_drop(struct drop *d, struct ts_error *err)
{
	struct ingest *in = d->in;
	struct task *task = d->task;
	int rc;

	if (kept_already(d))
		return 0;
	rc = task->claimed
		     ? spool_adopt(in->spool, task->name, in->conf->limits.shards, &d->claim, err)
		     : spool_claim(in->spool, task->name, in->conf->limits.shards, &d->claim, err);
	if (rc != 0 && task->seen_ms)
		d->claim.seen_ms = task->seen_ms;
	return rc;
}

/* The receipt file of an earlier drop of the name goes; a try of the same drop keeps its own. */
static void remove_old_receipt(struct drop *d)
{
	struct ts_error err = TS_ERROR_INIT;

	if (d->task->tries == 0 && strlen(d->task->name) <= SPOOL_NAME_MAX &&
	    spool_remove_receipt(d->in->spool, d->task->name, &err) < 0)
		log_error("ingest", "old receipt not removed", d->text, &err);
}

struct task_result drop_settled(const struct drop *d)
{
	struct task_result later = {.verdict = TASK_LATER};

	if (d->settled)
		return (struct task_result){.verdict = TASK_OVER};
	d->task->claimed = d->task->found = d->task->committed = true;
	free(TAKE(d->task->failed_json));
	d->task->tries++;
	later.delay_ms = tasks_backoff_ms(d->task->tries, WAIT_MAX_MS);
	return later;
}

struct task_result drop_judge(struct drop *d, bool adopted, const struct ts_error *reason)
{
	struct ts_error err = TS_ERROR_INIT;

	/* The room is being closed: the drop stays in .active/ for the next start. */
	if (ts_error_is(reason, TS_E_SHUTDOWN))
		return (struct task_result){.verdict = TASK_OVER};
	if (reason->code->fate != TS_FATE_REFUSE)
		return fail_drop(d, reason, adopted);
	if (refuse_drop(d, reason, &err) < 0)
		return fail_drop(d, &err, true);
	return drop_settled(d);
}

/* Small enough to wait for others, and for others to wait for. */
static bool is_small(const struct drop *d)
{
	uint64_t size = drop_size(d).v;

	if (input_name_is_gzip(d->task->name))
		size = u64_mul_sat(size, 8);
	return !d->claim.folder && size < SMALL_BYTES;
}

/* From .active/ into the group. False: it ends here, with *ret. */
static bool join(struct drop *d, struct commit *c, struct task_result *ret)
{
	struct load_watch watch = drop_watch(d);
	struct ts_error err = TS_ERROR_INIT;
	bool small = is_small(d);

	if (!small)
		group_finish(d->w);
	if (load_run(&d->load, d->in->store, &d->claim, d->in->conf,
		     CONF_LIVE(d->in->conf->ingest.salvage) == SWITCH_ON, &watch, &err) < 0) {
		*ret = drop_judge(d, true, &err);
		return false;
	}
	if (commit_prepare(c, d, &err) < 0) {
		commit_done(c);
		*ret = drop_judge(d, true, &err);
		return false;
	}
	/* What was read is the run file's now; others follow. */
	runfile_free(TAKE(d->load.rf));
	close_fd(&d->claim.fd);
	d->claim.fd = -1;
	group_join(d->w->group);
	if (!small || d->task->probe)
		group_finish(d->w);
	return true;
}

/* False: it ends here, with *ret. */
static bool work(struct drop *d, struct commit *c, struct task_result *ret)
{
	struct ts_error err = TS_ERROR_INIT;
	struct ts_error failure = TS_ERROR_INIT;
	bool adopted;
	int rc;

	*ret = (struct task_result){.verdict = TASK_OVER};
	rc = take_drop(d, &err);
	if (rc == 0) {
		forget_gone(d);
		return false;
	}
	adopted = rc > 0 || err.code->fate == TS_FATE_REFUSE;
	if (d->task->found && adopted) {
		int known = recover_drop(d, rc < 0 ? &err : NULL, &failure);

		if (known) {
			*ret = known < 0 ? drop_judge(d, true, &failure) : drop_settled(d);
			return false;
		}
	}
	if (adopted) {
		remove_old_receipt(d);
		ingest_changed(d->in);
	}
	if (rc > 0)
		return join(d, c, ret);
	*ret = drop_judge(d, adopted, &err);
	return false;
}

void ingest_drop(struct worker *w, struct task *task)
{
	struct task_result result = {.verdict = TASK_OVER};
	struct commit *c;
	struct drop *d;

	group_place(w->group, &d, &c);
	*d = (struct drop){.in = w->in, .w = w, .task = task, .begun_ms = time_mono_ms()};
	d->claim.fd = -1;
	text_name(ts_str_c(task->name), d->text, sizeof(d->text));
	if (below_floor(w->in))
		result = (struct task_result){
			.verdict = TASK_FIRST,
			.pause = ts_code_get(TS_E_DISK_FLOOR)->code,
		};
	else if (task->look_only)
		result = look_for_drop(d);
	else if (work(d, c, &result))
		return;
	load_done(&d->load);
	claim_done(&d->claim);
	drop_over(w, task, &result);
}
