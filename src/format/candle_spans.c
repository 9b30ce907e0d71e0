/* candle_spans.c: what an execution trace says of each span: new, open or ended, times, parent */
#include "candle.h"

#include <stdlib.h>

/* 32 bytes; the id and the map's share are of the same size. */
struct candle_span {
	uint64_t start_ns, duration_ns;
	uint32_t parent; /* number of its id + 1; 0: no parent_id */
	uint32_t no;     /* 0: only named as a parent so far */
	bool closed;
};

void candle_spans_done(struct candle_spans *s)
{
	strmap_done(&s->ids);
	free(s->of);
	*s = (struct candle_spans){0};
}

/* The number of an id, with a place in s->of. STRMAP_NONE: no memory. */
static uint32_t intern(struct candle_spans *s, struct ts_str id)
{
	bool is_new;

	/* The place first: an id without one must not be found later. */
	if (s->ids.count == s->cap) {
		size_t cap = s->cap ? s->cap + s->cap / 2 : 64;
		struct candle_span *of = reallocarray(s->of, cap, sizeof(*of));

		if (!of)
			return STRMAP_NONE;
		s->of = of;
		s->cap = cap;
	}
	uint32_t number = strmap_add(&s->ids, id, &is_new);

	if (number != STRMAP_NONE && is_new)
		s->of[number] = (struct candle_span){0};
	return number;
}

static int span_error(struct ts_error *err, enum ts_code_id id, struct ts_str span,
		      const char *what)
{
	char name[128];

	text_name(span, name, sizeof(name));
	return ts_error_set(err, id, "span \"%s\" %s", name, what);
}

int candle_spans_start(struct candle_spans *s, struct row_span *row, struct ts_error *err)
{
	uint32_t number = intern(s, row->id), parent = 0;

	if (number == STRMAP_NONE)
		return ts_error_nomem(err);
	if (s->of[number].no)
		return span_error(err, TS_E_DUPLICATE_SPAN_START, row->id, "was started before");
	if (row->parent_id.p) {
		parent = intern(s, row->parent_id);
		if (parent == STRMAP_NONE)
			return ts_error_nomem(err);
		parent++;
	}
	row->no = ++s->started;
	s->of[number].start_ns = row->start_ns;
	s->of[number].parent = parent;
	s->of[number].no = (uint32_t)row->no;
	return 0;
}

int candle_spans_end(struct candle_spans *s, const struct candle_span_end *end,
		     struct ts_error *err)
{
	uint32_t number = strmap_find(&s->ids, end->id);

	if (number == STRMAP_NONE || !s->of[number].no)
		return span_error(err, TS_E_SPAN_END_UNKNOWN, end->id, "ends and was not started");
	if (s->of[number].closed)
		return span_error(err, TS_E_DUPLICATE_SPAN_END, end->id, "was ended before");
	s->of[number].closed = true;
	s->of[number].duration_ns = end->duration_ns;
	return 0;
}

uint64_t candle_spans_latest(const struct candle_spans *s)
{
	uint64_t latest = 0;

	for (size_t i = 0; i < s->ids.count; i++) {
		/* An open span has no duration; one that was only named has no start either. */
		uint64_t end = u64_add_sat(s->of[i].start_ns, s->of[i].duration_ns);

		if (end > latest)
			latest = end;
	}
	return latest;
}

int candle_spans_finish(const struct candle_spans *s, struct sink *sink, struct ts_error *err)
{
	if (!s->started)
		return 0;
	/* Ids are numbered when they are first named, spans when they start. */
	CLEAN(free_ptr) uint32_t *by_no = calloc(s->started, sizeof(*by_no));

	if (!by_no)
		return ts_error_nomem(err);
	for (uint32_t i = 0; i < s->ids.count; i++)
		if (s->of[i].no)
			by_no[s->of[i].no - 1] = i;
	for (uint64_t i = 0; i < s->started; i++) {
		const struct candle_span *span = &s->of[by_no[i]];
		struct row_span_time row = {
			.no = span->no,
			.parent_no = span->parent ? s->of[span->parent - 1].no : 0,
			.closed = span->closed,
			.duration_ns = span->duration_ns,
		};

		if (sink->row(sink, ROW_SPAN_TIME, &row, err) < 0)
			return -1;
	}
	return 0;
}
