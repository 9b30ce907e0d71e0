/* health.c: the health report of an execution run: its steps in order, and how an issue is kept */
#include "health.h"
#include "salvage.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tracespool/util.h"

struct shown health_shown(struct ts_str s)
{
	struct shown r;
	const size_t room = sizeof(r.text) - 4;
	size_t n = s.n <= room ? s.n : text_utf8_prefix(s.p, room);

	for (size_t i = 0; i < n; i++)
		r.text[i] = (unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f ? '?' : s.p[i];
	strcpy(r.text + n, n < s.n ? "..." : "");
	return r;
}

/* Adds the issue to those that summary and receipt show, as far as number and size go. */
static void show_issue(struct health *h, const char *severity, const char *code,
		       struct ts_str message)
{
	struct json_writer *w = &h->shown_writer;
	size_t before = h->shown.len;
	bool comma = w->comma;

	if (h->report.cut && !h->always)
		return;
	jw_open_object(w);
	jw_kv_text(w, "severity", severity);
	jw_kv_text(w, "code", code);
	jw_kv_str(w, "message", message);
	jw_close_object(w);
	if (h->shown.failed || h->always ||
	    (h->report.issue_count < HEALTH_ISSUES_SHOWN && h->shown.len < HEALTH_ISSUES_BYTES))
		return;
	h->shown.len = before;
	h->shown.data[before] = 0;
	w->comma = comma;
	h->report.cut = true;
}

int health_issue(struct health *h, enum health_weight weight, const char *code,
		 struct ts_error *err, const char *fmt, ...)
{
	bool error = weight == HEALTH_ERROR || (weight == HEALTH_SOFT && !h->failed);
	const char *severity = error ? "error" : "warning";
	char text[HEALTH_REASON_MAX + 512];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	CHECK(n >= 0 && (size_t)n < sizeof(text));
	struct ts_str message = ts_str(text, (size_t)n);

	query_bind_str(h->insert, 1, ts_str_c(severity));
	query_bind_str(h->insert, 2, ts_str_c(code));
	query_bind_str(h->insert, 3, message);
	int result = query_step(h->insert, err);

	query_reset(h->insert);
	if (result < 0)
		return -1;
	show_issue(h, severity, code, message);
	h->report.issue_count++;
	h->errors += error;
	return h->shown.failed ? ts_error_nomem(err) : 0;
}

unsigned health_gradient_state(struct ts_str word)
{
	static const char *const words[GRADIENT_STATES] = {"present", "missing", "zero",
							   "non_finite"};
	unsigned i = 0;

	while (i < GRADIENT_STATES && !ts_str_is(word, words[i]))
		i++;
	return i;
}

int health_labels_open(struct health_labels *l, struct ts_str array, struct ts_error *err)
{
	struct json_value v;

	buf_clear(&l->text);
	buf_add(&l->text, array.p, array.n);
	if (l->text.failed)
		return ts_error_nomem(err);
	l->first = true;
	json_begin(&l->json, l->text.data, l->text.len, &l->scratch);
	return json_value(&l->json, &v) == JSON_ARRAY
		       ? 0
		       : ts_error_set(err, TS_E_INTERNAL, "a list of texts is none");
}

bool health_labels_next(struct health_labels *l, struct ts_str *ret)
{
	struct json_value v;

	arena_reset(&l->scratch);
	if (!json_element(&l->json, l->first))
		return false;
	l->first = false;
	if (json_value(&l->json, &v) != JSON_STRING)
		return false;
	*ret = v.str;
	return true;
}

void health_labels_done(struct health_labels *l)
{
	arena_done(&l->scratch);
	buf_done(&l->text);
}

static int capture_failed(struct health *h, struct ts_error *err)
{
	struct ts_str reason = h->reason;
	char text[HEALTH_REASON_MAX + 1];

	if (!ts_str_is(h->outcome, "failed"))
		return 0;
	if (reason.n > HEALTH_REASON_MAX)
		reason.n = text_utf8_prefix(reason.p, HEALTH_REASON_MAX);
	for (size_t i = 0; i < reason.n; i++)
		text[i] = reason.p[i] ? reason.p[i] : '?';
	text[reason.n] = 0;
	return health_issue(h, HEALTH_WARNING, "capture_failed", err, "%s", text);
}

/* The last one, and shown however many there are: it is the mark of the run. */
static int salvaged_issue(struct health *h, struct ts_error *err)
{
	if (!h->salvaged.p)
		return 0;
	h->always = true;
	return health_issue(h, HEALTH_WARNING, SALVAGE_CODE, err, "%.*s", (int)h->salvaged.n,
			    h->salvaged.p);
}

static int write_report(struct health *h, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct buf coverage CLEAN(buf_done) = BUF_INIT;
	struct json_writer w;

	h->report.structurally_valid = h->errors == 0;
	h->report.capture_complete = !h->salvaged.p && ts_str_is(h->outcome, "complete");
	jw_close_array(&h->shown_writer);
	jw_init(&w, &coverage, JSON_NUMBERS_DEFAULT);
	health_put_coverage(&w, &h->report.coverage);
	if (h->shown.failed || coverage.failed)
		return ts_error_nomem(err);
	h->report.shown = ts_str(h->shown.data, h->shown.len);
	if (query_open(h->db, "health_report_insert", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, h->report.structurally_valid);
	query_bind_u64(q, 2, h->report.capture_complete);
	query_bind_str(q, 3, ts_str(coverage.data, coverage.len));
	return query_step(q, err);
}

int health_run(struct health *h, struct db *db, const struct execution_figures *f,
	       struct ts_str salvaged, const struct trace_counts *counts, size_t kept_bytes,
	       struct ts_error *err)
{
	*h = (struct health){.db = db,
			     .kept_bytes = kept_bytes,
			     .seen = counts->seen,
			     .salvaged = salvaged,
			     .shown = BUF_INIT};
	jw_init(&h->shown_writer, &h->shown, JSON_NUMBERS_DEFAULT);
	jw_open_array(&h->shown_writer);
	if (query_open(db, "health_issue_insert", &h->insert, err) < 0 ||
	    health_read_meta(h, err) < 0 || run_named(h->db, "health_span_index", err) < 0 ||
	    health_provenance(h, err) < 0 || capture_failed(h, err) < 0 ||
	    health_spans(h, err) < 0 || health_records(h, f, err) < 0 || health_edges(h, err) < 0 ||
	    health_memory(h, f, err) < 0 || health_gradients(h, err) < 0 ||
	    health_gradient_contract(h, err) < 0 || health_evidence(h, err) < 0 ||
	    health_semantic_labels(h, err) < 0 || health_large_numbers(h, f, err) < 0 ||
	    salvaged_issue(h, err) < 0)
		return -1;
	return write_report(h, err);
}

void health_done(struct health *h)
{
	query_close(TAKE(h->insert));
	buf_done(&h->shown);
	arena_done(&h->keep);
	field_space_done(&h->contract_space);
	field_space_done(&h->identity_space);
}

/* ---- as JSON ---- */

void health_put_coverage(struct json_writer *w, const struct health_coverage *c)
{
	jw_open_object(w);
	jw_kv_u64(w, "spans", c->spans);
	jw_kv_u64(w, "closed_spans", c->closed_spans);
	jw_kv_u64(w, "root_spans", c->root_spans);
	jw_kv_u64(w, "measured_spans", c->measured_spans);
	jw_kv_u64(w, "operations", c->operations);
	jw_kv_u64(w, "tensors", c->tensors);
	jw_kv_u64(w, "memory_events", c->memory_events);
	jw_kv_u64(w, "device_memory_samples", c->device_memory_samples);
	jw_kv_u64(w, "device_intervals", c->device_intervals);
	jw_kv_u64(w, "gradients", c->gradients);
	jw_kv_u64(w, "call_edges", c->call_edges);
	jw_kv_u64(w, "data_edges", c->data_edges);
	jw_kv_u64(w, "forward_spans", c->forward_spans);
	jw_kv_u64(w, "backward_spans", c->backward_spans);
	jw_kv_u64(w, "optimizer_spans", c->optimizer_spans);
	jw_close_object(w);
}

void health_put_figures(struct json_writer *w, const struct health_report *r)
{
	jw_kv_u64(w, "tensor_count", r->coverage.tensors);
	jw_kv_u64(w, "tensor_stats_count", r->tensor_stats_count);
	jw_kv_u64(w, "non_finite_count", r->non_finite_count);
	jw_key(w, "gradients");
	jw_open_object(w);
	jw_kv_u64(w, "present", r->gradient_states[GRADIENT_PRESENT]);
	jw_kv_u64(w, "missing", r->gradient_states[GRADIENT_MISSING]);
	jw_kv_u64(w, "zero", r->gradient_states[GRADIENT_ZERO]);
	jw_kv_u64(w, "non_finite", r->gradient_states[GRADIENT_NON_FINITE]);
	jw_close_object(w);
}

void health_put(struct json_writer *w, const struct health_report *r)
{
	jw_key(w, "health");
	jw_open_object(w);
	jw_kv_bool(w, "structurally_valid", r->structurally_valid);
	jw_kv_bool(w, "capture_complete", r->capture_complete);
	jw_key(w, "issues");
	jw_raw(w, r->shown);
	jw_key(w, "coverage");
	health_put_coverage(w, &r->coverage);
	jw_close_object(w);
}
