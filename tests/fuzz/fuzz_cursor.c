/* fuzz_cursor.c: cursors made by hand: read, written again, and put before a real list
 *
 * The input is the raw content of a cursor; it is brought into the text form, so that a fuzzer does
 * not have to find its way through base64 first. The input as it is counts as text too.
 */
#include <string.h>

#include "tracespool/list.h"
#include "tracespool/util.h"

#include "../../src/store/cursor.h"
#include "../../src/store/list_sql.h"

#include "fuzz.h"

#define QUERY UINT64_C(0x1122334455667788)

static void check_text(struct ts_str text)
{
	struct buf space = BUF_INIT, again = BUF_INIT, space2 = BUF_INIT;
	struct ts_error err = TS_ERROR_INIT;
	struct cursor c = {0}, back = {0};

	if (cursor_read(text, QUERY, "-no", &c, &space, &err) == 0) {
		cursor_write(&again, QUERY, "-no", &c);
		HOLDS(cursor_read(ts_str(again.data, again.len), QUERY, "-no", &back, &space2,
				  &err) == 0);
		HOLDS(back.count == c.count && back.row_no == c.row_no);
		for (unsigned i = 0; i < c.count; i++)
			HOLDS(back.keys[i].type == c.keys[i].type &&
			      ts_str_eq(back.keys[i].str, c.keys[i].str));
	} else {
		HOLDS(ts_error_is(&err, TS_E_BAD_CURSOR));
		HOLDS(text_is_utf8(err.message, strlen(err.message)));
	}
	buf_done(&space);
	buf_done(&again);
	buf_done(&space2);
}

static void to_text(const uint8_t *data, size_t size, struct buf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	for (size_t i = 0; i < size; i += 3) {
		size_t n = size - i < 3 ? size - i : 3;
		uint32_t bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < n ? data[i + k] : 0);
		for (size_t k = 0; k <= n; k++)
			buf_putc(out, digits[bits >> (18 - 6 * k) & 63]);
	}
}

/* One anonymous request run, for all inputs. */
static struct runfile *run(void)
{
	static struct runfile *rf;
	struct ts_error err = TS_ERROR_INIT;

	if (!rf) {
		HOLDS(runfile_create(NULL, RUN_REQUESTS, 0, &rf, &err) == 0);
		for (uint64_t no = 1; no <= 5; no++) {
			char id[] = {'r', (char)('0' + no), 0};
			struct row_request row = {.no = no,
						  .line = no,
						  .request_id = ts_str_c(id),
						  .model = TS_STR("m"),
						  .start_ms = (int64_t)no,
						  .end_ms = (int64_t)no + 5,
						  .ttft_ms = {.has = no & 1, .v = 1.5}};

			HOLDS(runfile_sink(rf)->row(runfile_sink(rf), ROW_REQUEST, &row, &err) ==
			      0);
		}
		HOLDS(runfile_index(rf, &err) == 0);
	}
	return rf;
}

/* The content behind sort and query, put before the list in each of its orders. */
static void check_list(const uint8_t *data, size_t size)
{
	static const char *const sorts[] = {"start_ms", "-ttft_ms", "ttft_ms", "-latency_ms",
					    "line"};
	struct db *db = runfile_db(run());

	for (size_t i = 0; i < ARRAY_LEN(sorts); i++) {
		struct list_request req = {.sort = ts_str_c(sorts[i]), .limit = 2};
		uint64_t query = list_sql_hash(&list_requests, &req);
		struct ts_error err = TS_ERROR_INIT;
		struct buf raw = BUF_INIT, text = BUF_INIT;
		struct page *page = NULL;
		int n;

		buf_putc(&raw, 1);
		buf_putc(&raw, (char)strlen(sorts[i]));
		buf_putc(&raw, 0);
		buf_puts(&raw, sorts[i]);
		for (int k = 0; k < 8; k++)
			buf_putc(&raw, (char)(query >> 8 * k & 0xff));
		buf_add(&raw, data, size);
		to_text((const uint8_t *)raw.data, raw.len, &text);
		req.cursor = ts_str(text.data, text.len);
		if (page_open(db, &list_requests, &req, &page, &err) == 0) {
			while ((n = page_next(page, &err)) > 0)
				;
			HOLDS(n == 0);
		} else {
			HOLDS(ts_error_is(&err, TS_E_BAD_CURSOR));
		}
		page_close(page);
		buf_done(&raw);
		buf_done(&text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf text = BUF_INIT;

	check_text(ts_str((const char *)data, size));
	to_text(data, size, &text);
	check_text(ts_str(text.data ? text.data : "", text.len));
	buf_done(&text);
	check_list(data, size);
	return 0;
}
