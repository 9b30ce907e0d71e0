/* test_watcher.c: the watcher on real folders with short times: what is offered, when, how often,
 * and what is not, with events and by polling only */
#include "watching.h"

START_TEST(what_is_renamed_in_is_offered_at_once)
{
	watch_with(NEVER, NEVER, NEVER, false);
	wait_until(state().rescans == 1);
	ck_assert(state().inotify);
	rename_in("a.jsonl", "no proof of an end");
	wait_until(offered("a.jsonl"));
	ck_assert_int_eq(t.proofs, 0);
	ck_assert_uint_eq(state().rescans, 1);
	wait_until(!waiting("a.jsonl"));
}
END_TEST

START_TEST(a_folder_renamed_in_is_offered_at_once)
{
	watch_with(NEVER, NEVER, NEVER, false);
	wait_until(state().rescans == 1);
	ck_assert_int_eq(mkdir(at("spool/run.tmp"), 0755), 0);
	write_file(at("spool/run.tmp/a.jsonl"), "x");
	ck_assert_int_eq(rename(at("spool/run.tmp"), at("spool/run")), 0);
	wait_until(offered("run"));
	ck_assert_uint_eq(offered_names(), 1);
}
END_TEST

START_TEST(a_file_in_place_waits_over_all_pauses_until_its_end_is_there)
{
	t.take = true;
	watch_with(20, 40, NEVER, _i);
	write_file(at("spool/a.jsonl"), "meta\n");
	for (int i = 0; i < 3; i++) {
		let_scan(4);
		ck_assert(waiting("a.jsonl"));
		ck_assert_uint_eq(state().waiting, 1);
		append_file(at("spool/a.jsonl"), "span\n");
	}
	append_file(at("spool/a.jsonl"), "end\n");
	wait_until(offered("a.jsonl"));
	let_scan(3);
	ck_assert_uint_eq(offers(), 1);
	ck_assert_uint_eq(state().waiting, 0);
	ck_assert_int_eq(state().inotify, !_i);
}
END_TEST

START_TEST(content_is_read_once_for_each_state_of_a_file)
{
	watch_with(20, 40, NEVER, false);
	write_file(at("spool/a.jsonl"), "meta\n");
	wait_until(t.proofs == 1);
	let_scan(5);
	ck_assert_int_eq(t.proofs, 1);
	append_file(at("spool/a.jsonl"), "span\n");
	wait_until(t.proofs == 2);
	let_scan(5);
	ck_assert_int_eq(t.proofs, 2);
}
END_TEST

START_TEST(content_that_takes_long_to_read_holds_up_nothing_else)
{
	watch_with(20, 40, NEVER, false);
	write_file(at("spool/slow.jsonl"), "end\n");
	wait_until(t.proofs == 2); /* once in the watcher's thread, then beside it */
	write_file(at("spool/a.jsonl"), "end\n");
	rename_in("b.jsonl", "x\n");
	wait_until(offered("a.jsonl") && offered("b.jsonl"));
	ck_assert(!offered("slow.jsonl"));
	t.read_on = true;
	wait_until(offered("slow.jsonl"));
	ck_assert_int_eq(t.proofs, 3);
}
END_TEST

START_TEST(content_that_changes_while_it_is_read_for_long_is_read_anew)
{
	watch_with(20, 40, NEVER, false);
	write_file(at("spool/slow.jsonl"), "end\n");
	wait_until(t.proofs == 2);
	append_file(at("spool/slow.jsonl"), "more\n");
	wait_until(t.proofs == 4);
	t.read_on = true;
	let_scan(10);
	ck_assert(!offered("slow.jsonl"));
	append_file(at("spool/slow.jsonl"), "end\n");
	wait_until(offered("slow.jsonl"));
}
END_TEST

START_TEST(the_watcher_stops_while_content_is_read_for_long)
{
	watch_with(20, 40, NEVER, false);
	write_file(at("spool/slow.jsonl"), "end\n");
	wait_until(t.proofs == 2);
	watcher_stop(t.w);
	t.w = NULL;
}
END_TEST

START_TEST(a_storm_of_events_on_one_file_is_one_drop)
{
	int fd;

	t.take = true;
	watch_with(50, 100, NEVER, false);
	write_file(at("spool/a.jsonl.tmp"), "one\n");
	append_file(at("spool/a.jsonl.tmp"), "two\n");
	ck_assert_int_eq(chmod(at("spool/a.jsonl.tmp"), 0600), 0);
	fd = open(at("spool/a.jsonl.tmp"), O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(futimens(fd, NULL), 0);
	close(fd);
	ck_assert_int_eq(rename(at("spool/a.jsonl.tmp"), at("spool/a.jsonl")), 0);
	wait_until(offered("a.jsonl"));
	let_scan(3);
	ck_assert_uint_eq(offers(), 1);
}
END_TEST

START_TEST(many_names_renamed_in_are_offered_once_each)
{
	char name[32];

	t.take = true;
	watch_with(50, 200, NEVER, false);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "f%d.jsonl", i);
		rename_in(name, "x\n");
	}
	wait_until(offered_names() == 2000);
	let_scan(2);
	ck_assert_uint_eq(offers(), 2000);
	ck_assert_uint_eq(state().waiting, 0);
}
END_TEST

START_TEST(what_stands_there_at_the_start_counts_as_in_place)
{
	rename_in("open.jsonl", "meta\n");
	rename_in("whole.jsonl", "meta\nend\n");
	watch_with(20, 40, NEVER, false);
	wait_until(offered("whole.jsonl"));
	let_scan(4);
	ck_assert(!offered("open.jsonl"));
	ck_assert(waiting("open.jsonl"));
	ck_assert_uint_eq(state().rescans_by[RESCAN_START], 1);
	ck_assert_int_gt(state().last_scan_ms, 0);
}
END_TEST

START_TEST(without_events_a_rename_counts_as_in_place)
{
	watch_with(20, 40, NEVER, true);
	ck_assert(!state().inotify);
	rename_in("open.jsonl", "meta\n");
	rename_in("whole.jsonl", "meta\nend\n");
	wait_until(offered("whole.jsonl"));
	let_scan(4);
	ck_assert(!offered("open.jsonl"));
}
END_TEST

START_TEST(what_never_proves_its_end_is_taken_when_idle)
{
	watch_with(20, 40, 300, _i);
	write_file(at("spool/open.jsonl"), "meta\n");
	write_file(at("spool/empty.jsonl"), "");
	ck_assert_int_eq(mkdir(at("spool/folder"), 0755), 0);
	let_scan(2);
	ck_assert_uint_eq(offered_names(), 0);
	wait_until(offered_names() == 3);
}
END_TEST

START_TEST(a_new_idle_time_holds_for_what_waits)
{
	watch_with(20, NEVER, NEVER, false);
	write_file(at("spool/open.jsonl"), "meta\n");
	wait_until(t.proofs == 1);
	watcher_set_idle(t.w, 50);
	wait_until(offered("open.jsonl"));
}
END_TEST

START_TEST(a_segment_waits_for_a_higher_number_of_its_prefix)
{
	watch_with(20, 40, NEVER, _i);
	write_file(at("spool/p.000009.jsonl.gz"), "x");
	write_file(at("spool/q.000010.jsonl.gz"), "x");
	let_scan(4);
	ck_assert_uint_eq(offered_names(), 0);
	write_file(at("spool/p.000010.jsonl.gz"), "x");
	wait_until(offered("p.000009.jsonl.gz"));
	let_scan(4);
	ck_assert_uint_eq(offered_names(), 1);
	ck_assert_int_eq(t.proofs, 0);
}
END_TEST

START_TEST(numbers_of_an_earlier_recording_do_not_release_a_segment)
{
	watch_with(20, 40, NEVER, _i);
	write_file(at("spool/p.000000.jsonl.gz"), "x");
	write_file(at("spool/p.000007.jsonl.gz"), "x");
	wait_until(offered("p.000000.jsonl.gz"));
	/* Taken; then the recorder starts again in the emptied folder. */
	ck_assert_int_eq(unlink(at("spool/p.000000.jsonl.gz")), 0);
	ck_assert_int_eq(unlink(at("spool/p.000007.jsonl.gz")), 0);
	wait_until(!waiting("p.000007.jsonl.gz"));
	write_file(at("spool/p.000001.jsonl.gz"), "x");
	let_scan(4);
	ck_assert(waiting("p.000001.jsonl.gz"));
	ck_assert(!offered("p.000001.jsonl.gz"));
	write_file(at("spool/p.000002.jsonl.gz"), "x");
	wait_until(offered("p.000001.jsonl.gz"));
}
END_TEST

START_TEST(a_folder_in_place_waits_for_all_its_entries)
{
	watch_with(20, 40, NEVER, _i);
	ck_assert_int_eq(mkdir(at("spool/run"), 0755), 0);
	write_file(at("spool/run/a.jsonl"), "x");
	write_file(at("spool/run/b.jsonl.part"), "x");
	let_scan(5);
	ck_assert(!offered("run"));
	ck_assert(waiting("run"));
	ck_assert_int_eq(rename(at("spool/run/b.jsonl.part"), at("spool/run/b.jsonl")), 0);
	wait_until(offered("run"));
}
END_TEST

START_TEST(unfinished_and_other_names_are_counted_not_offered)
{
	write_file(at("spool/notes.txt"), "x");
	watch_with(20, 40, 60, false);
	rename_in("a.json", "end\n");
	write_file(at("spool/.hidden.jsonl"), "end\n");
	write_file(at("spool/b.jsonl.tmp"), "end\n");
	ck_assert_int_eq(mkdir(at("spool/c.part"), 0755), 0);
	wait_until(state().ignored == 5);
	let_scan(6);
	ck_assert_uint_eq(offered_names(), 0);
	ck_assert_uint_eq(state().waiting, 0);
}
END_TEST

START_TEST(an_archive_with_a_plain_name_is_no_drop)
{
	spool_close(t.sp);
	ck_assert_int_eq(rmdir(at("spool/.archive")), 0);
	ck_assert_int_eq(rmdir(at("spool/.quarantine")), 0);
	t.sp = open_spool_with("done/all", at("spool/bad"));
	watch_with(20, 40, 60, false);
	write_file(at("spool/done/x.jsonl"), "x");
	let_scan(6);
	ck_assert(exists(at("spool/bad")));
	ck_assert_uint_eq(offered_names(), 0);
	ck_assert_uint_eq(state().waiting, 0);
	ck_assert_uint_eq(state().ignored, 0);
}
END_TEST

START_TEST(a_drop_that_found_no_room_is_offered_again_without_a_new_event)
{
	t.refuse = 3;
	watch_with(NEVER, NEVER, NEVER, false);
	wait_until(state().rescans == 1);
	rename_in("a.jsonl", "x");
	wait_until(t.refused > 0);
	ck_assert(waiting("a.jsonl") || offered("a.jsonl"));
	wait_until(offered("a.jsonl"));
	ck_assert_int_eq(t.refused, 3);
	ck_assert_uint_eq(offers(), 1);
}
END_TEST

START_TEST(a_drop_that_the_queue_lost_is_offered_again_by_the_scan)
{
	watch_with(20, 40, NEVER, false);
	rename_in("a.jsonl", "x");
	wait_until(offers() >= 3);
	ck_assert_uint_eq(offered_names(), 1);
}
END_TEST

START_TEST(a_vanished_name_waits_no_longer)
{
	watch_with(20, 40, NEVER, false);
	write_file(at("spool/a.jsonl"), "meta\n");
	wait_until(waiting("a.jsonl"));
	wait_until(state().oldest_waiting_ms > 0);
	ck_assert_int_eq(unlink(at("spool/a.jsonl")), 0);
	wait_until(!waiting("a.jsonl"));
	ck_assert_uint_eq(state().waiting, 0);
	ck_assert_int_eq(state().oldest_waiting_ms, 0);
}
END_TEST

START_TEST(a_new_file_under_an_offered_name_is_judged_anew)
{
	watch_with(20, 40, NEVER, _i);
	write_file(at("spool/a.jsonl"), "first\nend\n");
	wait_until(offered("a.jsonl"));
	ck_assert_int_eq(unlink(at("spool/a.jsonl")), 0);
	write_file(at("spool/a.jsonl"), "second\n");
	wait_until(waiting("a.jsonl"));
	uint64_t before = offers();
	let_scan(5);
	ck_assert_uint_eq(offers(), before);
	append_file(at("spool/a.jsonl"), "end\n");
	wait_until(offers() > before);
}
END_TEST

START_TEST(what_the_daemon_puts_back_counts_as_in_place)
{
	struct ts_error err = TS_ERROR_INIT;
	struct claim c;
	bool back;

	watch_with(20, 40, NEVER, _i);
	if (_i)
		write_file(at("spool/a.jsonl"), "meta\nend\n");
	else
		rename_in("a.jsonl", "meta\n");
	wait_until(offered("a.jsonl"));
	ck_assert_int_eq(spool_claim(t.sp, "a.jsonl", 10, &c, &err), 1);
	if (_i)
		append_file(at("spool/.active/a.jsonl"), "more\n");
	watcher_demote(t.w, "a.jsonl");
	ck_assert_int_eq(spool_unclaim(t.sp, &c, &back, &err), 0);
	ck_assert(back);
	claim_done(&c);
	wait_until(waiting("a.jsonl"));
	uint64_t before = offers();
	let_scan(5);
	ck_assert_uint_eq(offers(), before);
	append_file(at("spool/a.jsonl"), "end\n");
	wait_until(offers() > before);
	/* And a rename by a job counts again. */
	wait_until(!waiting("a.jsonl"));
	if (!_i) {
		rename_in("a.jsonl", "no end\n");
		before = offers();
		wait_until(offers() > before);
	}
}
END_TEST

START_TEST(what_is_kept_in_place_is_skipped_until_it_changes)
{
	t.known = true;
	watch_with(20, 40, NEVER, _i);
	write_file(at("spool/a.jsonl"), "end\n");
	wait_until(t.known_calls > 0);
	let_scan(4);
	ck_assert_uint_eq(offered_names(), 0);
	ck_assert(!waiting("a.jsonl"));
	append_file(at("spool/a.jsonl"), "again\nend\n");
	wait_until(offered("a.jsonl"));
}
END_TEST

START_TEST(a_replaced_folder_is_watched_anew)
{
	watch_with(NEVER, 40, NEVER, false);
	let_scan(1);
	ck_assert_int_eq(rename(at("spool"), at("away")), 0);
	wait_until(!state().inotify);
	ck_assert_int_eq(mkdir(at("spool"), 0755), 0);
	wait_until(state().inotify);
	rename_in("a.jsonl", "x");
	wait_until(offered("a.jsonl"));
	ck_assert(exists(at("spool/.receipts")));
}
END_TEST

START_TEST(lost_events_are_made_good_by_a_scan)
{
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
	int events = 0, files;
	char name[32];

	if (f && fscanf(f, "%d", &events) != 1)
		events = 0;
	if (f)
		fclose(f);
	if (events <= 0 || events > 50000)
		return;           /* too many to fill the queue here */
	files = events / 3 + 500; /* three events each */
	t.take = true;
	t.block = true;
	watch_with(20, NEVER, NEVER, false);
	wait_until(state().rescans == 1);
	rename_in("first.jsonl", "end\n");
	for (int i = 0; i < files; i++) {
		snprintf(name, sizeof(name), "f%d.jsonl", i);
		rename_in(name, "end\n");
	}
	t.block = false;
	wait_until(offered_names() == (uint64_t)files + 1);
	wait_until(state().rescans_by[RESCAN_OVERFLOW] >= 1);
	ck_assert_uint_ge(state().overflows, 1);
	wait_until(state().waiting == 0);
	ck_assert_uint_eq(offers(), (uint64_t)files + 1);
}
END_TEST

START_TEST(a_rescan_that_was_asked_for_is_counted)
{
	watch_with(20, NEVER, NEVER, false);
	wait_until(state().rescans == 1);
	watcher_rescan(t.w);
	wait_until(state().rescans_by[RESCAN_RELOAD] == 1);
	ck_assert_uint_eq(state().rescans, 2);
}
END_TEST

START_TEST(a_watcher_at_rest_gives_signs_of_life)
{
	watch_with(NEVER, NEVER, NEVER, false);
	wait_until(t.beats >= 2);
	watcher_quiesce(t.w);
	ck_assert_uint_eq(state().rescans, 1); /* can still be asked */
	watcher_quiesce(t.w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("watcher");
	TCase *tc = tcase_create("watcher");

	tcase_add_checked_fixture(tc, watch_setup, watch_teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, what_is_renamed_in_is_offered_at_once);
	tcase_add_test(tc, a_folder_renamed_in_is_offered_at_once);
	/* Loops: 0 with events, 1 by polling only. */
	tcase_add_loop_test(tc, a_file_in_place_waits_over_all_pauses_until_its_end_is_there, 0, 2);
	tcase_add_test(tc, content_is_read_once_for_each_state_of_a_file);
	tcase_add_test(tc, content_that_takes_long_to_read_holds_up_nothing_else);
	tcase_add_test(tc, content_that_changes_while_it_is_read_for_long_is_read_anew);
	tcase_add_test(tc, the_watcher_stops_while_content_is_read_for_long);
	tcase_add_test(tc, a_storm_of_events_on_one_file_is_one_drop);
	tcase_add_test(tc, many_names_renamed_in_are_offered_once_each);
	tcase_add_test(tc, what_stands_there_at_the_start_counts_as_in_place);
	tcase_add_test(tc, without_events_a_rename_counts_as_in_place);
	tcase_add_loop_test(tc, what_never_proves_its_end_is_taken_when_idle, 0, 2);
	tcase_add_test(tc, a_new_idle_time_holds_for_what_waits);
	tcase_add_loop_test(tc, a_segment_waits_for_a_higher_number_of_its_prefix, 0, 2);
	tcase_add_loop_test(tc, numbers_of_an_earlier_recording_do_not_release_a_segment, 0, 2);
	tcase_add_loop_test(tc, a_folder_in_place_waits_for_all_its_entries, 0, 2);
	tcase_add_test(tc, unfinished_and_other_names_are_counted_not_offered);
	tcase_add_test(tc, an_archive_with_a_plain_name_is_no_drop);
	tcase_add_test(tc, a_drop_that_found_no_room_is_offered_again_without_a_new_event);
	tcase_add_test(tc, a_drop_that_the_queue_lost_is_offered_again_by_the_scan);
	tcase_add_test(tc, a_vanished_name_waits_no_longer);
	tcase_add_loop_test(tc, a_new_file_under_an_offered_name_is_judged_anew, 0, 2);
	tcase_add_loop_test(tc, what_the_daemon_puts_back_counts_as_in_place, 0, 2);
	tcase_add_loop_test(tc, what_is_kept_in_place_is_skipped_until_it_changes, 0, 2);
	tcase_add_test(tc, a_replaced_folder_is_watched_anew);
	tcase_add_test(tc, lost_events_are_made_good_by_a_scan);
	tcase_add_test(tc, a_rescan_that_was_asked_for_is_counted);
	tcase_add_test(tc, a_watcher_at_rest_gives_signs_of_life);
	suite_add_tcase(s, tc);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
