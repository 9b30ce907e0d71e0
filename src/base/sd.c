/* sd.c: readiness, status and watchdog datagrams to the service manager; passed sockets */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tracespool/sd.h"
#include "tracespool/text.h"

#define LISTEN_FIRST_FD 3
#define LISTEN_FDS_MAX 64

int sd_notify_text(const char *fmt, ...)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	CLEAN(close_fd) int fd = -1;
	char text[2048];
	va_list args;
	size_t n;
	int len;

	if (!path || !*path)
		return 0;
	n = strlen(path);
	if ((*path != '/' && *path != '@') || n >= sizeof(to.sun_path)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(to.sun_path, path, n);
	if (*path == '@')
		to.sun_path[0] = 0;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len < 0)
		return -1;
	if ((size_t)len >= sizeof(text))
		len = sizeof(text) - 1;

	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	/* An abstract name is as long as the address says; a path ends at its zero byte. */
	if (sendto(fd, text, (size_t)len, MSG_NOSIGNAL, (struct sockaddr *)&to,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (*path == '/'))) < 0)
		return -1;
	return 0;
}

/* A number of the environment; false if it is not there or not one. */
static bool number_of(const char *name, uint64_t *ret)
{
	return text_parse_u64(ts_str_c(getenv(name)), ret);
}

uint64_t sd_watchdog_ms(void)
{
	uint64_t usec, pid;

	if (!number_of("WATCHDOG_USEC", &usec) || usec == 0)
		return 0;
	if (getenv("WATCHDOG_PID") &&
	    (!number_of("WATCHDOG_PID", &pid) || pid != (uint64_t)getpid()))
		return 0;
	return usec < 2000 ? 1 : usec / 2000;
}

int sd_listen_count(void)
{
	uint64_t pid, count;

	/* Without our pid the sockets were meant for a parent that left its environment to us. */
	if (!number_of("LISTEN_PID", &pid) || pid != (uint64_t)getpid())
		return 0;
	if (!number_of("LISTEN_FDS", &count) || count > LISTEN_FDS_MAX)
		return 0;
	for (int i = 0; i < (int)count; i++)
		if (fcntl(LISTEN_FIRST_FD + i, F_SETFD, FD_CLOEXEC) < 0)
			return i;
	return (int)count;
}

bool sd_private_tmp(const char *path, const char *mountinfo)
{
	static const char *const shared[] = {"/tmp", "/var/tmp"};
	CLEAN(free_ptr) char *line = NULL;
	const char *below = NULL;
	bool found = false;
	size_t cap = 0;
	FILE *f;

	for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
		size_t n = strlen(shared[i]);

		if (!strncmp(path, shared[i], n) && (path[n] == '/' || !path[n]))
			below = shared[i];
	}
	if (!below)
		return false;
	f = fopen(mountinfo, "re");
	if (!f)
		return false;
	/* id parent device ROOT MOUNT-POINT ...; the last mount on a point is the one that is seen.
	 */
	while (getline(&line, &cap, f) > 0) {
		char *rest = line, *word[5];

		for (size_t i = 0; i < ARRAY_LEN(word); i++)
			word[i] = strsep(&rest, " ");
		if (word[4] && !strcmp(word[4], below))
			found = strstr(word[3], "systemd-private-") != NULL;
	}
	fclose(f);
	return found;
}
