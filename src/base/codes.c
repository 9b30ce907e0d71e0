/* codes.c: the table of stable codes */
#include "tracespool/error.h"

#include <string.h>

static const struct ts_code table[] = {
#define TS_CODE(id, code, title, status, level, fate, hint)                                        \
	[id] = {code, title, status, level, fate, hint},
#include "tracespool/codes.h"
#undef TS_CODE
};

const struct ts_code *ts_code_get(enum ts_code_id id)
{
	CHECK(id < TS_CODE_COUNT);
	return &table[id];
}

const struct ts_code *ts_code_find(const char *code)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strcmp(table[i].code, code) == 0)
			return &table[i];
	return NULL;
}
