/* line_json.c: a trimmed line as JSON: white space that JSON does not know, the place of an error
 */
#include "line_json.h"

struct line_json line_json_of(const struct line *line)
{
	struct ts_str text = text_trim(ts_str(line->text, line->len));
	size_t lead = (size_t)(text.p - line->text);

	return (struct line_json){
		.text = text,
		.number = line->number,
		.byte = line->byte + lead,
		.lead = lead,
	};
}

int line_json_fail(const struct line_json *text, const struct json *j, struct ts_error *err)
{
	if (err->code)
		return -1;
	json_fail(j, text->number, text->byte, err);
	if (err->column && text->lead <= UINT32_MAX - err->column)
		err->column += (uint32_t)text->lead;
	return -1;
}
