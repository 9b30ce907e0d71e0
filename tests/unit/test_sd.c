/* test_sd.c: datagrams to the service manager over a path and an abstract name, the watchdog's
 * time, passed sockets, and the private /tmp of a service.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tracespool/sd.h"

static int manager = -1;
static char folder[] = "/tmp/test_sd.XXXXXX";

static void make_folder(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	unsetenv("NOTIFY_SOCKET");
}

static void remove_folder(void)
{
	char command[128];

	if (manager >= 0)
		close(manager);
	manager = -1;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* A receiver under a name; '@' stands for the zero byte of an abstract one. */
static void listen_as(const char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	size_t n = strlen(name);

	memcpy(at.sun_path, name, n);
	if (name[0] == '@')
		at.sun_path[0] = 0;
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_ge(manager, 0);
	ck_assert_int_eq(
		bind(manager, (struct sockaddr *)&at,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (name[0] == '/'))),
		0);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
}

static const char *received(void)
{
	static char text[4096];
	ssize_t n = recv(manager, text, sizeof(text) - 1, 0);

	ck_assert_int_ge(n, 0);
	text[n] = 0;
	return text;
}

START_TEST(without_a_manager_nothing_is_sent_and_nothing_fails)
{
	ck_assert_int_eq(sd_notify_text("READY=1"), 0);
}
END_TEST

START_TEST(a_datagram_goes_to_the_path_of_the_environment)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/notify", folder);
	listen_as(path);
	ck_assert_int_eq(sd_notify_text("READY=1\nSTATUS=%s %d", "listening on", 7), 0);
	ck_assert_str_eq(received(), "READY=1\nSTATUS=listening on 7");
}
END_TEST

START_TEST(a_datagram_goes_to_an_abstract_name)
{
	char name[64];

	snprintf(name, sizeof(name), "@test_sd-%d", (int)getpid());
	listen_as(name);
	ck_assert_int_eq(sd_notify_text("WATCHDOG=1"), 0);
	ck_assert_str_eq(received(), "WATCHDOG=1");
}
END_TEST

START_TEST(a_bad_address_is_an_error)
{
	char longer[200];

	setenv("NOTIFY_SOCKET", "relative/name", 1);
	ck_assert_int_eq(sd_notify_text("READY=1"), -1);
	ck_assert_int_eq(errno, EINVAL);
	memset(longer, 'a', sizeof(longer));
	longer[0] = '/';
	longer[sizeof(longer) - 1] = 0;
	setenv("NOTIFY_SOCKET", longer, 1);
	ck_assert_int_eq(sd_notify_text("READY=1"), -1);
	ck_assert_int_eq(errno, EINVAL);
	setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
	ck_assert_int_eq(sd_notify_text("READY=1"), -1);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(the_watchdog_is_fed_at_half_of_its_time)
{
	char pid[32];

	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
	ck_assert_uint_eq(sd_watchdog_ms(), 0);
	setenv("WATCHDOG_USEC", "60000000", 1);
	ck_assert_uint_eq(sd_watchdog_ms(), 30000);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	ck_assert_uint_eq(sd_watchdog_ms(), 30000);
	setenv("WATCHDOG_PID", "1", 1);
	ck_assert_uint_eq(sd_watchdog_ms(), 0);
	unsetenv("WATCHDOG_PID");
	setenv("WATCHDOG_USEC", "1", 1);
	ck_assert_uint_eq(sd_watchdog_ms(), 1);
	setenv("WATCHDOG_USEC", "60s", 1);
	ck_assert_uint_eq(sd_watchdog_ms(), 0);
}
END_TEST

START_TEST(passed_sockets_count_only_for_the_process_that_they_are_for)
{
	char pid[32];
	int spare = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(spare, 0);
	ck_assert_int_ge(dup2(spare, 3), 0); /* dup2 clears close-on-exec */
	ck_assert_int_ge(dup2(spare, 4), 0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_FDS", "2", 1);
	unsetenv("LISTEN_PID");
	ck_assert_int_eq(sd_listen_count(), 0);
	setenv("LISTEN_PID", "1", 1);
	ck_assert_int_eq(sd_listen_count(), 0);
	setenv("LISTEN_PID", pid, 1);
	ck_assert_int_eq(sd_listen_count(), 2);
	ck_assert_int_eq(fcntl(3, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(fcntl(4, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	setenv("LISTEN_FDS", "1000", 1);
	ck_assert_int_eq(sd_listen_count(), 0);
	setenv("LISTEN_FDS", "two", 1);
	ck_assert_int_eq(sd_listen_count(), 0);
}
END_TEST

static const char *mounts(const char *text)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/mountinfo", folder);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	return path;
}

#define ROOT_MOUNT "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"

START_TEST(a_private_tmp_is_told_from_a_shared_one)
{
	const char *service = mounts(
		ROOT_MOUNT
		"90 21 8:1 /tmp/systemd-private-3f9c-tracespool.service-aB/tmp /tmp rw - ext4 a "
		"rw\n"
		"91 21 8:1 /var/tmp/systemd-private-3f9c-tracespool.service-cD/tmp /var/tmp rw - "
		"ext4 a rw\n");

	ck_assert(sd_private_tmp("/tmp/drops", service));
	ck_assert(sd_private_tmp("/tmp", service));
	ck_assert(sd_private_tmp("/var/tmp/drops", service));
	ck_assert(!sd_private_tmp("/tmpfiles", service));
	ck_assert(!sd_private_tmp("/var/spool/tracespool", service));
	ck_assert(!sd_private_tmp("/tmp/drops",
				  mounts(ROOT_MOUNT "40 21 0:35 / /tmp rw - tmpfs tmpfs rw\n")));
	ck_assert(!sd_private_tmp("/tmp/drops", mounts(ROOT_MOUNT)));
	ck_assert(!sd_private_tmp("/tmp/drops", "/nonexistent"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sd");
	TCase *all = tcase_create("sd");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(all, make_folder, remove_folder);
	tcase_add_test(all, without_a_manager_nothing_is_sent_and_nothing_fails);
	tcase_add_test(all, a_datagram_goes_to_the_path_of_the_environment);
	tcase_add_test(all, a_datagram_goes_to_an_abstract_name);
	tcase_add_test(all, a_bad_address_is_an_error);
	tcase_add_test(all, the_watchdog_is_fed_at_half_of_its_time);
	tcase_add_test(all, passed_sockets_count_only_for_the_process_that_they_are_for);
	tcase_add_test(all, a_private_tmp_is_told_from_a_shared_one);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
