/* responder.c: a bare epoll responder: the same bytes for every request, on one thread
 *
 * responder ADDRESS-FILE RESPONSE: RESPONSE holds head and body; HOST:PORT goes to ADDRESS-FILE.
 * The bound of the HTTP benchmarks. Ends when it is killed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

enum { FDS = 4096 };

struct peer {
	size_t left;      /* of the response being sent */
	unsigned matched; /* of the empty line that ends a request */
};

static struct peer peers[FDS];

static int listen_at(const char *file)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	FILE *f = fopen(file, "w");

	if (fd < 0 || !f || bind(fd, (struct sockaddr *)&at, size) < 0 || listen(fd, 1024) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &size) < 0)
		bench_fail("cannot listen: %s", strerror(errno));
	fprintf(f, "127.0.0.1:%u\n", (unsigned)ntohs(at.sin_port));
	fclose(f);
	return fd;
}

static void add(int poll, int fd)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.fd = fd};

	if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &e) < 0)
		bench_fail("epoll: %s", strerror(errno));
}

static void take_new(int poll, int listening)
{
	int fd, one = 1;

	while ((fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		if (fd >= FDS) {
			close(fd);
			continue;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		peers[fd] = (struct peer){0};
		add(poll, fd);
	}
}

/* False: the other side is gone. */
static bool serve(int fd, const char *text, size_t size)
{
	struct peer *p = &peers[fd];
	char in[4096];
	ssize_t n;

	for (;;) {
		while (p->left) {
			n = send(fd, text + size - p->left, p->left, MSG_NOSIGNAL);
			if (n < 0)
				return errno == EAGAIN;
			p->left -= (size_t)n;
		}
		n = recv(fd, in, sizeof(in), 0);
		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		for (ssize_t i = 0; i < n; i++) {
			p->matched =
				in[i] == "\r\n\r\n"[p->matched] ? p->matched + 1 : in[i] == '\r';
			if (p->matched == 4) {
				p->left = size;
				p->matched = 0;
			}
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fputs("usage: responder ADDRESS-FILE RESPONSE\n", stderr);
		return 2;
	}
	size_t size;
	char *text = bench_load(argv[2], &size);
	struct epoll_event events[256];
	int poll = epoll_create1(EPOLL_CLOEXEC), listening = listen_at(argv[1]);

	if (poll < 0)
		bench_fail("epoll: %s", strerror(errno));
	add(poll, listening);
	for (;;) {
		int n = epoll_wait(poll, events, 256, -1);

		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;

			if (fd == listening)
				take_new(poll, listening);
			else if (!serve(fd, text, size))
				close(fd);
		}
	}
}
