/* fields.h: what reading and checking of field tables share */
#ifndef JSON_FIELDS_H
#define JSON_FIELDS_H

#include "tracespool/fields.h"

/* What became of a member's value. */
enum outcome {
	OUTCOME_FAILED, /* the reader failed */
	OUTCOME_NULL,
	OUTCOME_USED,
	OUTCOME_BAD, /* wrong type or range; the value is taken whole */
};

/* Of a bad member the target is free. Its first byte keeps the json_type that was met, with
 * FIELDS_ELEMENT if it was that of an element. A FIELD_ENUM keeps a ts_str: the word that is none
 * of the list, or no p and the type in n. */
#define FIELDS_ELEMENT 0x80u

/* Values of more than one token (fields_lists.c). The opening bracket was met, not taken. */
enum outcome fields_read_u64s(struct json *j, struct field_u64s *target, struct field_space *space,
			      unsigned *ret_met);
enum outcome fields_read_shape(struct json *j, struct ts_shape *target, unsigned *ret_met);
enum outcome fields_read_strings(struct json *j, struct ts_str *target, unsigned *ret_met);
enum outcome fields_read_count(struct json *j, struct opt_u64 *target);
enum outcome fields_read_objects(struct json *j, const struct field_table *t,
				 struct field_list *target, struct field_space *space,
				 bool informational, unsigned *ret_met);
enum outcome fields_read_map(struct json *j, struct ts_str *target, unsigned *ret_met);

#endif
