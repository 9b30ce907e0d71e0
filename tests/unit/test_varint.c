/* test_varint.c: numbers of seven bits a byte, at their edges and when they are damaged */
#include <check.h>
#include <string.h>

#include "../../src/analyze/memory.h"
#include "tracespool/util.h"
#include "tracespool/varint.h"

static const struct {
	uint64_t v;
	const char *bytes;
	size_t n;
} numbers[] = {
	{0, "\x00", 1},
	{127, "\x7f", 1},
	{128, "\x80\x01", 2},
	{16383, "\xff\x7f", 2},
	{16384, "\x80\x80\x01", 3},
	{(UINT64_C(1) << 63) - 1, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9},
	{UINT64_C(1) << 63, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10},
	{UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
};

START_TEST(a_number_has_its_bytes_and_they_give_the_number)
{
	struct buf out CLEAN(buf_done) = BUF_INIT;

	varint_put(&out, numbers[_i].v);
	ck_assert_uint_eq(out.len, numbers[_i].n);
	ck_assert_mem_eq(out.data, numbers[_i].bytes, out.len);
	struct varint_reader in = varint_open(ts_str(out.data, out.len));

	ck_assert_uint_eq(varint_take(&in), numbers[_i].v);
	ck_assert(!in.damaged && in.at == in.end);
	for (size_t cut = 0; cut < out.len; cut++) {
		in = varint_open(ts_str(out.data, cut));
		ck_assert_uint_eq(varint_take(&in), 0);
		ck_assert(in.damaged);
	}
}
END_TEST

START_TEST(more_than_64_bits_are_damage_and_damage_stays)
{
	const char *const long_ones[] = {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
					 "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"};

	for (size_t i = 0; i < ARRAY_LEN(long_ones); i++) {
		struct varint_reader in = varint_open(ts_str_c(long_ones[i]));

		ck_assert_uint_eq(varint_take(&in), 0);
		ck_assert(in.damaged);
		ck_assert_uint_eq(varint_take(&in), 0);
	}
	struct varint_reader none = varint_open(ts_str(NULL, 0));

	ck_assert(none.at == none.end && !none.damaged);
}
END_TEST

START_TEST(distances_are_small_on_both_sides_and_go_round)
{
	ck_assert_uint_eq(varint_fold(5, 5), 0);
	ck_assert_uint_eq(varint_fold(5, 4), 1);
	ck_assert_uint_eq(varint_fold(5, 6), 2);
	ck_assert_uint_eq(varint_fold(0, UINT64_MAX), 1);
	ck_assert_uint_eq(varint_fold(UINT64_MAX, 0), 2);
	const uint64_t ends[] = {0, 1, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1, UINT64_MAX};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		for (size_t k = 0; k < ARRAY_LEN(ends); k++)
			ck_assert_uint_eq(varint_unfold(ends[i], varint_fold(ends[i], ends[k])),
					  ends[k]);
}
END_TEST

START_TEST(points_of_a_series_come_back_and_damaged_ones_are_refused)
{
	const struct thin_row rows[] = {
		{.bucket = 0, .time = 0, .value = UINT64_MAX, .counts = true},
		{.bucket = 0, .time = 7, .value = 0, .counts = true},
		{.bucket = 9999, .time = UINT64_MAX, .value = UINT64_C(1) << 63, .counts = true},
	};
	static struct thin_row back[THIN_ROWS_MAX];
	struct buf out CLEAN(buf_done) = BUF_INIT;

	thin_pack(rows, ARRAY_LEN(rows), &out);
	ck_assert_int_eq(thin_unpack(ts_str(out.data, out.len), back), (int)ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ck_assert_uint_eq(back[i].bucket, rows[i].bucket);
		ck_assert_uint_eq(back[i].time, rows[i].time);
		ck_assert_uint_eq(back[i].value, rows[i].value);
		ck_assert(back[i].counts);
	}
	ck_assert_int_eq(thin_unpack(ts_str(out.data, out.len - 1), back), -1);
	ck_assert_int_eq(thin_unpack(ts_str(NULL, 0), back), 0);
	/* One point more than a series has. */
	buf_clear(&out);
	for (size_t i = 0; i < 3 * ((size_t)THIN_ROWS_MAX + 1); i++)
		buf_putc(&out, 0);
	ck_assert_int_eq(thin_unpack(ts_str(out.data, out.len - 3), back), THIN_ROWS_MAX);
	ck_assert_int_eq(thin_unpack(ts_str(out.data, out.len), back), -1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("varint");
	TCase *t = tcase_create("varint");

	tcase_add_loop_test(t, a_number_has_its_bytes_and_they_give_the_number, 0,
			    ARRAY_LEN(numbers));
	tcase_add_test(t, more_than_64_bits_are_damage_and_damage_stays);
	tcase_add_test(t, distances_are_small_on_both_sides_and_go_round);
	tcase_add_test(t, points_of_a_series_come_back_and_damaged_ones_are_refused);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
