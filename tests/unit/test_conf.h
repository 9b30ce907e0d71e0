/* test_conf.h: what the two files of the settings' test share */
#ifndef TEST_CONF_H
#define TEST_CONF_H

#include <check.h>

#include "tracespool/conf.h"

void make_folder(void);
void remove_folder(void);

/* Loads and fails the test with the message if that is refused. */
void load(struct conf *conf, const char *file, const char *const *options, unsigned count);

/* Loads a file of this text and expects a refusal whose message is its path and the rest. */
void refused_as(const char *text, const char *rest);

/* Loads one -o over the defaults and expects a refusal with this message. */
void option_refused(const char *option, const char *message);

TCase *conf_values_case(void);

#endif
