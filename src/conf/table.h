/* table.h: one row a setting; private to src/conf */
#ifndef TRACESPOOL_CONF_TABLE_H
#define TRACESPOOL_CONF_TABLE_H

#include <stddef.h>

#include "tracespool/conf.h"

enum setting_type {
	SET_PATH,   /* absolute; a relative one of -o counts from the working folder */
	SET_BELOW,  /* absolute, or below spool.path */
	SET_SOCKET, /* as SET_PATH, short enough for a socket address, or empty */
	SET_PREFIX, /* "/a/b" or empty */
	SET_LISTEN, /* list of ADDRESS:PORT */
	SET_HOSTS,  /* list of host names */
	SET_NUMBER, /* min to max */
	SET_WORD,   /* one of words; the value is its place in the list */
};

struct setting {
	const char *key;
	enum setting_type type;
	size_t offset; /* of the member of struct conf */
	const char *preset;
	uint64_t min, max;
	const char *words[4]; /* NULL-ended */
	bool reload;          /* read again on HUP */
	const char *meaning;  /* one line */
};

#define SETTING_COUNT 26

extern const struct setting settings[SETTING_COUNT];

static inline void *setting_at(const struct setting *s, const struct conf *conf)
{
	return (char *)(uintptr_t)conf + s->offset;
}

/* Checks the text and stores it. where: "FILE:LINE" or "-o", for messages. */
int setting_put(const struct setting *s, struct conf *conf, const char *text, const char *where,
		bool from_option, struct ts_error *err);

/* conf_file.c: key and value of one line or option; seen: line of each key in this source. */
int conf_put(struct conf *conf, const char *key, const char *value, const char *where,
	     bool from_option, unsigned seen[SETTING_COUNT], unsigned line, struct ts_error *err);
int conf_read_files(struct conf *conf, const char *file, struct ts_error *err);

/* Rules that hold between settings. */
int conf_check(const struct conf *conf, struct ts_error *err);

#endif
