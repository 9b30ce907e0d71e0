/* fields.c: field tables drive the reader into a struct */
#include "fields.h"
#include "scan.h"

#include <stdlib.h>

/* A pool that one long line has made larger than this is not kept. */
#define POOL_KEEP ((size_t)1 << 20)

void fields_begin(struct field_space *s)
{
	arena_reset(&s->scratch);
	for (unsigned i = 0; i < s->pools; i++) {
		if (s->pool[i].cap <= POOL_KEEP)
			continue;
		free(s->pool[i].v);
		s->pool[i].v = NULL;
		s->pool[i].cap = 0;
	}
	s->pools = 0;
}

void field_space_done(struct field_space *s)
{
	for (unsigned i = 0; i < ARRAY_LEN(s->pool); i++) {
		free(s->pool[i].v);
		s->pool[i].v = NULL;
		s->pool[i].cap = 0;
	}
	s->pools = 0;
	arena_done(&s->scratch);
}

/* The lengths of the names of a table. */
static const uint8_t *name_lengths(const struct field_table *t, struct field_space *space)
{
	size_t place = (uintptr_t)t / sizeof(*t) % ARRAY_LEN(space->names);
	uint8_t *length = space->names[place].length;

	if (JSON_LIKELY(space->names[place].table == t))
		return length;
	CHECK(t->n <= ARRAY_LEN(space->names[place].length));
	for (unsigned i = 0; i < t->n; i++) {
		size_t n = strlen(t->fields[i].name);

		CHECK(n > 0 && n <= UINT8_MAX);
		length[i] = (uint8_t)n;
	}
	space->names[place].table = t;
	return length;
}

/* Does the name of a field, n bytes long, stand at p, in front of a quote? */
static inline bool is_name(const struct field *f, size_t n, const char *p, const char *end)
{
	return *f->name == *p && (size_t)(end - p) > n && p[n] == '"' && json_same(f->name, p, n);
}

/* The field whose name stands at p, in front of a quote; producers mostly write the field after
 * the last one, so the search begins at `from`. t->n: none. */
static inline unsigned find_name(const struct field_table *t, const uint8_t *length, unsigned from,
				 const char *p, const char *end)
{
	for (unsigned i = from; i < t->n; i++)
		if (is_name(&t->fields[i], length[i], p, end))
			return i;
	for (unsigned i = 0; i < from; i++)
		if (is_name(&t->fields[i], length[i], p, end))
			return i;
	return t->n;
}

/* The same for a name that is not in the table as it is written: unknown, or with escapes. */
static bool find_written(struct json *j, const struct field_table *t, const char *p, unsigned *ret,
			 const char **ret_behind)
{
	bool escaped;
	const char *quote = json_string_end(j, p, &escaped);
	struct ts_str key;

	if (!quote)
		return false;
	*ret_behind = quote + 1;
	*ret = t->n;
	if (!escaped)
		return true;
	if (!json_decode(j, p, quote, &key))
		return false;
	for (unsigned i = 0; i < t->n; i++)
		if (ts_str_is(key, t->fields[i].name))
			*ret = i;
	return true;
}

static bool find_word(const char *const *words, struct ts_str s, struct ts_str *ret)
{
	for (; *words; words++) {
		if (ts_str_is(s, *words)) {
			*ret = ts_str(*words, s.n);
			return true;
		}
	}
	return false;
}

static double as_double(const struct json_value *v)
{
	return v->type == JSON_U64 ? (double)v->u64 : json_double(v->raw);
}

static bool is_number(const struct json_value *v)
{
	return v->type == JSON_U64 || v->type == JSON_NEG || v->type == JSON_NUMBER;
}

/* Puts a scalar into its target; false: it does not fit. */
static bool put_scalar(const struct field *f, const struct json_value *v, void *target)
{
	switch (f->type) {
	case FIELD_STRING:
		if (v->type != JSON_STRING)
			return false;
		*(struct ts_str *)target = v->str;
		return true;
	case FIELD_BOOL:
		if (v->type != JSON_TRUE && v->type != JSON_FALSE)
			return false;
		*(bool *)target = v->type == JSON_TRUE;
		return true;
	case FIELD_U64:
		if (v->type != JSON_U64)
			return false;
		*(uint64_t *)target = v->u64;
		return true;
	case FIELD_OPT_U64:
	case FIELD_OPT_U32:
		if (v->type != JSON_U64 || (f->type == FIELD_OPT_U32 && v->u64 > UINT32_MAX))
			return false;
		*(struct opt_u64 *)target = (struct opt_u64){v->u64, true};
		return true;
	case FIELD_DOUBLE:
		if (!is_number(v))
			return false;
		*(double *)target = as_double(v);
		return true;
	case FIELD_OPT_DOUBLE:
		if (!is_number(v))
			return false;
		*(struct opt_double *)target = (struct opt_double){as_double(v), true};
		return true;
	case FIELD_ENUM:
		return v->type == JSON_STRING && find_word(f->arg, v->str, target);
	default:
		return false;
	}
}

static enum outcome read_scalar(struct json *j, const struct field *f, void *target,
				unsigned *ret_met)
{
	struct json_value v;

	if (json_value(j, &v) == JSON_NONE)
		return OUTCOME_FAILED;
	if (v.type == JSON_NULL)
		return OUTCOME_NULL;
	if (put_scalar(f, &v, target))
		return OUTCOME_USED;
	*ret_met = v.type;
	if (f->type == FIELD_ENUM)
		*(struct ts_str *)target =
			v.type == JSON_STRING ? v.str : (struct ts_str){NULL, v.type};
	return OUTCOME_BAD;
}

static enum outcome read_ignored(struct json *j)
{
	switch (json_skip(j)) {
	case JSON_NONE:
		return OUTCOME_FAILED;
	case JSON_NULL:
		return OUTCOME_NULL;
	default:
		return OUTCOME_USED;
	}
}

static enum outcome read_container(struct json *j, const struct field *f, char bracket,
				   void *target, struct field_space *space, unsigned *ret_met)
{
	bool array = bracket == '[';
	enum json_type type;

	if (array && f->type == FIELD_U64S)
		return fields_read_u64s(j, target, space, ret_met);
	if (array && f->type == FIELD_SHAPE)
		return fields_read_shape(j, target, ret_met);
	if (array && f->type == FIELD_STRINGS)
		return fields_read_strings(j, target, ret_met);
	if (array && f->type == FIELD_ARRAY_COUNT)
		return fields_read_count(j, target);
	if (array && f->type == FIELD_OBJECTS)
		return fields_read_objects(j, f->arg, target, space, f->flags & FIELD_INFO,
					   ret_met);
	if (!array && f->type == FIELD_MAP)
		return fields_read_map(j, target, ret_met);
	if (!array && f->type == FIELD_OBJECT) {
		if (!json_open(j, j->at) || !fields_read(j, f->arg, target, space))
			return OUTCOME_FAILED;
		return OUTCOME_USED;
	}
	type = json_skip(j);
	if (type == JSON_NONE)
		return OUTCOME_FAILED;
	*ret_met = type;
	if (f->type == FIELD_ENUM)
		*(struct ts_str *)target = (struct ts_str){NULL, type};
	return OUTCOME_BAD;
}

static enum outcome read_value(struct json *j, const struct field *f, void *target,
			       struct field_space *space, unsigned *ret_met)
{
	char c = *j->at;

	if (f->type == FIELD_IGNORED)
		return read_ignored(j);
	if (c == '{' || c == '[')
		return read_container(j, f, c, target, space, ret_met);
	return read_scalar(j, f, target, ret_met);
}

/* Reads the value of a member that the table names and marks it. What an earlier one of the same
 * name left behind counts no more. */
static bool read_member(struct json *j, const struct field *f, uint32_t bit, void *record,
			struct field_space *space)
{
	struct field_marks *m = record;
	void *target = (char *)record + f->offset;
	unsigned met = JSON_NULL;

	if (m->seen & bit) {
		m->twice |= bit;
		m->has &= ~bit;
		m->bad &= ~bit;
	}
	m->seen |= bit;
	switch (read_value(j, f, target, space, &met)) {
	case OUTCOME_USED:
		m->has |= bit;
		return true;
	case OUTCOME_NULL:
		if (f->flags & (FIELD_NULLABLE | FIELD_INFO) || f->type == FIELD_IGNORED)
			return true;
		if (f->type == FIELD_ENUM)
			*(struct ts_str *)target = (struct ts_str){NULL, JSON_NULL};
		break;
	case OUTCOME_BAD:
		if (f->flags & FIELD_INFO)
			return true;
		break;
	default:
		return false;
	}
	m->bad |= bit;
	if (f->type != FIELD_ENUM)
		*(unsigned char *)target = (unsigned char)met;
	return true;
}

/* The most frequent values in their plain form: strings without escapes, integers with nothing
 * between them and what follows. The byte behind the value at p; NULL: nothing was taken. */
static inline const char *take_plain(const struct field *f, const char *p, const char *end,
				     void *target)
{
	const char *behind;
	uint64_t v;

	if (*p == '"' && f->type == FIELD_STRING) {
		behind = json_plain(p + 1, end);
		if (JSON_UNLIKELY(*behind != '"' || behind >= end))
			return NULL;
		*(struct ts_str *)target = ts_str(p + 1, (size_t)(behind - p) - 1);
		return behind + 1;
	}
	if (*p == '"' && f->type == FIELD_ENUM) {
		behind = json_plain(p + 1, end);
		if (*behind != '"' || behind >= end ||
		    !find_word(f->arg, ts_str(p + 1, (size_t)(behind - p) - 1), target))
			return NULL;
		return behind + 1;
	}
	if (f->type != FIELD_U64 && f->type != FIELD_OPT_U64)
		return NULL;
	behind = json_plain_u64(p, end, &v);
	if (!behind)
		return NULL;
	if (f->type == FIELD_U64)
		*(uint64_t *)target = v;
	else
		*(struct opt_u64 *)target = (struct opt_u64){v, true};
	return behind;
}

/* The way through a member is laid out for text without white space, whose position stays in p;
 * j->at follows where something else is met. */
bool fields_read(struct json *j, const struct field_table *t, void *record,
		 struct field_space *space)
{
	const uint8_t *length = name_lengths(t, space);
	const char *p = j->at, *end = j->end, *behind;
	struct field_marks *m = record;
	unsigned next = 0, i;

	if (j->error)
		return false;
	*m = (struct field_marks){0};
	for (bool first = true;; first = false) {
		if (JSON_LIKELY(*p == ',' && p[1] == '"' && !first)) {
			p += 2;
		} else {
			j->at = p;
			p = json_next_name(j, first);
			if (!p)
				return !j->error;
		}
		i = find_name(t, length, next, p, end);
		if (JSON_LIKELY(i < t->n))
			p += length[i] + 1;
		else if (!find_written(j, t, p, &i, &p))
			return false;
		if (JSON_LIKELY(*p == ':')) {
			p = json_space(p + 1, end);
		} else {
			p = json_colon(j, p);
			if (!p)
				return false;
		}
		if (JSON_UNLIKELY(i == t->n)) {
			j->at = p;
			if (json_skip(j) == JSON_NONE)
				return false;
			p = j->at;
			continue;
		}

		const struct field *f = &t->fields[i];
		uint32_t bit = (uint32_t)1 << i;

		next = i + 1;
		if (JSON_LIKELY(!(m->seen & bit)) &&
		    (behind = take_plain(f, p, end, (char *)record + f->offset)) != NULL) {
			m->seen |= bit;
			m->has |= bit;
			p = behind;
			continue;
		}
		j->at = p;
		if (!read_member(j, f, bit, record, space))
			return false;
		/* A nested table may have taken the place of this one's lengths. */
		length = name_lengths(t, space);
		p = j->at;
	}
}
