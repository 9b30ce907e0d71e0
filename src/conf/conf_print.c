/* conf_print.c: settings as a file that conf_load reads, and as the shipped file of defaults */
#include "table.h"

static void print_value(const struct setting *s, const struct conf *conf, FILE *out)
{
	const void *at = setting_at(s, conf);

	switch (s->type) {
	case SET_NUMBER:
		fprintf(out, " %llu", (unsigned long long)*(const uint64_t *)at);
		break;
	case SET_WORD:
		fprintf(out, " %s", s->words[*(const unsigned *)at]);
		break;
	case SET_LISTEN:
	case SET_HOSTS:
		for (char **p = *(char **const *)at; *p; p++)
			fprintf(out, " %s", *p);
		break;
	case SET_PATH:
	case SET_BELOW:
	case SET_SOCKET:
	case SET_PREFIX:
		if (**(char *const *)at)
			fprintf(out, " %s", *(char *const *)at);
		break;
	}
}

static void print_defaults(FILE *out)
{
	fputs("# Settings of tracespoold; tracespool.conf(5) explains them.\n"
	      "#\n"
	      "# Each default stands here commented out. A file conf.d/NAME.conf beside this one "
	      "is\n"
	      "# read after it. Settings marked (HUP) are read again on a reload, the others at\n"
	      "# the next start. tracespoold --check-config tells whether all is well.\n",
	      out);
	for (unsigned i = 0; i < SETTING_COUNT; i++) {
		const struct setting *s = &settings[i];

		fprintf(out, "\n# %s%s\n#%s =%s%s\n", s->meaning, s->reload ? " (HUP)" : "", s->key,
			*s->preset ? " " : "", s->preset);
	}
}

void conf_print(const struct conf *conf, FILE *out, bool defaults)
{
	if (defaults) {
		print_defaults(out);
		return;
	}
	for (unsigned i = 0; i < SETTING_COUNT; i++) {
		fprintf(out, "%s =", settings[i].key);
		print_value(&settings[i], conf, out);
		fputc('\n', out);
	}
}
