/* candle_load.c: whole execution traces into an analysis, and files of the corpus as text */
#include "candle_load.h"

#include <stdio.h>
#include <string.h>

#include "request_case.h"
#include "tracespool/format.h"

void corpus_text(const char *name, size_t len, struct buf *out)
{
	char path[4096], chunk[65536];
	size_t n;

	snprintf(path, sizeof(path), "%s/candle/%.*s", corpus_path(), (int)len, name);
	FILE *f = fopen(path, "r");

	ck_assert_msg(f != NULL, "%s", path);
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_add(out, chunk, n);
	ck_assert(!ferror(f) && !out->failed);
	fclose(f);
}

void analysis_load(struct analysis *a, struct ts_str text)
{
	struct format_state *st = NULL;
	struct ts_error err = TS_ERROR_INIT;
	uint64_t number = 0;

	assert_fine(format_candle.begin(&st, &a->counts, &err), &err);
	for (size_t at = 0; at < text.n;) {
		const char *lf = memchr(text.p + at, '\n', text.n - at);
		size_t end = lf ? (size_t)(lf - text.p) : text.n;
		struct line line = {
			.text = text.p + at, .len = end - at, .number = ++number, .byte = at};

		line.blank = text_is_blank(ts_str(line.text, line.len));
		assert_fine(format_candle.record(st, &line, runfile_sink(a->rf), &err), &err);
		at = end + 1;
	}
	assert_fine(format_candle.finish(st, runfile_sink(a->rf), &err), &err);
	format_candle.end(st);
}
