/* fuzz_request.c: lines as records of a request trace: wrapper, request, tools, hashes, times */
#include "lines_fuzz.h"

static int take(struct sink *sink, enum row_kind kind, const void *row, struct ts_error *err)
{
	(void)sink;
	(void)err;
	if (kind == ROW_REQUEST) {
		const struct row_request *r = row;

		fuzz_touch(r->request_id);
		fuzz_touch(r->model);
		fuzz_touch(r->session_id);
		fuzz_touch(r->finish_reason);
		HOLDS(r->end_ms >= r->start_ms);
	} else if (kind == ROW_REQUEST_HASHES) {
		const struct row_request_hashes *h = row;
		uint64_t sum = 0;

		for (size_t i = 0; i < h->input_count; i++)
			sum += h->input[i];
		for (size_t i = 0; i < h->completion_count; i++)
			sum += h->completion[i];
		HOLDS(h->input || !h->input_count);
		HOLDS(sum || !sum); /* each has been read */
	} else if (kind == ROW_TOOL) {
		const struct row_tool *t = row;

		fuzz_touch(t->tool_call_id);
		fuzz_touch(t->status);
		fuzz_touch(t->error_type);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sink sink = {.row = take};

	fuzz_lines(&format_request, &sink, data, size);
	return 0;
}
