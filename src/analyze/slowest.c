/* slowest.c: slowest_spans and slowest_ops of a summary (http-api.md 3.3) */
#include "candle.h"

#include "tracespool/util.h"

enum {
	TEXT_MAX = 1024,       /* bytes of a text in a summary */
	SPANS_MAX = 10 * 1024, /* bytes of each array: a summary stays small whatever the names */
	OPS_MAX = 5 * 1024,
};

static void put_text(struct json_writer *w, const char *name, struct ts_str text, bool *cut)
{
	if (text.n > TEXT_MAX) {
		text.n = text_utf8_prefix(text.p, TEXT_MAX);
		*cut = true;
	}
	jw_kv_str(w, name, text);
}

static void put_opt(struct json_writer *w, const char *name, struct query *q, int i)
{
	if (query_is_null(q, i))
		jw_kv_null(w, name);
	else
		jw_kv_u64(w, name, query_u64(q, i));
}

static void put_share(struct json_writer *w, uint64_t ns, uint64_t total_ns)
{
	if (total_ns)
		jw_kv_double(w, "share_ratio", (double)ns / (double)total_ns);
	else
		jw_kv_null(w, "share_ratio");
}

static void put_span(struct json_writer *w, struct query *q, uint64_t total_ns, bool *cut)
{
	jw_open_object(w);
	put_text(w, "id", query_str(q, 0), cut);
	put_text(w, "name", query_str(q, 1), cut);
	jw_kv_str(w, "span_kind", query_str(q, 2));
	jw_kv_u64(w, "start_ns", query_u64(q, 3));
	jw_kv_u64(w, "duration_ns", query_u64(q, 4));
	put_opt(w, "self_ns", q, 5);
	put_share(w, query_u64(q, 4), total_ns);
	jw_close_object(w);
}

static void put_op(struct json_writer *w, struct query *q, uint64_t total_ns, bool *cut)
{
	jw_open_object(w);
	put_text(w, "op_name", query_str(q, 0), cut);
	jw_kv_u64(w, "op_count", query_u64(q, 1));
	jw_kv_u64(w, "total_ns", query_u64(q, 2));
	jw_kv_u64(w, "max_ns", query_u64(q, 3));
	put_share(w, query_u64(q, 2), total_ns);
	jw_close_object(w);
}

/* The rows of a statement, as far as the bytes go. */
static int put_rows(struct db *db, const char *name, uint64_t total_ns, uint64_t top,
		    struct json_writer *w, bool *cut, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	bool ops = name[8] == 'o'; /* "slowest_ops" */
	size_t from = w->out->len, most = ops ? OPS_MAX : SPANS_MAX;
	int n;

	jw_key(w, name);
	jw_open_array(w);
	if (query_open(db, name, &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, top);
	while ((n = query_step(q, err)) == 1) {
		size_t before = w->out->len;
		bool comma = w->comma;

		if (ops)
			put_op(w, q, total_ns, cut);
		else
			put_span(w, q, total_ns, cut);
		if (w->out->len - from > most && !w->out->failed) {
			/* This one goes beyond the size: without it. */
			w->out->len = before;
			w->out->data[before] = 0;
			w->comma = comma;
			*cut = true;
			n = 0;
			break;
		}
	}
	jw_close_array(w);
	return n;
}

int analyze_write_slowest(struct db *db, uint64_t total_ns, uint64_t top, struct json_writer *w,
			  bool ret_cut[2], struct ts_error *err)
{
	ret_cut[0] = ret_cut[1] = false;
	if (put_rows(db, "slowest_spans", total_ns, top, w, &ret_cut[0], err) < 0 ||
	    put_rows(db, "slowest_ops", total_ns, top, w, &ret_cut[1], err) < 0)
		return -1;
	return w->out->failed ? ts_error_nomem(err) : 0;
}
