/* captures.c: to which recording a segment belongs, and what is read of recordings */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "tracespool/capture.h"
#include "tracespool/util.h"
#include "tracespool/writer.h"

/* ---- assignment, within the transaction of a commit ---- */

/* One number of a statement with up to two bound texts or numbers; 0 if there is no row. */
static int ask_u64(struct query *q, uint64_t *ret, struct ts_error *err)
{
	int n = query_step(q, err);

	if (n < 0)
		return -1;
	*ret = n ? query_u64(q, 0) : 0;
	query_reset(q);
	return 0;
}

static int last_generation(struct db *db, struct ts_str prefix, uint64_t *ret, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "segment_last_generation", &q, err) < 0)
		return -1;
	query_bind_str(q, 1, prefix);
	return ask_u64(q, ret, err);
}

/* The newest of the recordings 1 to last that never had the number; 0: all had it. */
static int newest_without(struct db *db, struct ts_str prefix, uint64_t number, uint64_t last,
			  uint64_t *ret, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n = 0;

	if (query_open(db, "segment_generations", &q, err) < 0)
		return -1;
	query_bind_str(q, 1, prefix);
	query_bind_u64(q, 2, number);
	/* Both go down from the last; the first one left out is the answer. */
	while (last && (n = query_step(q, err)) > 0 && query_u64(q, 0) == last)
		last--;
	if (n < 0)
		return -1;
	*ret = last;
	return 0;
}

static int find_name(struct db *db, struct ts_str prefix, uint64_t generation, struct buf *out,
		     struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "segment_generation_name", &q, err) < 0)
		return -1;
	query_bind_str(q, 1, prefix);
	query_bind_u64(q, 2, generation);
	int n = query_step(q, err);

	if (n <= 0)
		return n < 0 ? -1
			     : ts_error_set(err, TS_E_STORE_DAMAGED, "a recording has no name");
	struct ts_str name = query_str(q, 0);

	buf_add(out, name.p, name.n);
	return out->failed ? ts_error_nomem(err) : 0;
}

/* PREFIX or PREFIX~N; a prefix may look like the name of another one's recording. */
static int make_name(struct db *db, struct ts_str prefix, uint64_t generation, struct buf *out,
		     struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	uint64_t taken = 1;

	if (query_open(db, "segment_name_taken", &q, err) < 0)
		return -1;
	for (uint64_t n = generation; taken; n++) {
		buf_clear(out);
		buf_add(out, prefix.p, prefix.n);
		if (n > 1)
			buf_printf(out, "~%" PRIu64, n);
		if (out->failed)
			return ts_error_nomem(err);
		query_bind_str(q, 1, ts_str(out->data, out->len));
		if (ask_u64(q, &taken, err) < 0)
			return -1;
	}
	return 0;
}

/* The place that a removed run of the same bytes had. *ret_no 0: there is none. */
static int find_old_place(struct db *db, const struct run_record *run, uint64_t *ret_no,
			  struct buf *out, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	*ret_no = 0;
	if (query_open(db, "segment_again", &q, err) < 0)
		return -1;
	query_bind_str(q, 1, ts_str_c(run->digest));
	query_bind_str(q, 2, run->capture);
	query_bind_u64(q, 3, run->segment.v);
	int n = query_step(q, err);

	if (n <= 0)
		return n;
	struct ts_str name = query_str(q, 1);

	*ret_no = query_u64(q, 0);
	buf_add(out, name.p, name.n);
	return out->failed ? ts_error_nomem(err) : 0;
}

int capture_assign(struct db *db, const struct run_record *run, struct segment_place *ret,
		   struct ts_error *err)
{
	struct ts_str prefix = run->capture;
	uint64_t last;

	if (find_old_place(db, run, &ret->no, &ret->name, err) < 0)
		return -1;
	if (ret->no)
		return 0;
	if (last_generation(db, prefix, &last, err) < 0 ||
	    newest_without(db, prefix, run->segment.v, last, &ret->generation, err) < 0)
		return -1;
	if (ret->generation)
		return find_name(db, prefix, ret->generation, &ret->name, err);
	ret->generation = last + 1;
	return make_name(db, prefix, ret->generation, &ret->name, err);
}

static void bind_last_end(struct query *q, int i, const struct run_record *run)
{
	if (run->last_end_ms.has)
		query_bind_u64(q, i, run->last_end_ms.v);
	else
		query_bind_null(q, i);
}

int capture_insert(struct db *db, const struct run_record *run, const struct segment_place *place,
		   uint64_t run_no, struct ts_error *err)
{
	struct query *q;

	if (query_open(db, place->no ? "segment_return" : "segment_insert", &q, err) < 0)
		return -1;
	if (place->no) {
		query_bind_u64(q, 1, place->no);
		query_bind_u64(q, 2, run_no);
		bind_last_end(q, 3, run);
	} else {
		query_bind_str(q, 1, ts_str(place->name.data, place->name.len));
		query_bind_str(q, 2, run->capture);
		query_bind_u64(q, 3, place->generation);
		query_bind_u64(q, 4, run->segment.v);
		query_bind_str(q, 5, ts_str_c(run->digest));
		bind_last_end(q, 6, run);
		query_bind_u64(q, 7, run_no);
	}
	return query_run(q, err);
}

int capture_rename_summary(struct ts_str summary, struct ts_str from, struct ts_str to,
			   struct buf *out, struct ts_error *err)
{
	struct buf member CLEAN(buf_done) = BUF_INIT;
	const char *at = NULL;

	buf_puts(&member, ",\"capture\":");
	json_quote(&member, from);
	buf_puts(&member, ",\"segment\":");
	if (member.failed)
		return ts_error_nomem(err);
	/* Within a string each quote has a backslash in front, so this is the member itself. */
	if (summary.p)
		at = memmem(summary.p, summary.n, member.data, member.len);
	if (!at)
		return ts_error_set(err, TS_E_INTERNAL, "the summary of a segment has no capture");
	buf_add(out, summary.p, (size_t)(at - summary.p));
	buf_puts(out, ",\"capture\":");
	json_quote(out, to);
	at += member.len - strlen(",\"segment\":");
	buf_add(out, at, summary.n - (size_t)(at - summary.p));
	return out->failed ? ts_error_nomem(err) : 0;
}

/* ---- reading ---- */

void capture_done(struct capture *c)
{
	free(c->segments);
	if (c->owned) {
		arena_done(c->owned);
		free(c->owned);
	}
	*c = (struct capture){0};
}

static struct ts_str keep(struct capture *c, struct query *q, int i)
{
	struct ts_str s = query_str(q, i);

	if (s.p)
		s.p = arena_dup(c->owned, s.p, s.n);
	return s;
}

static void read_segment(struct capture *c, struct query *q, struct capture_segment *ret)
{
	struct ts_str digest = query_str(q, 3);

	*ret = (struct capture_segment){
		.number = query_u64(q, 0),
		.run_no = query_u64(q, 1),
		.id = keep(c, q, 2),
		.revision = (unsigned)query_u64(q, 4),
		.run_bytes = query_u64(q, 5),
		.requests = query_u64(q, 6),
		.tools = query_u64(q, 7),
		.mode = keep(c, q, 8),
		.trace_block_size = query_opt_u64(q, 9),
		.ingested_ms = query_i64(q, 10),
	};
	if (digest.n == DIGEST_TEXT)
		memcpy(ret->digest, digest.p, DIGEST_TEXT);
	if (ret->run_no > c->newest_no)
		c->newest_no = ret->run_no;
}

static int read_segments(struct db *db, struct capture *c, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	size_t cap = 0;
	int n;

	if (query_open(db, "capture_segments", &q, err) < 0)
		return -1;
	query_bind_str(q, 1, c->name);
	while ((n = query_step(q, err)) > 0) {
		if (c->count == cap) {
			cap = cap ? 2 * cap : 8;
			struct capture_segment *bigger =
				reallocarray(c->segments, cap, sizeof(*bigger));

			if (!bigger)
				return ts_error_nomem(err);
			c->segments = bigger;
		}
		read_segment(c, q, &c->segments[c->count++]);
	}
	return n;
}

/* What all answers about these segments depend on. */
static int make_digest(struct capture *c, struct ts_error *err)
{
	struct digest *d CLEAN(digest_freep) = digest_new();
	char text[64];

	if (!d)
		return ts_error_nomem(err);
	digest_add(d, c->name.p, c->name.n);
	for (size_t i = 0; i < c->count; i++) {
		const struct capture_segment *s = &c->segments[i];
		int n = snprintf(text, sizeof(text), "\n%" PRIu64 " %u ", s->number, s->revision);

		digest_add(d, text, (size_t)n);
		digest_add(d, s->digest, strlen(s->digest));
		digest_add(d, s->id.p, s->id.n);
	}
	digest_finish(d, c->digest);
	return 0;
}

int catalog_capture(struct db *db, struct ts_str name, struct capture *ret, struct ts_error *err)
{
	struct capture c = {.owned = calloc(1, sizeof(struct arena))};
	int result = c.owned ? 0 : ts_error_nomem(err);

	if (result == 0) {
		c.name = ts_str(arena_dup(c.owned, name.p, name.n), name.n);
		result = read_segments(db, &c, err);
	}
	if (result == 0 && c.owned->failed)
		result = ts_error_nomem(err);
	if (result == 0 && c.count)
		result = make_digest(&c, err);
	if (result == 0 && c.count) {
		*ret = c;
		return 1;
	}
	capture_done(&c);
	return result;
}
