/* conf.c: the settings of a process: defaults, files, options, and what HUP may change */
#include <stdlib.h>
#include <string.h>

#include "table.h"

#define KEY_MAX 64

static const struct setting *find(const char *key)
{
	for (unsigned i = 0; i < SETTING_COUNT; i++)
		if (!strcmp(settings[i].key, key))
			return &settings[i];
	return NULL;
}

/* Number of letters to change, add or leave out (Levenshtein), both at most KEY_MAX long. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[KEY_MAX + 1];
	size_t m = strlen(b);

	for (unsigned j = 0; j <= m; j++)
		row[j] = j;
	for (unsigned i = 0; a[i]; i++) {
		unsigned corner = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < m; j++) {
			unsigned change = corner + (a[i] != b[j]);

			corner = row[j + 1];
			if (row[j + 1] + 1 < change)
				change = row[j + 1] + 1;
			if (row[j] + 1 < change)
				change = row[j] + 1;
			row[j + 1] = change;
		}
	}
	return row[m];
}

/* The setting that was most likely meant; NULL if none is near. */
static const char *nearest(const char *key)
{
	const char *best = NULL;
	unsigned best_distance = 4;

	if (strlen(key) > KEY_MAX)
		return NULL;
	for (unsigned i = 0; i < SETTING_COUNT; i++) {
		const char *part = strchr(settings[i].key, '.') + 1;
		unsigned d = distance(key, settings[i].key);

		if (!strcmp(part, key)) /* "workers" for "ingest.workers" */
			return settings[i].key;
		if (d < best_distance) {
			best_distance = d;
			best = settings[i].key;
		}
	}
	return best;
}

int conf_put(struct conf *conf, const char *key, const char *value, const char *where,
	     bool from_option, unsigned seen[SETTING_COUNT], unsigned line, struct ts_error *err)
{
	const struct setting *s = find(key);

	if (!s) {
		const char *meant = nearest(key);

		ts_error_set(err, TS_E_BAD_SETTING, "%s: unknown setting %s", where, key);
		if (meant)
			ts_error_hint(err, "did you mean %s?", meant);
		return -1;
	}
	if (seen[s - settings])
		return ts_error_set(err, TS_E_BAD_SETTING, "%s: %s is set twice, first on line %u",
				    where, key, seen[s - settings]);
	seen[s - settings] = line;
	return setting_put(s, conf, value, where, from_option, err);
}

/* "KEY=VALUE" of a -o; white space around both is left out, as in a file. */
static int put_option(struct conf *conf, const char *text, struct ts_error *err)
{
	unsigned seen[SETTING_COUNT] = {0};
	CLEAN(free_ptr) char *copy = strdup(text);
	char *key, *value, *end;

	if (!copy)
		return ts_error_nomem(err);
	key = copy + strspn(copy, " \t");
	value = strchr(key, '=');
	if (!value)
		return ts_error_set(err, TS_E_BAD_SETTING, "-o %s: not KEY=VALUE", text);
	for (end = value; end > key && strchr(" \t", end[-1]);)
		end--;
	*end = 0;
	value += 1 + strspn(value + 1, " \t");
	for (end = value + strlen(value); end > value && strchr(" \t", end[-1]);)
		*--end = 0;
	return conf_put(conf, key, value, "-o", true, seen, 0, err);
}

int conf_load(struct conf *conf, const char *file, const char *const *options, unsigned count,
	      struct ts_error *err)
{
	memset(conf, 0, sizeof(*conf));
	for (unsigned i = 0; i < SETTING_COUNT; i++)
		if (setting_put(&settings[i], conf, settings[i].preset, "default", false, err) < 0)
			return -1;
	if (conf_read_files(conf, file, err) < 0)
		return -1;
	for (unsigned i = 0; i < count; i++)
		if (put_option(conf, options[i], err) < 0)
			return -1;
	return conf_check(conf, err);
}

static bool is_list(const struct setting *s)
{
	return s->type == SET_LISTEN || s->type == SET_HOSTS;
}

void conf_done(struct conf *conf)
{
	for (unsigned i = 0; i < SETTING_COUNT; i++) {
		const struct setting *s = &settings[i];
		void *at = setting_at(s, conf);

		if (s->type == SET_NUMBER || s->type == SET_WORD)
			continue;
		for (char **p = is_list(s) ? *(char ***)at : NULL; p && *p; p++)
			free(*p);
		free(*(void **)at);
	}
	memset(conf, 0, sizeof(*conf));
}

const char *conf_key(unsigned n, const char **ret_default, const char **ret_meaning)
{
	if (n >= SETTING_COUNT)
		return NULL;
	if (ret_default)
		*ret_default = settings[n].preset;
	if (ret_meaning)
		*ret_meaning = settings[n].meaning;
	return settings[n].key;
}

static bool same_list(char **a, char **b)
{
	for (; *a && *b; a++, b++)
		if (strcmp(*a, *b))
			return false;
	return !*a && !*b;
}

static bool same(const struct setting *s, const void *a, const void *b)
{
	if (s->type == SET_NUMBER)
		return *(const uint64_t *)a == *(const uint64_t *)b;
	if (s->type == SET_WORD)
		return !memcmp(a, b, sizeof(unsigned));
	if (is_list(s))
		return same_list(*(char **const *)a, *(char **const *)b);
	return !strcmp(*(char *const *)a, *(char *const *)b);
}

unsigned conf_reload(struct conf *live, const struct conf *fresh, const char **ret_later,
		     unsigned max)
{
	unsigned later = 0;

	for (unsigned i = 0; i < SETTING_COUNT; i++) {
		const struct setting *s = &settings[i];
		void *to = setting_at(s, live), *from = setting_at(s, fresh);

		if (same(s, to, from))
			continue;
		if (!s->reload) {
			if (later < max)
				ret_later[later++] = s->key;
		} else if (s->type == SET_NUMBER) {
			__atomic_store_n((uint64_t *)to, *(uint64_t *)from, __ATOMIC_RELAXED);
		} else {
			CHECK(s->type == SET_WORD);
			__atomic_store_n((unsigned *)to, *(unsigned *)from, __ATOMIC_RELAXED);
		}
	}
	return later;
}
