/* test_tool.c: the command line tool's HTTP client against answers that are good, cut, oversized or
 * no HTTP at all, and what it prints of texts that a trace made up. Links tool_client.c and
 * tool_print.c.
 */
#include <check.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../src/tool.h"

/* A server for one connection, which reads a request, sends its answer and closes. */
struct server {
	char folder[32];
	struct tool_address at;
	int fd;
	const char *answer;
	size_t n;
	bool silent; /* never answers */
	char request[4096];
	pthread_t thread;
};

static void *serve(void *arg)
{
	struct server *s = arg;
	int fd = accept(s->fd, NULL, NULL);
	size_t n = 0;
	char byte;

	while (fd >= 0 && n + 1 < sizeof(s->request) && !strstr(s->request, "\r\n\r\n")) {
		ssize_t got = recv(fd, s->request + n, sizeof(s->request) - 1 - n, 0);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	if (s->silent)
		(void)!recv(fd, &byte, 1, 0); /* until the client gives up */
	for (size_t at = 0; at < s->n;) {
		ssize_t sent = send(fd, s->answer + at, s->n - at, MSG_NOSIGNAL);

		if (sent <= 0)
			break;
		at += (size_t)sent;
	}
	close(fd);
	return NULL;
}

static void start(struct server *s, const char *answer)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	memset(s, 0, sizeof(*s));
	s->answer = answer;
	s->n = strlen(answer);
	s->silent = s->n == 0;
	strcpy(s->folder, "/tmp/test_tool.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(s->folder));
	s->at.local = true;
	snprintf(s->at.host, sizeof(s->at.host), "%s/sock", s->folder);
	strcpy(s->at.named, "server");
	strcpy(s->at.base, "/base");
	strcpy(un.sun_path, s->at.host);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(s->fd, 0);
	ck_assert_int_eq(bind(s->fd, (struct sockaddr *)&un, sizeof(un)), 0);
	ck_assert_int_eq(listen(s->fd, 1), 0);
	ck_assert_int_eq(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop(struct server *s)
{
	pthread_join(s->thread, NULL);
	close(s->fd);
	unlink(s->at.host);
	rmdir(s->folder);
}

static void gives(const char *answer, int status, const char *body)
{
	struct ts_error err = TS_ERROR_INIT;
	struct tool_reply reply;
	struct server s;

	start(&s, answer);
	if (tool_get(&s.at, "/x?a=b", 5000, &reply, &err) < 0)
		ck_abort_msg("refused: %s", err.message);
	stop(&s);
	ck_assert_int_eq(reply.status, status);
	ck_assert_uint_eq(reply.body.len, strlen(body));
	ck_assert_str_eq(reply.body.len ? reply.body.data : "", body);
	tool_reply_done(&reply);
	ck_assert_ptr_nonnull(strstr(s.request, "GET /base/x?a=b HTTP/1.1\r\n"));
	ck_assert_ptr_nonnull(strstr(s.request, "\r\nHost: localhost\r\n"));
}

static void refuses(const char *answer, int64_t timeout_ms, const char *message)
{
	struct ts_error err = TS_ERROR_INIT;
	struct tool_reply reply;
	struct server s;

	start(&s, answer);
	ck_assert_int_eq(tool_get(&s.at, "/", timeout_ms, &reply, &err), -1);
	stop(&s);
	ck_assert_str_eq(err.message, message);
}

START_TEST(a_body_ends_by_its_length)
{
	gives("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", 200, "abc");
	gives("HTTP/1.1 404 Not Found\r\ncontent-length:0\r\n\r\n", 404, "");
	gives("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200,
	      "x");
}
END_TEST

START_TEST(chunks_are_put_together)
{
	gives("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	      "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n",
	      200, "abc0123456789");
}
END_TEST

START_TEST(a_cut_answer_is_never_taken_for_a_whole_one)
{
	static const char cut[] = "server: the answer was cut off";

	refuses("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", 5000, cut);
	refuses("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 5000, cut);
	refuses("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", 5000,
		cut);
	refuses("HTTP/1.1 200 OK\r\nContent-Le", 5000, cut);
	refuses("HTTP/1.1 200 OK\r\n\r\nabc", 5000, "server: the answer has no length");
}
END_TEST

START_TEST(what_is_no_http_is_refused)
{
	refuses("SSH-2.0-server\r\n", 5000, "server: not an HTTP answer");
	refuses("HTTP/1.1\r\n", 5000, "server: not an HTTP answer");
	refuses("HTTP/1.1 20 OK\r\n", 5000, "server: not an HTTP answer");
	refuses("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", 5000,
		"server: bad Content-Length");
	refuses("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 5000,
		"server: bad Content-Length");
	refuses("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 5000,
		"server: bad chunk");
	refuses("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n", 5000,
		"server: bad chunk");
	refuses("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n", 5000,
		"server: bad chunk");
}
END_TEST

START_TEST(a_head_has_a_bound)
{
	static char many[300 * 8 + 64], longer[20000];
	size_t n;

	strcpy(many, "HTTP/1.1 200 OK\r\n");
	n = strlen(many);
	for (int i = 0; i < 300; i++, n += 6)
		memcpy(many + n, "a: b\r\n", 7);
	refuses(many, 5000, "server: too many header lines");
	memset(longer, 'a', sizeof(longer) - 1);
	refuses(longer, 5000, "server: not an HTTP answer");
}
END_TEST

START_TEST(a_server_that_is_silent_is_given_up)
{
	refuses("", 100, "server: no answer in time");
}
END_TEST

START_TEST(a_place_where_nobody_listens_is_named)
{
	struct tool_address at = {
		.local = true, .host = "/nonexistent/sock", .named = "/nonexistent/sock"};
	struct ts_error err = TS_ERROR_INIT;
	struct tool_reply reply;

	ck_assert_int_eq(tool_get(&at, "/", 1000, &reply, &err), -1);
	ck_assert_str_eq(err.message,
			 "cannot connect to /nonexistent/sock: No such file or directory");
}
END_TEST

static void prints(struct ts_str text, const char *want, unsigned width)
{
	char *out = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&out, &n);

	ck_assert_ptr_nonnull(f);
	tool_put(f, text);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_str_eq(out, want);
	free(out);
	ck_assert_uint_eq(tool_width(text), width);
}

START_TEST(a_text_cannot_steer_the_terminal)
{
	prints(TS_STR("plain id/7"), "plain id/7", 10);
	prints(TS_STR("a\033[31mb\n"), "a\\x1b[31mb\\x0a", 14);
	prints(TS_STR("a\0b"), "a\\x00b", 6);
	prints(TS_STR("\302\233x"), "\\u009bx", 7);       /* a control sequence of one character */
	prints(TS_STR("a\342\200\256b"), "a\\u202eb", 8); /* turns the line around */
	prints(TS_STR("\377\303"), "\\xff\\xc3", 8);      /* not UTF-8 */
	prints(TS_STR("m\303\266we"), "m\303\266we", 4);
}
END_TEST

static void cuts(const char *text, unsigned max, const char *want)
{
	CLEAN(buf_done) struct buf out = BUF_INIT;

	tool_put_cut(&out, ts_str_c(text), max);
	ck_assert_str_eq(out.data, want);
}

START_TEST(an_id_is_cut_in_the_middle)
{
	cuts("0123456789", 10, "0123456789");
	cuts("0123456789", 9, "0123..789");
	cuts("0123456789", 8, "012..789");
	cuts("0123456789", 4, "0..9");
	cuts("0123456789", 3, "0123456789"); /* no room for a middle */
	cuts("\303\266\303\266\303\266\303\266\303\266\303\266", 5, "\303\266\303\266..\303\266");
}
END_TEST

START_TEST(sizes_and_times_have_units)
{
	static const struct {
		uint64_t n;
		const char *want;
	} sizes[] = {{0, "0 B"},           {1023, "1023 B"},
		     {1024, "1.0 KiB"},    {734003200, "700.0 MiB"},
		     {1048575, "1.0 MiB"}, {UINT64_MAX, "16.0 EiB"}};
	static const struct {
		double ns;
		const char *want;
	} times[] = {{0, "0 ns"},       {999, "999 ns"},
		     {1000, "1.00 us"}, {48211903, "48.21 ms"},
		     {2.5e9, "2.50 s"}, {6e11, "10.0 min"}};
	char text[TOOL_UNIT_MAX];

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		tool_bytes(sizes[i].n, text);
		ck_assert_str_eq(text, sizes[i].want);
	}
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		tool_time(times[i].ns, text);
		ck_assert_str_eq(text, times[i].want);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tool");
	TCase *all = tcase_create("tool");
	SRunner *runner;
	int failed;

	setlocale(LC_CTYPE, "C.UTF-8");
	tcase_add_test(all, a_body_ends_by_its_length);
	tcase_add_test(all, chunks_are_put_together);
	tcase_add_test(all, a_cut_answer_is_never_taken_for_a_whole_one);
	tcase_add_test(all, what_is_no_http_is_refused);
	tcase_add_test(all, a_head_has_a_bound);
	tcase_add_test(all, a_server_that_is_silent_is_given_up);
	tcase_add_test(all, a_place_where_nobody_listens_is_named);
	tcase_add_test(all, a_text_cannot_steer_the_terminal);
	tcase_add_test(all, an_id_is_cut_in_the_middle);
	tcase_add_test(all, sizes_and_times_have_units);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
