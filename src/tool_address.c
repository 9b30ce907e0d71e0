/* tool_address.c: where the daemon answers: options, settings, or the file that a free port is in
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#define ADDRESS_FILE "http.address"

/* The client speaks plain HTTP, so it goes to this host only. */
static bool is_this_host(const char *host)
{
	struct in_addr in;
	struct in6_addr in6;

	if (inet_pton(AF_INET, host, &in) == 1)
		return (ntohl(in.s_addr) >> 24) == 127;
	return inet_pton(AF_INET6, host, &in6) == 1 && IN6_IS_ADDR_LOOPBACK(&in6);
}

/* "127.0.0.1:7117", "[::1]:7117", "localhost" (port 80) */
static int read_host(const char *text, size_t n, struct tool_address *ret, struct ts_error *err)
{
	const char *colon = memrchr(text, ':', n), *end = text + n;
	uint64_t port = 80;

	if (colon && memchr(colon, ']', (size_t)(end - colon)))
		colon = NULL;
	if (colon && (!text_parse_u64(ts_str(colon + 1, (size_t)(end - colon - 1)), &port) ||
		      port == 0 || port > 65535))
		return ts_error_set(err, TS_E_BAD_SETTING, "%.*s: bad port", (int)n, text);
	if (colon)
		end = colon;
	if (text < end && *text == '[' && end[-1] == ']') {
		text++;
		end--;
	}
	if (end - text == 9 && !strncmp(text, "localhost", 9))
		snprintf(ret->host, sizeof(ret->host), "127.0.0.1");
	else
		snprintf(ret->host, sizeof(ret->host), "%.*s", (int)(end - text), text);
	if (!is_this_host(ret->host))
		return ts_error_set(err, TS_E_BAD_SETTING,
				    "%.*s: only loopback addresses and Unix sockets are reached",
				    (int)(end - text), text);
	ret->port = (unsigned)port;
	snprintf(ret->named, sizeof(ret->named), strchr(ret->host, ':') ? "[%s]:%u" : "%s:%u",
		 ret->host, ret->port);
	return 0;
}

static int set_base(struct tool_address *ret, const char *base, struct ts_error *err)
{
	size_t n = strlen(base);

	while (n && base[n - 1] == '/')
		n--;
	if (n >= sizeof(ret->base) || strcspn(base, " ?#\r\n\t") < n)
		return ts_error_set(err, TS_E_BAD_SETTING, "%s: bad path in the address", base);
	memcpy(ret->base, base, n);
	ret->base[n] = 0;
	return 0;
}

static int read_url(const char *url, struct tool_address *ret, struct ts_error *err)
{
	static const char scheme[] = "http://";
	const char *host = url + sizeof(scheme) - 1;
	size_t n;

	if (strncmp(url, scheme, sizeof(scheme) - 1))
		return ts_error_set(err, TS_E_BAD_SETTING, "%s: not http://ADDRESS:PORT", url);
	n = strcspn(host, "/");
	if (read_host(host, n, ret, err) < 0)
		return -1;
	return set_base(ret, host + n, err);
}

static int use_socket(const char *path, struct tool_address *ret, struct ts_error *err)
{
	if (strlen(path) >= 108)
		return ts_error_set(err, TS_E_BAD_SETTING, "%s: too long for a socket", path);
	ret->local = true;
	snprintf(ret->host, sizeof(ret->host), "%s", path);
	snprintf(ret->named, sizeof(ret->named), "%s", path);
	return 0;
}

/* The first line of STORE/http.address, for http.listen = 127.0.0.1:0. */
static int read_address_file(const struct conf *conf, struct tool_address *ret,
			     struct ts_error *err)
{
	CLEAN(close_fd)
	int folder = open(conf->store.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEAN(close_fd) int fd = -1;
	char text[256];
	ssize_t n;

	if (folder >= 0)
		fd = openat(folder, ADDRESS_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return ts_error_sys(err, TS_E_IO, errno,
				    "cannot tell the daemon's port from %s/" ADDRESS_FILE,
				    conf->store.path);
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return ts_error_sys(err, TS_E_IO, errno, "cannot read %s/" ADDRESS_FILE,
				    conf->store.path);
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	if (!strncmp(text, "unix:", 5))
		return use_socket(text + 5, ret, err);
	return read_host(text, strlen(text), ret, err);
}

int tool_find_daemon(const struct tool *t, struct tool_address *ret, struct ts_error *err)
{
	struct tool_address at = {0};
	const char *listen = t->conf.http.listen[0];
	int rc;

	if (t->url)
		rc = read_url(t->url, &at, err);
	else if (t->socket)
		rc = use_socket(t->socket, &at, err);
	else if (listen && ts_str_ends(ts_str_c(listen), ":0"))
		rc = read_address_file(&t->conf, &at, err);
	else if (listen)
		rc = read_host(listen, strlen(listen), &at, err);
	else if (*t->conf.http.socket)
		rc = use_socket(t->conf.http.socket, &at, err);
	else
		rc = ts_error_set(err, TS_E_BAD_SETTING,
				  "the settings name neither http.listen nor http.socket");
	if (rc == 0 && !t->url)
		rc = set_base(&at, t->conf.http.base_path, err);
	if (rc == 0)
		*ret = at;
	return rc;
}
