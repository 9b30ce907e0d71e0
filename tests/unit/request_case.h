/* request_case.h: request trace cases of the shared corpus for tests: expected results as trees
 * that keep all 64 bits, shards in load order, comparison by value
 */
#ifndef TESTS_REQUEST_CASE_H
#define TESTS_REQUEST_CASE_H

#include "tracespool/buf.h"
#include "tracespool/error.h"
#include "tracespool/json.h"
#include "tracespool/rows.h"

/* A JSON value. Members of an object and elements of an array are children, in order. */
struct node {
	enum json_type type;
	uint64_t u64;
	struct ts_str raw, str, key;
	struct node *child, *next;
};

/* All trees of a test live in one arena; text must outlive them. Fails the test if it is no JSON
 * text. */
struct node *tree_parse(const char *text, size_t len, struct arena *arena);
const struct node *tree_get(const struct node *object, const char *member); /* or NULL */
bool tree_is_null(const struct node *n); /* also when there is none */
size_t tree_count(const struct node *n);

/* Fails the test, naming the place, unless got is want by value: integers exactly, doubles as
 * equal doubles, objects in any order of members. */
void tree_same(const struct node *want, const struct node *got, const char *place);
/* The same for an object that may have further members in got. */
void tree_within(const struct node *want, const struct node *got, const char *place);

/* The folder of the shared corpus, or NULL when it is absent (the test is then skipped). */
const char *corpus_path(void);

/* One line of EXPECTED.json. */
struct request_case {
	const char *folder; /* "dynamo" or "real", below the corpus */
	struct ts_str name; /* "valid/multi_shard/" */
	const struct node *want;
	char place[300]; /* for messages */
};

/* Calls run for each case of both EXPECTED.json; returns their number, 0 without the corpus. */
unsigned corpus_each(void (*run)(const struct request_case *c));

/* Loads the shards of the case through the format. err->file is the shard's file name. */
int case_load(const struct request_case *c, struct sink *sink, struct trace_counts *counts,
	      struct ts_error *err);

/* A file of the corpus, inflated if its name ends in .gz; freed with buf_done. */
void corpus_read(const char *name, struct buf *out);

/* Loads lines given as text, one shard. */
int text_load(const char *text, struct sink *sink, struct trace_counts *counts,
	      struct ts_error *err);

#endif
