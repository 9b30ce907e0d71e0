/* window.c: what the rows of the next requests are made of, read in the order of the run file
 *
 * Requests that follow one another in replay order lie anywhere in the file, so a statement a
 * request reads pages again and again. Those of a window are read at once, sorted by number, and
 * kept: how many depends on how much room they took in the window before.
 */
#include "lower.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIRST_ROWS = 64,
	MOST_ROWS = 8192,
	MOST_WANTED =
		16 * MOST_ROWS, /* of other requests, and of tool spans; more only for one row */
	BYTES_LEAST = 512 << 10,
	BYTES_MOST = 8 << 20,
	BYTES_A_REQUEST = 64,   /* of the run */
	CACHED_BYTES = 1 << 20, /* of pages that are surely still there for the next window */
};

/* A copy that stays while the window does. Without room, w->full, or for a single row r->texts
 * takes it. */
static struct ts_str keep(struct replay *r, struct ts_str s)
{
	struct window *w = &r->window;
	size_t begin = (w->used + 7) & ~(size_t)7;
	char *copy;

	if (!s.p || w->full)
		return ts_str(NULL, 0);
	if (begin <= w->bytes_cap && s.n <= w->bytes_cap - begin) {
		copy = w->bytes + begin;
		memcpy(copy, s.p, s.n);
		w->used = begin + s.n;
		return ts_str(copy, s.n);
	}
	if (w->n > 1) {
		w->full = true;
		return ts_str(NULL, 0);
	}
	copy = arena_dup(&w->long_texts, s.p, s.n);
	w->no_memory = w->no_memory || !copy;
	return ts_str(copy, copy ? s.n : 0);
}

static int want(struct window *w, struct wanted *list, uint32_t no, struct ts_error *err)
{
	if (list->n >= MOST_WANTED && w->n > 1) {
		w->full = true;
		return 0;
	}
	if (list->n == list->cap) {
		size_t cap = list->cap ? list->cap + list->cap / 2 : 256;
		uint64_t *bigger = reallocarray(list->v, cap, sizeof(*bigger));

		if (!bigger)
			return ts_error_nomem(err);
		list->v = bigger;
		list->cap = cap;
	}
	if (list->n >= NONE)
		return ts_error_nomem(err);
	list->v[list->n] = NUMBERED(no, list->n);
	list->n++;
	return 0;
}

static int by_no(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

static void sort_wanted(struct wanted *list)
{
	size_t i = 1;

	while (i < list->n && list->v[i - 1] < list->v[i])
		i++;
	if (i < list->n)
		qsort(list->v, list->n, sizeof(*list->v), by_no);
}

/* Calls take for each row of the list that the statement finds; none may be missing. */
static int read_wanted(struct replay *r, struct query *q, struct wanted *list,
		       void (*take)(struct replay *r, struct query *q), struct ts_error *err)
{
	size_t found = 0;
	int more = 0;

	sort_wanted(list);
	query_bind_numbers(q, 1, list->v, list->n);
	while (!r->window.full && (more = query_step(q, err)) > 0) {
		take(r, q);
		found++;
	}
	query_reset(q);
	query_bind_null(q, 1);
	if (more < 0)
		return -1;
	if (r->window.no_memory)
		return ts_error_nomem(err);
	if (found != list->n && !r->window.full)
		return ts_error_set(err, TS_E_STORE_DAMAGED, "a row of the run file is missing");
	return 0;
}

static void take_input(struct replay *r, struct query *q)
{
	struct input *in = &r->window.inputs[query_u64(q, 0)];

	in->start_ms = query_i64(q, 1);
	in->output_tokens = query_u64(q, 2);
	in->input_length = query_u64(q, 3);
	in->hashes = keep(r, query_str(q, 4));
	in->completion = keep(r, query_str(q, 5));
	if (!r->ag)
		return;
	in->request_id = keep(r, query_str(q, 6));
	if (r->options.version2)
		in->model = keep(r, query_str(q, 7));
}

static void take_id(struct replay *r, struct query *q)
{
	r->window.ids[query_u64(q, 0)] = keep(r, query_str(q, 1));
}

static void take_tool(struct replay *r, struct query *q)
{
	struct tool_event *event = &r->window.events[query_u64(q, 0)];

	tool_event_read(q, 1, event);
	event->call = keep(r, event->call);
	event->class = keep(r, event->class);
	event->status = keep(r, event->status);
	event->error = keep(r, event->error);
}

static int read_inputs(struct replay *r, struct ts_error *err)
{
	struct window *w = &r->window;
	size_t span;

	w->wanted.n = 0;
	for (uint32_t k = 0; k < w->n; k++)
		if (want(w, &w->wanted, r->no[w->first + k], err) < 0)
			return -1;
	if (w->n > w->inputs_cap) {
		struct input *bigger = reallocarray(w->inputs, w->n, sizeof(*bigger));

		if (!bigger)
			return ts_error_nomem(err);
		w->inputs = bigger;
		w->inputs_cap = w->n;
	}
	if (read_wanted(r, w->query, &w->wanted, take_input, err) < 0)
		return -1;
	span = NUMBERED_NO(w->wanted.v[w->n - 1]) - NUMBERED_NO(w->wanted.v[0]);
	w->scattered = span / w->n >= 2 && span / w->n * w->used > CACHED_BYTES;
	return 0;
}

static int want_all(struct window *w, struct wanted *list, const struct numbers *numbers,
		    struct ts_error *err)
{
	for (size_t k = 0; k < numbers->n && !w->full; k++)
		if (want(w, list, numbers->v[k], err) < 0)
			return -1;
	return 0;
}

/* Room for n elements, whose former contents do not matter. */
static int make_room(void *array, size_t *cap, size_t n, size_t size, struct ts_error *err)
{
	void **p = array;

	if (n <= *cap)
		return 0;
	free(TAKE(*p));
	*cap = 0;
	*p = calloc(n, size);
	if (!*p)
		return ts_error_nomem(err);
	*cap = n;
	return 0;
}

/* The texts that agentic rows have besides, in the order in which the rows have them. */
static int read_texts(struct replay *r, struct ts_error *err)
{
	struct window *w = &r->window;

	w->wanted.n = w->wanted_tools.n = 0;
	for (uint32_t k = 0; k < w->n && !w->full; k++) {
		struct row *row = &r->at;

		if (window_skips(r, &w->inputs[k]))
			continue;
		if (row_find_waits(r, w->first + k, row, err) < 0 ||
		    want_all(w, &w->wanted, &row->waits, err) < 0 ||
		    want_all(w, &w->wanted, &row->branches, err) < 0 ||
		    want_all(w, &w->wanted_tools, &row->tools, err) < 0)
			return -1;
	}
	w->ids_at = w->events_at = 0;
	if (w->full)
		return 0;
	if (make_room(&w->ids, &w->ids_cap, w->wanted.n, sizeof(*w->ids), err) < 0 ||
	    make_room(&w->events, &w->events_cap, w->wanted_tools.n, sizeof(*w->events), err) < 0 ||
	    read_wanted(r, w->id_query, &w->wanted, take_id, err) < 0)
		return -1;
	return w->full ? 0 : read_wanted(r, w->tool_query, &w->wanted_tools, take_tool, err);
}

/* How many rows the next window may have, for the room that this one took. Where those of a window
 * lie close, a larger one would read no page less. */
static uint32_t next_size(const struct window *w)
{
	size_t room = w->bytes_cap - w->bytes_cap / 8, bytes = w->used / w->n + 1, n = room / bytes;
	size_t most = w->scattered ? (size_t)w->n * 4 : w->n;

	if (n > most)
		n = most;
	if (n > MOST_ROWS)
		n = MOST_ROWS;
	return n ? (uint32_t)n : 1;
}

static int fill(struct replay *r, uint32_t i, struct ts_error *err)
{
	struct window *w = &r->window;
	uint64_t left = r->requests - i;
	uint32_t n = w->size < left ? w->size : (uint32_t)left;

	w->first = i;
	for (;; n = n / 2) {
		w->n = n;
		w->used = 0;
		w->full = false;
		arena_reset(&w->long_texts);
		if (read_inputs(r, err) < 0 ||
		    (w->with_texts && !w->full && read_texts(r, err) < 0)) {
			w->n = 0;
			return -1;
		}
		if (!w->full)
			break;
	}
	w->size = next_size(w);
	return 0;
}

int window_open(struct replay *r, struct ts_error *err)
{
	struct window *w = &r->window;
	uint64_t bytes = u64_mul_sat(r->requests, BYTES_A_REQUEST);

	if (bytes < BYTES_LEAST)
		bytes = BYTES_LEAST;
	if (bytes > BYTES_MOST)
		bytes = BYTES_MOST;
	w->size = FIRST_ROWS;
	w->bytes_cap = bytes;
	w->bytes = malloc(bytes);
	if (!w->bytes)
		return ts_error_nomem(err);
	if (query_open(r->db, "replay_request_ids", &w->id_query, err) < 0 ||
	    query_open(r->db, "replay_tool_events", &w->tool_query, err) < 0)
		return -1;
	return query_open(r->db, r->ag ? "replay_inputs_named" : "replay_inputs", &w->query, err);
}

void window_close(struct window *w)
{
	query_close(w->query);
	query_close(w->id_query);
	query_close(w->tool_query);
	arena_done(&w->long_texts);
	free(w->bytes);
	free(w->inputs);
	free(w->wanted.v);
	free(w->wanted_tools.v);
	free(w->ids);
	free(w->events);
}

int window_input(struct replay *r, uint32_t i, const struct input **ret, struct ts_error *err)
{
	struct window *w = &r->window;

	if ((i < w->first || i - w->first >= w->n) && fill(r, i, err) < 0)
		return -1;
	*ret = &w->inputs[i - w->first];
	return 0;
}

bool window_skips(const struct replay *r, const struct input *in)
{
	return r->options.replayable && !in->input_length;
}

int window_seek(struct replay *r, struct ts_error *err)
{
	for (; r->next < r->requests; r->next++) {
		if (window_input(r, (uint32_t)r->next, &r->input, err) < 0)
			return -1;
		if (!window_skips(r, r->input))
			return 1;
	}
	return 0;
}

struct ts_str window_id(struct replay *r)
{
	return r->window.ids[r->window.ids_at++];
}

const struct tool_event *window_event(struct replay *r)
{
	return &r->window.events[r->window.events_at++];
}
