/* lines.c: an execution run as trace lines in canonical order (candle-trace.md 15) */
#include <stdlib.h>

#include "tracespool/export.h"
#include "tracespool/util.h"
#include "tracespool/writer.h"

enum member_type { MEMBER_END, MEMBER_TEXT, MEMBER_U64, MEMBER_BOOL, MEMBER_DOUBLE, MEMBER_JSON };

/* A member in the order of section 5, which is that of the statement's columns. */
struct member {
	const char *name;
	enum member_type type;
};

#define TEXT(name)                                                                                 \
	{                                                                                          \
#name, MEMBER_TEXT                                                                 \
	}
#define U64(name)                                                                                  \
	{                                                                                          \
#name, MEMBER_U64                                                                  \
	}
#define BOOL(name)                                                                                 \
	{                                                                                          \
#name, MEMBER_BOOL                                                                 \
	}
#define DOUBLE(name)                                                                               \
	{                                                                                          \
#name, MEMBER_DOUBLE                                                               \
	}
#define JSON(name)                                                                                 \
	{                                                                                          \
#name, MEMBER_JSON                                                                 \
	}
#define END                                                                                        \
	{                                                                                          \
		NULL, MEMBER_END                                                                   \
	}

static const struct member meta[] = {
	TEXT(schema),
	TEXT(run_id),
	TEXT(correlation_id),
	TEXT(entrypoint),
	TEXT(phase),
	TEXT(timestamp),
	U64(capture_step),
	U64(warmup_steps),
	TEXT(device),
	BOOL(measured_region_device_synchronized),
	TEXT(timing_mode),
	JSON(capture_contract),
	JSON(comparison_identity),
	JSON(tags),
	TEXT(candle_version),
	END,
};

/* Two columns of the end follow. */
static const struct member span[] = {
	TEXT(id),        TEXT(parent_id), TEXT(name), U64(start_ns),
	TEXT(span_kind), BOOL(measured),  TEXT(step), END,
};
enum { SPAN_ID = 0, SPAN_CLOSED = 7, SPAN_DURATION = 8 };

static const struct member op[] = {
	TEXT(span_id),
	TEXT(op_name),
	JSON(inputs),
	TEXT(output),
	JSON(shape),
	TEXT(dtype),
	TEXT(device),
	U64(duration_ns),
	U64(timestamp_ns),
	U64(output_dense_bytes),
	U64(input_dense_bytes),
	END,
};

static const struct member tensor[] = {
	TEXT(span_id), TEXT(tensor_id),     TEXT(label),      JSON(shape),    TEXT(dtype),
	TEXT(device),  BOOL(requires_grad), U64(dense_bytes), TEXT(category), END,
};

static const struct member tensor_stats[] = {
	TEXT(span_id),   TEXT(label), JSON(shape),     TEXT(dtype),  U64(elements),
	U64(non_finite), DOUBLE(rms), DOUBLE(abs_max), DOUBLE(mean), END,
};

static const struct member memory[] = {
	U64(timestamp_ns), TEXT(storage_id), TEXT(tensor_id), TEXT(span_id),
	TEXT(op_name),     TEXT(device),     U64(bytes),      TEXT(action),
	JSON(shape),       TEXT(dtype),      TEXT(category),  END,
};

static const struct member device_memory[] = {
	U64(timestamp_ns),   TEXT(device), U64(used_bytes), U64(free_bytes), U64(reserved_bytes),
	U64(capacity_bytes), END,
};

static const struct member device_interval[] = {
	TEXT(span_id), TEXT(device),  TEXT(stream_id),  TEXT(clock_id),
	TEXT(backend), U64(start_ns), U64(duration_ns), END,
};

static const struct member gradient[] = {
	TEXT(event_id), TEXT(root), TEXT(key), TEXT(state), DOUBLE(norm), END,
};

/* Those of the other kind of edge have no value. */
static const struct member edge[] = {
	TEXT(edge_kind),   TEXT(from_span), TEXT(to_span), U64(host_duration_ns),
	TEXT(from_tensor), TEXT(to_tensor), END,
};

static const struct member terminal[] = {TEXT(outcome), U64(timestamp_ns), TEXT(reason), END};

static const struct kind {
	const char *name, *query;
	const struct member *members;
} kinds[] = {
	{"meta", "export_meta", meta},
	{"span_start", "export_spans", span},
	{"op", "export_ops", op},
	{"tensor", "export_tensors", tensor},
	{"tensor_stats", "export_tensor_stats", tensor_stats},
	{"memory", "export_memory", memory},
	{"device_memory", "export_device_memory", device_memory},
	{"device_interval", "export_device_intervals", device_interval},
	{"gradient", "export_gradients", gradient},
	{"edge", "export_edges", edge},
	{"terminal", "export_terminal", terminal},
};

struct export
{
	struct db *db;
	uint64_t lines;
	size_t kind; /* the one that is being written */
	struct query *rows;
};

int export_open(struct db *db, struct export **ret, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct export *x = calloc(1, sizeof(*x));

	if (!x)
		return ts_error_nomem(err);
	x->db = db;
	if (query_open(db, "export_counts", &q, err) < 0 || query_step(q, err) < 0 ||
	    query_open(db, kinds[0].query, &x->rows, err) < 0) {
		export_close(x);
		return -1;
	}
	x->lines = 1 + query_u64(q, 0) + query_u64(q, 1) + query_u64(q, 2) + query_u64(q, 3);
	*ret = x;
	return 0;
}

void export_close(struct export *x)
{
	if (!x)
		return;
	query_close(x->rows);
	free(x);
}

uint64_t export_lines(const struct export *x)
{
	return x->lines;
}

static void write_member(struct json_writer *w, const struct member *m, struct query *row, int i)
{
	if (query_is_null(row, i))
		return;
	jw_key(w, m->name);
	switch (m->type) {
	case MEMBER_TEXT:
		jw_str(w, query_str(row, i));
		break;
	case MEMBER_U64:
		jw_u64(w, query_u64(row, i));
		break;
	case MEMBER_BOOL:
		jw_bool(w, query_i64(row, i) != 0);
		break;
	case MEMBER_DOUBLE:
		jw_double(w, query_double(row, i));
		break;
	case MEMBER_JSON:
		jw_raw(w, query_str(row, i));
		break;
	case MEMBER_END:
		break;
	}
}

static void write_row(const struct kind *kind, struct query *row, struct buf *out)
{
	struct json_writer w;

	jw_init(&w, out, JSON_NUMBERS_EXACT);
	jw_open_object(&w);
	jw_kv_text(&w, "kind", kind->name);
	for (int i = 0; kind->members[i].name; i++)
		write_member(&w, &kind->members[i], row, i);
	jw_close_object(&w);
	buf_putc(out, '\n');
	if (kind->members != span || !query_u64(row, SPAN_CLOSED))
		return;
	jw_init(&w, out, JSON_NUMBERS_EXACT);
	jw_open_object(&w);
	jw_kv_text(&w, "kind", "span_end");
	jw_kv_str(&w, "id", query_str(row, SPAN_ID));
	jw_kv_u64(&w, "duration_ns", query_u64(row, SPAN_DURATION));
	jw_close_object(&w);
	buf_putc(out, '\n');
}

int export_next(struct export *x, struct buf *out, struct ts_error *err)
{
	while (x->kind < ARRAY_LEN(kinds)) {
		int more = query_step(x->rows, err);

		if (more < 0)
			return -1;
		if (more > 0) {
			write_row(&kinds[x->kind], x->rows, out);
			return out->failed ? ts_error_nomem(err) : 1;
		}
		query_close(TAKE(x->rows));
		if (++x->kind < ARRAY_LEN(kinds) &&
		    query_open(x->db, kinds[x->kind].query, &x->rows, err) < 0)
			return -1;
	}
	return 0;
}
