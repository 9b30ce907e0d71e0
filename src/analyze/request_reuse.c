/* request_reuse.c: figures of a request run that need an order: prefix reuse, tool time */
#include "request.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/map.h"

/* The hashes that earlier requests had, counted up to the first that none had; then all of this
 * request's become known. */
static int take_hashes(struct u64map *seen, struct ts_str blob, uint64_t *ret_hits,
		       struct ts_error *err)
{
	size_t n = blob.n / sizeof(uint64_t);
	uint64_t hash, hits = 0;
	uint32_t value;
	bool fresh;

	for (size_t i = 0; i < n; i++, hits++) {
		memcpy(&hash, blob.p + i * sizeof(hash), sizeof(hash));
		if (u64map_get(seen, le64toh(hash)) == UINT32_MAX)
			break;
	}
	for (size_t i = hits; i < n; i++) {
		memcpy(&hash, blob.p + i * sizeof(hash), sizeof(hash));
		if (u64map_put(seen, le64toh(hash), 0, &value, &fresh) < 0)
			return ts_error_nomem(err);
	}
	*ret_hits = hits;
	return 0;
}

static void u64map_clean(struct u64map *m)
{
	u64map_done(m);
}

void reuse_add(struct request_figures *f, uint64_t blocks, uint64_t known, uint64_t block_size,
	       uint64_t input_length)
{
	uint64_t tokens = u64_mul_sat(known, block_size);

	f->blocks_total += blocks;
	f->hit_blocks += known;
	f->hit_tokens = u64_add_sat(f->hit_tokens, tokens < input_length ? tokens : input_length);
}

int reuse_find(struct db *db, struct request_figures *f, struct ts_error *err)
{
	CLEAN(query_closep) struct query *order = NULL, *hashes = NULL;
	CLEAN(u64map_clean) struct u64map seen = {0};
	int more;

	if (query_open(db, "analyze_requests_order", &order, err) < 0 ||
	    query_open(db, "analyze_requests_hashes", &hashes, err) < 0)
		return -1;
	while ((more = query_step(order, err)) > 0) {
		uint64_t known = 0;

		query_bind_u64(hashes, 1, query_u64(order, 0));
		if (query_step(hashes, err) < 0)
			return -1;
		struct ts_str blob = query_str(hashes, 0);

		if (take_hashes(&seen, blob, &known, err) < 0)
			return -1;
		reuse_add(f, blob.n / sizeof(uint64_t), known, query_u64(order, 1),
			  query_u64(order, 2));
		query_reset(hashes);
	}
	if (more < 0)
		return -1;
	f->blocks_unique = seen.count;
	return 0;
}

int figures_of_tools(struct db *db, struct request_figures *f, struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;
	double sum = 0.0;
	int more;

	if (query_open(db, "analyze_requests_tool_times", &q, err) < 0)
		return -1;
	while ((more = query_step(q, err)) > 0)
		sum += query_double(q, 0);
	if (more < 0)
		return -1;
	f->tool_time = (struct opt_double){.v = sum, .has = isfinite(sum)};
	return 0;
}
