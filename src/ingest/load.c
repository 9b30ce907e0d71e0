/* load.c: bytes to rows: shards, lines, format, sink, facts and digest of a drop */
#include "load.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracespool/digest.h"
#include "tracespool/format.h"
#include "tracespool/text.h"
#include "tracespool/util.h"

#define TICK_LINES 256
#define DRAIN_BLOCK ((size_t)256 << 10)

/* Stands between the format and the run file: the run id passes here and nowhere else. */
struct tap {
	struct sink sink; /* first, so that a sink is its tap */
	struct sink *inner;
	struct loading *g;
};

struct loading {
	struct load *l;
	struct store *st;
	struct input_limits limits;
	const struct load_watch *watch;
	bool salvage;
	const struct ts_format *format;
	struct format_state *state;
	struct tap tap;
	uint64_t blank_in_front; /* lines before the format was known */
	bool content;            /* some line was not blank */
	const struct line *line; /* being read */
	uint64_t meta_line, meta_byte;
};

const char *load_shard_name(const struct claim *claim, size_t n)
{
	return claim->folder ? claim->shards[n] : claim->name;
}

static size_t shard_total(const struct claim *claim)
{
	return claim->folder ? claim->shard_count : 1;
}

static int tap_row(struct sink *sink, enum row_kind kind, const void *row, struct ts_error *err)
{
	struct tap *tap = (struct tap *)sink;
	struct loading *g = tap->g;

	if (kind == ROW_META && !g->l->run_id.p) {
		const struct row_meta *meta = row;
		char *copy = arena_dup(&g->l->keep, meta->run_id.p, meta->run_id.n);

		if (!copy)
			return ts_error_nomem(err);
		g->l->run_id = ts_str(copy, meta->run_id.n);
		if (g->line) {
			g->meta_line = g->line->number;
			g->meta_byte = g->line->byte;
		}
	}
	return tap->inner->row(tap->inner, kind, row, err);
}

static int tick(const struct loading *g, uint64_t done, struct ts_error *err)
{
	const struct load_watch *w = g->watch;

	if (w->tick)
		w->tick(w->arg, g->l->file_bytes + done);
	if (w->stop && atomic_load_explicit(w->stop, memory_order_relaxed))
		return ts_error_set(err, TS_E_SHUTDOWN, "reading was interrupted");
	return 0;
}

/* What the rows may take, roughly: decides the page size of the run file. */
static uint64_t size_hint(const struct claim *claim)
{
	uint64_t size = 0;

	for (size_t i = 0; i < shard_total(claim); i++) {
		CLEAN(close_fd) int fd = -1;
		struct ts_error ignored = TS_ERROR_INIT;
		struct stat st;
		uint64_t bytes;

		if (spool_open_shard(claim, i, &fd, &ignored) < 0 || fstat(fd, &st) < 0)
			continue;
		bytes = st.st_size > 0 ? (uint64_t)st.st_size : 0;
		if (input_name_is_gzip(load_shard_name(claim, i)))
			bytes = u64_mul_sat(bytes, 8);
		size = u64_add_sat(size, bytes);
	}
	return size;
}

static int begin_format(struct loading *g, const struct ts_format *format, struct ts_error *err)
{
	struct load *l = g->l;

	if (runfile_create(g->st, format->kind, size_hint(l->claim), &l->rf, err) < 0 ||
	    format->begin(&g->state, &l->counts, err) < 0)
		return -1;
	runfile_stop_on(l->rf, g->watch->stop);
	g->format = format;
	g->tap = (struct tap){.sink.row = tap_row, .inner = runfile_sink(l->rf), .g = g};
	l->known = true;
	l->kind = format->kind;
	for (uint64_t n = 1; n <= g->blank_in_front; n++) {
		struct line blank = {.text = "", .number = n, .blank = true};

		if (format->record(g->state, &blank, &g->tap.sink, err) < 0)
			return -1;
	}
	return 0;
}

static int take_line(struct loading *g, const struct line *line, struct ts_error *err)
{
	g->content = g->content || !line->blank;
	if (!g->format) {
		const struct ts_format *format;

		if (line->blank) {
			g->blank_in_front++;
			return 0;
		}
		if (format_pick(line, &format, err) < 0 || begin_format(g, format, err) < 0)
			return -1;
	}
	g->line = line;
	return g->format->record(g->state, line, &g->tap.sink, err);
}

static void name_shard(const struct claim *claim, size_t shard, struct ts_error *err)
{
	if (claim->folder && !err->file[0])
		text_name(ts_str_c(claim->shards[shard]), err->file, sizeof(err->file));
}

/* 0: what was read so far is taken, reason is noted as the damage and empty; else -1. */
static int take_damage(struct loading *g, size_t shard, struct lines *lines,
		       struct ts_error *reason)
{
	if (!g->salvage || !g->format || shard + 1 != shard_total(g->l->claim) ||
	    !salvage_accepts(reason, lines_at_end(lines)))
		return -1;
	name_shard(g->l->claim, shard, reason);
	g->l->damage = *reason;
	ts_error_init(reason);
	g->line = NULL;
	return 0;
}

static int parse_shard(struct loading *g, struct input *in, size_t shard, uint64_t *ret_lines,
		       struct ts_error *err)
{
	CLEAN(lines_closep) struct lines *lines = NULL;
	struct line line;
	int rc;

	if (lines_open(in, &g->limits, &lines, err) < 0)
		return -1;
	while ((rc = lines_next(lines, &line, err)) > 0) {
		const atomic_bool *stop = g->watch->stop;

		line.shard = (uint32_t)shard;
		if (take_line(g, &line, err) < 0) {
			/* A torn line was not taken, and is counted nowhere. */
			if (take_damage(g, shard, lines, err) == 0) {
				g->l->counts.lines--;
				return 0;
			}
			*ret_lines = line.number;
			return -1;
		}
		*ret_lines = line.number;
		if ((line.number % TICK_LINES == 0 ||
		     (stop && atomic_load_explicit(stop, memory_order_relaxed))) &&
		    tick(g, input_consumed(in), err) < 0)
			return -1;
	}
	g->line = NULL;
	return rc < 0 ? take_damage(g, shard, lines, err) : 0;
}

/* Reads what is left, for the digest. A failure to decode is no failure here. */
static int drain(const struct loading *g, struct input *in, struct ts_error *err)
{
	CLEAN(free_ptr) void *block = malloc(DRAIN_BLOCK);
	struct ts_error decode = TS_ERROR_INIT;
	ssize_t n;

	if (!block)
		return ts_error_nomem(err);
	while ((n = input_read(in, block, DRAIN_BLOCK, &decode)) > 0) {
		if (tick(g, input_consumed(in), err) < 0)
			return -1;
	}
	if (n < 0 && decode.code->fate != TS_FATE_REFUSE) {
		*err = decode;
		return -1;
	}
	return 0;
}

/* Reads one shard to its end. reason: why the drop is refused, if it is; nothing is parsed any
 * more then. *ret_read says whether l->shards has grown by it. */
static int read_shard(struct loading *g, size_t shard, bool parse, struct ts_error *reason,
		      bool *ret_read, struct ts_error *err)
{
	CLEAN(close_fd) int fd = -1;
	CLEAN(input_closep) struct input *in = NULL;
	struct load *l = g->l;
	struct load_shard *s = &l->shards[l->shard_count];
	struct stat st;

	*ret_read = false;
	if (spool_open_shard(l->claim, shard, &fd, err) < 0) {
		name_shard(l->claim, shard, err);
		if (err->code->fate != TS_FATE_REFUSE)
			return -1;
		if (!reason->code)
			*reason = *err;
		ts_error_init(err);
		return 0;
	}
	if (fstat(fd, &st) == 0)
		s->mtime_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
	if (input_open(fd, input_name_is_gzip(load_shard_name(l->claim, shard)), &g->limits, &in,
		       err) < 0)
		return -1;
	if (parse && !reason->code && parse_shard(g, in, shard, &s->lines, reason) < 0) {
		name_shard(l->claim, shard, reason);
		if (reason->code->fate != TS_FATE_REFUSE) {
			*err = *reason;
			return -1;
		}
	}
	if (drain(g, in, err) < 0 || input_finish(in, &s->facts, err) < 0) {
		name_shard(l->claim, shard, err);
		return -1;
	}
	l->file_bytes += s->facts.file_bytes;
	l->shard_count++;
	*ret_read = true;
	return 0;
}

/* http-api.md, "digest" */
static int make_digest(struct load *l, struct ts_error *err)
{
	CLEAN(digest_freep) struct digest *d = NULL;

	if (l->shard_count == 1) {
		memcpy(l->digest, l->shards[0].facts.digest, sizeof(l->digest));
		return 0;
	}
	d = digest_new();
	if (!d)
		return ts_error_nomem(err);
	for (size_t i = 0; i < l->shard_count; i++) {
		digest_add(d, l->shards[i].facts.digest, DIGEST_TEXT);
		digest_add(d, "\n", 1);
	}
	digest_finish(d, l->digest);
	return 0;
}

static int read_all(struct loading *g, bool parse, struct ts_error *reason, struct ts_error *err)
{
	struct load *l = g->l;
	size_t total = shard_total(l->claim);
	bool all = true;

	l->shards = calloc(total ? total : 1, sizeof(*l->shards));
	if (!l->shards)
		return ts_error_nomem(err);
	for (size_t i = 0; i < total; i++) {
		bool was_read;

		if (read_shard(g, i, parse, reason, &was_read, err) < 0)
			return -1;
		all = all && was_read;
	}
	return all ? make_digest(l, err) : 0;
}

/* The text that the service adds to the formats' rules: it must be able to name the run. */
static int check_run_id(const struct loading *g, struct ts_error *err)
{
	struct ts_str id = g->l->run_id;

	if (id.n > STORE_RUN_ID_MAX)
		ts_error_set(err, TS_E_BAD_RUN_ID, "run id has %zu bytes, at most %d can be served",
			     id.n, STORE_RUN_ID_MAX);
	else if (memchr(id.p, 0, id.n))
		ts_error_set(err, TS_E_BAD_RUN_ID, "run id holds U+0000");
	else if (ts_str_starts(id, "sha256:"))
		ts_error_set(err, TS_E_BAD_RUN_ID, "run id begins with sha256:");
	else
		return 0;
	if (g->meta_line) {
		err->line = g->meta_line;
		err->byte = (int64_t)g->meta_byte;
	}
	return -1;
}

/* STEM-HEX of a request run (http-api.md 2.2). */
static int make_run_id(struct load *l, struct ts_error *err)
{
	struct ts_str stem = ts_str_c(l->claim->name);
	char text[3 * 256 + 1];
	size_t n;
	char *id;

	if (!l->claim->folder) {
		if (ts_str_ends(stem, ".gz"))
			stem.n -= 3;
		if (ts_str_ends(stem, ".jsonl"))
			stem.n -= 6;
	}
	n = text_name(stem, text, sizeof(text));
	id = arena_alloc(&l->keep, n + 14);
	if (!id)
		return ts_error_nomem(err);
	memcpy(id, text, n);
	id[n] = '-';
	memcpy(id + n + 1, l->digest + strlen("sha256:"), 12);
	id[n + 13] = 0;
	l->run_id = ts_str(id, n + 13);
	return 0;
}

static int end_format(struct loading *g, struct ts_error *reason)
{
	struct load *l = g->l;

	if (!g->content)
		return ts_error_set(reason, TS_E_EMPTY_FILE, "%s",
				    l->claim->folder && l->claim->shard_count == 0
					    ? "the folder has no shard"
					    : "there is no line that is not blank");
	l->counts.shards = shard_total(l->claim);
	if (g->salvage && g->format->salvage)
		g->format->salvage(g->state);
	if (g->format->finish(g->state, &g->tap.sink, reason) < 0) {
		if (l->damage.code && salvage_is_void(reason))
			*reason = l->damage;
		return -1;
	}
	if (l->counts.no_terminal && !l->damage.code)
		ts_error_set(&l->damage, TS_E_MISSING_TERMINAL, "the trace has no terminal record");
	l->counts.shards = shard_total(l->claim);
	if (l->kind == RUN_REQUESTS && make_run_id(l, reason) < 0)
		return -1;
	return check_run_id(g, reason);
}

static void loading_init(struct loading *g, struct load *l, struct store *st,
			 const struct claim *claim, const struct conf *conf,
			 const struct load_watch *watch)
{
	*l = (struct load){.claim = claim, .damage = TS_ERROR_INIT};
	*g = (struct loading){
		.l = l,
		.st = st,
		.limits = {conf->limits.line_bytes, conf->limits.expansion_ratio},
		.watch = watch,
	};
}

int load_run(struct load *l, struct store *st, const struct claim *claim, const struct conf *conf,
	     bool salvage, const struct load_watch *watch, struct ts_error *err)
{
	struct ts_error reason = TS_ERROR_INIT;
	struct loading g;
	int rc = 0;

	loading_init(&g, l, st, claim, conf, watch);
	g.salvage = salvage;
	if (claim->folder)
		rc = begin_format(&g, &format_request, err);
	if (rc == 0)
		rc = read_all(&g, true, &reason, err);
	if (rc == 0 && !reason.code)
		end_format(&g, &reason);
	if (g.format)
		g.format->end(g.state);
	if (rc == 0 && !spool_unchanged(claim)) {
		ts_error_init(&reason);
		ts_error_set(&reason, TS_E_CHANGED_WHILE_READING,
			     "size, time or entries changed while the drop was read");
	}
	if (rc == 0 && reason.code) {
		*err = reason;
		rc = -1;
	}
	return rc;
}

void load_done(struct load *l)
{
	runfile_free(TAKE(l->rf));
	free(TAKE(l->shards));
	arena_done(&l->keep);
}

int load_digest(const struct claim *claim, const struct conf *conf, const struct load_watch *watch,
		char out[static DIGEST_TEXT + 1], struct ts_error *err)
{
	struct ts_error reason = TS_ERROR_INIT;
	struct loading g;
	struct load l;
	int rc;

	loading_init(&g, &l, NULL, claim, conf, watch);
	rc = read_all(&g, false, &reason, err);
	if (rc == 0 && reason.code) {
		*err = reason;
		rc = -1;
	}
	if (rc == 0)
		memcpy(out, l.digest, sizeof(l.digest));
	load_done(&l);
	return rc;
}
