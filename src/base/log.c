/* log.c: one line an event on stderr, journal level prefix, control bytes escaped */
#include "tracespool/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Atomic int max_level = LOG_L_INFO;

void log_set_level(enum log_level level)
{
	max_level = (int)level;
}

/* The whole line in one write, so that lines of several threads do not mix. */
static void emit(int level, const char *room, const char *text)
{
	char line[2048];
	int n;

	if (isatty(STDERR_FILENO))
		n = snprintf(line, sizeof(line), "%s: %s", room, text);
	else
		n = snprintf(line, sizeof(line), "<%d>%s: %s", level, room, text);
	if (n < 0)
		return;
	size_t len = (size_t)n < sizeof(line) - 1 ? (size_t)n : sizeof(line) - 2;

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	line[len++] = '\n';
	/* Nothing can be told if stderr is gone. */
	ssize_t written = write(STDERR_FILENO, line, len);
	(void)written;
}

void log_line(enum log_level level, const char *room, const char *fmt, ...)
{
	char text[1900];
	va_list ap;

	if ((int)level > max_level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	emit((int)level, room, text);
}

void log_error(const char *room, const char *what, const char *name, const struct ts_error *err)
{
	char line[1200], shown[512], text[1900];
	int level = err->code ? err->code->level : LOG_L_ERR;

	if (level > max_level)
		return;
	ts_error_line(err, line, sizeof(line));
	if (name) {
		text_name(ts_str_c(name), shown, sizeof(shown));
		snprintf(text, sizeof(text), "%s name=\"%s\" %s", what, shown, line);
	} else {
		snprintf(text, sizeof(text), "%s %s", what, line);
	}
	emit(level, room, text);
}
