/* test_http.c: for the tests of the HTTP room: a client on raw sockets, a served bench; main
 */
#include "test_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

#define PATIENCE_MS 20000

/* ---- client ---- */

void client_open(struct client *c, const char *address)
{
	struct sockaddr_in tcp = {.sin_family = AF_INET};
	struct sockaddr_un local = {.sun_family = AF_UNIX};
	bool is_local = strncmp(address, "unix:", 5) == 0;

	buf_init(&c->in, SIZE_MAX);
	c->fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(c->fd, 0);
	if (is_local) {
		strncpy(local.sun_path, address + 5, sizeof(local.sun_path) - 1);
		ck_assert_int_eq(connect(c->fd, (struct sockaddr *)&local, sizeof(local)), 0);
		return;
	}
	ck_assert_int_eq(strncmp(address, "127.0.0.1:", 10), 0);
	tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	tcp.sin_port = htons((uint16_t)atoi(address + 10));
	ck_assert_int_eq(connect(c->fd, (struct sockaddr *)&tcp, sizeof(tcp)), 0);
}

void client_close(struct client *c)
{
	close(c->fd);
	buf_done(&c->in);
}

void client_send(struct client *c, const char *bytes)
{
	size_t n = strlen(bytes);

	while (n > 0) {
		ssize_t sent = send(c->fd, bytes, n, MSG_NOSIGNAL);

		ck_assert_msg(sent > 0, "send: %s", strerror(errno));
		bytes += sent;
		n -= (size_t)sent;
	}
}

/* More bytes; false: the connection is at its end. */
static bool more(struct client *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	char bytes[65536];
	ssize_t n;

	ck_assert_msg(poll(&p, 1, PATIENCE_MS) == 1, "no answer within %d ms", PATIENCE_MS);
	n = recv(c->fd, bytes, sizeof(bytes), 0);
	if (n <= 0)
		return false;
	buf_add(&c->in, bytes, (size_t)n);
	return true;
}

static void take(struct client *c, size_t n, struct buf *out)
{
	if (out)
		buf_add(out, c->in.data, n);
	memmove(c->in.data, c->in.data + n, c->in.len - n);
	c->in.len -= n;
	c->in.data[c->in.len] = 0;
}

/* Bytes up to and with the first `end`; 0: the connection ended. */
static size_t find(struct client *c, const char *end)
{
	for (;;) {
		char *found = c->in.len ? memmem(c->in.data, c->in.len, end, strlen(end)) : NULL;

		if (found)
			return (size_t)(found - c->in.data) + strlen(end);
		if (!more(c))
			return 0;
	}
}

static bool take_exactly(struct client *c, size_t n, struct buf *out)
{
	while (c->in.len < n)
		if (!more(c))
			return false;
	take(c, n, out);
	return true;
}

static bool take_chunks(struct client *c, struct buf *out)
{
	for (;;) {
		size_t line = find(c, "\r\n"), n;

		if (line == 0)
			return false;
		n = strtoul(c->in.data, NULL, 16);
		take(c, line, NULL);
		if (!take_exactly(c, n, out) || !take_exactly(c, 2, NULL))
			return false;
		if (n == 0)
			return true;
	}
}

bool client_read(struct client *c, struct reply *r, bool no_body)
{
	size_t head = find(c, "\r\n\r\n");
	const char *length, *coding;

	memset(r, 0, sizeof(*r));
	buf_init(&r->body, SIZE_MAX);
	if (head == 0)
		return false;
	ck_assert_uint_lt(head, sizeof(r->head));
	memcpy(r->head, c->in.data, head);
	take(c, head, NULL);
	ck_assert_int_eq(sscanf(r->head, "HTTP/1.1 %d ", &r->status), 1);
	coding = header_of(r, "Transfer-Encoding");
	if (no_body || r->status == 304 || r->status == 204) {
		r->whole = true;
	} else if (coding && strcmp(coding, "chunked") == 0) {
		r->whole = take_chunks(c, &r->body);
	} else {
		length = header_of(r, "Content-Length");
		ck_assert_ptr_nonnull(length);
		r->whole = take_exactly(c, strtoul(length, NULL, 10), &r->body);
	}
	return true;
}

bool client_is_silent(struct client *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};

	return c->in.len == 0 && poll(&p, 1, 150) == 0;
}

void ask(const char *address, const char *method, const char *target, const char *headers,
	 struct reply *r)
{
	struct buf request = BUF_INIT;
	struct client c;

	buf_printf(&request, "%s %s HTTP/1.1\r\n%s%sConnection: close\r\n\r\n", method, target,
		   strstr(headers, "Host:") ? "" : "Host: localhost\r\n", headers);
	client_open(&c, address);
	client_send(&c, request.data);
	ck_assert_msg(client_read(&c, r, strcmp(method, "HEAD") == 0), "no answer to %s", target);
	client_close(&c);
	buf_done(&request);
}

void reply_done(struct reply *r)
{
	buf_done(&r->body);
}

const char *header_of(const struct reply *r, const char *name)
{
	static _Thread_local char value[8192];
	size_t n = strlen(name);

	for (const char *line = strstr(r->head, "\r\n"); line && line[2] != '\r';
	     line = strstr(line + 2, "\r\n")) {
		const char *at_name = line + 2;
		size_t length;

		if (strncasecmp(at_name, name, n) != 0 || at_name[n] != ':')
			continue;
		at_name += n + 1 + strspn(at_name + n + 1, " ");
		length = strcspn(at_name, "\r");
		ck_assert_uint_lt(length, sizeof(value));
		memcpy(value, at_name, length);
		value[length] = 0;
		return value;
	}
	return NULL;
}

json_t *json_of(const struct reply *r)
{
	json_error_t why;
	json_t *json =
		json_loadb(r->body.data ? r->body.data : "", r->body.len, JSON_DECODE_ANY, &why);

	ck_assert_msg(json != NULL, "%s: %s", why.text, r->body.data ? r->body.data : "");
	return json;
}

void gunzip_body(struct reply *r)
{
	struct buf plain = BUF_INIT;
	z_stream z = {0};
	int result = Z_OK;

	ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (Bytef *)r->body.data;
	z.avail_in = (uInt)r->body.len;
	while (result != Z_STREAM_END) {
		char out[4096];

		z.next_out = (Bytef *)out;
		z.avail_out = sizeof(out);
		result = inflate(&z, Z_NO_FLUSH);
		ck_assert_msg(result == Z_OK || result == Z_STREAM_END, "inflate: %d", result);
		buf_add(&plain, out, sizeof(out) - z.avail_out);
	}
	ck_assert_uint_eq(z.avail_in, 0);
	inflateEnd(&z);
	buf_done(&r->body);
	r->body = plain;
}

/* ---- a server over a bench ---- */

struct bench served;
char at[64];

static struct http *server;
static pthread_mutex_t server_lock = PTHREAD_MUTEX_INITIALIZER; /* workers wake it */

static char any_port[] = "127.0.0.1:0";
static char no_text[] = "";
static char *listens[] = {any_port, NULL};
static char further_host[] = "traces.example";
static char *further_hosts[] = {further_host, NULL};

static void on_change(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&server_lock);
	if (server)
		http_wake(server);
	pthread_mutex_unlock(&server_lock);
}

struct http *take_server(void)
{
	struct http *h;

	pthread_mutex_lock(&server_lock);
	h = server;
	server = NULL;
	pthread_mutex_unlock(&server_lock);
	return h;
}

void start_server(void)
{
	struct http_options options = {.conf = &served.conf,
				       .store = served.store,
				       .spool = served.spool,
				       .ingest = served.in,
				       .watcher = served.watcher};
	struct ts_error err = TS_ERROR_INIT;
	struct http *h = NULL;

	ck_assert_msg(http_start(&options, &h, &err) == 0, "%s", err.message);
	snprintf(at, sizeof(at), "%s", http_address(h, 0));
	pthread_mutex_lock(&server_lock);
	server = h;
	pthread_mutex_unlock(&server_lock);
}

/* The first look at the spool folder comes from the watcher's own thread. */
static void until_ready(void)
{
	for (unsigned i = 0; i < 3000; i++) {
		struct reply r;
		int status;

		ask(at, "GET", "/readyz", "", &r);
		status = r.status;
		reply_done(&r);
		if (status == 200)
			return;
		usleep(10000);
	}
	ck_abort_msg("the server does not become ready");
}

void serve(void)
{
	struct conf *conf;

	bench_open(&served);
	conf = &served.conf;
	conf->http.listen = listens;
	conf->http.socket = no_text;
	conf->http.base_path = no_text;
	conf->http.hosts = further_hosts;
	conf->http.threads = 2;
	conf->limits.connections = 128;
	conf->limits.streams = 4;
	conf->limits.page_ms = 10000;
	conf->limits.kept_bytes = 16777216;
	conf->spool.scan_ms = 100;
	served.changed = on_change;
	bench_start(&served);
	bench_watch(&served);
	start_server();
	until_ready();
}

void stop_serving(void)
{
	http_stop(take_server(), time_mono_ms() + 3000);
	bench_close(&served);
}

void get(const char *target, int status, struct reply *r)
{
	ask(at, "GET", target, "", r);
	ck_assert_msg(r->status == status, "%s: %d and not %d: %s", target, r->status, status,
		      r->body.data ? r->body.data : "");
}

json_t *get_json(const char *target, int status)
{
	struct reply r;
	json_t *json;

	get(target, status, &r);
	json = json_of(&r);
	reply_done(&r);
	return json;
}

const char *problem_of(const char *target, int status)
{
	static char code[64];
	json_t *problem = get_json(target, status);

	snprintf(code, sizeof(code), "%s", text_of(problem, "code"));
	json_decref(problem);
	return code;
}

static const char *ingested(const char *file, const char *trace)
{
	static char id[600];
	json_t *receipt;

	bench_drop(&served, file, trace);
	receipt = bench_receipt(&served, file, "ingested");
	snprintf(id, sizeof(id), "%s", text_of(receipt, "run.id"));
	json_decref(receipt);
	return id;
}

const char *ingest_requests(const char *stem, unsigned count)
{
	char file[128];

	snprintf(file, sizeof(file), "%s.jsonl", stem);
	return ingested(file, request_trace(stem, count));
}

const char *ingest_execution(const char *file, const char *run_id)
{
	return ingested(file, execution_trace(run_id));
}

int main(void)
{
	SRunner *runner = srunner_create(http_target_suite());
	int failed;

	srunner_add_suite(runner, http_negotiate_suite());
	srunner_add_suite(runner, http_answers_suite());
	srunner_add_suite(runner, http_lists_suite());
	srunner_add_suite(runner, http_kept_suite());
	srunner_add_suite(runner, http_waits_suite());
	srunner_add_suite(runner, http_streams_suite());
	srunner_add_suite(runner, http_start_suite());
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
