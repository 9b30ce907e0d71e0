/* fields_lists.c: values of field tables that are arrays: integers, shapes, strings, objects */
#include <stdlib.h>

#include "fields.h"
#include "scan.h"

enum step {
	STEP_FAILED,
	STEP_END,
	STEP_VALUE,
	STEP_OTHER, /* an element of another type, taken whole */
};

/* The type of the next value; strings are decoded, containers taken whole. */
static enum json_type take_any(struct json *j, struct json_value *ret)
{
	if (*j->at == '{' || *j->at == '[')
		return ret->type = json_skip(j);
	return json_value(j, ret);
}

static inline enum step next_u64(struct json *j, bool first, uint64_t *ret, unsigned *ret_met)
{
	const char *p = json_next_element(j, first), *q;
	struct json_value v;

	if (!p)
		return j->error ? STEP_FAILED : STEP_END;
	q = json_plain_u64(p, j->end, ret);
	if (JSON_LIKELY(q != NULL)) {
		j->at = q;
		return STEP_VALUE;
	}
	switch (take_any(j, &v)) {
	case JSON_NONE:
		return STEP_FAILED;
	case JSON_U64:
		*ret = v.u64;
		return STEP_VALUE;
	default:
		*ret_met = v.type | FIELDS_ELEMENT;
		return STEP_OTHER;
	}
}

/* The pool of a target: the one it has from an earlier member of the same name, or a free one. */
static unsigned find_pool(struct field_space *space, const void *target)
{
	unsigned i = 0;

	while (i < space->pools && space->pool[i].owner != target)
		i++;
	CHECK(i < ARRAY_LEN(space->pool));
	if (i == space->pools) {
		space->pool[i].owner = target;
		space->pools++;
	}
	return i;
}

static bool grow_pool(struct json *j, struct field_space *space, unsigned i)
{
	size_t cap = space->pool[i].cap ? space->pool[i].cap * 2 : 256;
	uint64_t *v =
		cap <= SIZE_MAX / sizeof(*v) ? realloc(space->pool[i].v, cap * sizeof(*v)) : NULL;

	if (!v) {
		json_bad(j, j->at, json_no_memory);
		return false;
	}
	space->pool[i].v = v;
	space->pool[i].cap = cap;
	return true;
}

enum outcome fields_read_u64s(struct json *j, struct field_u64s *target, struct field_space *space,
			      unsigned *ret_met)
{
	unsigned pool = find_pool(space, target);
	uint64_t *v = space->pool[pool].v, value = 0;
	size_t n = 0, cap = space->pool[pool].cap;
	bool bad = false;
	enum step step;

	if (!json_open(j, j->at))
		return OUTCOME_FAILED;
	for (bool first = true; (step = next_u64(j, first, &value, ret_met)) > STEP_END;
	     first = false) {
		bad |= step == STEP_OTHER;
		if (bad)
			continue;
		if (n == cap) {
			if (!grow_pool(j, space, pool))
				return OUTCOME_FAILED;
			v = space->pool[pool].v;
			cap = space->pool[pool].cap;
		}
		v[n++] = value;
	}
	/* An empty array has a pointer too: it is not the same as no value. */
	if (step == STEP_FAILED || (!v && !grow_pool(j, space, pool)))
		return OUTCOME_FAILED;
	if (bad)
		return OUTCOME_BAD;
	space->pool[pool].n = n;
	*target = (struct field_u64s){space->pool[pool].v, n};
	return OUTCOME_USED;
}

/* The text of an array without white space. All integers of a shape are in their shortest form,
 * so nothing else can differ. */
static bool compact_integers(struct json *j, const char *p, size_t n, struct ts_str *ret)
{
	char *text = arena_alloc(j->scratch, n), *o = text;

	if (!text) {
		json_bad(j, p, json_no_memory);
		return false;
	}
	for (size_t i = 0; i < n; i++)
		if (!json_is_space(p[i]))
			*o++ = p[i];
	*ret = ts_str(text, (size_t)(o - text));
	return true;
}

static void multiply(struct ts_shape *shape, uint64_t dimension)
{
	if (__builtin_mul_overflow(shape->product, dimension, &shape->product))
		shape->overflow = true;
	shape->product_sat = u64_mul_sat(shape->product_sat, dimension);
}

/* A shape of one dimension or more without white space, which is how nearly all are written.
 * False: nothing was taken. */
static bool plain_shape(struct json *j, struct ts_shape *target)
{
	struct ts_shape shape = {.product = 1, .product_sat = 1};
	const char *p = j->at;
	uint64_t value;

	do {
		p = json_plain_u64(p + 1, j->end, &value);
		if (!p || *p == '}')
			return false;
		multiply(&shape, value);
	} while (*p == ',');
	shape.json = ts_str(j->at, (size_t)(p + 1 - j->at));
	j->at = p + 1;
	*target = shape;
	return true;
}

enum outcome fields_read_shape(struct json *j, struct ts_shape *target, unsigned *ret_met)
{
	struct ts_shape shape = {.product = 1, .product_sat = 1};
	const char *start = j->at;
	uint64_t value = 0;
	bool bad = false;
	enum step step;

	if (!json_open(j, start))
		return OUTCOME_FAILED;
	j->at = start;
	if (plain_shape(j, target)) {
		j->depth--;
		return OUTCOME_USED;
	}
	j->at = start + 1;
	for (bool first = true; (step = next_u64(j, first, &value, ret_met)) > STEP_END;
	     first = false) {
		if (step == STEP_OTHER)
			bad = true;
		else
			multiply(&shape, value);
	}
	if (step == STEP_FAILED)
		return OUTCOME_FAILED;
	if (bad)
		return OUTCOME_BAD;
	if (!compact_integers(j, start, (size_t)(j->at - start), &shape.json))
		return OUTCOME_FAILED;
	*target = shape;
	return OUTCOME_USED;
}

/* Writes the strings of a checked array; at most as long as the array, since no canonical escape
 * is longer than the one it stands for. */
static size_t write_strings(const char *p, const char *end, char *out)
{
	char *o = out;

	*o++ = '[';
	for (p++; p < end - 1;) {
		const char *quote;

		if (*p != '"') {
			p++;
			continue;
		}
		for (quote = p + 1; *quote != '"'; quote++)
			quote += *quote == '\\';
		if (o > out + 1)
			*o++ = ',';
		*o++ = '"';
		o += json_recode(p + 1, quote, o);
		*o++ = '"';
		p = quote + 1;
	}
	*o++ = ']';
	return (size_t)(o - out);
}

enum outcome fields_read_strings(struct json *j, struct ts_str *target, unsigned *ret_met)
{
	const char *start = j->at, *p, *quote;
	size_t plain = 1; /* length in compact form: brackets, quotes and commas included */
	bool escaped, any_escaped = false, bad = false;

	if (!json_open(j, start))
		return OUTCOME_FAILED;
	for (bool first = true; (p = json_next_element(j, first)) != NULL; first = false) {
		if (JSON_UNLIKELY(*p != '"')) {
			enum json_type met = json_skip(j);

			if (met == JSON_NONE)
				return OUTCOME_FAILED;
			*ret_met = met | FIELDS_ELEMENT;
			bad = true;
			continue;
		}
		quote = json_string_end(j, p + 1, &escaped);
		if (!quote)
			return OUTCOME_FAILED;
		j->at = quote + 1;
		any_escaped |= escaped;
		plain += (size_t)(quote - p) + 2;
	}
	if (j->error)
		return OUTCOME_FAILED;
	if (bad)
		return OUTCOME_BAD;

	size_t n = (size_t)(j->at - start);

	*target = ts_str(start, n);
	if (any_escaped || n != (plain == 1 ? 2 : plain)) {
		char *text = arena_alloc(j->scratch, n);

		if (!text) {
			json_bad(j, start, json_no_memory);
			return OUTCOME_FAILED;
		}
		*target = ts_str(text, write_strings(start, j->at, text));
	}
	return OUTCOME_USED;
}

enum outcome fields_read_count(struct json *j, struct opt_u64 *target)
{
	uint64_t n = 0;

	if (!json_open(j, j->at))
		return OUTCOME_FAILED;
	for (bool first = true; json_next_element(j, first); first = false) {
		if (json_skip(j) == JSON_NONE)
			return OUTCOME_FAILED;
		n++;
	}
	if (j->error)
		return OUTCOME_FAILED;
	*target = (struct opt_u64){n, true};
	return OUTCOME_USED;
}

/* Room for one more element. The old array stays in the arena: all of them together are at most
 * twice the last one. */
static bool grow_list(struct json *j, struct field_list *list, size_t *cap)
{
	size_t more = *cap ? *cap * 2 : 8;
	char *v = more <= SIZE_MAX / list->size ? arena_alloc(j->scratch, more * list->size) : NULL;

	if (!v) {
		json_bad(j, j->at, json_no_memory);
		return false;
	}
	if (list->n)
		memcpy(v, list->v, list->n * list->size);
	list->v = v;
	*cap = more;
	return true;
}

enum outcome fields_read_objects(struct json *j, const struct field_table *t,
				 struct field_list *target, struct field_space *space,
				 bool informational, unsigned *ret_met)
{
	struct field_list list = {.size = t->size};
	bool bad = false, broken = false;
	size_t cap = 0;
	const char *p;

	for (unsigned i = 0; i < t->n; i++)
		CHECK(t->fields[i].type != FIELD_U64S);
	if (!json_open(j, j->at))
		return OUTCOME_FAILED;
	for (bool first = true; (p = json_next_element(j, first)) != NULL; first = false) {
		struct ts_error ignored = TS_ERROR_INIT;
		void *element;

		/* Behind the first element that breaks a rule none is kept: it is the one that
		 * fields_check reports, and so no line makes more structs than rules permit. */
		if (*p != '{' || broken) {
			enum json_type met = json_skip(j);

			if (met == JSON_NONE)
				return OUTCOME_FAILED;
			if (met != JSON_OBJECT) {
				*ret_met = met | FIELDS_ELEMENT;
				bad = true;
			}
			continue;
		}
		if (list.n == cap && !grow_list(j, &list, &cap))
			return OUTCOME_FAILED;
		element = (char *)list.v + list.n * list.size;
		memset(element, 0, list.size);
		list.n++;
		if (!json_open(j, p) || !fields_read(j, t, element, space))
			return OUTCOME_FAILED;
		broken = fields_check(t, element, NULL, &ignored) < 0;
	}
	if (j->error)
		return OUTCOME_FAILED;
	if (bad || (broken && informational))
		return OUTCOME_BAD;
	*target = list;
	return OUTCOME_USED;
}
