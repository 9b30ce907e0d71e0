/* tool_client.c: a small HTTP/1.1 client for this host: one GET a connection, everything bounded */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tool.h"

#define BODY_MAX ((size_t)256 << 20)
#define LINE_LENGTH_MAX 16384
#define HEAD_LINES_MAX 200

struct conn {
	int fd;
	int64_t deadline_ms;
	int64_t timeout_ms; /* without a byte, with out */
	const char *named;
	FILE *out; /* where the body goes instead of the buffer, or NULL */
	size_t at, len;
	char bytes[16384];
	char line[LINE_LENGTH_MAX + 1];
};

static int await(struct conn *c, short events, struct ts_error *err)
{
	struct pollfd p = {.fd = c->fd, .events = events};

	for (;;) {
		int64_t left = c->deadline_ms - time_mono_ms();
		int n = poll(&p, 1, left < 0 ? 0 : left > 60000 ? 60000 : (int)left);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return ts_error_sys(err, TS_E_IO, errno, "%s", c->named);
		if (n == 0 && left <= 0)
			return ts_error_set(err, TS_E_IO, "%s: no answer in time", c->named);
	}
}

static int connect_to(const struct tool_address *at, struct conn *c, struct ts_error *err)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)at->port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)at->port)};
	struct sockaddr *to = (struct sockaddr *)&in;
	socklen_t n = sizeof(in);
	int failed = 0;

	if (at->local) {
		memcpy(un.sun_path, at->host, strnlen(at->host, sizeof(un.sun_path) - 1));
		to = (struct sockaddr *)&un;
		n = sizeof(un);
	} else if (inet_pton(AF_INET, at->host, &in.sin_addr) != 1) {
		if (inet_pton(AF_INET6, at->host, &in6.sin6_addr) != 1)
			return ts_error_set(err, TS_E_IO, "%s: bad address", at->named);
		to = (struct sockaddr *)&in6;
		n = sizeof(in6);
	}
	c->fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return ts_error_sys(err, TS_E_IO, errno, "cannot make a socket");
	if (connect(c->fd, to, n) < 0) {
		socklen_t size = sizeof(failed);

		if (errno != EINPROGRESS)
			return ts_error_sys(err, TS_E_IO, errno, "cannot connect to %s", at->named);
		if (await(c, POLLOUT, err) < 0)
			return -1;
		if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &failed, &size) < 0)
			failed = errno;
		if (failed)
			return ts_error_sys(err, TS_E_IO, failed, "cannot connect to %s",
					    at->named);
	}
	return 0;
}

static int send_request(const struct tool_address *at, const char *target, struct conn *c,
			struct ts_error *err)
{
	CLEAN(buf_done) struct buf head = BUF_INIT;
	size_t sent = 0;

	buf_printf(&head,
		   "GET %s%s HTTP/1.1\r\n"
		   "Host: %s\r\n"
		   "User-Agent: tracespool\r\n"
		   "Accept: application/json\r\n"
		   "Connection: close\r\n"
		   "\r\n",
		   at->base, target, at->local ? "localhost" : at->named);
	if (head.failed)
		return ts_error_nomem(err);
	while (sent < head.len) {
		ssize_t n = send(c->fd, head.data + sent, head.len - sent, MSG_NOSIGNAL);

		if (n >= 0) {
			sent += (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return ts_error_sys(err, TS_E_IO, errno, "cannot send to %s", c->named);
		if (await(c, POLLOUT, err) < 0)
			return -1;
	}
	return 0;
}

/* More bytes into the empty buffer; an end of the stream is an error everywhere. */
static int fill(struct conn *c, struct ts_error *err)
{
	for (;;) {
		ssize_t n = recv(c->fd, c->bytes, sizeof(c->bytes), 0);

		if (n > 0) {
			if (c->out)
				c->deadline_ms = time_mono_ms() + c->timeout_ms;
			c->at = 0;
			c->len = (size_t)n;
			return 0;
		}
		if (n == 0)
			return ts_error_set(err, TS_E_IO, "%s: the answer was cut off", c->named);
		if (errno != EAGAIN && errno != EINTR)
			return ts_error_sys(err, TS_E_IO, errno, "cannot read from %s", c->named);
		if (await(c, POLLIN, err) < 0)
			return -1;
	}
}

/* One line of a head into c->line, without its end. */
static int read_line(struct conn *c, struct ts_error *err)
{
	size_t n = 0;

	for (;;) {
		char b;

		if (c->at == c->len && fill(c, err) < 0)
			return -1;
		b = c->bytes[c->at++];
		if (b == '\n')
			break;
		if (n == LINE_LENGTH_MAX || b == 0)
			return ts_error_set(err, TS_E_IO, "%s: not an HTTP answer", c->named);
		c->line[n++] = b;
	}
	if (n && c->line[n - 1] == '\r')
		n--;
	c->line[n] = 0;
	return 0;
}

static int read_bytes(struct conn *c, uint64_t n, struct buf *out, struct ts_error *err)
{
	while (n) {
		size_t part;

		if (c->at == c->len && fill(c, err) < 0)
			return -1;
		part = c->len - c->at;
		if (part > n)
			part = (size_t)n;
		if (c->out) {
			if (fwrite(c->bytes + c->at, 1, part, c->out) != part)
				return ts_error_sys(err, TS_E_IO, errno, "cannot write");
		} else {
			buf_add(out, c->bytes + c->at, part);
		}
		if (out->failed)
			return ts_error_set(err, TS_E_IO, "%s: the answer is too large", c->named);
		c->at += part;
		n -= part;
	}
	return 0;
}

static int read_chunks(struct conn *c, struct buf *out, struct ts_error *err)
{
	for (;;) {
		uint64_t size = 0;
		size_t digits;

		if (read_line(c, err) < 0)
			return -1;
		digits = strspn(c->line, "0123456789abcdefABCDEF");
		if (digits == 0 || digits > 8 || !strchr("; \t", c->line[digits]))
			return ts_error_set(err, TS_E_IO, "%s: bad chunk", c->named);
		size = strtoull(c->line, NULL, 16);
		if (size == 0)
			break;
		if (read_bytes(c, size, out, err) < 0 || read_line(c, err) < 0)
			return -1;
		if (c->line[0])
			return ts_error_set(err, TS_E_IO, "%s: bad chunk", c->named);
	}
	for (int i = 0; i < HEAD_LINES_MAX; i++) {
		if (read_line(c, err) < 0)
			return -1;
		if (!c->line[0])
			return 0;
	}
	return ts_error_set(err, TS_E_IO, "%s: bad trailer", c->named);
}

/* The value of a header if the line is that one, else NULL. */
static const char *value_of(const char *line, const char *name)
{
	size_t n = strlen(name);

	if (strncasecmp(line, name, n) || line[n] != ':')
		return NULL;
	line += n + 1;
	return line + strspn(line, " \t");
}

struct head {
	int status;
	bool chunked, has_length;
	uint64_t length;
};

static int read_head(struct conn *c, struct head *h, struct ts_error *err)
{
	const char *value;

	memset(h, 0, sizeof(*h));
	if (read_line(c, err) < 0)
		return -1;
	if (strlen(c->line) < 12 || strncmp(c->line, "HTTP/1.", 7) ||
	    strspn(c->line + 9, "0123456789") != 3 || c->line[8] != ' ')
		return ts_error_set(err, TS_E_IO, "%s: not an HTTP answer", c->named);
	h->status = atoi(c->line + 9);
	for (int i = 0; i < HEAD_LINES_MAX; i++) {
		if (read_line(c, err) < 0)
			return -1;
		if (!c->line[0])
			return 0;
		value = value_of(c->line, "Transfer-Encoding");
		if (value)
			h->chunked = !strcasecmp(value, "chunked");
		value = value_of(c->line, "Content-Length");
		if (value) {
			if (h->has_length || !text_parse_u64(ts_str_c(value), &h->length))
				return ts_error_set(err, TS_E_IO, "%s: bad Content-Length",
						    c->named);
			h->has_length = true;
		}
	}
	return ts_error_set(err, TS_E_IO, "%s: too many header lines", c->named);
}

static int get(const struct tool_address *at, const char *target, struct conn *c,
	       struct tool_reply *r, struct ts_error *err)
{
	struct head head;

	if (connect_to(at, c, err) < 0 || send_request(at, target, c, err) < 0)
		return -1;
	do { /* 1xx come before the answer */
		if (read_head(c, &head, err) < 0)
			return -1;
	} while (head.status < 200);
	r->status = head.status;
	if (head.status != 200)
		c->out = NULL;
	if (head.chunked)
		return read_chunks(c, &r->body, err);
	if (!head.has_length) /* an end of the connection could not be told from a cut */
		return ts_error_set(err, TS_E_IO, "%s: the answer has no length", c->named);
	return read_bytes(c, head.length, &r->body, err);
}

void tool_reply_done(struct tool_reply *r)
{
	buf_done(&r->body);
}

int tool_get(const struct tool_address *at, const char *target, int64_t timeout_ms,
	     struct tool_reply *ret, struct ts_error *err)
{
	return tool_fetch(at, target, timeout_ms, NULL, ret, err);
}

int tool_fetch(const struct tool_address *at, const char *target, int64_t timeout_ms, FILE *out,
	       struct tool_reply *ret, struct ts_error *err)
{
	CLEAN(tool_reply_done) struct tool_reply r = {0};
	CLEAN(free_ptr) struct conn *c = calloc(1, sizeof(*c));
	int rc;

	buf_init(&r.body, BODY_MAX);
	if (!c)
		return ts_error_nomem(err);
	c->fd = -1;
	c->timeout_ms = timeout_ms;
	c->deadline_ms = time_mono_ms() + timeout_ms;
	c->out = out;
	c->named = at->named;
	rc = get(at, target, c, &r, err);
	close_fd(&c->fd);
	if (rc == 0) {
		*ret = r;
		buf_init(&r.body, BODY_MAX);
	}
	return rc;
}
