/* candle_decode.c: a line of an execution trace to a record that is good in itself */
#include "candle.h"

#include <string.h>

/* What a line says of its kind. Nothing of the line behind that is checked yet. */
struct choice {
	const struct candle_record *record; /* NULL: no kind that is known */
	enum candle_kind kind;
	const char *edge_kind; /* of an edge whose edge_kind is known */
	enum json_type type;   /* of `kind` */
	char name[72];         /* the kind that is not known */
};

static const struct candle_record *find_record(const struct candle_record *list, size_t n,
					       struct ts_str word)
{
	for (size_t i = 0; i < n; i++)
		if (ts_str_is(word, list[i].kind))
			return &list[i];
	return NULL;
}

static void choose(struct ts_str text, struct arena *scratch, struct choice *ret)
{
	const struct candle_record *edge;
	struct json_value v;

	*ret = (struct choice){0};
	ret->type = json_find(text.p, text.n, "kind", &v, scratch);
	if (ret->type != JSON_STRING)
		return;
	ret->record = find_record(candle_records, CANDLE_KIND_COUNT, v.str);
	if (!ret->record) {
		text_name(v.str, ret->name, sizeof(ret->name));
		return;
	}
	ret->kind = (enum candle_kind)(ret->record - candle_records);
	if (ret->kind != CANDLE_EDGE)
		return;
	if (json_find(text.p, text.n, "edge_kind", &v, scratch) != JSON_STRING)
		return;
	edge = find_record(candle_edges, CANDLE_EDGE_KIND_COUNT, v.str);
	if (edge) {
		ret->record = edge;
		ret->edge_kind = edge->kind;
	}
}

/* A line without a kind that is known: what is wrong with it (candle-trace.md 4.1). */
static int no_record(const struct line_json *text, struct arena *scratch,
		     const struct choice *choice, struct ts_error *err)
{
	struct json j;
	enum json_type type;

	json_begin(&j, text->text.p, text->text.n, scratch);
	type = json_skip(&j);
	if (type == JSON_NONE || json_end(&j) < 0)
		return line_json_fail(text, &j, err);
	if (type != JSON_OBJECT)
		return ts_error_set(err, TS_E_NOT_AN_OBJECT, "the record is not an object");
	if (choice->type == JSON_NONE)
		return ts_error_set(err, TS_E_MISSING_FIELD, "the record has no kind");
	if (choice->type != JSON_STRING)
		return ts_error_set(err, TS_E_BAD_FIELD, "kind is not a string");
	return ts_error_set(err, TS_E_UNKNOWN_KIND, "there is no record kind \"%s\"", choice->name);
}

int candle_decode(const struct line_json *text, struct field_space *space,
		  enum candle_kind *ret_kind, union candle_row *ret, struct ts_error *err)
{
	struct choice choice;
	struct json_value top;
	struct json j;

	fields_begin(space);
	choose(text->text, &space->scratch, &choice);
	if (space->scratch.failed)
		return ts_error_nomem(err);
	if (!choice.record)
		return no_record(text, &space->scratch, &choice, err);
	/* A row has members that no field of the table fills. */
	memset(ret, 0, choice.record->table->size);
	json_begin(&j, text->text.p, text->text.n, &space->scratch);
	json_value(&j, &top);
	if (!fields_read(&j, choice.record->table, ret, space) || json_end(&j) < 0)
		return line_json_fail(text, &j, err);
	if (fields_check(choice.record->table, ret, candle_records[choice.kind].kind, err) < 0)
		return -1;
	if (choice.kind == CANDLE_EDGE) {
		if (!choice.edge_kind)
			return ts_error_set(err, TS_E_BAD_FIELD,
					    "edge.edge_kind is not one of call, data");
		ret->edge.edge_kind = ts_str_c(choice.edge_kind);
	}
	*ret_kind = choice.kind;
	return 0;
}
