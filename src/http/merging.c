/* merging.c: merges the segments of a capture, computes its figures, finds what breaks it
 */
#include "merging.h"

#include <inttypes.h>
#include <string.h>

#include "tracespool/analyze.h"
#include "tracespool/json.h"

#include "server.h"

void merged_done(struct merged *m)
{
	merge_free(m->file);
	buf_done(&m->summary);
	buf_done(&m->places);
	*m = (struct merged){0};
}

/* ---- what is broken, and where ---- */

struct place {
	const struct capture_segment *segment;
	uint64_t line;
};

static void write_place(struct json_writer *w, const struct place *p)
{
	jw_open_object(w);
	jw_kv_str(w, "run", p->segment->id);
	jw_kv_u64(w, "segment", p->segment->number);
	jw_kv_u64(w, "line", p->line);
	jw_close_object(w);
}

static int set_broken(struct merged *m, enum ts_code_id code, const char *what,
		      const struct place p[static 2], struct ts_error *err)
{
	struct json_writer w;
	char id[2][256];

	for (unsigned i = 0; i < 2; i++)
		text_name(p[i].segment->id, id[i], sizeof(id[i]));
	ts_error_set(&m->error, code,
		     "%.160s: line %" PRIu64 " of segment %" PRIu64 " (%.120s), line %" PRIu64
		     " of segment %" PRIu64 " (%.120s)",
		     what, p[0].line, p[0].segment->number, id[0], p[1].line, p[1].segment->number,
		     id[1]);
	jw_init(&w, &m->places, JSON_NUMBERS_DEFAULT);
	jw_open_array(&w);
	write_place(&w, &p[0]);
	write_place(&w, &p[1]);
	jw_close_array(&w);
	return m->places.failed ? ts_error_nomem(err) : 0;
}

/* 1: one id twice; 0: none; -1: err. */
static int find_clash(struct merge *file, const struct capture *c, struct merged *m,
		      struct ts_error *err)
{
	struct merge_clash clash = {0};
	char what[200];
	int found = merge_check(file, &clash, err);

	if (found <= 0)
		return found;
	const struct place p[2] = {
		{&c->segments[clash.shard[0]], clash.line[0]},
		{&c->segments[clash.shard[1]], clash.line[1]},
	};

	snprintf(what, sizeof(what), "request_id \"%.120s\" occurs twice", clash.request_id);
	m->clash = true;
	return set_broken(m, TS_E_DUPLICATE_REQUEST_ID, what, p, err) < 0 ? -1 : 1;
}

static int read_first_line(struct request *rq, const struct capture_segment *s, uint64_t *ret,
			   struct ts_error *err)
{
	CLEAN(db_releasep) struct db *db = NULL;
	CLEAN(query_closep) struct query *q = NULL;

	if (store_run_db(rq->http->store, s->digest, s->revision, request_deadline_ms(rq), &db,
			 err) < 0 ||
	    query_open(db, "merge_first_line", &q, err) < 0 || query_step(q, err) < 0)
		return -1;
	*ret = query_u64(q, 0);
	return 0;
}

static bool same_mode(const struct capture_segment *a, const struct capture_segment *b)
{
	return ts_str_eq(a->mode, b->mode);
}

static bool same_size(const struct capture_segment *a, const struct capture_segment *b)
{
	return a->trace_block_size.v == b->trace_block_size.v;
}

/* The first segment that differs from the first one; its index, 0: none does. */
static size_t find_other(const struct capture *c, bool (*same)(const struct capture_segment *a,
							       const struct capture_segment *b))
{
	for (size_t i = 1; i < c->count; i++)
		if (!same(&c->segments[0], &c->segments[i]))
			return i;
	return 0;
}

/* What no segment breaks alone: then all requests of a segment are alike, and its first one stands
 * for them. */
static int find_breach(struct request *rq, struct merged *m, struct ts_error *err)
{
	const struct capture *c = &rq->capture;
	enum ts_code_id code = TS_E_MIXED_AGENT_CONTEXT;
	const char *what = "some requests have an agent context and some have none";
	bool mixed = false, sizes = true;
	char text[160];
	size_t other;

	for (size_t i = 0; i < c->count; i++) {
		mixed = mixed || ts_str_is(c->segments[i].mode, "mixed");
		sizes = sizes && c->segments[i].trace_block_size.has;
	}
	other = mixed ? 0 : find_other(c, same_mode);
	if (!other && sizes) {
		other = find_other(c, same_size);
		code = TS_E_MIXED_BLOCK_SIZE;
		snprintf(text, sizeof(text), "requests have block sizes %" PRIu64 " and %" PRIu64,
			 c->segments[0].trace_block_size.v, c->segments[other].trace_block_size.v);
		what = text;
	}
	if (!other)
		return 0;
	struct place p[2] = {{.segment = &c->segments[0]}, {.segment = &c->segments[other]}};

	if (read_first_line(rq, p[0].segment, &p[0].line, err) < 0 ||
	    read_first_line(rq, p[1].segment, &p[1].line, err) < 0)
		return -1;
	return set_broken(m, code, what, p, err);
}

/* ---- counters that only the summaries of the segments have ---- */

struct totals {
	struct trace_counts counts;
	bool incomplete; /* a segment says that it is not all that was recorded */
};

static void read_counter(struct json *j, uint64_t *sum)
{
	struct json_value v;

	if (json_value(j, &v) == JSON_U64)
		*sum = u64_add_sat(*sum, v.u64);
}

static void read_lines(struct json *j, struct trace_counts *c)
{
	struct json_value v;
	struct ts_str key;

	if (json_value(j, &v) != JSON_OBJECT)
		return;
	for (bool first = true; json_key(j, first, &key); first = false) {
		const struct {
			const char *name;
			uint64_t *sum;
		} counters[] = {
			{"total", &c->lines},
			{"blank", &c->blank},
			{"non_record", &c->non_record},
			{"request_payload", &c->request_payload},
			{"request_end", &c->request_end},
			{"tool_start", &c->tool_start},
			{"tool_terminal", &c->tool_terminal},
			{"tool_dropped", &c->tool_dropped},
		};
		size_t i = 0;

		while (i < ARRAY_LEN(counters) && !ts_str_is(key, counters[i].name))
			i++;
		if (i < ARRAY_LEN(counters))
			read_counter(j, counters[i].sum);
		else
			json_skip(j);
	}
}

static void read_health(struct json *j, bool *incomplete)
{
	struct json_value v;
	struct ts_str key;

	if (json_value(j, &v) != JSON_OBJECT)
		return;
	for (bool first = true; json_key(j, first, &key); first = false)
		if (json_skip(j) == JSON_FALSE && ts_str_is(key, "capture_complete"))
			*incomplete = true;
}

static int add_summary(const struct buf *summary, struct totals *t, struct ts_error *err)
{
	CLEAN(arena_done) struct arena scratch = {.limit = 0};
	struct json_value v;
	struct ts_str key;
	struct json j;

	json_begin(&j, summary->data, summary->len, &scratch);
	if (json_value(&j, &v) == JSON_OBJECT) {
		for (bool first = true; json_key(&j, first, &key); first = false) {
			if (ts_str_is(key, "lines"))
				read_lines(&j, &t->counts);
			else if (ts_str_is(key, "tools"))
				read_counter(&j, &t->counts.tools);
			else if (ts_str_is(key, "health"))
				read_health(&j, &t->incomplete);
			else
				json_skip(&j);
		}
	}
	if (json_end(&j) < 0)
		return ts_error_set(err, TS_E_STORE_DAMAGED, "the summary of a segment is no JSON");
	return 0;
}

static int read_totals(struct request *rq, struct totals *t, struct ts_error *err)
{
	CLEAN(db_releasep) struct db *db = NULL;
	CLEAN(buf_done) struct buf summary = BUF_INIT;
	const struct capture *c = &rq->capture;
	bool gzip;

	if (request_catalog(rq, &db, err) < 0)
		return -1;
	t->counts.shards = c->count;
	for (size_t i = 0; i < c->count; i++) {
		buf_clear(&summary);
		db_set_deadline(db, request_deadline_ms(rq));
		if (catalog_summary(db, c->segments[i].run_no, false, &summary, &gzip, err) < 0 ||
		    add_summary(&summary, t, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- all of it ---- */

/* Completeness is not known of a run; of a segment that lacks something it is. */
static void mark_incomplete(struct buf *summary)
{
	static const char unknown[] = ",\"capture_complete\":null", no[] = ",\"capture_complete\":";
	char *at = summary->failed
			   ? NULL
			   : memmem(summary->data, summary->len, unknown, sizeof(unknown) - 1);

	if (!at)
		return;
	size_t before = (size_t)(at - summary->data) + sizeof(no) - 1;
	struct buf changed = BUF_INIT;

	buf_add(&changed, summary->data, before);
	buf_puts(&changed, "false");
	buf_add(&changed, summary->data + before + 4, summary->len - before - 4);
	buf_done(summary);
	*summary = changed;
}

static int analyze(struct merge *file, const struct capture *c, const struct totals *t,
		   struct buf *out, struct ts_error *err)
{
	CLEAN(arena_done) struct arena keep = {.limit = 0};
	struct run_record record = {
		.id = c->name,
		.kind = RUN_REQUESTS,
		.capture = c->name,
		.structurally_valid = -1,
	};

	if (merge_begin(file, err) < 0 ||
	    analyze_requests(merge_db(file), &t->counts, &record, &keep, out, err) < 0)
		return -1;
	if (t->incomplete)
		mark_incomplete(out);
	return out->failed ? ts_error_nomem(err) : 0;
}

/* A copy of the rows must not bring the disk to where intake pauses. */
static int check_room(struct request *rq, uint64_t *ret_bytes, struct ts_error *err)
{
	const struct capture *c = &rq->capture;
	struct store_sizes sizes;
	uint64_t bytes = 0;

	for (size_t i = 0; i < c->count; i++)
		bytes = u64_add_sat(bytes, c->segments[i].run_bytes);
	if (store_sizes(rq->http->store, &sizes, err) < 0)
		return -1;
	if (u64_add_sat(bytes, CONF_LIVE(rq->http->conf->store.min_free_bytes)) > sizes.free_bytes)
		return ts_error_set(err, TS_E_NOT_READY,
				    "no room for a copy of the %" PRIu64
				    " bytes that the segments have",
				    bytes);
	*ret_bytes = bytes;
	return 0;
}

static int merge_all(struct request *rq, struct merged *m, struct ts_error *err)
{
	CLEAN(merge_freep) struct merge *file = NULL;
	const struct capture *c = &rq->capture;
	struct totals totals = {0};
	uint64_t bytes = 0;
	int clash;

	if (check_room(rq, &bytes, err) < 0 || read_totals(rq, &totals, err) < 0 ||
	    merge_open(rq->http->store, bytes, &rq->http->cut, &file, err) < 0)
		return -1;
	for (size_t i = 0; i < c->count; i++)
		if (merge_add(file, c->segments[i].digest, c->segments[i].revision, err) < 0)
			return -1;
	clash = find_clash(file, c, m, err);
	if (clash != 0)
		return clash < 0 ? -1 : 0;
	if (find_breach(rq, m, err) < 0 || analyze(file, c, &totals, &m->summary, err) < 0 ||
	    merge_finish(file, err) < 0)
		return -1;
	m->file = TAKE(file);
	return 0;
}

int merged_make(struct request *rq, struct merged *ret, struct ts_error *err)
{
	struct merged m = {.error = TS_ERROR_INIT};

	buf_init(&m.summary, SIZE_MAX);
	buf_init(&m.places, SIZE_MAX);
	if (merge_all(rq, &m, err) < 0) {
		merged_done(&m);
		if (atomic_load(&rq->http->cut) && ts_error_is(err, TS_E_STORE_BUSY)) {
			ts_error_init(err);
			ts_error_set(err, TS_E_SHUTDOWN, "the service is stopping");
		}
		return -1;
	}
	*ret = m;
	return 0;
}
