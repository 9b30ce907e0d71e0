/* line_json.h: a trimmed line as JSON: white space that JSON does not know, the place of an error
 */
#ifndef FORMAT_LINE_JSON_H
#define FORMAT_LINE_JSON_H

#include "tracespool/input.h"
#include "tracespool/json.h"

/* The text between the white space of candle-trace.md 2.3, which the JSON reader cannot skip all by
 * itself. */
struct line_json {
	struct ts_str text;
	uint64_t number;
	uint64_t byte; /* of text.p[0] in the decoded text */
	size_t lead;   /* of text.p[0] in the line */
};

struct line_json line_json_of(const struct line *line);

/* Sets bad_json where j has failed, in numbers of the whole line. Out of memory is `internal`. */
int line_json_fail(const struct line_json *text, const struct json *j, struct ts_error *err);

#endif
