/* test_export.c: exports read back to the same run, and exported again to the same bytes; the same
 * traces as events
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "candle_random.h"
#include "candle_run.h"
#include "export_bench.h"
#include "request_case.h"
#include "sanitized.h"
#include "tracespool/util.h"

#include "../../src/store/db.h"

#define err export_err

static void export_of(struct loaded *l, struct buf *out)
{
	struct export *x = NULL;
	uint64_t lines = 0;
	int more;

	assert_fine(export_open(l->db, &x, &err), &err);
	while ((more = export_next(x, out, &err)) > 0)
		continue;
	assert_fine(more, &err);
	for (size_t i = 0; i < out->len; i++)
		lines += out->data[i] == '\n';
	ck_assert_uint_eq(lines, export_lines(x));
	export_close(x);
}

/* All rows of a statement, every value with its type and bytes. */
static void dump(struct loaded *l, const char *sql, struct buf *out)
{
	sqlite3_stmt *s;

	ck_assert_msg(sqlite3_prepare_v2(l->db->h, sql, -1, &s, NULL) == SQLITE_OK, "%s: %s", sql,
		      sqlite3_errmsg(l->db->h));
	while (sqlite3_step(s) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(s); i++) {
			int type = sqlite3_column_type(s, i);
			double d = sqlite3_column_double(s, i);

			buf_printf(out, "|%d:", type);
			if (type == SQLITE_FLOAT) {
				buf_add(out, &d, sizeof(d));
			} else if (type != SQLITE_NULL) {
				const void *p = sqlite3_column_blob(s, i);

				buf_add(out, p, (size_t)sqlite3_column_bytes(s, i));
			}
		}
		buf_putc(out, '\n');
	}
	sqlite3_finalize(s);
}

/* The number of a span is that of its place in the file, which an export does not keep. */
static const char *const contents[] = {
	"select * from meta_rows",
	"select id, parent_id, name, span_kind, measured, step, start_ns from span_rows order by "
	"id",
	"select s.id, p.id, t.closed, t.duration_ns from span_rows s "
	"join span_time_rows t on t.no = s.no left join span_rows p on p.no = t.parent_no "
	"order by s.id",
	"select * from op_rows order by rowid",
	"select * from tensor_rows order by rowid",
	"select * from tensor_stats_rows order by rowid",
	"select * from memory_rows order by rowid",
	"select * from device_memory_rows order by rowid",
	"select * from device_interval_rows order by rowid",
	"select * from gradient_rows order by rowid",
	"select * from edge_rows order by rowid",
	"select * from terminal_rows",
	/* span_no is a number in file order: the span itself is compared. */
	"select l.no, alloc, free, device_no, category, s.id, l.start_ns, end_ns, bytes from "
	"lifetime_rows l left join span_rows s on s.no = l.span_no order by alloc",
};

static void same_run(struct loaded *a, struct loaded *b, const char *place)
{
	for (size_t i = 0; i < ARRAY_LEN(contents); i++) {
		struct buf one CLEAN(buf_done) = BUF_INIT, two CLEAN(buf_done) = BUF_INIT;

		dump(a, contents[i], &one);
		dump(b, contents[i], &two);
		ck_assert_msg(one.len == two.len &&
				      (one.len == 0 || memcmp(one.data, two.data, one.len) == 0),
			      "%s: other rows: %s", place, contents[i]);
	}
	size_t same = 0;

	while (a->summary.data[same] && a->summary.data[same] == b->summary.data[same])
		same++;
	ck_assert_msg(a->summary.data[same] == b->summary.data[same],
		      "%s: other figures: %.300s against %.300s", place,
		      a->summary.data + (same > 150 ? same - 150 : 0),
		      b->summary.data + (same > 150 ? same - 150 : 0));
}

static uint64_t rows_of(struct loaded *l, const char *table)
{
	char sql[80];
	uint64_t n;

	snprintf(sql, sizeof(sql), "select count(*) from %s", table);
	assert_fine(db_number(l->db, sql, &n, &err), &err);
	return n;
}

static void check_trace(const char *text, size_t n, const char *place)
{
	struct buf first CLEAN(buf_done) = BUF_INIT, second CLEAN(buf_done) = BUF_INIT;
	struct loaded a, b;
	struct seen seen;

	load(&a, text, n, place);
	export_of(&a, &first);
	load(&b, first.data, first.len, place);
	same_run(&a, &b, place);
	export_of(&b, &second);
	ck_assert_msg(first.len == second.len && memcmp(first.data, second.data, first.len) == 0,
		      "%s: the second export differs", place);
	seen = check_events(&a, &everything, place);
	ck_assert_uint_eq(seen.spans, rows_of(&a, "span_rows"));
	ck_assert_uint_eq(seen.ops, rows_of(&a, "op_rows"));
	ck_assert_uint_eq(seen.device, rows_of(&a, "device_interval_rows"));
	unload(&a);
	unload(&b);
}

START_TEST(generated_traces_come_back_from_their_export)
{
	for (uint64_t seed = 1; seed <= (SANITIZED ? 40 : 200); seed++) {
		struct buf text CLEAN(buf_done) = BUF_INIT;
		char place[32];

		snprintf(place, sizeof(place), "seed %llu", (unsigned long long)seed);
		random_trace(seed, &text);
		check_trace(text.data, text.len, place);
	}
}
END_TEST

START_TEST(traces_without_their_end_come_back_from_their_export)
{
	for (uint64_t seed = 1; seed <= (SANITIZED ? 10 : 40); seed++) {
		struct buf text CLEAN(buf_done) = BUF_INIT, out CLEAN(buf_done) = BUF_INIT;
		struct loaded l;
		char place[32];
		char *end;

		snprintf(place, sizeof(place), "seed %llu, cut", (unsigned long long)seed);
		random_trace(seed, &text);
		end = strstr(text.data, "{\"kind\":\"terminal\"");
		ck_assert_ptr_nonnull(end);
		check_trace(text.data, (size_t)(end - text.data), place);
		load(&l, text.data, (size_t)(end - text.data), place);
		export_of(&l, &out);
		ck_assert_ptr_null(strstr(out.data, "\"kind\":\"terminal\""));
		unload(&l);
	}
}
END_TEST

START_TEST(corpus_files_come_back_from_their_export)
{
	char path[600];
	unsigned count = 0;
	struct dirent *d;
	DIR *dir;

	if (!corpus_path()) {
		printf("test_export: corpus absent, its files are skipped\n");
		return;
	}
	snprintf(path, sizeof(path), "%s/candle/valid", corpus_path());
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((d = readdir(dir))) {
		char *text;
		struct stat st;
		int fd;

		if (d->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), d->d_name, O_RDONLY);
		ck_assert_int_eq(fstat(fd, &st), 0);
		text = malloc((size_t)st.st_size + 1);
		ck_assert_int_eq(read(fd, text, (size_t)st.st_size), st.st_size);
		close(fd);
		check_trace(text, (size_t)st.st_size, d->d_name);
		free(text);
		count++;
	}
	closedir(dir);
	ck_assert_uint_gt(count, 20);
}
END_TEST

START_TEST(export_has_the_canonical_order_and_form)
{
	struct buf out CLEAN(buf_done) = BUF_INIT;
	struct loaded l;

	/* The ends come late and the second span first by id; explicit defaults appear. */
	load(&l, META START1 START0 STATS OP END0 TERMINAL,
	     strlen(META START1 START0 STATS OP END0 TERMINAL), "order");
	export_of(&l, &out);
	ck_assert_ptr_nonnull(strstr(
		out.data,
		"\"tags\":{}}\n"
		"{\"kind\":\"span_start\",\"id\":\"s0\",\"name\":\"capture\",\"start_ns\":0,"
		"\"span_kind\":\"function\",\"measured\":false}\n"
		"{\"kind\":\"span_end\",\"id\":\"s0\",\"duration_ns\":80}\n"
		"{\"kind\":\"span_start\",\"id\":\"s1\",\"parent_id\":\"s0\",\"name\":\"call\","
		"\"start_ns\":10,\"span_kind\":\"function\",\"measured\":true}\n"
		"{\"kind\":\"op\",\"span_id\":\"s1\",\"op_name\":\"matmul\",\"inputs\":[\"x\","
		"\"w\"],"
		"\"output\":\"y\",\"shape\":[8,4],\"dtype\":\"F32\",\"device\":\"cpu\","
		"\"duration_ns\":30,\"timestamp_ns\":20,\"output_dense_bytes\":128,"
		"\"input_dense_bytes\":192}\n"
		"{\"kind\":\"tensor_stats\",\"span_id\":\"s0\",\"label\":\"out\",\"shape\":[2,3],"
		"\"dtype\":\"f32\",\"elements\":6,\"non_finite\":6,\"rms\":0.0,\"abs_max\":-0.0,"
		"\"mean\":-1.5}\n"
		"{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":80}\n"));
	unload(&l);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("export");
	TCase *t = tcase_create("export");

	tcase_set_timeout(t, 240);
	tcase_add_test(t, generated_traces_come_back_from_their_export);
	tcase_add_test(t, traces_without_their_end_come_back_from_their_export);
	tcase_add_test(t, corpus_files_come_back_from_their_export);
	tcase_add_test(t, export_has_the_canonical_order_and_form);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
