/* client.c: what the benchmarks do to a daemon: load, single requests, drops, lags
 *
 * client load ADDRESS PATH CONNECTIONS SECONDS [HEADER]
 *     prints: requests a second, p50 and p99 in microseconds, bytes a body, answers not 200 or 304
 *     "{}" in PATH is another number in each request
 * client get ADDRESS PATH [FILE [HEADER]]
 *     prints: status, bytes, seconds, ETag; FILE gets head and body as they came
 * client drop ADDRESS SPOOL FILE...   renames all into the spool; prints seconds to the last
 * receipt client count FOLDER N               waits for N names in a folder; prints seconds client
 * lag ADDRESS SPOOL FILE N     FILE's THE-RUN-ID is replaced; prints median and p99 seconds
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"
#include "talk.h"

enum { CONNECTIONS_MAX = 1024, TIMES_MAX = 1 << 22 };

struct connection {
	struct talk talk;
	double sent;
	int fd;
};

/* A request with a number of eight digits in place of "{}", if it has that. */
struct request {
	char text[4096];
	size_t size;
	char *number;
	unsigned sent;
};

static void make_request(struct request *rq, char **argv, int argc)
{
	char path[2048], *hole;

	if ((size_t)snprintf(path, sizeof(path), "%s", argv[3]) >= sizeof(path) - 8)
		bench_fail("%s: too long", argv[3]);
	hole = strstr(path, "{}");
	if (hole) {
		memmove(hole + 8, hole + 2, strlen(hole + 2) + 1);
		memset(hole, '0', 8);
	}
	rq->size =
		talk_request(rq->text, sizeof(rq->text), argv[2], path, argc > 6 ? argv[6] : NULL);
	rq->number = hole ? rq->text + strlen("GET ") + (hole - path) : NULL;
	rq->sent = (unsigned)getpid() % 1000 * 100000;
}

static void send_request(struct request *rq, int fd)
{
	unsigned n = ++rq->sent;

	for (int i = 7; rq->number && i >= 0; i--, n /= 10)
		rq->number[i] = (char)('0' + n % 10);
	talk_send(fd, rq->text, rq->size);
}

static void load(char **argv, int argc)
{
	static char buffer[1 << 16];
	static struct request request;
	size_t count = (size_t)bench_number(argv[4]), times = 0, bad = 0;
	double length = (double)bench_number(argv[5]);
	struct connection *all = calloc(count, sizeof(*all));
	double *took = malloc(TIMES_MAX * sizeof(*took));
	struct epoll_event events[CONNECTIONS_MAX];
	int poll = epoll_create1(EPOLL_CLOEXEC);
	uint64_t bytes = 0;

	if (!all || !took || poll < 0 || count == 0 || count > CONNECTIONS_MAX)
		bench_fail("no memory, or too many connections");
	make_request(&request, argv, argc);
	for (size_t i = 0; i < count; i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.ptr = &all[i]};

		all[i].fd = talk_connect(argv[2]);
		if (epoll_ctl(poll, EPOLL_CTL_ADD, all[i].fd, &e) < 0)
			bench_fail("epoll: %s", strerror(errno));
		talk_begin(&all[i].talk);
		all[i].sent = bench_now();
		send_request(&request, all[i].fd);
	}
	double begin = bench_now(), now = begin;

	while (now - begin < length && times < TIMES_MAX) {
		int n = epoll_wait(poll, events, CONNECTIONS_MAX, 1000);

		now = bench_now();
		for (int i = 0; i < n && times < TIMES_MAX; i++) {
			struct connection *c = events[i].data.ptr;
			ssize_t got = recv(c->fd, buffer, sizeof(buffer), 0);

			if (got <= 0)
				bench_fail("connection ended");
			talk_take(&c->talk, buffer, (size_t)got);
			if (!c->talk.done)
				continue;
			now = bench_now();
			took[times++] = now - c->sent;
			bytes = c->talk.bytes;
			bad += c->talk.status != 200 && c->talk.status != 304;
			talk_begin(&c->talk);
			c->sent = now;
			send_request(&request, c->fd);
		}
	}
	double rate = (double)times / (now - begin);
	double p50 = bench_quantile(took, times, 0.5), p99 = bench_quantile(took, times, 0.99);

	printf("%.1f %.1f %.1f %llu %zu\n", rate, p50 * 1e6, p99 * 1e6, (unsigned long long)bytes,
	       bad);
}

static void get(char **argv, int argc)
{
	static char buffer[1 << 18];
	static struct talk t;
	char request[4096], etag[256] = "-";
	size_t size =
		talk_request(request, sizeof(request), argv[2], argv[3], argc > 5 ? argv[5] : NULL);
	FILE *out = argc > 4 ? fopen(argv[4], "wb") : NULL;
	int fd = talk_connect(argv[2]);
	double begin = bench_now();

	if (argc > 4 && !out)
		bench_fail("%s: %s", argv[4], strerror(errno));
	talk_begin(&t);
	talk_send(fd, request, size);
	while (!t.done) {
		ssize_t got = recv(fd, buffer, sizeof(buffer), 0);

		if (got <= 0)
			bench_fail("connection ended");
		talk_take(&t, buffer, (size_t)got);
		if (out && fwrite(buffer, 1, (size_t)got, out) != (size_t)got)
			bench_fail("%s: cannot be written", argv[4]);
	}
	double end = bench_now();
	const char *at = strcasestr(t.head, "\r\nETag: ");

	if (at)
		sscanf(at + strlen("\r\nETag: "), "%255[^\r\n]", etag);
	if (out && fclose(out) != 0)
		bench_fail("%s: cannot be written", argv[4]);
	printf("%d %llu %.6f %s\n", t.status, (unsigned long long)t.bytes, end - begin, etag);
}

static void place(const char *spool, const char *from, const char *name)
{
	char to[1024];

	if ((size_t)snprintf(to, sizeof(to), "%s/%s", spool, name) >= sizeof(to) ||
	    rename(from, to) < 0)
		bench_fail("%s: %s", name, strerror(errno));
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void drop(char **argv, int argc)
{
	static struct talk t;
	char path[1024], request[4096];
	int fd = talk_connect(argv[2]);
	double begin = bench_now();

	for (int i = 4; i < argc; i++)
		place(argv[3], argv[i], base_name(argv[i]));
	for (int i = 4; i < argc; i++) {
		snprintf(path, sizeof(path), "/ingest/receipts/%s?wait=60", base_name(argv[i]));
		size_t size = talk_request(request, sizeof(request), argv[2], path, NULL);

		do
			talk_get(fd, &t, request, size);
		while (t.status == 404 && bench_now() - begin < 600);
		if (t.status != 200)
			bench_fail("%s: %d", path, t.status);
	}
	printf("%.6f\n", bench_now() - begin);
}

static size_t names(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	if (!d)
		return 0;
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void count(char **argv)
{
	uint64_t n = bench_number(argv[3]);
	double begin = bench_now();

	while (names(argv[2]) < n) {
		if (bench_now() - begin > 600)
			bench_fail("%s: not filled in ten minutes", argv[2]);
		usleep(10000);
	}
	printf("%.6f\n", bench_now() - begin);
}

/* Writes FILE with THE-RUN-ID replaced beside the spool's names. */
static void write_copy(const char *to, const char *text, const char *id)
{
	const char *at = strstr(text, "THE-RUN-ID");
	FILE *f = fopen(to, "wb");

	if (!at || !f || fwrite(text, 1, (size_t)(at - text), f) != (size_t)(at - text) ||
	    fputs(id, f) == EOF || fputs(at + strlen("THE-RUN-ID"), f) == EOF || fclose(f) != 0)
		bench_fail("%s: cannot be written", to);
}

static void lag(char **argv)
{
	static struct talk t;
	size_t size, n = (size_t)bench_number(argv[5]);
	char *text = bench_load(argv[4], &size), aside[1024], name[64], id[32], request[4096];
	double *took = calloc(n ? n : 1, sizeof(*took));
	int fd = talk_connect(argv[2]);

	if (!took)
		bench_fail("no memory");
	for (size_t i = 0; i < n; i++) {
		char path[128];

		snprintf(id, sizeof(id), "lag-%zu-%d", i, (int)getpid());
		snprintf(name, sizeof(name), "%s.jsonl", id);
		snprintf(path, sizeof(path), "/runs/%s/summary", id);
		snprintf(aside, sizeof(aside), "%s/.%s.part", argv[3], id);
		write_copy(aside, text, id);
		size = talk_request(request, sizeof(request), argv[2], path, NULL);
		usleep(20000); /* idle again */
		double begin = bench_now();

		place(argv[3], aside, name);
		for (;;) {
			talk_get(fd, &t, request, size);
			took[i] = bench_now() - begin;
			if (t.status == 200)
				break;
			if (took[i] > 60)
				bench_fail("%s: not there after a minute", id);
			usleep(200);
		}
	}
	double median = bench_median(took, n);

	printf("%.6f %.6f\n", median, bench_quantile(took, n, 0.99));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "load") == 0 && (argc == 6 || argc == 7))
		load(argv, argc);
	else if (strcmp(what, "get") == 0 && argc >= 4 && argc <= 6)
		get(argv, argc);
	else if (strcmp(what, "drop") == 0 && argc >= 5)
		drop(argv, argc);
	else if (strcmp(what, "count") == 0 && argc == 4)
		count(argv);
	else if (strcmp(what, "lag") == 0 && argc == 6)
		lag(argv);
	else {
		fputs("usage: client load|get|drop|count|lag ..., see bench/client.c\n", stderr);
		return 2;
	}
	return 0;
}
