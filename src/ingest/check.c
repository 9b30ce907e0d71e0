/* check.c: the verdict on a file or folder that stays where it is (http-api.md 6.5) */
#include "room.h"

#include <string.h>

#include "tracespool/analyze.h"
#include "tracespool/util.h"

struct check {
	const struct check_options *options;
	struct claim claim;
	struct load load;
	struct run_record run;
	struct arena keep;
	struct buf summary;
	uint64_t size;
};

static void show_progress(void *arg, uint64_t done)
{
	struct check *c = arg;

	if (c->options->progress)
		c->options->progress(c->options->arg, done, c->size);
}

static int analyze(struct check *c, struct ts_error *err)
{
	struct load *l = &c->load;

	c->run = (struct run_record){
		.id = l->run_id,
		.kind = l->kind,
		.revision = STORE_RUN_REVISION,
		.name = ts_str_c(c->claim.name),
		.structurally_valid = -1,
	};
	memcpy(c->run.digest, l->digest, sizeof(c->run.digest));
	if (salvage_describe(l, &c->keep, &c->run.salvaged, err) < 0)
		return -1;
	if (runfile_flush(l->rf, err) < 0)
		return -1;
	l->counts.seen = runfile_seen(l->rf);
	if (l->kind == RUN_EXECUTION)
		return analyze_execution(runfile_db(l->rf), &l->counts, ANALYZE_KEPT_BYTES, &c->run,
					 &c->keep, &c->summary, err);
	return analyze_requests(runfile_db(l->rf), &l->counts, &c->run, &c->keep, &c->summary, err);
}

static int judge(struct check *c, const char *path, struct ts_error *err)
{
	struct load_watch watch = {.tick = show_progress, .arg = c};
	const struct conf *conf = c->options->conf;
	enum spool_name kind;

	if (spool_inspect(path, conf->limits.shards, &c->claim, err) < 0)
		return -1;
	kind = spool_classify_name(c->claim.name);
	if (c->claim.folder ? kind == NAME_UNFINISHED : kind != NAME_DROP_FILE)
		return ts_error_set(err, TS_E_BAD_NAME, "a drop of this name is not looked at");
	c->size = c->claim.st.st_size > 0 && !c->claim.folder ? (uint64_t)c->claim.st.st_size : 0;
	if (load_run(&c->load, NULL, &c->claim, conf, c->options->salvage, &watch, err) < 0)
		return -1;
	return analyze(c, err);
}

static void write_verdict(const struct check *c, const char *path, const struct ts_error *reason,
			  struct buf *out)
{
	const struct load *l = &c->load;
	char name[NAME_TEXT];
	struct json_writer w;

	text_name(ts_str_c(c->claim.name ? c->claim.name : path), name, sizeof(name));
	jw_init(&w, out, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	jw_kv_text(&w, "schema", "tracespool/check/1");
	jw_kv_text(&w, "name", name);
	jw_kv_bool(&w, "accepted", !reason->code);
	jw_kv_bool(&w, "salvaged", !reason->code && l->damage.code);
	jw_kv_text(&w, "kind", l->known ? run_kind_name(l->kind) : NULL);
	jw_kv_str(&w, "run_id", l->run_id);
	jw_kv_text(&w, "digest", l->digest[0] ? l->digest : NULL);
	jw_key(&w, "reason");
	if (reason->code)
		jw_reason(&w, reason);
	else
		jw_null(&w);
	jw_key(&w, "warnings");
	jw_raw(&w, !reason->code && c->run.issues.p ? c->run.issues : TS_STR("[]"));
	jw_kv_text(&w, "would_be", reason->code ? "quarantined" : "ingested");
	jw_key(&w, "counts");
	if (!reason->code)
		write_counts(&w, l->kind, &l->counts);
	else
		jw_null(&w);
	jw_close_object(&w);
}

int ingest_check(const char *path, const struct check_options *options, struct buf *out,
		 struct ts_error *ret_reason, struct ts_error *err)
{
	struct check c = {.options = options, .claim.fd = -1, .summary = BUF_INIT};
	struct ts_error reason = TS_ERROR_INIT;
	int rc = judge(&c, path, &reason) < 0 ? 0 : 1;

	if (rc == 0 && reason.code->fate != TS_FATE_REFUSE) {
		*err = reason;
		rc = -1;
	} else {
		write_verdict(&c, path, &reason, out);
		*ret_reason = reason;
		if (out->failed)
			rc = ts_error_nomem(err);
	}
	load_done(&c.load);
	claim_done(&c.claim);
	arena_done(&c.keep);
	buf_done(&c.summary);
	return rc;
}
