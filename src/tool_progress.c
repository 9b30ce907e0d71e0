/* tool_progress.c: how far a long file has been read, on a terminal */
#include "tool.h"

#define PROGRESS_FROM_BYTES ((uint64_t)16 << 20)
#define PROGRESS_EVERY_MS 200

void tool_progress_show(void *arg, uint64_t done, uint64_t size)
{
	struct tool_progress *p = arg;
	int64_t now = time_mono_ms();
	char done_text[TOOL_UNIT_MAX], size_text[TOOL_UNIT_MAX];
	CLEAN(buf_done) struct buf name = BUF_INIT;

	if (!p->on || size < PROGRESS_FROM_BYTES || now - p->shown_ms < PROGRESS_EVERY_MS)
		return;
	if (done > size)
		done = size;
	tool_bytes(done, done_text);
	tool_bytes(size, size_text);
	tool_put_cut(&name, ts_str_c(p->path), p->width > 60 ? p->width - 40 : 20);
	fprintf(stderr, "\r%s: %3u%% (%s of %s)\033[K", name.data ? name.data : "",
		(unsigned)((double)done / (double)size * 100), done_text, size_text);
	p->shown_ms = now;
	p->shown = true;
}

void tool_progress_erase(struct tool_progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
