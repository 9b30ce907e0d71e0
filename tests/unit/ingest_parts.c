/* ingest_parts.c: the parts of ingest one by one: queue, proofs by content, check, documents */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "ingest_bench.h"

#include "tracespool/input.h"
#include "tracespool/text.h"

#include "../../src/ingest/documents.h"
#include "../../src/ingest/tasks.h"

static struct bench b;
static struct tasks tasks;

static void setup(void)
{
	bench_open(&b);
}

static void teardown(void)
{
	bench_close(&b);
}

static void setup_tasks(void)
{
	struct ts_error err = TS_ERROR_INIT;

	ck_assert_int_eq(tasks_init(&tasks, 3, &err), 0);
}

static void teardown_tasks(void)
{
	tasks_done(&tasks);
}

/* ---- queue ---- */

static struct task *take(const char *name)
{
	struct task *task = tasks_take(&tasks);

	ck_assert_str_eq(task->name, name);
	return task;
}

static enum tasks_event finish(struct task *task, enum task_verdict verdict, int64_t delay_ms,
			       const char *pause)
{
	struct task_result result = {.verdict = verdict, .delay_ms = delay_ms, .pause = pause};

	return tasks_finish(&tasks, task, &result);
}

static uint64_t queued(void)
{
	uint64_t n, busy;
	const char *paused;

	tasks_counts(&tasks, &n, &busy, &paused);
	return n;
}

START_TEST(a_name_is_queued_once_and_the_queue_has_a_bound)
{
	ck_assert(tasks_offer(&tasks, "a", 1));
	ck_assert(tasks_offer(&tasks, "a", 2));
	ck_assert(tasks_offer(&tasks, "b", 3));
	ck_assert(tasks_offer(&tasks, "c", 4));
	ck_assert(!tasks_offer(&tasks, "d", 5));
	ck_assert(tasks_offer(&tasks, "b", 6));
	ck_assert_uint_eq(queued(), 3);
	struct task *a = take("a");

	ck_assert_int_eq(a->seen_ms, 1);
	ck_assert(tasks_offer(&tasks, "d", 7));
	ck_assert_int_eq(finish(a, TASK_OVER, 0, NULL), TASKS_SAME);
	finish(take("b"), TASK_OVER, 0, NULL);
	finish(take("c"), TASK_OVER, 0, NULL);
	finish(take("d"), TASK_OVER, 0, NULL);
	ck_assert_uint_eq(queued(), 0);
}
END_TEST

START_TEST(a_name_offered_while_it_is_worked_on_is_looked_at_once_more)
{
	ck_assert(tasks_offer(&tasks, "a", 1));
	struct task *a = take("a");

	ck_assert(tasks_offer(&tasks, "a", 2));
	ck_assert(tasks_offer(&tasks, "a", 3));
	ck_assert_uint_eq(queued(), 0);
	finish(a, TASK_OVER, 0, NULL);
	ck_assert_uint_eq(queued(), 1);
	finish(take("a"), TASK_OVER, 0, NULL);
	ck_assert_uint_eq(queued(), 0);
}
END_TEST

START_TEST(a_resting_name_comes_back_at_its_time_and_not_before)
{
	int64_t begun = time_mono_ms();

	ck_assert(tasks_offer(&tasks, "a", 1));
	finish(take("a"), TASK_LATER, 150, NULL);
	ck_assert(tasks_offer(&tasks, "a", 2)); /* ignored, but not refused */
	ck_assert_uint_eq(queued(), 0);
	struct task *a = take("a");

	ck_assert_int_ge(time_mono_ms() - begun, 150);
	finish(a, TASK_OVER, 0, NULL);
	ck_assert_uint_eq(queued(), 0);
}
END_TEST

START_TEST(a_name_that_wants_an_offer_rests_until_it_gets_one)
{
	struct task_result changed = {.verdict = TASK_LATER, .wants_offer = true};

	ck_assert(tasks_offer(&tasks, "a", 1));
	tasks_finish(&tasks, take("a"), &changed);
	ck_assert(tasks_offer(&tasks, "b", 1));
	finish(take("b"), TASK_OVER, 0, NULL); /* not a */
	ck_assert_uint_eq(queued(), 0);
	ck_assert(tasks_offer(&tasks, "a", 2));
	finish(take("a"), TASK_OVER, 0, NULL);
}
END_TEST

START_TEST(a_name_that_gets_no_offer_is_looked_for_now_and_then)
{
	struct task_result changed = {.verdict = TASK_LATER, .wants_offer = true};
	struct task *a;

	for (int i = 0; i < 2; i++) {
		if (i == 0)
			ck_assert(tasks_offer(&tasks, "a", 1));
		a = take("a");
		ck_assert_int_eq(a->look_only, i == 1);
		tasks_finish(&tasks, a, &changed);
		tasks.resting.first->retry_ms -= 31000; /* that time went by */
		tasks.look_ms = 0;
	}
	/* An offer makes more of it than a look. */
	ck_assert(tasks_offer(&tasks, "a", 2));
	a = take("a");
	ck_assert(!a->look_only);
	finish(a, TASK_OVER, 0, NULL);
}
END_TEST

START_TEST(a_pause_lets_one_probe_through_and_ends_by_it)
{
	int64_t begun = time_mono_ms();

	ck_assert(tasks_offer(&tasks, "a", 1));
	ck_assert(tasks_offer(&tasks, "b", 1));
	ck_assert_int_eq(finish(take("a"), TASK_FIRST, 0, "disk_floor"), TASKS_PAUSED);
	struct task *a = take("a");

	/* The first probe comes after a second. */
	ck_assert_int_ge(time_mono_ms() - begun, 1000);
	ck_assert(a->probe);
	ck_assert_int_eq(finish(a, TASK_OVER, 0, NULL), TASKS_RESUMED);
	ck_assert_int_eq(finish(take("b"), TASK_OVER, 0, NULL), TASKS_SAME);
}
END_TEST

START_TEST(backoff_doubles_up_to_its_bound)
{
	ck_assert_int_eq(tasks_backoff_ms(1, 300000), 1000);
	ck_assert_int_eq(tasks_backoff_ms(2, 300000), 2000);
	ck_assert_int_eq(tasks_backoff_ms(8, 300000), 128000);
	ck_assert_int_eq(tasks_backoff_ms(9, 300000), 256000);
	ck_assert_int_eq(tasks_backoff_ms(10, 300000), 300000);
	ck_assert_int_eq(tasks_backoff_ms(4000000000u, 300000), 300000);
}
END_TEST

/* ---- proofs by content ---- */

static bool complete(const char *name, const void *bytes, size_t size)
{
	const struct spool_content *content = ingest_content();
	struct spool_patience patience = {.until_ms = INT64_MAX};
	char path[200];
	bool result;
	int fd;

	bench_write(&b, name, bytes, size);
	snprintf(path, sizeof(path), "%s/%s", b.dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	result = content->complete(content->arg, fd, name, &patience);
	ck_assert(!patience.over);
	close(fd);
	return result;
}

static bool text_complete(const char *text)
{
	return complete("x.jsonl", text, strlen(text));
}

START_TEST(an_execution_trace_is_finished_by_its_terminal_record)
{
	char *trace = strdup(execution_trace("x"));
	struct buf text = BUF_INIT;

	ck_assert(text_complete(trace));
	trace[strlen(trace) - 1] = 0;
	ck_assert(text_complete(trace)); /* the last line needs no LF */
	buf_puts(&text, "\n \n");
	buf_puts(&text, trace);
	for (int i = 0; i < 40000; i++)
		buf_puts(&text, "\n\t\n\xc2\xa0\r\n");
	ck_assert(text_complete(text.data));
	*strstr(trace, "{\"kind\":\"terminal\"") = 0;
	ck_assert(!text_complete(trace));
	buf_clear(&text);
	buf_puts(&text, execution_trace("x"));
	buf_puts(&text, "{\"kind\":\"span_start\",\"id\":\"s9\"");
	ck_assert(!text_complete(text.data));
	buf_done(&text);
	free(trace);
}
END_TEST

START_TEST(other_files_are_finished_by_a_whole_first_line)
{
	ck_assert(text_complete(request_trace("r", 1)));
	ck_assert(text_complete("\n\n{\"a\":1}\nmore"));
	ck_assert(text_complete("no JSON\n"));
	ck_assert(text_complete("\xff\xfe\n"));
	ck_assert(!text_complete("{\"schema\":\"dynamo.request.trace.v1\"}"));
	ck_assert(!text_complete("\n\n"));
	ck_assert(!text_complete(""));
}
END_TEST

START_TEST(a_gzip_file_is_finished_by_a_whole_member_and_the_same_rules)
{
	char *trace = strdup(execution_trace("x"));
	struct buf gz = BUF_INIT;

	ck_assert_int_eq(buf_gzip(ts_str_c(trace), &gz), 0);
	ck_assert(complete("x.jsonl.gz", gz.data, gz.len));
	ck_assert(!complete("x.jsonl.gz", gz.data, gz.len - 1));
	ck_assert(!complete("x.jsonl.gz", gz.data, 0));
	*strstr(trace, "{\"kind\":\"terminal\"") = 0;
	buf_clear(&gz);
	ck_assert_int_eq(buf_gzip(ts_str_c(trace), &gz), 0);
	ck_assert(!complete("x.jsonl.gz", gz.data, gz.len));
	buf_clear(&gz);
	ck_assert_int_eq(buf_gzip(ts_str_c(request_trace("r", 3)), &gz), 0);
	ck_assert(complete("x.jsonl.gz", gz.data, gz.len));
	ck_assert_int_eq(buf_gzip(ts_str_c(request_trace("s", 3)), &gz), 0);
	ck_assert(complete("x.jsonl.gz", gz.data, gz.len));
	ck_assert(!complete("x.jsonl.gz", gz.data, gz.len - 3));
	buf_done(&gz);
	free(trace);
}
END_TEST

START_TEST(one_gzip_member_inflates_to_the_same_bytes)
{
	const char *text = request_trace("z", 200);
	struct buf gz = BUF_INIT, again = BUF_INIT;
	unsigned char out[65536];
	z_stream z = {0};

	buf_puts(&gz, "front");
	ck_assert_int_eq(buf_gzip(ts_str_c(text), &gz), 0);
	ck_assert_int_eq(memcmp(gz.data, "front\x1f\x8b", 7), 0);
	ck_assert_int_eq(buf_gzip(ts_str_c(text), &again), 0);
	ck_assert_uint_eq(again.len, gz.len - 5);
	ck_assert_int_eq(memcmp(again.data, gz.data + 5, again.len), 0);
	ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (unsigned char *)again.data;
	z.avail_in = (uInt)again.len;
	z.next_out = out;
	z.avail_out = sizeof(out);
	ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	ck_assert_uint_eq(z.avail_in, 0);
	ck_assert_uint_eq(z.total_out, strlen(text));
	ck_assert_int_eq(memcmp(out, text, strlen(text)), 0);
	inflateEnd(&z);
	buf_done(&gz);
	buf_done(&again);
}
END_TEST

/* ---- check ---- */

static uint64_t progress_done, progress_size;

static void progress(void *arg, uint64_t done, uint64_t size)
{
	(void)arg;
	ck_assert_uint_ge(done, progress_done);
	progress_done = done;
	progress_size = size;
}

static json_t *check(const char *path, int want, struct ts_error *reason)
{
	struct check_options options = {.conf = &b.conf, .progress = progress};
	struct ts_error err = TS_ERROR_INIT;
	struct buf out = BUF_INIT;
	char full[300];
	json_t *doc;
	int rc;

	progress_done = 0;
	snprintf(full, sizeof(full), "%s/%s", b.dir, path);
	rc = ingest_check(full, &options, &out, reason, &err);
	ck_assert_msg(rc == want, "%d: %s %s", rc, err.message, reason->message);
	if (rc < 0)
		return NULL;
	doc = json_loads(out.data, 0, NULL);
	ck_assert_msg(doc != NULL, "%s", out.data);
	buf_done(&out);
	ck_assert_str_eq(text_of(doc, "schema"), "tracespool/check/1");
	return doc;
}

START_TEST(check_accepts_what_ingest_accepts)
{
	struct ts_error reason = TS_ERROR_INIT;
	json_t *doc;

	bench_write_text(&b, "a.jsonl", execution_trace("checked"));
	doc = check("a.jsonl", 1, &reason);
	ck_assert_str_eq(text_of(doc, "name"), "a.jsonl");
	ck_assert(json_is_true(member(doc, "accepted")));
	ck_assert_str_eq(text_of(doc, "kind"), "execution");
	ck_assert_str_eq(text_of(doc, "run_id"), "checked");
	ck_assert_str_eq(text_of(doc, "would_be"), "ingested");
	ck_assert_int_eq(number_of(doc, "counts.spans"), 2);
	ck_assert(is_null(doc, "reason"));
	ck_assert(json_is_array(member(doc, "warnings")));
	ck_assert_ptr_null(reason.code);
	json_decref(doc);
	bench_mkdir(&b, "night");
	bench_write_text(&b, "night/b.jsonl", request_trace("b", 300));
	bench_write_text(&b, "night/a.jsonl", request_trace("a", 2));
	doc = check("night/", 1, &reason);
	ck_assert_str_eq(text_of(doc, "name"), "night");
	ck_assert_int_eq(number_of(doc, "counts.requests"), 302);
	ck_assert_int_eq(number_of(doc, "counts.shards"), 2);
	ck_assert_uint_gt(progress_done, 0);
	json_decref(doc);
	/* It stores nothing and moves nothing. */
	ck_assert_uint_eq(bench_runs(&b), 0);
	ck_assert(bench_exists(&b, "a.jsonl"));
	ck_assert_uint_eq(bench_count(&b, "store/tmp"), 0);
}
END_TEST

START_TEST(check_refuses_what_ingest_refuses)
{
	struct ts_error reason = TS_ERROR_INIT;
	json_t *doc;

	bench_write_text(&b, "a.jsonl", "\n{\"kind\":\"meta\"}\n");
	doc = check("a.jsonl", 0, &reason);
	ck_assert(json_is_false(member(doc, "accepted")));
	ck_assert_str_eq(text_of(doc, "would_be"), "quarantined");
	ck_assert_str_eq(text_of(doc, "reason.code"), "missing_field");
	ck_assert_int_eq(number_of(doc, "reason.line"), 2);
	ck_assert(is_null(doc, "counts"));
	ck_assert(ts_error_is(&reason, TS_E_MISSING_FIELD));
	json_decref(doc);
	ts_error_init(&reason);
	bench_write_text(&b, "a.txt", execution_trace("x"));
	doc = check("a.txt", 0, &reason);
	ck_assert_str_eq(text_of(doc, "reason.code"), "bad_name");
	json_decref(doc);
	ts_error_init(&reason);
	check("absent.jsonl", -1, &reason);
}
END_TEST

/* ---- documents ---- */

START_TEST(the_source_of_a_receipt_can_be_changed_and_nothing_else)
{
	struct receipt_doc doc = {
		/* The error's text holds what looks like the member. */
		.name = "a,\"source\":{}}.jsonl",
		.state = "ingested",
		.final = true,
		.seen_ms = 1,
		.source = {SOURCE_ARCHIVED, "p/,\"source\":{}", 0},
	};
	struct source_fate failed = {SOURCE_ARCHIVED, "p/,\"source\":{}", ENOTDIR};
	struct buf was = BUF_INIT, now = BUF_INIT, back = BUF_INIT;
	json_t *a, *z;

	receipt_doc_write(&doc, &was);
	ck_assert(receipt_doc_change_source(ts_str(was.data, was.len), &failed, &now));
	z = json_loads(now.data, 0, NULL);
	ck_assert_ptr_nonnull(z);
	ck_assert_str_eq(text_of(z, "source.action"), "failed");
	ck_assert_int_eq(number_of(z, "source.errno"), ENOTDIR);
	ck_assert_str_eq(text_of(z, "source.path"), "p/,\"source\":{}");
	a = json_loads(was.data, 0, NULL);
	json_object_del(a, "source");
	json_object_del(z, "source");
	ck_assert(json_equal(a, z));
	ck_assert(receipt_doc_change_source(ts_str(now.data, now.len), &doc.source, &back));
	ck_assert_str_eq(back.data, was.data);
	ck_assert(!receipt_doc_change_source(TS_STR("{}"), &failed, &now));
	json_decref(a);
	json_decref(z);
	buf_done(&was);
	buf_done(&now);
	buf_done(&back);
}
END_TEST

Suite *ingest_parts_suite(void)
{
	Suite *s = suite_create("ingest_parts");
	TCase *queue = tcase_create("queue");
	TCase *t = tcase_create("parts");

	tcase_set_timeout(queue, 30);
	tcase_add_checked_fixture(queue, setup_tasks, teardown_tasks);
	tcase_add_test(queue, a_name_is_queued_once_and_the_queue_has_a_bound);
	tcase_add_test(queue, a_name_offered_while_it_is_worked_on_is_looked_at_once_more);
	tcase_add_test(queue, a_resting_name_comes_back_at_its_time_and_not_before);
	tcase_add_test(queue, a_name_that_wants_an_offer_rests_until_it_gets_one);
	tcase_add_test(queue, a_name_that_gets_no_offer_is_looked_for_now_and_then);
	tcase_add_test(queue, a_pause_lets_one_probe_through_and_ends_by_it);
	tcase_add_test(queue, backoff_doubles_up_to_its_bound);
	suite_add_tcase(s, queue);
	tcase_set_timeout(t, 30);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, an_execution_trace_is_finished_by_its_terminal_record);
	tcase_add_test(t, other_files_are_finished_by_a_whole_first_line);
	tcase_add_test(t, a_gzip_file_is_finished_by_a_whole_member_and_the_same_rules);
	tcase_add_test(t, one_gzip_member_inflates_to_the_same_bytes);
	tcase_add_test(t, check_accepts_what_ingest_accepts);
	tcase_add_test(t, check_refuses_what_ingest_refuses);
	tcase_add_test(t, the_source_of_a_receipt_can_be_changed_and_nothing_else);
	suite_add_tcase(s, t);
	return s;
}
