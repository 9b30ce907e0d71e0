/* listen.c: binds the addresses and the Unix socket, or takes the sockets that were passed
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server.h"

#define FIRST_PASSED_FD 3
#define BACKLOG 512
#define SOCKET_MODE 0660

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
	struct sockaddr_storage room;
};

static bool is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return (ntohl(a->v4.sin_addr.s_addr) >> 24) == 127;
	return a->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

static void format_address(const union address *a, char *out, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (a->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a->v4.sin_addr, host, sizeof(host));
		snprintf(out, size, "%s:%u", host, ntohs(a->v4.sin_port));
	} else {
		inet_ntop(AF_INET6, &a->v6.sin6_addr, host, sizeof(host));
		snprintf(out, size, "[%s]:%u", host, ntohs(a->v6.sin6_port));
	}
}

/* "127.0.0.1:7117", "[::1]:7117" or "localhost:7117". */
static int parse_address(const char *text, union address *ret, socklen_t *ret_len,
			 struct ts_error *err)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t n = colon ? (size_t)(colon - text) : 0;
	uint64_t port;

	memset(ret, 0, sizeof(*ret));
	if (n == 0 || n >= sizeof(host) || !text_parse_u64(ts_str_c(colon + 1), &port) ||
	    port > 65535)
		return ts_error_set(err, TS_E_BAD_SETTING,
				    "http.listen: \"%s\" is not ADDRESS:PORT", text);
	memcpy(host, text, n);
	host[n] = 0;
	if (strcmp(host, "localhost") == 0)
		strcpy(host, "127.0.0.1");
	if (host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = 0;
		if (inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) == 1) {
			ret->v6.sin6_family = AF_INET6;
			ret->v6.sin6_port = htons((uint16_t)port);
			*ret_len = sizeof(ret->v6);
			return 0;
		}
	} else if (inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons((uint16_t)port);
		*ret_len = sizeof(ret->v4);
		return 0;
	}
	return ts_error_set(err, TS_E_BAD_SETTING,
			    "http.listen: \"%s\" is no numeric address; IPv6 stands in brackets",
			    text);
}

static int refuse_beyond_loopback(const char *text, struct ts_error *err)
{
	return ts_error_set(err, TS_E_BAD_SETTING,
			    "http.listen: listening beyond loopback (%s) needs tokens, which this "
			    "version does not have",
			    text);
}

static struct listener *new_listener(struct http *h, struct ts_error *err)
{
	struct listener *l;

	if (h->listener_count == HTTP_LISTENERS_MAX) {
		ts_error_set(err, TS_E_BAD_SETTING, "http.listen: more than %d addresses",
			     HTTP_LISTENERS_MAX);
		return NULL;
	}
	l = &h->listeners[h->listener_count++];
	l->http = h;
	l->fd = -1;
	return l;
}

/* The real address of a bound socket: the port may have been 0. */
static int take_name(struct listener *l, struct ts_error *err)
{
	union address a;
	socklen_t len = sizeof(a);

	if (getsockname(l->fd, &a.any, &len) < 0)
		return ts_error_sys(err, TS_E_START, errno, "address of a socket cannot be read");
	if (a.any.sa_family == AF_UNIX) {
		size_t n = len - offsetof(struct sockaddr_un, sun_path);

		l->local = true;
		snprintf(l->address, sizeof(l->address), "unix:%.*s",
			 (int)strnlen(a.local.sun_path, n), a.local.sun_path);
		return 0;
	}
	if (a.any.sa_family != AF_INET && a.any.sa_family != AF_INET6)
		return ts_error_set(err, TS_E_START, "a passed socket is no internet or Unix one");
	format_address(&a, l->address, sizeof(l->address));
	return is_loopback(&a) ? 0 : refuse_beyond_loopback(l->address, err);
}

static int bind_address(struct http *h, const char *text, struct ts_error *err)
{
	struct listener *l = new_listener(h, err);
	union address a;
	socklen_t len = 0;
	int on = 1;

	if (!l || parse_address(text, &a, &len, err) < 0)
		return -1;
	if (!is_loopback(&a))
		return refuse_beyond_loopback(text, err);
	l->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return ts_error_sys(err, TS_E_START, errno, "no socket for %s", text);
	if (a.any.sa_family == AF_INET6)
		(void)setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	/* Only past connections are passed over by this; two listeners still exclude each other. */
	(void)setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(l->fd, &a.any, len) < 0 || listen(l->fd, BACKLOG) < 0)
		return ts_error_sys(err, TS_E_START, errno, "cannot listen on %s", text);
	return take_name(l, err);
}

/* A socket file that nobody listens on is what a killed daemon left. */
static int clear_stale(const struct sockaddr_un *a, struct ts_error *err)
{
	struct stat st;
	int fd, result;

	if (lstat(a->sun_path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return ts_error_set(err, TS_E_START, "http.socket: %s is there and is no socket",
				    a->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return ts_error_sys(err, TS_E_START, errno, "no socket for %s", a->sun_path);
	result = connect(fd, (const struct sockaddr *)a, sizeof(*a));
	if (result < 0)
		result = -errno;
	close(fd);
	if (result != -ECONNREFUSED)
		return ts_error_set(err, TS_E_START, "http.socket: %s is in use", a->sun_path);
	if (unlink(a->sun_path) < 0 && errno != ENOENT)
		return ts_error_sys(err, TS_E_START, errno, "%s cannot be removed", a->sun_path);
	return 0;
}

static int bind_local(struct http *h, const char *path, struct ts_error *err)
{
	struct listener *l = new_listener(h, err);
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	if (!l)
		return -1;
	if (strlen(path) >= sizeof(a.sun_path))
		return ts_error_set(err, TS_E_BAD_SETTING,
				    "http.socket: the path is longer than %zu bytes",
				    sizeof(a.sun_path) - 1);
	strcpy(a.sun_path, path);
	if (clear_stale(&a, err) < 0)
		return -1;
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return ts_error_sys(err, TS_E_START, errno, "no socket for %s", path);
	/* The mode of the socket before it is bound is the file's: nobody gets in between. */
	if (fchmod(l->fd, SOCKET_MODE) < 0 || bind(l->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return ts_error_sys(err, TS_E_START, errno, "cannot listen on %s", path);
	l->made_path = true;
	strcpy(l->path, path);
	if (chmod(path, SOCKET_MODE) < 0 || listen(l->fd, BACKLOG) < 0)
		return ts_error_sys(err, TS_E_START, errno, "cannot listen on %s", path);
	return take_name(l, err);
}

static int take_passed(struct http *h, int fd, struct ts_error *err)
{
	struct listener *l = new_listener(h, err);
	int flags;

	if (!l)
		return -1;
	l->fd = fd;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return ts_error_sys(err, TS_E_START, errno, "passed socket %d cannot be used", fd);
	return take_name(l, err);
}

int listen_open(struct http *h, struct ts_error *err)
{
	int passed = h->options.passed_fd_count;

	for (int i = 0; i < passed; i++)
		if (take_passed(h, FIRST_PASSED_FD + i, err) < 0)
			return -1;
	if (passed > 0) /* the service manager holds the addresses */
		return 0;
	for (char *const *text = h->conf->http.listen; text && *text; text++)
		if (bind_address(h, *text, err) < 0)
			return -1;
	if (h->conf->http.socket && *h->conf->http.socket)
		return bind_local(h, h->conf->http.socket, err);
	return 0;
}

void listen_close(struct http *h)
{
	for (unsigned i = 0; i < h->listener_count; i++) {
		struct listener *l = &h->listeners[i];

		if (l->made_path)
			unlink(l->path);
		if (l->fd >= 0)
			close(l->fd);
		l->fd = -1;
	}
}
