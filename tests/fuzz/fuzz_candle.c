/* fuzz_candle.c: lines as records of an execution trace: JSON, fields, state */
#include "lines_fuzz.h"

static int take(struct sink *sink, enum row_kind kind, const void *row, struct ts_error *err)
{
	(void)sink;
	(void)err;
	switch (kind) {
	case ROW_META: {
		const struct row_meta *m = row;

		fuzz_touch(m->run_id);
		fuzz_touch(m->entrypoint);
		fuzz_touch(m->tags);
		fuzz_touch(m->capture_contract);
		fuzz_touch(m->comparison_identity);
		break;
	}
	case ROW_SPAN: {
		const struct row_span *s = row;

		fuzz_touch(s->id);
		fuzz_touch(s->parent_id);
		fuzz_touch(s->name);
		break;
	}
	case ROW_OP: {
		const struct row_op *o = row;

		fuzz_touch(o->op_name);
		fuzz_touch(o->inputs);
		fuzz_touch(o->device);
		break;
	}
	default:
		break;
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sink sink = {.row = take};

	fuzz_lines(&format_candle, &sink, data, size);
	return 0;
}
