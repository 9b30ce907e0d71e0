/* test_fields.h: small tables of the field tests, one that takes each member once and one where
 * the last one counts, and a way to read a line by them
 */
#ifndef TEST_FIELDS_H
#define TEST_FIELDS_H

#include <check.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/fields.h"

struct inner {
	struct field_marks marks;
	struct ts_str name;
	struct opt_u64 count;
	struct field_u64s hashes;
};

struct entry {
	struct field_marks marks;
	struct ts_str key;
	uint64_t min;
};

struct worker {
	struct field_marks marks;
	struct opt_u64 id, rank;
	struct ts_str role;
};

struct record {
	struct field_marks marks;
	struct ts_str id, note, phase, step, inputs, tags;
	bool measured;
	uint64_t duration_ns;
	struct opt_u64 bytes, rank, calls;
	double rms;
	struct opt_double norm;
	struct ts_shape shape;
	struct field_u64s hashes;
	struct inner inner;
	struct field_list entries;
	struct worker worker;
};

enum {
	R_KIND,
	R_ID,
	R_NOTE,
	R_PHASE,
	R_STEP,
	R_INPUTS,
	R_TAGS,
	R_MEASURED,
	R_DURATION,
	R_BYTES,
	R_RANK,
	R_CALLS,
	R_RMS,
	R_NORM,
	R_SHAPE,
	R_HASHES,
	R_INNER,
	R_ENTRIES,
	R_WORKER,
	R_COUNT
};

/* The same members: in `once_table` a repeated one is an error, null only where it is allowed; in
 * `last_table` the last one counts and optional members may be null. */
extern const struct field_table once_table, last_table;

extern struct field_space space;
extern struct record rec;
extern struct ts_error err;

/* Reads the object that the text is. 0, or -1 with err. What was read is in rec; the text is kept
 * until the next call. */
int read_once(const char *text);
int read_last(const char *text);

/* Reading fails with that code and message. */
void ck_refused(int result, const char *code, const char *message);

TCase *field_list_cases(void);
TCase *field_rule_cases(void);

#endif
