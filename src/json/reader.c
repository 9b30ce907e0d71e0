/* reader.c: strict pull reader over one line: exact 64-bit integers, depth cap, no tree */
#include "scan.h"

void json_begin(struct json *j, const char *text, size_t len, struct arena *scratch)
{
	*j = (struct json){.text = text, .at = text, .end = text + len, .scratch = scratch};
}

enum json_type json_bad(struct json *j, const char *at, const char *what)
{
	if (!j->error) {
		j->error = what;
		j->at = at < j->end ? at : j->end;
	}
	return JSON_NONE;
}

static enum json_type take_word(struct json *j, const char *p, const char *word,
				enum json_type type)
{
	for (; *word; word++, p++)
		if (*p != *word)
			return json_bad(j, p, "expected a value");
	j->at = p;
	return type;
}

bool json_decode(struct json *j, const char *p, const char *quote, struct ts_str *ret)
{
	char *text = arena_alloc(j->scratch, (size_t)(quote - p));

	if (!text) {
		json_bad(j, p, json_no_memory);
		return false;
	}
	*ret = ts_str(text, json_unescape(p, quote, text));
	return true;
}

static enum json_type take_string(struct json *j, const char *p, struct json_value *ret)
{
	bool escaped;
	const char *quote = json_string_end(j, p, &escaped);

	if (!quote)
		return JSON_NONE;
	j->at = quote + 1;
	if (escaped)
		return json_decode(j, p, quote, &ret->str) ? JSON_STRING : JSON_NONE;
	ret->str = ts_str(p, (size_t)(quote - p));
	return JSON_STRING;
}

/* Everything but strings, which the two callers treat differently. */
static enum json_type take_other(struct json *j, const char *p, struct json_value *ret)
{
	switch (*p) {
	case '-':
	case '0':
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
	case '7':
	case '8':
	case '9':
		return json_number(j, p, ret);
	case '{':
		return json_open(j, p) ? JSON_OBJECT : JSON_NONE;
	case '[':
		return json_open(j, p) ? JSON_ARRAY : JSON_NONE;
	case 't':
		return take_word(j, p, "true", JSON_TRUE);
	case 'f':
		return take_word(j, p, "false", JSON_FALSE);
	case 'n':
		return take_word(j, p, "null", JSON_NULL);
	default:
		return json_bad(j, p, "expected a value");
	}
}

enum json_type json_value(struct json *j, struct json_value *ret)
{
	const char *p;

	if (j->error)
		return ret->type = JSON_NONE;
	p = json_space(j->at, j->end);
	if (*p == '"')
		return ret->type = take_string(j, p + 1, ret);
	return ret->type = take_other(j, p, ret);
}

/* Reads up to the value of the next member or the next element. False: container closed. */
static bool skip_to_value(struct json *j, bool object, bool first)
{
	bool escaped;
	const char *p;

	if (!object)
		return json_next_element(j, first) != NULL;
	p = json_next_name(j, first);
	if (!p)
		return false;
	p = json_string_end(j, p, &escaped);
	return p && json_colon(j, p + 1);
}

enum json_type json_skip(struct json *j)
{
	/* One bit for each open container of the skipped value: is it an object? */
	uint64_t kinds[(JSON_DEPTH_MAX + 63) / 64 + 1];
	enum json_type type, outer = JSON_NONE;
	unsigned level = 0;
	struct json_value value;

	if (j->error)
		return JSON_NONE;
	do {
		bool first = false;
		const char *p = json_space(j->at, j->end);

		if (*p == '"') {
			bool escaped;

			p = json_string_end(j, p + 1, &escaped);
			if (!p)
				return JSON_NONE;
			j->at = p + 1;
			type = JSON_STRING;
		} else {
			type = take_other(j, p, &value);
			if (type == JSON_NONE)
				return JSON_NONE;
		}
		if (type >= JSON_ARRAY) {
			uint64_t bit = 1ULL << (level & 63);

			if (type == JSON_OBJECT)
				kinds[level >> 6] |= bit;
			else
				kinds[level >> 6] &= ~bit;
			level++;
			first = true;
		}
		if (outer == JSON_NONE)
			outer = type;
		while (level > 0) {
			bool object = kinds[(level - 1) >> 6] >> ((level - 1) & 63) & 1;

			if (skip_to_value(j, object, first))
				break;
			if (j->error)
				return JSON_NONE;
			level--;
			first = false;
		}
	} while (level > 0);
	return outer;
}

bool json_element(struct json *j, bool first)
{
	return json_next_element(j, first) != NULL;
}

bool json_key(struct json *j, bool first, struct ts_str *ret_key)
{
	const char *p = json_next_name(j, first), *quote;
	bool escaped;

	if (!p)
		return false;
	quote = json_string_end(j, p, &escaped);
	if (!quote)
		return false;
	if (!escaped)
		*ret_key = ts_str(p, (size_t)(quote - p));
	else if (!json_decode(j, p, quote, ret_key))
		return false;
	return json_colon(j, quote + 1) != NULL;
}

int json_end(struct json *j)
{
	const char *p;

	if (j->error)
		return -1;
	p = json_space(j->at, j->end);
	if (p < j->end) {
		json_bad(j, p, "more text follows the value");
		return -1;
	}
	j->at = p;
	return 0;
}

/* Is it the first member, with a plain string, as producers write what tells the kind of a record?
 */
static bool first_is(const char *text, size_t len, const char *name, struct json_value *ret)
{
	size_t n = strlen(name);
	const char *p = text + n + 5, *end = text + len;

	if (len < n + 6 || memcmp(text, "{\"", 2) != 0 || !json_same(text + 2, name, n) ||
	    memcmp(text + n + 2, "\":\"", 3) != 0)
		return false;
	const char *quote = json_plain(p, end);

	if (quote == end || *quote != '"')
		return false;
	ret->type = JSON_STRING;
	ret->str = ts_str(p, (size_t)(quote - p));
	return true;
}

enum json_type json_find(const char *text, size_t len, const char *name, struct json_value *ret,
			 struct arena *scratch)
{
	struct ts_str key;
	struct json j;

	if (first_is(text, len, name, ret))
		return JSON_STRING;
	json_begin(&j, text, len, scratch);
	if (json_value(&j, ret) != JSON_OBJECT)
		return ret->type = JSON_NONE;
	for (bool first = true; json_key(&j, first, &key); first = false) {
		if (ts_str_is(key, name))
			return json_value(&j, ret);
		if (json_skip(&j) == JSON_NONE)
			break;
	}
	return ret->type = JSON_NONE;
}
