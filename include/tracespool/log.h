/* log.h: one line an event on stderr, journal level prefix, control bytes escaped */
#ifndef TRACESPOOL_LOG_H
#define TRACESPOOL_LOG_H

#include "tracespool/error.h"
#include "tracespool/text.h"
#include "tracespool/util.h"

enum log_level { LOG_L_ERR = 3, LOG_L_WARN = 4, LOG_L_NOTICE = 5, LOG_L_INFO = 6, LOG_L_DEBUG = 7 };

/* Lines above this level are left out; default LOG_L_INFO. Set before any thread starts. */
void log_set_level(enum log_level level);

/* `<6>room: text`. The prefix is left out when stderr is a terminal. */
void log_line(enum log_level level, const char *room, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* `<LEVEL>room: what name="..." code=... line=...: message`, at the level of the error's code.
 * name may be NULL. */
void log_error(const char *room, const char *what, const char *name, const struct ts_error *err);

#endif
