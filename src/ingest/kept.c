/* kept.c: the kept source of a run, line by line */
#include "room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracespool/digest.h"
#include "tracespool/json.h"
#include "tracespool/util.h"

struct kept {
	struct claim claim;
	struct input_limits limits;
	char want[DIGEST_TEXT + 1];
	struct digest *digests; /* over the shards' digests; NULL: there is one shard */
	size_t next;            /* shard to be opened */
	bool salvaged;          /* behind the lines that were taken there is damage */
	uint64_t lines_left;    /* if so: that are to be given, blank ones too */
	int fd;
	struct input *in;
	struct lines *lines;
};

static int not_kept(struct ts_error *err, const char *why)
{
	return ts_error_set(err, TS_E_SOURCE_NOT_KEPT, "%s", why);
}

/* Opens what stands at the path, below the spool folder or absolute. 1; 0: there is nothing. */
static int inspect(struct kept *k, const struct conf *conf, struct spool *sp, struct ts_str path,
		   struct ts_error *err)
{
	CLEAN(buf_done) struct buf full = BUF_INIT;

	if (!path.p || !path.n || memchr(path.p, 0, path.n))
		return 0;
	if (path.p[0] != '/') {
		buf_puts(&full, spool_path(sp));
		buf_putc(&full, '/');
	}
	buf_add(&full, path.p, path.n);
	if (full.failed)
		return ts_error_nomem(err);
	claim_done(&k->claim);
	if (access(full.data, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	return spool_inspect(full.data, conf->limits.shards, &k->claim, err) < 0 ? -1 : 1;
}

/* How far the source was taken. */
static void find_end(struct kept *k, const char *text, size_t len, struct arena *scratch)
{
	struct json_value value;

	k->salvaged = json_find(text, len, "salvaged", &value, scratch) == JSON_TRUE;
	if (json_find(text, len, "line_count", &value, scratch) == JSON_U64)
		k->lines_left = value.u64;
}

/* The receipt has the path as bytes and knows where the source went in the end; the run has it as
 * text. */
static int find(struct kept *k, const struct conf *conf, struct spool *sp, struct db *catalog,
		const struct run_record *run, struct ts_error *err)
{
	struct receipt_record receipt = {0};
	struct arena scratch = {0};
	struct json_value value;
	char *text;
	int found = catalog_receipt_by_digest(catalog, run->digest, 0, &receipt, err);

	if (found > 0) {
		found = inspect(k, conf, sp, receipt.source_path, err);
		receipt_record_done(&receipt);
	}
	text = arena_dup(&scratch, run->source.p ? run->source.p : "", run->source.n);
	if (!text && found >= 0)
		found = ts_error_nomem(err);
	if (found == 0 && json_find(text, run->source.n, "path", &value, &scratch) == JSON_STRING)
		found = inspect(k, conf, sp, value.str, err);
	if (found > 0)
		find_end(k, text, run->source.n, &scratch);
	arena_done(&scratch);
	if (found == 0)
		return not_kept(err, "the source of the run is not there any more");
	return found < 0 ? -1 : 0;
}

static void close_shard(struct kept *k)
{
	lines_close(TAKE(k->lines));
	input_close(TAKE(k->in));
	close_fd(&k->fd);
	k->fd = -1;
}

static size_t shard_total(const struct kept *k)
{
	return k->claim.folder ? k->claim.shard_count : 1;
}

static int open_shard(struct kept *k, struct ts_error *err)
{
	const char *name = load_shard_name(&k->claim, k->next);

	if (spool_open_shard(&k->claim, k->next++, &k->fd, err) < 0 ||
	    input_open(k->fd, input_name_is_gzip(name), &k->limits, &k->in, err) < 0)
		return -1;
	return lines_open(k->in, &k->limits, &k->lines, err);
}

/* The digest of the shard, and behind the last one that of all. */
static int end_shard(struct kept *k, struct ts_error *err)
{
	struct input_facts facts;
	char digest[DIGEST_TEXT + 1];

	if (input_finish(k->in, &facts, err) < 0)
		return -1;
	close_shard(k);
	memcpy(digest, facts.digest, sizeof(digest));
	if (k->digests) {
		digest_add(k->digests, digest, DIGEST_TEXT);
		digest_add(k->digests, "\n", 1);
	}
	if (k->next < shard_total(k))
		return 0;
	if (k->digests)
		digest_finish(k->digests, digest);
	if (memcmp(digest, k->want, DIGEST_TEXT) != 0)
		return not_kept(err, "what stands in the place of the source is not the source");
	return 0;
}

int kept_open(const struct conf *conf, struct spool *sp, struct db *catalog,
	      const struct run_record *run, struct kept **ret, struct ts_error *err)
{
	struct kept *k = calloc(1, sizeof(*k));

	if (!k)
		return ts_error_nomem(err);
	k->fd = -1;
	k->claim.fd = -1;
	k->limits = (struct input_limits){conf->limits.line_bytes, conf->limits.expansion_ratio};
	memcpy(k->want, run->digest, sizeof(k->want));
	if (find(k, conf, sp, catalog, run, err) < 0)
		goto fail;
	if (shard_total(k) != 1) {
		k->digests = digest_new();
		if (!k->digests) {
			ts_error_nomem(err);
			goto fail;
		}
	}
	*ret = k;
	return 0;
fail:
	kept_close(k);
	return -1;
}

void kept_close(struct kept *k)
{
	if (!k)
		return;
	close_shard(k);
	digest_freep(&k->digests);
	claim_done(&k->claim);
	free(k);
}

int kept_next(struct kept *k, struct ts_str *ret, struct ts_error *err)
{
	struct line line;
	int more;

	for (;;) {
		if (!k->lines) {
			if (k->next >= shard_total(k))
				return 0;
			if (open_shard(k, err) < 0)
				return -1;
		}
		more = k->salvaged && k->lines_left == 0 ? 0 : lines_next(k->lines, &line, err);
		if (more < 0)
			return -1;
		k->lines_left -= more > 0 && k->salvaged;
		if (more == 0) {
			if (end_shard(k, err) < 0)
				return -1;
		} else if (!line.blank) {
			*ret = ts_str(line.text, line.len);
			return 1;
		}
	}
}
