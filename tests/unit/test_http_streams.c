/* test_http_streams.c: long streams, clients that go away, the stop with a deadline; starting */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "test_http.h"

static struct reply r;

/* 400 hashes a request, 14 bytes a hash as JSON: more than all socket buffers take. */
#define LONG_REQUESTS 1500
#define HASHES 400

static char long_path[700];

static void ingest_long(void)
{
	struct buf trace = BUF_INIT;
	json_t *receipt;

	for (unsigned i = 0; i < LONG_REQUESTS; i++) {
		buf_printf(&trace,
			   "{\"schema\":\"dynamo.request.trace.v1\",\"event_type\":"
			   "\"request_end\",\"event_time_unix_ms\":%u,\"request\":{"
			   "\"request_id\":\"long-%u\",\"request_received_ms\":%u,"
			   "\"output_tokens\":1,\"total_time_ms\":1,\"replay\":{"
			   "\"trace_block_size\":1,\"input_length\":%u,"
			   "\"input_sequence_hashes\":[",
			   1000 + i, i, 1000 + i, HASHES);
		for (unsigned h = 0; h < HASHES; h++)
			buf_printf(&trace, "%s1%u%03u", h ? "," : "", 1000000 + i, h);
		buf_puts(&trace, "]}}}\n");
	}
	bench_drop(&served, "long.jsonl", trace.data);
	buf_done(&trace);
	receipt = bench_receipt(&served, "long.jsonl", "ingested");
	snprintf(long_path, sizeof(long_path), "/runs/%s", text_of(receipt, "run.id"));
	json_decref(receipt);
}

static void setup(void)
{
	serve();
	ingest_long();
}

static void begin(struct client *c, const char *rest)
{
	char request[1000];
	int small = 16384;

	snprintf(request, sizeof(request), "GET %s%s HTTP/1.1\r\nHost: localhost\r\n\r\n",
		 long_path, rest);
	client_open(c, at);
	(void)setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	client_send(c, request);
}

static void check_lines(const struct reply *reply)
{
	unsigned n = 0;

	for (const char *line = reply->body.data; line && *line; n++) {
		char start[64];
		const char *end = strchr(line, '\n');
		size_t length =
			(size_t)snprintf(start, sizeof(start), "{\"request_id\":\"long-%u\",", n);

		ck_assert_msg(strncmp(line, start, length) == 0, "line %u: %.60s", n, line);
		ck_assert_ptr_nonnull(end);
		line = end + 1;
	}
	ck_assert_uint_eq(n, LONG_REQUESTS);
}

START_TEST(a_long_stream_comes_whole_plain_and_compressed)
{
	char target[900];

	snprintf(target, sizeof(target), "%s/requests?format=ndjson&include=replay", long_path);
	get(target, 200, &r);
	ck_assert(r.whole);
	ck_assert_uint_gt(r.body.len, 14 * LONG_REQUESTS * HASHES);
	check_lines(&r);
	reply_done(&r);
	ask(at, "GET", target, "Accept-Encoding: gzip\r\n", &r);
	ck_assert(r.whole);
	gunzip_body(&r);
	check_lines(&r);
	reply_done(&r);
}
END_TEST

START_TEST(a_long_replay_is_one_object_with_all_rows)
{
	char target[900];
	json_t *object;

	snprintf(target, sizeof(target), "%s/replay", long_path);
	object = get_json(target, 200);
	ck_assert_uint_eq(json_array_size(member(object, "rows")), LONG_REQUESTS);
	json_decref(object);
}
END_TEST

START_TEST(a_client_that_goes_away_gives_its_place_back)
{
	struct client c;

	for (unsigned i = 0; i < 12; i++) {
		unsigned tries = 0;

		/* limits.streams is 4; the places of those that left come back. */
		for (;;) {
			char bytes[2048];

			begin(&c, i % 2 ? "/replay?format=ndjson"
					: "/requests?format=ndjson&include=replay");
			ck_assert_int_gt(recv(c.fd, bytes, sizeof(bytes), 0), 0);
			client_close(&c);
			if (strncmp(bytes, "HTTP/1.1 200", 12) == 0)
				break;
			ck_assert_int_eq(strncmp(bytes, "HTTP/1.1 429", 12), 0);
			ck_assert_uint_lt(tries++, 500);
			usleep(10000);
		}
	}
	get("/healthz", 200, &r);
	reply_done(&r);
}
END_TEST

START_TEST(light_requests_are_answered_beside_readers_that_stand_still)
{
	struct client slow[4];

	for (unsigned i = 0; i < 4; i++)
		begin(&slow[i], "/requests?format=ndjson&include=replay");
	for (unsigned i = 0; i < 20; i++) {
		int64_t begun_ms = time_mono_ms();

		get("/runs", 200, &r);
		reply_done(&r);
		ck_assert_int_lt(time_mono_ms() - begun_ms, 3000);
	}
	for (unsigned i = 0; i < 4; i++)
		client_close(&slow[i]);
}
END_TEST

START_TEST(the_stop_cuts_what_is_still_sent_at_its_deadline)
{
	struct client c;
	struct http *h = take_server();
	int64_t begun_ms;

	begin(&c, "/requests?format=ndjson&include=replay");
	usleep(200000);
	begun_ms = time_mono_ms();
	http_stop(h, begun_ms + 300);
	ck_assert_int_ge(time_mono_ms() - begun_ms, 290);
	ck_assert_int_lt(time_mono_ms() - begun_ms, 5000);
	/* What came does not look whole. */
	ck_assert(client_read(&c, &r, false));
	ck_assert(!r.whole);
	reply_done(&r);
	client_close(&c);
}
END_TEST

START_TEST(a_stream_that_is_read_ends_before_the_stop)
{
	struct client c;
	struct http *h = take_server();

	begin(&c, "/requests?format=ndjson");
	ck_assert(client_read(&c, &r, false));
	ck_assert(r.whole);
	reply_done(&r);
	http_stop(h, time_mono_ms() + 5000);
	client_close(&c);
}
END_TEST

Suite *http_streams_suite(void)
{
	Suite *s = suite_create("http: streams");
	TCase *c = tcase_create("streams");

	tcase_add_checked_fixture(c, setup, stop_serving);
	tcase_set_timeout(c, 120);
	tcase_add_test(c, a_long_stream_comes_whole_plain_and_compressed);
	tcase_add_test(c, a_long_replay_is_one_object_with_all_rows);
	tcase_add_test(c, a_client_that_goes_away_gives_its_place_back);
	tcase_add_test(c, light_requests_are_answered_beside_readers_that_stand_still);
	tcase_add_test(c, the_stop_cuts_what_is_still_sent_at_its_deadline);
	tcase_add_test(c, a_stream_that_is_read_ends_before_the_stop);
	suite_add_tcase(s, c);
	return s;
}

/* ---- starting ---- */

static char *listen_one[2];
static char socket_path[128];

static int start_on(const char *address, const char *local, struct http **ret, struct ts_error *err)
{
	static struct conf conf;
	struct http_options options = {.conf = &conf,
				       .store = served.store,
				       .spool = served.spool,
				       .ingest = served.in,
				       .watcher = served.watcher};

	conf = served.conf;
	listen_one[0] = address ? strdup(address) : NULL;
	conf.http.listen = listen_one;
	snprintf(socket_path, sizeof(socket_path), "%s", local ? local : "");
	conf.http.socket = socket_path;
	*ret = NULL;
	return http_start(&options, ret, err);
}

static void refused(const char *address, const char *code, const char *words)
{
	struct ts_error err = TS_ERROR_INIT;
	struct http *h;

	ck_assert_msg(start_on(address, NULL, &h, &err) < 0, "%s", address);
	ck_assert_str_eq(err.code->code, code);
	ck_assert_msg(strstr(err.message, words) != NULL, "%s", err.message);
	free(listen_one[0]);
}

START_TEST(an_address_in_use_is_a_clear_error)
{
	refused(at, "start_failed", at);
}
END_TEST

START_TEST(addresses_beyond_loopback_need_tokens)
{
	refused("0.0.0.0:0", "bad_setting", "needs tokens, which this version does not have");
	refused("[::]:0", "bad_setting", "needs tokens");
	refused("192.0.2.1:0", "bad_setting", "needs tokens");
}
END_TEST

START_TEST(what_is_no_address_is_refused)
{
	refused("localhost", "bad_setting", "ADDRESS:PORT");
	refused("127.0.0.1:65536", "bad_setting", "ADDRESS:PORT");
	refused("::1:80", "bad_setting", "brackets");
	refused("example.org:80", "bad_setting", "numeric");
}
END_TEST

START_TEST(a_unix_socket_serves_any_host_and_goes_with_the_server)
{
	struct ts_error err = TS_ERROR_INIT;
	struct http *h, *other;
	char path[128], address[160];
	struct stat st;

	snprintf(path, sizeof(path), "%s/http.sock", served.dir);
	ck_assert_msg(start_on(NULL, path, &h, &err) == 0, "%s", err.message);
	snprintf(address, sizeof(address), "unix:%s", path);
	ck_assert_str_eq(http_address(h, 0), address);
	ck_assert_ptr_null(http_address(h, 1));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0660);
	ask(address, "GET", "/healthz", "Host: anything.example\r\n", &r);
	ck_assert_int_eq(r.status, 200);
	reply_done(&r);
	/* While it is served, another does not take it away. */
	ck_assert_int_lt(start_on(NULL, path, &other, &err), 0);
	ck_assert_str_eq(err.code->code, "start_failed");
	http_stop(h, 0);
	ck_assert_int_lt(stat(path, &st), 0);
}
END_TEST

START_TEST(a_socket_file_that_nobody_serves_is_replaced)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct ts_error err = TS_ERROR_INIT;
	struct http *h;
	int fd;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/http.sock", served.dir);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
	ck_assert_msg(start_on(NULL, a.sun_path, &h, &err) == 0, "%s", err.message);
	http_stop(h, 0);
	/* A file that is none is left alone. */
	bench_write_text(&served, "http.sock", "mine");
	ck_assert_int_lt(start_on(NULL, a.sun_path, &h, &err), 0);
	ck_assert(bench_exists(&served, "http.sock"));
}
END_TEST

START_TEST(a_server_listens_on_several_addresses)
{
	struct ts_error err = TS_ERROR_INIT;
	struct http *h;
	char path[128];

	snprintf(path, sizeof(path), "%s/http.sock", served.dir);
	ck_assert_msg(start_on("localhost:0", path, &h, &err) == 0, "%s", err.message);
	ck_assert_int_eq(strncmp(http_address(h, 0), "127.0.0.1:", 10), 0);
	ck_assert_int_gt(atoi(http_address(h, 0) + 10), 0);
	ask(http_address(h, 0), "GET", "/healthz", "", &r);
	ck_assert_int_eq(r.status, 200);
	reply_done(&r);
	ask(http_address(h, 1), "GET", "/healthz", "", &r);
	ck_assert_int_eq(r.status, 200);
	reply_done(&r);
	http_quiesce(h, time_mono_ms() + 1000);
	http_stop(h, 0);
	free(listen_one[0]);
}
END_TEST

Suite *http_start_suite(void)
{
	Suite *s = suite_create("http: starting");
	TCase *c = tcase_create("start");

	tcase_add_checked_fixture(c, serve, stop_serving);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, an_address_in_use_is_a_clear_error);
	tcase_add_test(c, addresses_beyond_loopback_need_tokens);
	tcase_add_test(c, what_is_no_address_is_refused);
	tcase_add_test(c, a_unix_socket_serves_any_host_and_goes_with_the_server);
	tcase_add_test(c, a_socket_file_that_nobody_serves_is_replaced);
	tcase_add_test(c, a_server_listens_on_several_addresses);
	suite_add_tcase(s, c);
	return s;
}
