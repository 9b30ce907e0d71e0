/* candle_summary.c: summary and record of an execution run from its meta, terminal and figures */
#include "candle.h"
#include "health.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/json.h"
#include "tracespool/util.h"
#include "tracespool/writer.h"

enum {
	SUMMARY_TOP = 10, /* rows of slowest_spans and slowest_ops, as it is stored */
	TEXT_MAX = 1024,  /* bytes of a text in the summary */
	TAGS_MAX = 200,
	TAGS_BYTES_MAX = 10 * 1024, /* the summary stays below 64 KiB whatever the run */
	ESCAPED_MAX = 1536, /* bytes of a text once it is escaped: control characters take six */
};

struct meta {
	struct ts_str schema, run_id, correlation_id, entrypoint, phase, timestamp, device,
		timing_mode, capture_contract, comparison_identity, tags, candle_version;
	uint64_t capture_step, warmup_steps;
	bool measured_region_device_synchronized;
	struct ts_str outcome, reason;
};

/* A summary being written, with the names of what was cut. */
struct summary {
	struct json_writer w;
	const char *cut[16];
	unsigned cut_count;
};

static struct ts_str keep_str(struct arena *keep, struct query *q, int i)
{
	struct ts_str s = query_str(q, i);

	if (s.p)
		s.p = arena_dup(keep, s.p, s.n);
	return s;
}

/* Only a salvaged run may lack its terminal row: then outcome and reason have no value. */
static int read_meta(struct db *db, bool salvaged, struct meta *m, struct arena *keep,
		     struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL, *t CLEAN(query_closep) = NULL;

	if (query_open(db, "execution_meta", &q, err) < 0 ||
	    query_open(db, "execution_terminal", &t, err) < 0)
		return -1;
	int n = query_step(q, err);

	if (n != 1)
		return n < 0 ? -1 : ts_error_set(err, TS_E_INTERNAL, "no meta row");
	int ended = query_step(t, err);

	if (ended < 0 || (!ended && !salvaged))
		return ended < 0 ? -1 : ts_error_set(err, TS_E_INTERNAL, "no terminal row");
	m->schema = keep_str(keep, q, 0);
	m->run_id = keep_str(keep, q, 1);
	m->correlation_id = keep_str(keep, q, 2);
	m->entrypoint = keep_str(keep, q, 3);
	m->phase = keep_str(keep, q, 4);
	m->timestamp = keep_str(keep, q, 5);
	m->capture_step = query_u64(q, 6);
	m->warmup_steps = query_u64(q, 7);
	m->device = keep_str(keep, q, 8);
	m->measured_region_device_synchronized = query_u64(q, 9) != 0;
	m->timing_mode = keep_str(keep, q, 10);
	m->capture_contract = keep_str(keep, q, 11);
	m->comparison_identity = keep_str(keep, q, 12);
	m->tags = keep_str(keep, q, 13);
	m->candle_version = keep_str(keep, q, 14);
	if (ended) {
		m->outcome = keep_str(keep, t, 0);
		m->reason = keep_str(keep, t, 1);
	}
	return keep->failed ? ts_error_nomem(err) : 0;
}

static void note_cut(struct summary *s, const char *name)
{
	if (s->cut_count && strcmp(s->cut[s->cut_count - 1], name) == 0)
		return;
	CHECK(s->cut_count < ARRAY_LEN(s->cut));
	s->cut[s->cut_count++] = name;
}

/* Bytes of a character in a JSON string. */
static size_t escaped(unsigned char c)
{
	if (c == '"' || c == '\\')
		return 2;
	return c < 0x20 ? 6 : 1;
}

/* A text of at most TEXT_MAX bytes, ESCAPED_MAX in JSON, cut at a character border. */
static struct ts_str cut_text(struct summary *s, const char *name, struct ts_str text)
{
	size_t n = 0, cost = 0;

	while (n < text.n && n < TEXT_MAX) {
		cost += escaped((unsigned char)text.p[n]);
		if (cost > ESCAPED_MAX)
			break;
		n++;
	}
	if (n == text.n)
		return text;
	note_cut(s, name);
	return ts_str(text.p, text_utf8_prefix(text.p, n));
}

static void put_text(struct summary *s, const char *name, struct ts_str text)
{
	jw_kv_str(&s->w, name, cut_text(s, name, text));
}

/* The tags in key order, as far as count and size go. */
static int put_tags(struct summary *s, struct ts_str tags, struct ts_error *err)
{
	struct arena scratch CLEAN(arena_done) = {0};
	struct json j;
	struct json_value v;
	struct ts_str key;
	size_t from;
	unsigned n = 0;

	jw_key(&s->w, "tags");
	jw_open_object(&s->w);
	from = s->w.out->len;
	/* The row's text ends in a 0 (arena_dup), as the reader wants it. */
	json_begin(&j, tags.p ? tags.p : "{}", tags.p ? tags.n : 2, &scratch);
	if (json_value(&j, &v) != JSON_OBJECT)
		return ts_error_set(err, TS_E_INTERNAL, "tags are not an object");
	for (bool first = true; json_key(&j, first, &key); first = false) {
		json_value(&j, &v);
		size_t before = s->w.out->len;
		bool comma = s->w.comma;

		if (n++ == TAGS_MAX) {
			note_cut(s, "tags");
			break;
		}
		jw_key_str(&s->w, cut_text(s, "tags", key));
		jw_str(&s->w, cut_text(s, "tags", v.str));
		if (s->w.out->len - from > TAGS_BYTES_MAX && !s->w.out->failed) {
			/* This one goes beyond the size: without it. */
			s->w.out->len = before;
			s->w.out->data[before] = 0;
			s->w.comma = comma;
			note_cut(s, "tags");
			break;
		}
	}
	if (j.error)
		return ts_error_set(err, TS_E_INTERNAL, "tags: %s", j.error);
	jw_close_object(&s->w);
	return 0;
}

static void put_opt(struct summary *s, const char *name, struct opt_u64 v)
{
	if (v.has)
		jw_kv_u64(&s->w, name, v.v);
	else
		jw_kv_null(&s->w, name);
}

static void put_figures(struct summary *s, const struct execution_figures *f)
{
	jw_kv_u64(&s->w, "total_ns", f->total_ns);
	jw_kv_u64(&s->w, "op_count", f->op_count);
	jw_kv_u64(&s->w, "span_count", f->span_count);
	jw_kv_u64(&s->w, "root_span_count", f->root_span_count);
	jw_kv_u64(&s->w, "max_depth", f->max_depth);
	jw_kv_u64(&s->w, "alloc_count", f->alloc_count);
	jw_kv_u64(&s->w, "free_count", f->free_count);
	put_opt(s, "logical_peak_bytes", f->logical_peak_bytes);
	put_opt(s, "retained_bytes", f->retained_bytes);
	put_opt(s, "device_peak_used_bytes", f->device_peak_used_bytes);
}

static void put_steps(struct summary *s, const struct execution_figures *f)
{
	jw_key(&s->w, "steps");
	jw_open_object(&s->w);
	put_opt(s, "forward_ns", f->step_ns[0]);
	put_opt(s, "backward_ns", f->step_ns[1]);
	put_opt(s, "optimizer_ns", f->step_ns[2]);
	jw_close_object(&s->w);
}

static int put_slowest(struct summary *s, struct db *db, const struct execution_figures *f,
		       struct ts_error *err)
{
	bool cut[2];

	if (analyze_write_slowest(db, f->total_ns, SUMMARY_TOP, &s->w, cut, err) < 0)
		return -1;
	if (cut[0])
		note_cut(s, "slowest_spans");
	if (cut[1])
		note_cut(s, "slowest_ops");
	return 0;
}

static int put_summary(struct db *db, struct buf *out, const struct meta *m,
		       const struct execution_figures *f, const struct health_report *health,
		       const struct run_record *r, struct ts_error *err)
{
	struct summary s = {0};

	jw_init(&s.w, out, JSON_NUMBERS_DEFAULT);
	jw_open_object(&s.w);
	jw_kv_text(&s.w, "schema", "tracespool/run-summary/1");
	put_text(&s, "id", r->id);
	jw_kv_text(&s.w, "kind", "execution");
	put_text(&s, "run_id", m->run_id);
	put_text(&s, "correlation_id", m->correlation_id);
	put_text(&s, "entrypoint", m->entrypoint);
	jw_kv_str(&s.w, "phase", m->phase);
	put_text(&s, "device", m->device);
	jw_kv_str(&s.w, "timing_mode", m->timing_mode);
	jw_kv_u64(&s.w, "capture_step", m->capture_step);
	jw_kv_u64(&s.w, "warmup_steps", m->warmup_steps);
	if (r->has_captured)
		jw_kv_time(&s.w, "captured_at", r->captured_ms);
	else
		jw_kv_null(&s.w, "captured_at");
	jw_kv_str(&s.w, "outcome", m->outcome);
	put_text(&s, "outcome_reason", m->reason);
	put_figures(&s, f);
	health_put_figures(&s.w, health);
	put_steps(&s, f);
	if (put_slowest(&s, db, f, err) < 0)
		return -1;
	health_put(&s.w, health);
	if (health->cut)
		note_cut(&s, "health.issues");
	if (put_tags(&s, m->tags, err) < 0)
		return -1;
	if (s.cut_count) {
		jw_key(&s.w, "truncated");
		jw_open_array(&s.w);
		for (unsigned i = 0; i < s.cut_count; i++)
			jw_text(&s.w, s.cut[i]);
		jw_close_array(&s.w);
	}
	jw_close_object(&s.w);
	buf_putc(out, '\n');
	return out->failed ? ts_error_nomem(err) : 0;
}

/* The members of the format's table, in its order; without value: null. */
static int put_meta(struct buf *out, const struct meta *m, struct ts_error *err)
{
	struct json_writer w;

	jw_init(&w, out, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	jw_kv_str(&w, "schema", m->schema);
	jw_kv_str(&w, "run_id", m->run_id);
	jw_kv_str(&w, "correlation_id", m->correlation_id);
	jw_kv_str(&w, "entrypoint", m->entrypoint);
	jw_kv_str(&w, "phase", m->phase);
	jw_kv_str(&w, "timestamp", m->timestamp);
	jw_kv_u64(&w, "capture_step", m->capture_step);
	jw_kv_u64(&w, "warmup_steps", m->warmup_steps);
	jw_kv_str(&w, "device", m->device);
	jw_kv_bool(&w, "measured_region_device_synchronized",
		   m->measured_region_device_synchronized);
	jw_kv_str(&w, "timing_mode", m->timing_mode);
	jw_key(&w, "capture_contract");
	jw_raw(&w, m->capture_contract);
	jw_key(&w, "comparison_identity");
	if (m->comparison_identity.p)
		jw_raw(&w, m->comparison_identity);
	else
		jw_null(&w);
	jw_key(&w, "tags");
	jw_raw(&w, m->tags);
	jw_kv_str(&w, "candle_version", m->candle_version);
	jw_close_object(&w);
	return out->failed ? ts_error_nomem(err) : 0;
}

int execution_summary(struct db *db, const struct execution_figures *f,
		      const struct health_report *health, struct run_record *record,
		      struct arena *keep, struct buf *out, struct ts_error *err)
{
	struct buf meta_json CLEAN(buf_done) = BUF_INIT;
	struct meta m = {0};
	int64_t captured;

	if (read_meta(db, record->salvaged.p != NULL, &m, keep, err) < 0 ||
	    put_meta(&meta_json, &m, err) < 0)
		return -1;
	char *meta_text = arena_dup(keep, meta_json.data, meta_json.len);

	char *issues = arena_dup(keep, health->shown.p, health->shown.n);

	if (!meta_text || !issues)
		return ts_error_nomem(err);
	if (!record->id.p)
		record->id = m.run_id;
	record->kind = RUN_EXECUTION;
	record->trace_schema = m.schema;
	record->entrypoint = m.entrypoint;
	record->phase = m.phase;
	record->device = m.device;
	record->outcome = m.outcome;
	record->correlation_id = m.correlation_id;
	record->tags = m.tags;
	record->meta = ts_str(meta_text, meta_json.len);
	record->structurally_valid = health->structurally_valid;
	record->issues = ts_str(issues, health->shown.n);
	record->has_captured = text_parse_time(m.timestamp, &captured);
	record->captured_ms = record->has_captured ? captured : 0;
	record->total_ns = (struct opt_u64){.v = f->total_ns, .has = true};
	record->span_count = (struct opt_u64){.v = f->span_count, .has = true};
	record->op_count = (struct opt_u64){.v = f->op_count, .has = true};
	record->logical_peak_bytes = f->logical_peak_bytes;
	return put_summary(db, out, &m, f, health, record, err);
}
