/* memory_live.c: the timeline in full: live bytes by device and category at each point
 *
 * Which devices have a live storage is kept in layers of bits, 64 below one, so that a point costs
 * what is live then and not what the trace has seen.
 */
#include "memory_view.h"

#include <stdlib.h>

#include "tracespool/util.h"

#define LAYERS 11

struct amount {
	unsigned __int128 bytes;
	uint64_t storages;
};

struct live_map {
	struct flow_user user; /* first */
	struct memory_document *d;
	struct flow flow;
	uint64_t devices;
	struct amount *of; /* by number of the device, from 0 */
	struct amount categories[MEMORY_CATEGORIES];
	unsigned __int128 all;
	uint64_t *bits[LAYERS];
	unsigned layers;
};

void live_free(struct live_map *live)
{
	if (!live)
		return;
	flow_done(&live->flow);
	free(live->of);
	for (unsigned i = 0; i < live->layers; i++)
		free(live->bits[i]);
	free(live);
}

static void mark(struct live_map *live, uint64_t i, bool on)
{
	for (unsigned k = 0; k < live->layers; k++, i /= 64) {
		uint64_t *word = &live->bits[k][i / 64], bit = UINT64_C(1) << (i % 64);

		*word = on ? *word | bit : *word & ~bit;
		if (!on && *word)
			return;
	}
}

/* The first marked number from i on, or UINT64_MAX. */
static uint64_t next_marked(const struct live_map *live, uint64_t i)
{
	uint64_t words = (live->devices + 63) / 64;

	for (unsigned k = 0; k < live->layers; k++, words = (words + 63) / 64) {
		uint64_t at = i / 64;

		if (at >= words)
			return UINT64_MAX;
		uint64_t word = live->bits[k][at] & (UINT64_MAX << (i % 64));

		if (word) {
			i = at * 64 + (uint64_t)__builtin_ctzll(word);
			while (k-- > 0)
				i = i * 64 + (uint64_t)__builtin_ctzll(live->bits[k][i]);
			return i;
		}
		i = at + 1;
	}
	return UINT64_MAX;
}

static int on_start(struct flow_user *u, const struct flow_event *e, struct ts_error *err)
{
	struct live_map *live = (struct live_map *)u;
	struct amount *device = &live->of[e->device_no - 1];

	(void)err;
	live->all += e->bytes;
	device->bytes += e->bytes;
	live->categories[e->category].bytes += e->bytes;
	live->categories[e->category].storages++;
	if (++device->storages == 1)
		mark(live, e->device_no - 1, true);
	return 0;
}

static int on_end(struct flow_user *u, const struct flow_event *e, struct ts_error *err)
{
	struct live_map *live = (struct live_map *)u;
	struct amount *device = &live->of[e->device_no - 1];

	(void)err;
	live->all -= e->bytes;
	device->bytes -= e->bytes;
	live->categories[e->category].bytes -= e->bytes;
	live->categories[e->category].storages--;
	/* An end in front of its start at one moment wraps round and comes back. */
	if (--device->storages == 0)
		mark(live, e->device_no - 1, false);
	return 0;
}

static uint64_t saturated(unsigned __int128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static int on_point(struct flow_user *u, uint64_t time, struct ts_error *err)
{
	struct live_map *live = (struct live_map *)u;
	struct json_writer *w = &live->d->w;

	jw_open_object(w);
	jw_kv_u64(w, "timestamp_ns", time);
	jw_kv_u64(w, "live_bytes", saturated(live->all));
	jw_key(w, "live_bytes_by_device");
	jw_open_object(w);
	for (uint64_t i = 0; (i = next_marked(live, i)) != UINT64_MAX; i++) {
		struct query *name CLEAN(query_closep) = NULL;

		if (device_name(live->d, i + 1, &name, err) < 0)
			return -1;
		jw_key_str(w, query_str(name, 0));
		jw_u64(w, saturated(live->of[i].bytes));
	}
	jw_close_object(w);
	jw_key(w, "live_bytes_by_category");
	jw_open_object(w);
	for (unsigned c = 0; c < MEMORY_CATEGORIES; c++) {
		if (live->categories[c].storages) {
			jw_key(w, memory_category_names[c]);
			jw_u64(w, saturated(live->categories[c].bytes));
		}
	}
	jw_close_object(w);
	jw_close_object(w);
	return 0;
}

static int live_open(struct memory_document *d, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct live_map *live = calloc(1, sizeof(*live));

	if (!live)
		return ts_error_nomem(err);
	d->live = live;
	live->user = (struct flow_user){on_start, on_end, on_point};
	live->d = d;
	if (query_open(d->db, "memory_device_count", &q, err) < 0 || query_step(q, err) < 0)
		return -1;
	live->devices = query_u64(q, 0);
	live->of = calloc(live->devices + 1, sizeof(*live->of));
	if (!live->of)
		return ts_error_nomem(err);
	uint64_t words = live->devices;

	do {
		CHECK(live->layers < LAYERS);
		words = (words + 63) / 64;
		live->bits[live->layers] = calloc(words + 1, sizeof(uint64_t));
		if (!live->bits[live->layers])
			return ts_error_nomem(err);
		live->layers++;
	} while (words > 1);
	return flow_open(d->db, false, NULL, &live->flow, err);
}

int stage_timeline(struct memory_document *d, struct ts_error *err)
{
	if (!d->logical)
		return 0;
	if (!d->begun) {
		if (live_open(d, err) < 0)
			return -1;
		d->begun = true;
		jw_key(&d->w, "timeline");
		jw_open_array(&d->w);
	}
	for (unsigned i = 0; i < ROWS_A_PIECE; i++) {
		int n = flow_step(&d->live->flow, &d->live->user, err);

		if (n == 0) {
			jw_close_array(&d->w);
			live_free(TAKE(d->live));
		}
		if (n != 1)
			return n;
	}
	return 1;
}
