/* fields_check.c: defaults and the first broken rule of a record, in table order, depth first */
#include <stdio.h>

#include "fields.h"
#include "scan.h"

/* Where a nested table stands; the chain goes outwards. */
struct place {
	const struct place *outer;
	const char *name;
	size_t index; /* of the element of a FIELD_OBJECTS; SIZE_MAX: none */
};

#define PATH_MAX_BYTES 256

static const char *const expected[] = {
	[FIELD_IGNORED] = "a value",
	[FIELD_STRING] = "a string",
	[FIELD_BOOL] = "a bool",
	[FIELD_U64] = "a u64",
	[FIELD_OPT_U64] = "a u64",
	[FIELD_OPT_U32] = "a u32",
	[FIELD_DOUBLE] = "a double",
	[FIELD_OPT_DOUBLE] = "a double",
	[FIELD_ENUM] = "a string of the list",
	[FIELD_OBJECT] = "an object",
	[FIELD_OBJECTS] = "an array of objects",
	[FIELD_U64S] = "an array of u64",
	[FIELD_SHAPE] = "an array of u64",
	[FIELD_STRINGS] = "an array of strings",
	[FIELD_MAP] = "an object of strings",
	[FIELD_ARRAY_COUNT] = "an array",
};

static const char *const met_name[] = {
	[JSON_NONE] = "other value", [JSON_NULL] = "null",     [JSON_FALSE] = "bool",
	[JSON_TRUE] = "bool",        [JSON_U64] = "integer",   [JSON_NEG] = "negative integer",
	[JSON_NUMBER] = "double",    [JSON_STRING] = "string", [JSON_ARRAY] = "array",
	[JSON_OBJECT] = "object",
};

/* Appends to a path that is cut, not refused, when a table has very long names. */
static size_t path_add(char *path, size_t at, const char *text)
{
	size_t n = strlen(text);

	if (n > PATH_MAX_BYTES - 1 - at)
		n = PATH_MAX_BYTES - 1 - at;
	memcpy(path + at, text, n);
	path[at + n] = 0;
	return at + n;
}

static size_t path_place(char *path, size_t at, const struct place *place)
{
	char index[32];

	if (!place)
		return at;
	at = path_place(path, at, place->outer);
	at = path_add(path, at, place->name);
	if (place->index != SIZE_MAX) {
		snprintf(index, sizeof(index), "[%zu]", place->index);
		at = path_add(path, at, index);
	}
	return path_add(path, at, ".");
}

static const char *make_path(char path[static PATH_MAX_BYTES], const struct place *place,
			     const struct field *f)
{
	path[0] = 0;
	path_add(path, path_place(path, 0, place), f->name);
	return path;
}

static int bad_enum(const char *path, const struct field *f, const struct ts_str *met,
		    struct ts_error *err)
{
	char words[160] = "", shown[64];
	size_t at = 0;

	for (const char *const *word = f->arg; *word && at < sizeof(words); word++)
		at += (size_t)snprintf(words + at, sizeof(words) - at, "%s%s", at ? ", " : "",
				       *word);
	if (met->p)
		snprintf(shown, sizeof(shown), "\"%.*s\"",
			 (int)text_utf8_prefix(met->p, met->n < 40 ? met->n : 40), met->p);
	else
		snprintf(shown, sizeof(shown), "%s", met_name[met->n]);
	return ts_error_set(err, TS_E_BAD_FIELD, "%s is not one of %s (%s)", path, words, shown);
}

static int bad_member(const struct place *place, const struct field *f, const void *target,
		      struct ts_error *err)
{
	char path[PATH_MAX_BYTES];
	unsigned met = *(const unsigned char *)target;

	make_path(path, place, f);
	if (f->type == FIELD_ENUM)
		return bad_enum(path, f, target, err);
	if (f->type == FIELD_OPT_U32 && met == JSON_U64)
		return ts_error_set(err, TS_E_BAD_FIELD, "%s is above 4294967295", path);
	return ts_error_set(err, TS_E_BAD_FIELD, "%s is not %s (%s%s)", path, expected[f->type],
			    met & FIELDS_ELEMENT ? "holds: " : "", met_name[met & ~FIELDS_ELEMENT]);
}

/* The value of a member that has none. */
static void put_default(const struct field *f, void *target)
{
	const struct field_table *nested = f->arg;

	switch (f->type) {
	case FIELD_IGNORED:
		break;
	case FIELD_STRING:
		*(struct ts_str *)target = (struct ts_str){0};
		break;
	case FIELD_MAP:
	case FIELD_ENUM:
	case FIELD_STRINGS:
		*(struct ts_str *)target = ts_str_c(f->fallback);
		break;
	case FIELD_BOOL:
		*(bool *)target = false;
		break;
	case FIELD_U64:
		*(uint64_t *)target = 0;
		break;
	case FIELD_OPT_U64:
	case FIELD_OPT_U32:
	case FIELD_ARRAY_COUNT:
		*(struct opt_u64 *)target = (struct opt_u64){0};
		break;
	case FIELD_DOUBLE:
		*(double *)target = 0;
		break;
	case FIELD_OPT_DOUBLE:
		*(struct opt_double *)target = (struct opt_double){0};
		break;
	case FIELD_OBJECT:
		memset(target, 0, nested->size);
		break;
	case FIELD_OBJECTS:
		*(struct field_list *)target = (struct field_list){.size = nested->size};
		break;
	case FIELD_U64S:
		*(struct field_u64s *)target = (struct field_u64s){0};
		break;
	case FIELD_SHAPE:
		*(struct ts_shape *)target =
			(struct ts_shape){.json = TS_STR("[]"), .product = 1, .product_sat = 1};
		break;
	}
}

static bool is_nested(const struct field *f)
{
	return f->type == FIELD_OBJECT || f->type == FIELD_OBJECTS;
}

static int check_table(const struct field_table *t, void *record, const struct place *outer,
		       bool informational, struct ts_error *err);

/* The rules of the table inside a member that has a value. In an informational object each member
 * is informational too. */
static int check_nested(const struct field *f, struct field_marks *m, uint32_t bit, void *target,
			const struct place *outer, bool informational, struct ts_error *err)
{
	struct place place = {outer, f->name, SIZE_MAX};
	struct field_list *list = target;

	informational |= (f->flags & FIELD_INFO) != 0;
	if (f->type == FIELD_OBJECT)
		return check_table(f->arg, target, &place, informational, err);
	for (place.index = 0; place.index < list->n; place.index++) {
		struct ts_error ignored = TS_ERROR_INIT;

		if (!check_table(f->arg, (char *)list->v + place.index * list->size, &place, false,
				 informational ? &ignored : err))
			continue;
		if (!informational)
			return -1;
		m->has &= ~bit;
		put_default(f, target);
		return 0;
	}
	return 0;
}

/* The rules of one member: it has no value, or it was there twice, or it holds more members. */
static int check_member(const struct field_table *t, unsigned i, struct field_marks *m,
			const struct place *outer, bool informational, struct ts_error *err)
{
	const struct field *f = &t->fields[i];
	uint32_t bit = (uint32_t)1 << i;
	void *target = (char *)m + f->offset;
	char path[PATH_MAX_BYTES];

	if (!informational && !(f->flags & FIELD_INFO)) {
		if (t->once && m->twice & bit)
			return ts_error_set(err, TS_E_DUPLICATE_FIELD, "%s occurs twice",
					    make_path(path, outer, f));
		if (m->bad & bit)
			return bad_member(outer, f, target, err);
		if (f->flags & FIELD_REQUIRED && !(m->seen & bit))
			return ts_error_set(err, TS_E_MISSING_FIELD, "%s is missing",
					    make_path(path, outer, f));
	}
	if (!(m->has & bit))
		put_default(f, target);
	else if (is_nested(f))
		return check_nested(f, m, bit, target, outer, informational, err);
	return 0;
}

static int check_table(const struct field_table *t, void *record, const struct place *outer,
		       bool informational, struct ts_error *err)
{
	struct field_marks *m = record;
	uint32_t good = m->has & ~m->twice;

	for (unsigned i = 0; i < t->n; i++, good >>= 1)
		if ((!(good & 1) || is_nested(&t->fields[i])) &&
		    check_member(t, i, m, outer, informational, err))
			return -1;
	return 0;
}

int fields_check(const struct field_table *t, void *record, const char *where, struct ts_error *err)
{
	struct place place = {NULL, where, SIZE_MAX};

	return check_table(t, record, where ? &place : NULL, false, err);
}
