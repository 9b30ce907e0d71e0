/* tool_json.c: reads members of the daemon's answers and prints reasons */
#include "tool_json.h"

void tool_put_json(FILE *out, const json_t *text)
{
	if (json_is_string(text))
		tool_put(out, ts_str(json_string_value(text), json_string_length(text)));
	else
		fputc('-', out);
}

json_t *tool_parse(const struct buf *body)
{
	json_error_t at;
	json_t *j = json_loadb(body->data ? body->data : "", body->len, JSON_ALLOW_NUL, &at);

	if (!j)
		tool_complain("the answer is not JSON: %s", at.text);
	return j;
}

void tool_json_free(json_t **j)
{
	json_decref(*j);
}

struct ts_str tool_str(const json_t *object, const char *member)
{
	const json_t *v = json_object_get(object, member);

	if (!json_is_string(v))
		return ts_str(NULL, 0);
	return ts_str(json_string_value(v), json_string_length(v));
}

bool tool_u64(const json_t *object, const char *member, uint64_t *ret)
{
	const json_t *v = json_object_get(object, member);

	if (json_is_string(v))
		return text_parse_u64(ts_str(json_string_value(v), json_string_length(v)), ret);
	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(v);
	return true;
}

static void put_line(FILE *out, const char *label, struct ts_str s)
{
	if (!s.n)
		return;
	fprintf(out, "  %s: ", label);
	tool_put(out, s);
	fputc('\n', out);
}

/* A message begins with its line, which was printed already. */
static struct ts_str without_line(struct ts_str message, uint64_t line)
{
	char start[32];
	size_t n = (size_t)snprintf(start, sizeof(start), "line %llu: ", (unsigned long long)line);

	return ts_str_starts(message, start) ? ts_str(message.p + n, message.n - n) : message;
}

void tool_put_reason(FILE *out, const json_t *reason)
{
	struct ts_str code = tool_str(reason, "code"), file = tool_str(reason, "file");
	struct ts_str message = tool_str(reason, "message");
	uint64_t line, column, byte;

	tool_put(out, code.p ? code : TS_STR("no reason"));
	if (file.n) {
		fputs(" in ", out);
		tool_put(out, file);
	}
	if (tool_u64(reason, "line", &line)) {
		fprintf(out, " at line %llu", (unsigned long long)line);
		message = without_line(message, line);
		if (tool_u64(reason, "column", &column))
			fprintf(out, ", column %llu", (unsigned long long)column);
	} else if (tool_u64(reason, "byte_offset", &byte)) {
		fprintf(out, " at byte %llu", (unsigned long long)byte);
	}
	fputs(": ", out);
	tool_put(out, message);
	fputc('\n', out);
	put_line(out, "excerpt", tool_str(reason, "excerpt"));
	put_line(out, "hint", tool_str(reason, "hint"));
}
