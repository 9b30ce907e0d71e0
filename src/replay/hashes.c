/* hashes.c: dense ids of block hashes */
#include "lower.h"

int hashes_ids(struct replay *r, struct ts_str blob, uint64_t from, uint64_t behind,
	       struct numbers *ret, struct ts_error *err)
{
	size_t n = (size_t)(behind - from);

	if (!n)
		return 0;
	if (numbers_room(ret, n, err) < 0)
		return -1;
	if (u64ids_add(&r->ids, blob.p + from * sizeof(uint64_t), n, ret->v + ret->n,
		       &r->first_new) < 0) {
		if (r->ids.count < U64IDS_MAX)
			return ts_error_nomem(err);
		return ts_error_set(err, TS_E_HASH_ID_OVERFLOW,
				    "the run has more than %zu distinct hashes", r->ids.count);
	}
	ret->n += n;
	return 0;
}

static int assign_all(struct replay *r, bool completions, struct ts_error *err)
{
	for (uint64_t i = 0; i < r->requests; i++) {
		const struct input *in;

		if (window_input(r, (uint32_t)i, &in, err) < 0)
			return -1;
		struct ts_str blob = completions ? in->completion : in->hashes;

		r->at.ids.n = 0;
		if (blob.n && hashes_ids(r, blob, 0, blob.n / 8, &r->at.ids, err) < 0)
			return -1;
	}
	return 0;
}

int hashes_prepare(struct replay *r, uint64_t input_hashes, struct ts_error *err)
{
	CLEAN(query_closep) struct query *completions = NULL, *large = NULL;
	uint64_t with, hashes;
	int found;

	if (r->options.version2) {
		/* Completions play no part there, and partial blocks get the numbers behind all
		 * inputs. */
		if (assign_all(r, false, err) < 0)
			return -1;
		r->unique_inputs = r->ids.count;
		return 0;
	}
	if (query_open(r->db, "replay_completions", &completions, err) < 0 ||
	    step_row(completions, err) < 0)
		return -1;
	with = query_u64(completions, 0);
	hashes = query_u64(completions, 1);
	if (!with && input_hashes < UINT32_MAX)
		return 0;

	if (with) {
		if (query_open(r->db, "replay_output_too_large", &large, err) < 0)
			return -1;
		query_bind_u64(large, 1, OUTPUT_TOKENS_MAX);
		found = query_step(large, err);
		if (found < 0)
			return -1;
		if (found) {
			struct ts_str id = query_str(large, 0);
			char tokens[21];

			text_format_u64(query_u64(large, 1), tokens);
			return ts_error_set(err, TS_E_OUTPUT_TOO_LARGE,
					    "request \"%.*s\" has completion hashes and %s output "
					    "tokens, rows list at most %d",
					    QUOTED(id), tokens, OUTPUT_TOKENS_MAX);
		}
	}
	if (assign_all(r, false, err) < 0)
		return -1;
	return hashes ? assign_all(r, true, err) : 0;
}
