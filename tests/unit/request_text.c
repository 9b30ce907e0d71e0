/* request_text.c: a run made from lines given as text: see request_text.h */
#include "request_text.h"

struct ts_error err;
struct runfile *file;
struct trace_counts counts;
struct replay *replay;
struct buf rows = BUF_INIT;

void run_end(void)
{
	replay_close(TAKE(replay));
	runfile_free(TAKE(file));
	buf_done(&rows);
}

void run_begin(void)
{
	run_end();
	ts_error_init(&err);
	ck_assert_msg(runfile_create(NULL, RUN_REQUESTS, 0, &file, &err) == 0, "%s", err.message);
}

void run_load(const char *text)
{
	run_begin();
	ck_assert_msg(text_load(text, runfile_sink(file), &counts, &err) == 0, "%s", err.message);
	ck_assert_msg(runfile_flush(file, &err) == 0, "%s", err.message);
}

void read_rows(void)
{
	int more;

	buf_clear(&rows);
	if (replay_header(replay, &rows, false))
		buf_putc(&rows, '\n');
	while ((more = replay_next(replay, &rows, false, &err)) > 0)
		buf_putc(&rows, '\n');
	ck_assert_msg(more == 0, "%s", err.message);
}
