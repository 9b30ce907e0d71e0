/* packed.c: rows as bytes: numbers of 7 bits a byte, hash ids as runs of consecutive ones
 *
 * flags, offset_ms, input_length, output_tokens, hash ids; with completion hashes the ids of the
 * output's blocks; agentic rows then have waits (and with any: gap_ms, busy_ms, tool spans) and
 * branches, each list with its length in front. How many ids there are follows from the lengths.
 * Ids count up along a prompt that is new, and again along each part of it that another prompt
 * repeats, so a prompt is a few runs. A run is how far it begins from where the one before ended,
 * doubled, plus one if its length follows; else it is one id.
 */
#include "lower.h"

#include "tracespool/varint.h"

enum {
	FLAG_OUTPUT_IDS = 1,
	FLAG_PREFIX_RESET = 2,
	KIND_SHIFT = 2,
	FLAGS_END = KIND_COUNT << KIND_SHIFT,
};

#define IDS_MAX 125000000 /* SQLite holds no longer blob of hashes */

static void put_ids(struct buf *out, const struct numbers *ids)
{
	int64_t expected = 0;

	for (size_t at = 0, n; at < ids->n; at += n) {
		uint64_t begin = varint_fold((uint64_t)expected, ids->v[at]) << 1;

		for (n = 1; at + n < ids->n && ids->v[at + n] == ids->v[at] + n; n++)
			;
		varint_put(out, begin + (n > 1));
		if (n > 1)
			varint_put(out, n);
		expected = (int64_t)ids->v[at] + (int64_t)n;
	}
}

/* Requests and spans that belong together have numbers that are close. */
static void put_list(struct buf *out, const struct numbers *list, uint32_t near)
{
	int64_t last = near;

	varint_put(out, list->n);
	for (size_t k = 0; k < list->n; k++) {
		varint_put(out, varint_fold((uint64_t)last, list->v[k]));
		last = list->v[k];
	}
}

void row_pack(const struct row *row, bool agentic, struct buf *out)
{
	unsigned flags = row->has_output_ids ? FLAG_OUTPUT_IDS : 0;

	if (agentic)
		flags |= (row->prefix_reset ? FLAG_PREFIX_RESET : 0) | (unsigned)row->kind
									       << KIND_SHIFT;
	varint_put(out, flags);
	varint_put(out, row->offset_ms);
	varint_put(out, row->input_length);
	varint_put(out, row->output_tokens);
	put_ids(out, &row->ids);
	put_ids(out, &row->output);
	if (!agentic)
		return;
	put_list(out, &row->waits, row->no);
	if (row->waits.n) {
		varint_put(out, row->gap_ms);
		varint_put(out, row->busy_ms);
		put_list(out, &row->tools, row->no);
	}
	put_list(out, &row->branches, row->no);
}

/* ---- back ---- */

/* base moved by a folded distance; damaged if that is no number of 32 bits. */
static uint32_t take_near(struct varint_reader *in, int64_t base, uint64_t folded)
{
	int64_t v = folded >> 34 ? -1 : (int64_t)varint_unfold((uint64_t)base, folded);

	if (v >= 0 && v < NONE)
		return (uint32_t)v;
	in->damaged = true;
	return 0;
}

static int take_ids(struct varint_reader *in, uint64_t count, struct numbers *ids,
		    struct ts_error *err)
{
	int64_t expected = 0;

	if (count > IDS_MAX)
		in->damaged = true;
	while (!in->damaged && ids->n < count) {
		uint64_t word = varint_take(in), n = word & 1 ? varint_take(in) : 1;
		uint32_t first = take_near(in, expected, word >> 1);

		if (!n || n > count - ids->n || n > NONE - first)
			in->damaged = true;
		for (uint64_t k = 0; k < n && !in->damaged; k++)
			if (numbers_add(ids, first + (uint32_t)k, err) < 0)
				return -1;
		expected = (int64_t)first + (int64_t)n;
	}
	return 0;
}

static int take_list(struct varint_reader *in, uint32_t near, struct numbers *list,
		     struct ts_error *err)
{
	uint64_t n = varint_take(in);
	int64_t last = near;

	/* Each takes a byte at least. */
	for (; n > 0 && !in->damaged; n--) {
		uint32_t v = take_near(in, last, varint_take(in));

		if (!in->damaged && numbers_add(list, v, err) < 0)
			return -1;
		last = v;
	}
	return 0;
}

static int take_agentic(struct varint_reader *in, struct row *row, struct ts_error *err)
{
	row->gap_ms = row->busy_ms = 0;
	if (take_list(in, row->no, &row->waits, err) < 0)
		return -1;
	if (row->waits.n) {
		row->gap_ms = varint_take(in);
		row->busy_ms = varint_take(in);
		if (take_list(in, row->no, &row->tools, err) < 0)
			return -1;
	}
	return take_list(in, row->no, &row->branches, err);
}

int row_unpack(struct ts_str bytes, uint64_t block_size, bool agentic, struct row *row,
	       struct ts_error *err)
{
	struct varint_reader in = varint_open(bytes);
	uint64_t flags = varint_take(&in), outputs = 0;

	in.damaged |= !block_size;
	row->ids.n = row->output.n = row->waits.n = row->branches.n = row->tools.n = 0;
	row->has_output_ids = flags & FLAG_OUTPUT_IDS;
	row->prefix_reset = flags & FLAG_PREFIX_RESET;
	row->kind = (enum request_kind)(flags >> KIND_SHIFT & 3);
	row->offset_ms = varint_take(&in);
	row->input_length = varint_take(&in);
	row->output_tokens = varint_take(&in);
	if (flags >= FLAGS_END || row->offset_ms > INT64_MAX ||
	    row->output_tokens > UINT64_MAX - row->input_length)
		in.damaged = true;
	if (!in.damaged && row->has_output_ids && row->output_tokens)
		outputs = blocks_of(row->input_length + row->output_tokens, block_size) -
			  row->input_length / block_size;
	if (!in.damaged &&
	    (take_ids(&in, blocks_of(row->input_length, block_size), &row->ids, err) < 0 ||
	     take_ids(&in, outputs, &row->output, err) < 0))
		return -1;
	if (agentic && !in.damaged && take_agentic(&in, row, err) < 0)
		return -1;
	if (in.damaged || in.at != in.end)
		return ts_error_set(err, TS_E_STORE_DAMAGED, "a stored replay row is no row");
	return 0;
}
