/* place.c: where a JSON text is wrong, and what the cause may be */
#include "scan.h"

/* A record that is longer than this and stops between two tokens was rather cut than folded. */
#define FOLDED_LINE_MAX 256

static bool has_byte_order_mark(const struct json *j)
{
	return j->at == j->text && j->end - j->text >= 3 && !memcmp(j->text, "\xef\xbb\xbf", 3);
}

/* Did the line stop inside a container, between two tokens, with more lines behind it? */
static bool is_folded(const struct json *j)
{
	const char *p = j->end;

	if (j->at < j->end || j->depth == 0 || *j->end == 0 || j->end - j->text > FOLDED_LINE_MAX)
		return false;
	while (p > j->text && json_is_space(p[-1]))
		p--;
	return p > j->text && strchr("{[,:", p[-1]) && p[-1] != 0;
}

int json_fail(const struct json *j, uint64_t line_number, uint64_t line_byte, struct ts_error *err)
{
	size_t place = (size_t)(j->at - j->text);

	if (err->code)
		return -1;
	if (j->error == json_no_memory)
		return ts_error_nomem(err);
	CHECK(j->error != NULL);
	ts_error_set(err, TS_E_BAD_JSON, "%s%s", j->error,
		     j->at == j->end && !strncmp(j->error, "expected", 8)
			     ? ", but the text ends here"
			     : "");
	err->line = line_number;
	err->column = place < UINT32_MAX ? (uint32_t)place + 1 : UINT32_MAX;
	err->byte = (int64_t)(line_byte + place);
	ts_error_excerpt(err, j->text, (size_t)(j->end - j->text), place);
	if (has_byte_order_mark(j))
		ts_error_hint(
			err, "the %s begins with a byte order mark, which the formats do not allow",
			line_byte == 0 ? "file" : "line");
	else if (is_folded(j))
		ts_error_hint(err, "each record must stand on one line");
	return -1;
}
