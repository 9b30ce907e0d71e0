/* test_lines.c: bytes to lines: numbers, offsets, CRLF, the last line, blank lines, UTF-8, the
 * length limit, and what comes in front of a decoding failure (candle-trace.md 2,
 * request-trace.md 3.1)
 */
#include "memory_file.h"

#include <stdio.h>

#include "tracespool/util.h"

#define MIB ((size_t)1 << 20)

struct reader {
	int fd;
	struct input *in;
	struct lines *lines;
	struct line line;
	struct ts_error err;
};

static void open_bytes(struct reader *r, const void *bytes, size_t n, bool gzip, uint64_t limit)
{
	struct input_limits limits = {.line_bytes = limit, .expansion_ratio = 250};

	ts_error_init(&r->err);
	r->fd = memory_file(bytes, n);
	ck_assert_int_eq(input_open(r->fd, gzip, &limits, &r->in, &r->err), 0);
	ck_assert_int_eq(lines_open(r->in, &limits, &r->lines, &r->err), 0);
}

static void open_text(struct reader *r, const char *text)
{
	open_bytes(r, text, strlen(text), false, 67108864);
}

static void close_reader(struct reader *r)
{
	lines_close(r->lines);
	input_close(r->in);
	close(r->fd);
}

static void assert_line(struct reader *r, const char *text, uint64_t number, uint64_t byte,
			bool blank)
{
	int result = lines_next(r->lines, &r->line, &r->err);

	ck_assert_msg(result == 1, "%d: %s", result, r->err.message);
	ck_assert_uint_eq(r->line.len, strlen(text));
	ck_assert_mem_eq(r->line.text, text, r->line.len);
	ck_assert_uint_eq(r->line.number, number);
	ck_assert_uint_eq(r->line.byte, byte);
	ck_assert_int_eq(r->line.blank, blank);
	ck_assert(r->line.text[r->line.len] == '\n' || r->line.text[r->line.len] == 0);
}

static void assert_end(struct reader *r)
{
	ck_assert_int_eq(lines_next(r->lines, &r->line, &r->err), 0);
	ck_assert_ptr_null(r->err.code);
}

static void assert_error(struct reader *r, enum ts_code_id id, uint64_t line, int64_t byte)
{
	ck_assert_int_eq(lines_next(r->lines, &r->line, &r->err), -1);
	ck_assert_msg(ts_error_is(&r->err, id), "%s", r->err.code->code);
	ck_assert_uint_eq(r->err.line, line);
	ck_assert_int_eq(r->err.byte, byte);
}

START_TEST(every_line_counts_and_knows_its_place)
{
	struct reader r;

	open_text(&r, "{}\n\n[1]\n");
	assert_line(&r, "{}", 1, 0, false);
	assert_line(&r, "", 2, 3, true);
	assert_line(&r, "[1]", 3, 4, false);
	assert_end(&r);
	assert_end(&r);
	close_reader(&r);
}
END_TEST

START_TEST(the_last_line_needs_no_newline)
{
	struct reader r;

	open_text(&r, "a\nbc");
	assert_line(&r, "a", 1, 0, false);
	assert_line(&r, "bc", 2, 2, false);
	ck_assert_int_eq(r.line.text[2], 0);
	assert_end(&r);
	close_reader(&r);
}
END_TEST

START_TEST(whether_a_line_is_the_last_can_be_asked)
{
	struct reader r;

	open_text(&r, "a\nb\n");
	assert_line(&r, "a", 1, 0, false);
	ck_assert(!lines_at_end(r.lines));
	assert_line(&r, "b", 2, 2, false);
	ck_assert(lines_at_end(r.lines));
	assert_end(&r);
	close_reader(&r);
	open_text(&r, "a\n\n");
	assert_line(&r, "a", 1, 0, false);
	ck_assert(!lines_at_end(r.lines)); /* a blank line follows */
	close_reader(&r);
	for (int lf = 0; lf < 3; lf++) {
		static const char *const texts[] = {"a\n\xff", "a\n\xff\n", "a\n\xff\n\n"};

		open_text(&r, texts[lf]);
		assert_line(&r, "a", 1, 0, false);
		ck_assert_int_eq(lines_next(r.lines, &r.line, &r.err), -1);
		ck_assert_int_eq(lines_at_end(r.lines), lf < 2);
		ck_assert_int_eq(lines_at_end(r.lines), lf < 2);
		ck_assert_int_eq(lines_next(r.lines, &r.line, &r.err), -1);
		ck_assert(ts_error_is(&r.err, TS_E_BAD_UTF8));
		close_reader(&r);
	}
}
END_TEST

START_TEST(an_empty_file_has_no_lines_and_a_lone_newline_is_one)
{
	struct reader r;

	open_text(&r, "");
	assert_end(&r);
	close_reader(&r);
	open_text(&r, "\n");
	assert_line(&r, "", 1, 0, true);
	assert_end(&r);
	close_reader(&r);
}
END_TEST

START_TEST(a_carriage_return_stays_and_is_white_space)
{
	struct reader r;

	open_text(&r, "{}\r\n\r\nx\ry\r\n");
	assert_line(&r, "{}\r", 1, 0, false);
	assert_line(&r, "\r", 2, 4, true);
	assert_line(&r, "x\ry\r", 3, 6, false);
	assert_end(&r);
	close_reader(&r);
}
END_TEST

START_TEST(blank_lines_are_those_of_unicode_white_space_only)
{
	static const char *const blank[] = {
		" \t\v\f\r",    "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80",
		"\xe2\x80\x80", "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9",
		"\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80",
	};
	/* A byte order mark, U+200B, U+001C, U+0000 and U+180E are not white space. */
	static const char *const other[] = {"\xef\xbb\xbf", "\xe2\x80\x8b", "\x1c", "\xe1\xa0\x8e",
					    "\xe2\x80\xa7"};
	struct reader r;

	for (size_t i = 0; i < ARRAY_LEN(blank); i++) {
		open_text(&r, blank[i]);
		assert_line(&r, blank[i], 1, 0, true);
		close_reader(&r);
	}
	for (size_t i = 0; i < ARRAY_LEN(other); i++) {
		open_text(&r, other[i]);
		assert_line(&r, other[i], 1, 0, false);
		close_reader(&r);
	}
	open_bytes(&r, "\0\n", 2, false, 100);
	ck_assert_int_eq(lines_next(r.lines, &r.line, &r.err), 1);
	ck_assert_uint_eq(r.line.len, 1);
	ck_assert(!r.line.blank);
	close_reader(&r);
}
END_TEST

START_TEST(bad_utf8_is_placed_at_its_byte)
{
	/* A byte that begins nothing, overlong, surrogate, above U+10FFFF, cut at the line end. */
	static const char *const bad[] = {"\xff",         "\xc0\xaf",         "\xe0\x80\xaf",
					  "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82",
					  "\x80"};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char text[64];
		struct reader r;

		snprintf(text, sizeof(text), "good\n{\"\xc3\xa4\":\"%s\n", bad[i]);
		open_text(&r, text);
		assert_line(&r, "good", 1, 0, false);
		assert_error(&r, TS_E_BAD_UTF8, 2, 5 + 7);
		ck_assert_uint_eq(r.err.column, 8);
		ck_assert_int_eq(r.err.event, -1);
		close_reader(&r);
	}
}
END_TEST

START_TEST(good_utf8_of_every_length_passes)
{
	struct reader r;

	open_text(&r, "\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80"
		      "\xf4\x8f\xbf\xbf\x7f\n");
	ck_assert_int_eq(lines_next(r.lines, &r.line, &r.err), 1);
	assert_end(&r);
	close_reader(&r);
}
END_TEST

START_TEST(a_line_may_be_as_long_as_the_limit_and_no_longer)
{
	struct reader r;

	open_bytes(&r, "12345\n12345\n123456\n1\n", 21, false, 5);
	assert_line(&r, "12345", 1, 0, false);
	assert_line(&r, "12345", 2, 6, false);
	assert_error(&r, TS_E_LINE_TOO_LONG, 3, 12);
	ck_assert_ptr_nonnull(strstr(r.err.excerpt, "12345"));
	close_reader(&r);

	open_bytes(&r, "12345", 5, false, 5);
	assert_line(&r, "12345", 1, 0, false);
	assert_end(&r);
	close_reader(&r);

	open_bytes(&r, "123456", 6, false, 5);
	assert_error(&r, TS_E_LINE_TOO_LONG, 1, 0);
	close_reader(&r);
}
END_TEST

/* n letters, then the tail. */
static char *long_text(size_t n, const char *tail)
{
	char *text = malloc(n + strlen(tail) + 1);

	ck_assert_ptr_nonnull(text);
	memset(text, 'a', n);
	memcpy(text + n, tail, strlen(tail) + 1);
	return text;
}

START_TEST(a_line_of_64_mib_is_accepted)
{
	char *text = long_text(64 * MIB, "\nb\n");
	struct reader r;

	open_bytes(&r, text, 64 * MIB + 3, false, 64 * MIB);
	ck_assert_int_eq(lines_next(r.lines, &r.line, &r.err), 1);
	ck_assert_uint_eq(r.line.len, 64 * MIB);
	ck_assert_mem_eq(r.line.text, text, 64 * MIB);
	assert_line(&r, "b", 2, 64 * MIB + 1, false);
	assert_end(&r);
	close_reader(&r);
	free(text);
}
END_TEST

START_TEST(a_line_of_64_mib_and_one_byte_is_refused)
{
	char *text = long_text(64 * MIB + 1, "\nb\n");
	struct reader r;

	open_bytes(&r, text, 64 * MIB + 4, false, 64 * MIB);
	assert_error(&r, TS_E_LINE_TOO_LONG, 1, 0);
	close_reader(&r);
	free(text);
}
END_TEST

START_TEST(no_more_than_the_limit_and_a_block_of_a_long_line_is_read)
{
	/* 8 MiB in one line, 1 MiB permitted: the rest must not have been asked for. */
	char *text = long_text(8 * MIB, "\n");
	struct input_facts facts;
	struct ts_error finish = TS_ERROR_INIT;
	struct reader r;

	open_bytes(&r, text, 8 * MIB + 1, false, MIB);
	assert_error(&r, TS_E_LINE_TOO_LONG, 1, 0);
	ck_assert_int_eq(lseek(r.fd, 0, SEEK_CUR), (off_t)(8 * MIB + 1)); /* pread only */
	ck_assert_int_eq(ftruncate(r.fd, (off_t)(2 * MIB)), 0);
	ck_assert_int_eq(input_finish(r.in, &facts, &finish), 0);
	ck_assert_uint_eq(facts.decoded_bytes, 2 * MIB);
	close_reader(&r);
	free(text);
}
END_TEST

START_TEST(lines_of_all_lengths_come_out_whole_across_blocks)
{
	size_t cap = 6 * MIB, n = 0, at = 0;
	char *text = malloc(cap);
	uint32_t state = 12345;
	uint64_t number = 0;
	struct reader r;

	ck_assert_ptr_nonnull(text);
	/* Mostly short lines, now and then one of up to a megabyte; the last without newline. */
	while (n < cap) {
		size_t len;

		state = state * 1664525 + 1013904223;
		len = state >> 24 ? state >> 8 & 0x3ff : state >> 4 & 0xfffff;
		for (size_t i = 0; i < len && n < cap - 1; i++, n++)
			text[n] = (char)('a' + (n + number) % 23);
		text[n++] = '\n';
		number++;
	}
	text[cap - 1] = 'z';
	open_bytes(&r, text, cap, false, 64 * MIB);
	for (number = 1; at < cap; number++) {
		const char *lf = memchr(text + at, '\n', cap - at);
		size_t len = lf ? (size_t)(lf - (text + at)) : cap - at;

		ck_assert_int_eq(lines_next(r.lines, &r.line, &r.err), 1);
		ck_assert_uint_eq(r.line.number, number);
		ck_assert_uint_eq(r.line.byte, at);
		ck_assert_uint_eq(r.line.len, len);
		ck_assert(memcmp(r.line.text, text + at, len) == 0);
		at += len + 1;
	}
	ck_assert_uint_gt(number, 1000);
	assert_end(&r);
	close_reader(&r);
	free(text);
}
END_TEST

START_TEST(a_line_may_span_members)
{
	struct buf file = BUF_INIT;
	struct reader r;

	add_text_member(&file, "one\ntw");
	add_text_member(&file, "");
	add_text_member(&file, "o\nthree\n");
	open_bytes(&r, file.data, file.len, true, 100);
	assert_line(&r, "one", 1, 0, false);
	assert_line(&r, "two", 2, 4, false);
	assert_line(&r, "three", 3, 8, false);
	assert_end(&r);
	close_reader(&r);
	buf_done(&file);
}
END_TEST

START_TEST(complete_lines_come_before_a_failure_and_the_piece_never_does)
{
	struct buf file = BUF_INIT;
	int64_t border;
	struct reader r;

	add_text_member(&file, "one\ntwo\n");
	border = (int64_t)file.len;
	add_text_member(&file, "three\nfour");
	file.data[file.len - 1] ^= 1; /* length */
	open_bytes(&r, file.data, file.len, true, 100);
	assert_line(&r, "one", 1, 0, false);
	assert_line(&r, "two", 2, 4, false);
	assert_line(&r, "three", 3, 8, false);
	assert_error(&r, TS_E_GZIP_CORRUPT, 0, border);
	close_reader(&r);
	buf_done(&file);
}
END_TEST

START_TEST(bad_utf8_in_front_of_a_failure_wins)
{
	struct buf file = BUF_INIT;
	struct reader r;

	add_text_member(&file, "\xff\nrest");
	file.len -= 3;
	open_bytes(&r, file.data, file.len, true, 100);
	assert_error(&r, TS_E_BAD_UTF8, 1, 0);
	close_reader(&r);
	buf_done(&file);
}
END_TEST

START_TEST(a_line_over_the_limit_in_front_of_a_failure_wins)
{
	struct buf file = BUF_INIT;
	struct reader r;

	add_text_member(&file, "1\n123456");
	file.len -= 3;
	open_bytes(&r, file.data, file.len, true, 5);
	assert_line(&r, "1", 1, 0, false);
	assert_error(&r, TS_E_LINE_TOO_LONG, 2, 2);
	close_reader(&r);

	/* One byte less and the failure is all there is to report. */
	buf_clear(&file);
	add_text_member(&file, "1\n12345");
	file.len -= 3;
	open_bytes(&r, file.data, file.len, true, 5);
	assert_line(&r, "1", 1, 0, false);
	assert_error(&r, TS_E_GZIP_TRUNCATED, 0, 0);
	close_reader(&r);
	buf_done(&file);
}
END_TEST

/* Inflated in pieces of `piece` bytes: how many come out before the failure. */
static size_t length_in_pieces(const struct buf *file, size_t piece)
{
	struct ts_error err = TS_ERROR_INIT;
	struct input *in = NULL;
	int fd = memory_file(file->data, file->len);
	char bytes[4096];
	size_t sum = 0;
	ssize_t n;

	ck_assert_int_eq(input_open(fd, true, &test_limits, &in, &err), 0);
	while ((n = input_read(in, bytes, piece, &err)) > 0)
		sum += (size_t)n;
	ck_assert(ts_error_is(&err, TS_E_GZIP_TRUNCATED));
	input_close(in);
	close(fd);
	return sum;
}

START_TEST(all_that_a_cut_member_holds_comes_out_whatever_room_there_is)
{
	struct buf file = BUF_INIT;
	char text[3000];

	memset(text, 'x', sizeof(text)); /* matches of 258 bytes, far longer than the room */
	add_member(&file, text, sizeof(text), NULL);
	file.len -= 8;
	/* Without its trailer it still holds all of the text. */
	ck_assert_uint_eq(length_in_pieces(&file, 4096), sizeof(text));
	for (; file.len > 12; file.len--) {
		size_t whole = length_in_pieces(&file, 4096);

		ck_assert_uint_eq(length_in_pieces(&file, 1), whole);
		ck_assert_uint_eq(length_in_pieces(&file, 7), whole);
	}
	buf_done(&file);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lines");
	TCase *t = tcase_create("lines");
	SRunner *runner;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, every_line_counts_and_knows_its_place);
	tcase_add_test(t, the_last_line_needs_no_newline);
	tcase_add_test(t, whether_a_line_is_the_last_can_be_asked);
	tcase_add_test(t, an_empty_file_has_no_lines_and_a_lone_newline_is_one);
	tcase_add_test(t, a_carriage_return_stays_and_is_white_space);
	tcase_add_test(t, blank_lines_are_those_of_unicode_white_space_only);
	tcase_add_test(t, bad_utf8_is_placed_at_its_byte);
	tcase_add_test(t, good_utf8_of_every_length_passes);
	tcase_add_test(t, a_line_may_be_as_long_as_the_limit_and_no_longer);
	tcase_add_test(t, a_line_of_64_mib_is_accepted);
	tcase_add_test(t, a_line_of_64_mib_and_one_byte_is_refused);
	tcase_add_test(t, no_more_than_the_limit_and_a_block_of_a_long_line_is_read);
	tcase_add_test(t, lines_of_all_lengths_come_out_whole_across_blocks);
	tcase_add_test(t, a_line_may_span_members);
	tcase_add_test(t, complete_lines_come_before_a_failure_and_the_piece_never_does);
	tcase_add_test(t, bad_utf8_in_front_of_a_failure_wins);
	tcase_add_test(t, a_line_over_the_limit_in_front_of_a_failure_wins);
	tcase_add_test(t, all_that_a_cut_member_holds_comes_out_whatever_room_there_is);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
