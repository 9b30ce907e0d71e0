/* load_paths.c: files that stay where they are, as one request run in a file that vanishes */
#include "room.h"

#include "tracespool/util.h"

struct reading {
	const struct check_options *options;
	struct claim claim;
	struct load load;
	uint64_t size;
};

static void show_progress(void *arg, uint64_t done)
{
	struct reading *r = arg;

	if (r->options->progress)
		r->options->progress(r->options->arg, done, r->size);
}

static int read_paths(struct reading *r, const char *const *paths, size_t n, struct ts_error *err)
{
	struct load_watch watch = {.tick = show_progress, .arg = r};
	const struct conf *conf = r->options->conf;

	if (n > conf->limits.shards)
		return ts_error_set(err, TS_E_TOO_MANY_SHARDS, "more than %llu files",
				    (unsigned long long)conf->limits.shards);
	if (n == 1) {
		if (spool_inspect(paths[0], conf->limits.shards, &r->claim, err) < 0)
			return -1;
	} else if (spool_inspect_list(paths, n, &r->claim, err) < 0) {
		return -1;
	}
	if (!r->claim.folder && r->claim.st.st_size > 0)
		r->size = (uint64_t)r->claim.st.st_size;
	if (load_run(&r->load, NULL, &r->claim, conf, false, &watch, err) < 0)
		return -1;
	if (r->load.kind != RUN_REQUESTS)
		return ts_error_set(err, TS_E_WRONG_KIND, "an execution trace has no requests");
	return runfile_flush(r->load.rf, err);
}

int ingest_load_requests(const char *const *paths, size_t n, const struct check_options *options,
			 struct runfile **ret, struct ts_error *err)
{
	struct reading r = {.options = options, .claim.fd = -1};
	int rc = read_paths(&r, paths, n, err);

	if (rc == 0)
		*ret = TAKE(r.load.rf);
	load_done(&r.load);
	claim_done(&r.claim);
	return rc;
}
