/* test_input.c: bytes of plain and gzip files: which decoder, members, every class of damage, what
 * is handed out in front of it, the expansion cap, digests (request-trace.md 2.1 and 2.2)
 */
#include "memory_file.h"

#include <errno.h>
#include <fcntl.h>

#include "tracespool/util.h"

#define MIB ((size_t)1 << 20)

/* SHA-256 of "abc", FIPS 180-2 appendix B.1. */
#define ABC_DIGEST "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

/* All that a file decodes to, and its end. */
struct reading {
	struct buf text;
	struct ts_error err;
	struct input_facts facts;
};

static void read_all(struct reading *r, int fd, bool gzip, size_t step)
{
	char *block = malloc(step);
	struct ts_error finish = TS_ERROR_INIT;
	struct input *in = NULL;
	ssize_t n;

	buf_init(&r->text, SIZE_MAX);
	ts_error_init(&r->err);
	ck_assert_ptr_nonnull(block);
	ck_assert_int_eq(input_open(fd, gzip, &test_limits, &in, &r->err), 0);
	while ((n = input_read(in, block, step, &r->err)) > 0)
		buf_add(&r->text, block, (size_t)n);
	ck_assert_int_eq(n, r->err.code ? -1 : 0);
	ck_assert_int_eq(input_finish(in, &r->facts, &finish), 0);
	ck_assert_ptr_null(finish.code);
	input_close(in);
	free(block);
}

static void read_gzip(struct reading *r, const struct buf *file, size_t step)
{
	int fd = memory_file(file->data, file->len);

	read_all(r, fd, true, step);
	close(fd);
}

static const char *end_of(const struct reading *r)
{
	return r->err.code ? r->err.code->code : "";
}

/* The file decodes to the text and then fails with the class, in the member at `byte`. */
static void assert_damage(const struct buf *file, const char *text, const char *code, int64_t byte)
{
	static const size_t steps[] = {1, 7, 65536};

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct reading r;

		read_gzip(&r, file, steps[i]);
		ck_assert_str_eq(end_of(&r), code);
		ck_assert_int_eq(r.err.byte, byte);
		ck_assert_uint_eq(r.text.len, strlen(text));
		ck_assert_mem_eq(r.text.len ? r.text.data : "", text, strlen(text));
		buf_done(&r.text);
	}
}

START_TEST(only_the_name_chooses_the_decoder)
{
	ck_assert(input_name_is_gzip("run.jsonl.gz"));
	ck_assert(input_name_is_gzip("run.gz"));
	ck_assert(input_name_is_gzip("a.b.gz"));
	ck_assert(!input_name_is_gzip("run.jsonl"));
	ck_assert(!input_name_is_gzip("run.json"));
	ck_assert(!input_name_is_gzip("run.JSONL.GZ"));
	ck_assert(!input_name_is_gzip("run.gz.tmp"));
	ck_assert(!input_name_is_gzip(".gz"));
	ck_assert(!input_name_is_gzip("gz"));
}
END_TEST

START_TEST(plain_bytes_come_as_they_are)
{
	struct reading r;
	int fd = memory_file("abc", 3);

	read_all(&r, fd, false, 2);
	ck_assert_str_eq(end_of(&r), "");
	ck_assert_str_eq(r.text.data, "abc");
	ck_assert_str_eq(r.facts.digest, ABC_DIGEST);
	ck_assert_uint_eq(r.facts.file_bytes, 3);
	ck_assert_uint_eq(r.facts.decoded_bytes, 3);
	ck_assert_uint_eq(r.facts.members, 0);
	ck_assert(!r.facts.gzip);
	buf_done(&r.text);
	close(fd);
}
END_TEST

START_TEST(gzip_bytes_behind_a_plain_name_are_not_inflated)
{
	struct buf file = BUF_INIT;
	struct reading r;
	int fd;

	add_text_member(&file, "abc");
	fd = memory_file(file.data, file.len);
	read_all(&r, fd, false, 4096);
	ck_assert_str_eq(end_of(&r), "");
	ck_assert_uint_eq(r.text.len, file.len);
	ck_assert_mem_eq(r.text.data, file.data, file.len);
	close(fd);
	buf_done(&r.text);
	buf_done(&file);
}
END_TEST

START_TEST(members_are_joined_with_nothing_between)
{
	struct buf file = BUF_INIT;
	struct reading r;

	add_text_member(&file, "a");
	add_text_member(&file, "");
	add_text_member(&file, "bc");
	add_text_member(&file, "");
	read_gzip(&r, &file, 1);
	ck_assert_str_eq(end_of(&r), "");
	ck_assert_str_eq(r.text.data, "abc");
	ck_assert_str_eq(r.facts.digest, ABC_DIGEST);
	ck_assert_uint_eq(r.facts.members, 4);
	ck_assert_uint_eq(r.facts.file_bytes, file.len);
	ck_assert_uint_eq(r.facts.decoded_bytes, 3);
	ck_assert(r.facts.gzip);
	buf_done(&r.text);
	buf_done(&file);
}
END_TEST

START_TEST(a_single_empty_member_is_an_empty_file)
{
	struct buf file = BUF_INIT;
	struct reading r;

	add_text_member(&file, "");
	read_gzip(&r, &file, 100);
	ck_assert_str_eq(end_of(&r), "");
	ck_assert_uint_eq(r.text.len, 0);
	ck_assert_uint_eq(r.facts.members, 1);
	buf_done(&file);
}
END_TEST

START_TEST(zero_bytes_are_truncated)
{
	struct buf file = BUF_INIT;

	buf_puts(&file, "");
	assert_damage(&file, "", "gzip_truncated", 0);
	buf_done(&file);
}
END_TEST

/* A header with everything that a header may have. */
static gz_header full_header = {.text = 1,
				.time = 12345,
				.extra = (Bytef *)"\x41\x42\x03\x00xyz",
				.extra_len = 7,
				.name = (Bytef *)"capture.jsonl",
				.comment = (Bytef *)"a comment",
				.hcrc = 1};

START_TEST(a_file_that_ends_inside_a_member_is_truncated_wherever_it_ends)
{
	struct buf file = BUF_INIT;
	size_t border;

	add_text_member(&file, "one\n");
	border = file.len;
	add_member(&file, "two\n", 4, &full_header);
	for (size_t n = 0; n < file.len; n++) {
		struct buf cut = BUF_INIT;
		struct reading r;

		buf_add(&cut, file.data, n);
		read_gzip(&r, &cut, 4096);
		ck_assert_msg(strcmp(end_of(&r), n == border ? "" : "gzip_truncated") == 0,
			      "at %zu: %s", n, end_of(&r));
		ck_assert_int_eq(r.err.byte, n == border ? -1 : n < border ? 0 : (int64_t)border);
		/* All of the first member is there, once all of it was read. */
		ck_assert(n < border || (r.text.len >= 4 && !memcmp(r.text.data, "one\n", 4)));
		buf_done(&r.text);
		buf_done(&cut);
	}
	buf_done(&file);
}
END_TEST

START_TEST(a_header_with_all_optional_parts_is_read)
{
	struct buf file = BUF_INIT;
	struct reading r;

	add_member(&file, "two\n", 4, &full_header);
	read_gzip(&r, &file, 3);
	ck_assert_str_eq(end_of(&r), "");
	ck_assert_str_eq(r.text.data, "two\n");
	buf_done(&r.text);
	buf_done(&file);
}
END_TEST

START_TEST(what_stands_at_a_member_border_tells_truncated_from_corrupt)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *code;
	} tails[] = {
		{"\x1f", 1, "gzip_truncated"},
		{"\x1f\x8b", 2, "gzip_truncated"},
		{"\x1f\x8b\x08", 3, "gzip_truncated"},
		{"\x1f\x00", 2, "gzip_corrupt"},
		{"\x1fx", 2, "gzip_corrupt"},
		{"\0", 1, "gzip_corrupt"},
		{"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, "gzip_corrupt"},
		{"\n", 1, "gzip_corrupt"},
		{"{\"kind\":\"terminal\"}\n", 20, "gzip_corrupt"},
		{"\x8b\x1f", 2, "gzip_corrupt"},
	};

	for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
		struct buf file = BUF_INIT;
		int64_t border;

		add_text_member(&file, "line\n");
		border = (int64_t)file.len;
		buf_add(&file, tails[i].bytes, tails[i].n);
		assert_damage(&file, "line\n", tails[i].code, border);
		buf_done(&file);
	}
}
END_TEST

START_TEST(plain_text_behind_gz_is_corrupt)
{
	struct buf file = BUF_INIT;

	buf_puts(&file, "{\"kind\":\"meta\"}\n");
	assert_damage(&file, "", "gzip_corrupt", 0);
	buf_done(&file);
}
END_TEST

/* Changes one byte of a member that follows a good one. */
static void assert_changed_byte(size_t at, unsigned char value, const char *text, const char *code)
{
	struct buf file = BUF_INIT;
	size_t border;

	add_text_member(&file, "one\n");
	border = file.len;
	add_text_member(&file, "two\n");
	/* Places from 1000 on count from the end. */
	at = at >= 1000 ? file.len - (at - 1000) : border + at;
	file.data[at] = (char)value;
	assert_damage(&file, text, code, (int64_t)border);
	buf_done(&file);
}

START_TEST(a_bad_header_is_corrupt)
{
	assert_changed_byte(2, 7, "one\n", "gzip_corrupt");    /* method */
	assert_changed_byte(3, 0x20, "one\n", "gzip_corrupt"); /* reserved flag */
}
END_TEST

START_TEST(a_bad_trailer_is_corrupt_after_all_data_came_out)
{
	assert_changed_byte(1000 + 8, 0xee, "one\ntwo\n", "gzip_corrupt"); /* CRC */
	assert_changed_byte(1000 + 5, 0xee, "one\ntwo\n", "gzip_corrupt");
	assert_changed_byte(1000 + 4, 5, "one\ntwo\n", "gzip_corrupt"); /* length is 4 */
	assert_changed_byte(1000 + 1, 1, "one\ntwo\n", "gzip_corrupt");
}
END_TEST

START_TEST(a_wrong_crc_in_a_trailer_that_is_cut_is_truncated)
{
	struct buf file = BUF_INIT;

	add_text_member(&file, "one\n");
	file.data[file.len - 8] ^= 1;
	file.len -= 2;
	assert_damage(&file, "one\n", "gzip_truncated", 0);
	buf_done(&file);
}
END_TEST

START_TEST(a_wrong_header_crc_is_corrupt)
{
	struct buf file = BUF_INIT;

	add_member(&file, "two\n", 4, &full_header);
	file.data[4] ^= 1; /* time */
	assert_damage(&file, "", "gzip_corrupt", 0);
	buf_done(&file);
}
END_TEST

START_TEST(bad_deflate_data_are_corrupt_after_what_came_before)
{
	/* A header, a stored block of "hi\n" that is not the last, a block of the reserved
	 * type 3. */
	static const char bytes[] = "\x1f\x8b\x08\0\0\0\0\0\0\x03"
				    "\0\x03\0\xfc\xffhi\n"
				    "\x07"
				    "12345678";
	struct buf file = BUF_INIT;

	buf_add(&file, bytes, sizeof(bytes) - 1);
	assert_damage(&file, "hi\n", "gzip_corrupt", 0);
	buf_done(&file);
}
END_TEST

START_TEST(the_digest_of_a_damaged_file_is_that_of_its_bytes)
{
	static const char *const files[] = {"abc", "\x1f\x8b\x08"};
	struct reading r;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct digest *d = digest_new();
		char want[DIGEST_TEXT + 1];
		int fd = memory_file(files[i], 3);

		ck_assert_ptr_nonnull(d);
		digest_add(d, files[i], 3);
		digest_finish(d, want);
		digest_free(d);
		read_all(&r, fd, true, 10);
		ck_assert_ptr_nonnull(r.err.code);
		ck_assert_str_eq(r.facts.digest, want);
		ck_assert_uint_eq(r.facts.file_bytes, 3);
		close(fd);
	}
}
END_TEST

START_TEST(finish_reads_on_for_the_digest)
{
	struct buf file = BUF_INIT;
	struct ts_error err = TS_ERROR_INIT;
	struct input_facts facts;
	struct input *in;
	char c;
	int fd;

	add_text_member(&file, "a");
	add_text_member(&file, "bc");
	fd = memory_file(file.data, file.len);
	ck_assert_int_eq(input_open(fd, true, &test_limits, &in, &err), 0);
	ck_assert_int_eq(input_read(in, &c, 1, &err), 1);
	ck_assert_int_eq(input_finish(in, &facts, &err), 0);
	ck_assert_str_eq(facts.digest, ABC_DIGEST);
	ck_assert_uint_eq(facts.members, 2);
	ck_assert_uint_eq(facts.decoded_bytes, 3);
	input_close(in);
	close(fd);
	buf_done(&file);
}
END_TEST

/* n zero bytes as one member, read with a ratio. Returns what came out; err tells the end. */
static uint64_t read_zeros(size_t n, uint64_t ratio, struct ts_error *err,
			   struct input_facts *facts)
{
	struct input_limits limits = {.line_bytes = 1000, .expansion_ratio = ratio};
	static char block[200000];
	struct ts_error finish = TS_ERROR_INIT;
	struct buf file = BUF_INIT;
	char *zeros = calloc(1, n);
	struct input *in;
	uint64_t total = 0;
	ssize_t step;
	int fd;

	ck_assert_ptr_nonnull(zeros);
	add_member(&file, zeros, n, NULL);
	free(zeros);
	/* The premise: more than 500 times as large, less than 2000 times. */
	ck_assert_uint_gt(n, file.len * 500);
	ck_assert_uint_lt(n, file.len * 2000);
	fd = memory_file(file.data, file.len);
	ck_assert_int_eq(input_open(fd, true, &limits, &in, err), 0);
	while ((step = input_read(in, block, sizeof(block), err)) > 0)
		total += (uint64_t)step;
	ck_assert_int_eq(input_finish(in, facts, &finish), 0);
	input_close(in);
	close(fd);
	buf_done(&file);
	return total;
}

START_TEST(expansion_is_refused_once_64_mib_came_out)
{
	struct ts_error err = TS_ERROR_INIT;
	struct input_facts facts;
	uint64_t out = read_zeros(70 * MIB, 250, &err, &facts);

	ck_assert(ts_error_is(&err, TS_E_EXPANSION_RATIO));
	ck_assert_uint_lt(out, 64 * MIB);
	ck_assert_uint_gt(out, 64 * MIB - 200001);
}
END_TEST

START_TEST(expansion_is_accepted_within_the_ratio)
{
	struct ts_error err = TS_ERROR_INIT;
	struct input_facts facts;

	ck_assert_uint_eq(read_zeros(70 * MIB, 2000, &err, &facts), 70 * MIB);
	ck_assert_ptr_null(err.code);
}
END_TEST

START_TEST(expansion_below_64_mib_is_not_judged)
{
	struct ts_error err = TS_ERROR_INIT;
	struct input_facts facts;

	ck_assert_uint_eq(read_zeros(64 * MIB - 1, 1, &err, &facts), 64 * MIB - 1);
	ck_assert_ptr_null(err.code);
}
END_TEST

START_TEST(a_read_error_is_no_fault_of_the_file)
{
	struct ts_error err = TS_ERROR_INIT, finish = TS_ERROR_INIT;
	struct input_facts facts;
	struct input *in;
	char block[10];
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int gzip = 0; gzip < 2; gzip++) {
		ts_error_init(&err);
		ts_error_init(&finish);
		ck_assert_int_eq(input_open(fd, gzip, &test_limits, &in, &err), 0);
		ck_assert_int_eq(input_read(in, block, sizeof(block), &err), -1);
		ck_assert(ts_error_is(&err, TS_E_IO));
		ck_assert_int_eq(err.sys, EISDIR);
		ck_assert_int_eq(input_finish(in, &facts, &finish), -1);
		ck_assert(ts_error_is(&finish, TS_E_IO));
		input_close(in);
	}
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("input");
	TCase *t = tcase_create("input");
	SRunner *runner;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, only_the_name_chooses_the_decoder);
	tcase_add_test(t, plain_bytes_come_as_they_are);
	tcase_add_test(t, gzip_bytes_behind_a_plain_name_are_not_inflated);
	tcase_add_test(t, members_are_joined_with_nothing_between);
	tcase_add_test(t, a_single_empty_member_is_an_empty_file);
	tcase_add_test(t, zero_bytes_are_truncated);
	tcase_add_test(t, a_file_that_ends_inside_a_member_is_truncated_wherever_it_ends);
	tcase_add_test(t, a_header_with_all_optional_parts_is_read);
	tcase_add_test(t, what_stands_at_a_member_border_tells_truncated_from_corrupt);
	tcase_add_test(t, plain_text_behind_gz_is_corrupt);
	tcase_add_test(t, a_bad_header_is_corrupt);
	tcase_add_test(t, a_bad_trailer_is_corrupt_after_all_data_came_out);
	tcase_add_test(t, a_wrong_crc_in_a_trailer_that_is_cut_is_truncated);
	tcase_add_test(t, a_wrong_header_crc_is_corrupt);
	tcase_add_test(t, bad_deflate_data_are_corrupt_after_what_came_before);
	tcase_add_test(t, the_digest_of_a_damaged_file_is_that_of_its_bytes);
	tcase_add_test(t, finish_reads_on_for_the_digest);
	tcase_add_test(t, expansion_is_refused_once_64_mib_came_out);
	tcase_add_test(t, expansion_is_accepted_within_the_ratio);
	tcase_add_test(t, expansion_below_64_mib_is_not_judged);
	tcase_add_test(t, a_read_error_is_no_fault_of_the_file);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
