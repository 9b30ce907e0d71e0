/* value.c: the text of one setting to its value, and the rules between settings */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "table.h"

#include "tracespool/text.h"

#define LIST_MAX 64

static const char blanks[] = " \t";

static int bad(struct ts_error *err, const char *where, const struct setting *s, const char *text,
	       const char *why)
{
	return ts_error_set(err, TS_E_BAD_SETTING, "%s: %s = %s %s", where, s->key, text, why);
}

static int put_string(char **at, const char *text, struct ts_error *err)
{
	char *copy = strdup(text);

	if (!copy)
		return ts_error_nomem(err);
	free(*at);
	*at = copy;
	return 0;
}

static void free_list(char ***list)
{
	for (char **p = *list; p && *p; p++)
		free(*p);
	free(*list);
	*list = NULL;
}

static int put_list(char ***at, const char *text, bool *ret_full, struct ts_error *err)
{
	CLEAN(free_list) char **list = calloc(LIST_MAX + 1, sizeof(*list));
	unsigned n = 0;

	if (!list)
		return ts_error_nomem(err);
	for (const char *p = text + strspn(text, blanks); *p; p += strspn(p, blanks)) {
		size_t len = strcspn(p, blanks);

		if (n == LIST_MAX) {
			*ret_full = true;
			return 0;
		}
		list[n] = strndup(p, len);
		if (!list[n++])
			return ts_error_nomem(err);
		p += len;
	}
	free_list(at);
	*at = TAKE(list);
	return 0;
}

/* "127.0.0.1:7117", "[::1]:7117", "localhost:7117" */
static bool is_listen(const char *text)
{
	const char *colon = strrchr(text, ':');
	char address[INET6_ADDRSTRLEN + 2];
	struct in6_addr in6;
	uint64_t port;
	size_t n;

	if (!colon || colon == text)
		return false;
	n = (size_t)(colon - text);
	if (n >= sizeof(address) || !text_parse_u64(ts_str_c(colon + 1), &port) || port > 65535)
		return false;
	memcpy(address, text, n);
	address[n] = 0;
	if (!strcmp(address, "localhost"))
		return true;
	if (address[0] != '[')
		return inet_pton(AF_INET, address, &in6) == 1;
	if (address[n - 1] != ']')
		return false;
	address[n - 1] = 0;
	return inet_pton(AF_INET6, address + 1, &in6) == 1;
}

static bool is_host(const char *text)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

	return strlen(text) <= 253 && strspn(text, good) == strlen(text);
}

static bool is_prefix(const char *text)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_~/";
	size_t n = strlen(text);

	return !n || (text[0] == '/' && n > 1 && n <= 256 && text[n - 1] != '/' &&
		      !strstr(text, "//") && !strstr(text, "/.") && strspn(text, good) == n);
}

static bool has_dot_dot(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")); p += 2)
		if ((p == path || p[-1] == '/') && (!p[2] || p[2] == '/'))
			return true;
	return false;
}

/* Paths are kept without slashes at the end, so that they can be compared as text. */
static int put_path(const struct setting *s, char **at, const char *text, const char *where,
		    bool from_option, struct ts_error *err)
{
	char path[4096], folder[2048];
	size_t n;

	if (!*text)
		return s->type == SET_SOCKET ? put_string(at, "", err)
					     : bad(err, where, s, text, "is empty");
	if (strlen(text) >= sizeof(path) - sizeof(folder))
		return bad(err, where, s, "...", "is too long for a path");
	if (*text == '/' || s->type == SET_BELOW) {
		strcpy(path, text);
	} else if (!from_option) {
		return bad(err, where, s, text, "is not an absolute path");
	} else {
		if (!getcwd(folder, sizeof(folder)))
			return ts_error_sys(err, TS_E_BAD_SETTING, errno, "%s: %s = %s", where,
					    s->key, text);
		snprintf(path, sizeof(path), "%s/%s", strcmp(folder, "/") ? folder : "", text);
	}
	for (n = strlen(path); n > 1 && path[n - 1] == '/';)
		path[--n] = 0;
	if (s->type == SET_BELOW && has_dot_dot(path))
		return bad(err, where, s, text, "has \"..\" in it");
	if (s->type == SET_SOCKET && n >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return bad(err, where, s, text, "is too long for a socket");
	return put_string(at, path, err);
}

static int put_number(const struct setting *s, uint64_t *at, const char *text, const char *where,
		      struct ts_error *err)
{
	uint64_t value;

	if (!text_parse_u64(ts_str_c(text), &value))
		return bad(err, where, s, text, "is not a whole number in digits");
	if (value < s->min || value > s->max)
		return ts_error_set(err, TS_E_BAD_SETTING, "%s: %s = %s is not within %llu to %llu",
				    where, s->key, text, (unsigned long long)s->min,
				    (unsigned long long)s->max);
	*at = value;
	return 0;
}

static int put_word(const struct setting *s, void *at, const char *text, const char *where,
		    struct ts_error *err)
{
	_Static_assert(sizeof(enum conf_after) == sizeof(unsigned), "words are stored as unsigned");
	_Static_assert(sizeof(enum conf_conflict) == sizeof(unsigned), "the same");

	for (unsigned i = 0; s->words[i]; i++) {
		if (strcmp(s->words[i], text))
			continue;
		memcpy(at, &i, sizeof(i));
		return 0;
	}
	return ts_error_set(err, TS_E_BAD_SETTING, "%s: %s = %s is not one of: %s %s %s", where,
			    s->key, text, s->words[0], s->words[1], s->words[2] ? s->words[2] : "");
}

static int put_checked_list(const struct setting *s, char ***at, const char *text,
			    const char *where, struct ts_error *err)
{
	CLEAN(free_list) char **list = NULL;
	bool full = false;

	if (put_list(&list, text, &full, err) < 0)
		return -1;
	if (full)
		return bad(err, where, s, "...", "has more than 64 entries");
	for (char **p = list; *p; p++) {
		if (s->type == SET_LISTEN && !is_listen(*p))
			return bad(err, where, s, *p, "is not ADDRESS:PORT or [ADDRESS]:PORT");
		if (s->type == SET_HOSTS && !is_host(*p))
			return bad(err, where, s, *p, "is not a host name");
	}
	free_list(at);
	*at = TAKE(list);
	return 0;
}

int setting_put(const struct setting *s, struct conf *conf, const char *text, const char *where,
		bool from_option, struct ts_error *err)
{
	void *at = setting_at(s, conf);

	/* What a file could not say is refused from an option too: --print-config must be able to
	 * write it. */
	for (const char *p = text; *p; p++) {
		if ((unsigned char)*p < ' ' && *p != '\t')
			return bad(err, where, s, text, "has control bytes");
		if (*p == '#' && (p == text || strchr(blanks, p[-1])))
			return bad(err, where, s, text, "has a # that begins a comment");
	}
	switch (s->type) {
	case SET_PATH:
	case SET_BELOW:
	case SET_SOCKET:
		return put_path(s, at, text, where, from_option, err);
	case SET_PREFIX:
		if (!is_prefix(text))
			return bad(err, where, s, text, "is not a path such as /traces");
		return put_string(at, text, err);
	case SET_LISTEN:
	case SET_HOSTS:
		return put_checked_list(s, at, text, where, err);
	case SET_NUMBER:
		return put_number(s, at, text, where, err);
	case SET_WORD:
		return put_word(s, at, text, where, err);
	}
	check_failed("type of a setting", __FILE__, __LINE__);
}

/* The first component of what stands below the drop folder, NULL if path is elsewhere. */
static const char *below_spool(const struct conf *conf, const char *path)
{
	size_t n = strlen(conf->spool.path);

	if (path[0] != '/')
		return path;
	if (strncmp(path, conf->spool.path, n) || (path[n] && path[n] != '/' && n > 1))
		return NULL;
	return path + n + (path[n] == '/');
}

/* A visible folder in the drop folder would be taken for a drop. */
static int check_below(const struct conf *conf, const char *key, const char *path,
		       struct ts_error *err)
{
	static const char *const own[] = {".active", ".receipts"};
	const char *first = below_spool(conf, path);

	if (!first)
		return 0;
	if (first[0] != '.' || !first[1] || first[1] == '/')
		return ts_error_set(err, TS_E_BAD_SETTING,
				    "%s = %s lies in the drop folder and would be taken for a "
				    "drop: give it a name with a leading dot",
				    key, path);
	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		size_t n = strlen(own[i]);

		if (!strncmp(first, own[i], n) && (!first[n] || first[n] == '/'))
			return ts_error_set(err, TS_E_BAD_SETTING,
					    "%s = %s is a folder that the daemon needs itself", key,
					    path);
	}
	return 0;
}

static bool is_loopback(const char *listen)
{
	return !strncmp(listen, "localhost:", 10) || !strncmp(listen, "127.", 4) ||
	       !strncmp(listen, "[::1]:", 6);
}

int conf_check(const struct conf *conf, struct ts_error *err)
{
	if (check_below(conf, "spool.archive_path", conf->spool.archive_path, err) < 0 ||
	    check_below(conf, "spool.quarantine_path", conf->spool.quarantine_path, err) < 0 ||
	    check_below(conf, "store.path", conf->store.path, err) < 0)
		return -1;
	if (!strcmp(conf->spool.archive_path, conf->spool.quarantine_path))
		return ts_error_set(
			err, TS_E_BAD_SETTING,
			"spool.archive_path and spool.quarantine_path are the same folder");
	for (char **p = conf->http.listen; *p; p++)
		if (!is_loopback(*p))
			return ts_error_set(err, TS_E_BAD_SETTING,
					    "http.listen = %s is not a loopback address: without "
					    "tokens no other is served",
					    *p);
	if (conf->limits.connections < conf->http.threads)
		return ts_error_set(
			err, TS_E_BAD_SETTING,
			"limits.connections = %llu is less than http.threads = %llu: each thread "
			"needs one",
			(unsigned long long)conf->limits.connections,
			(unsigned long long)conf->http.threads);
	return 0;
}
