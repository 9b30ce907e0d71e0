/* talk.c: requests and responses of HTTP/1.1 for the load generator */
#include "talk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

int talk_connect(const char *address)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	const char *colon = strrchr(address, ':');
	char host[64];
	int one = 1;

	if (!colon || (size_t)(colon - address) >= sizeof(host))
		bench_fail("no address: %s", address);
	memcpy(host, address, (size_t)(colon - address));
	host[colon - address] = 0;
	to.sin_port = htons((uint16_t)bench_number(colon + 1));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (inet_pton(AF_INET, host, &to.sin_addr) != 1 || fd < 0 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		bench_fail("%s: %s", address, strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

void talk_begin(struct talk *t)
{
	t->head_len = 0;
	t->in_body = t->chunked = t->done = false;
	t->status = 0;
	t->left = t->bytes = 0;
	memset(t->tail, 0, sizeof(t->tail));
}

static void take_body(struct talk *t, const char *p, size_t n)
{
	t->bytes += n;
	if (!t->chunked) {
		t->left -= n < t->left ? n : t->left;
		t->done = t->left == 0;
		return;
	}
	for (size_t i = n > 5 ? n - 5 : 0; i < n; i++) {
		memmove(t->tail, t->tail + 1, 4);
		t->tail[4] = p[i];
	}
	/* The next response comes only after the next request, so this is the end. */
	t->done = memcmp(t->tail, "0\r\n\r\n", 5) == 0;
}

void talk_take(struct talk *t, const char *p, size_t n)
{
	if (t->in_body) {
		take_body(t, p, n);
		return;
	}
	size_t room = sizeof(t->head) - 1 - t->head_len, got = n < room ? n : room;

	memcpy(t->head + t->head_len, p, got);
	t->head[t->head_len + got] = 0;
	char *end = strstr(t->head, "\r\n\r\n");

	if (!end) {
		if (got == room)
			bench_fail("head of a response is too long");
		t->head_len += got;
		return;
	}
	size_t used = (size_t)(end + 4 - t->head) - t->head_len;

	end[2] = 0;
	t->status = atoi(t->head + strlen("HTTP/1.1 "));
	t->in_body = true;
	const char *length = strcasestr(t->head, "\r\nContent-Length: ");

	t->chunked = strcasestr(t->head, "\r\nTransfer-Encoding: chunked") != NULL;
	t->left = length ? strtoull(length + strlen("\r\nContent-Length: "), NULL, 10) : 0;
	if (t->status == 304 || t->status == 204)
		t->left = 0;
	if (!t->chunked && t->left == 0)
		t->done = true;
	if (n > used)
		take_body(t, p + used, n - used);
}

void talk_send(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

		if (sent < 0)
			bench_fail("send: %s", strerror(errno));
		p += sent;
		n -= (size_t)sent;
	}
}

size_t talk_request(char *out, size_t size, const char *address, const char *path,
		    const char *header)
{
	int n = snprintf(out, size, "GET %s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n", path, address,
			 header ? header : "", header ? "\r\n" : "");

	if (n < 0 || (size_t)n >= size)
		bench_fail("request is too long");
	return (size_t)n;
}

void talk_get(int fd, struct talk *t, const char *request, size_t n)
{
	static char buffer[1 << 18];

	talk_begin(t);
	talk_send(fd, request, n);
	while (!t->done) {
		ssize_t got = recv(fd, buffer, sizeof(buffer), 0);

		if (got <= 0)
			bench_fail("connection ended: %s", got < 0 ? strerror(errno) : "closed");
		talk_take(t, buffer, (size_t)got);
	}
}
