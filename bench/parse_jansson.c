/* parse_jansson.c: jansson reading lines and extracting all fields: the peer of bench/parse */
#include "parse_jansson.h"

#include <jansson.h>
#include <string.h>

#include "bench.h"

static uint64_t take(json_t *v)
{
	uint64_t sum = 0;
	const char *key;
	json_t *member;

	switch (json_typeof(v)) {
	case JSON_OBJECT:
		json_object_foreach(v, key, member) sum += (unsigned char)*key + take(member);
		return sum;
	case JSON_ARRAY:
		for (size_t i = 0; i < json_array_size(v); i++)
			sum += take(json_array_get(v, i));
		return sum;
	case JSON_STRING:
		return json_string_length(v) + (unsigned char)*json_string_value(v);
	case JSON_INTEGER:
		return (uint64_t)json_integer_value(v);
	case JSON_REAL:
		return json_real_value(v) > 0;
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		return 1;
	}
	return 0;
}

uint64_t jansson_pass(const char *text, size_t size, bool big)
{
	uint64_t sum = 0;

	for (const char *p = text, *end = text + size; p < end;) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((lf ? lf : end) - p);
		json_error_t error;
		json_t *v = json_loadb(p, len, big ? JSON_DECODE_INT_AS_REAL : 0, &error);

		if (!v)
			bench_fail("jansson: %s", error.text);
		sum += take(v);
		json_decref(v);
		p += len + 1;
	}
	return sum;
}
