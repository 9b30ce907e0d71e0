/* rows.h: lists as answers: query parameters to a struct list_request, rows to items
 */
#ifndef HTTP_ROWS_H
#define HTTP_ROWS_H

#include "tracespool/list.h"

#include "reply.h"

#define ROWS_LIMIT_DEFAULT 100
#define ROWS_LIMIT_MAX 1000

struct rows;

/* How a list is shown, beyond its columns. */
struct rows_shape {
	const struct list *list;
	const char *schema;  /* in place of the list's own; or NULL */
	const char *include; /* the one value of the parameter `include`; or NULL */
	const char *whole;   /* a hidden column whose JSON is the item; or NULL */
	/* Members that are not columns (with `whole`: those of its JSON), at most 32, NULL-ended.
	 */
	const char *const *extras;
	void (*write_extra)(struct json_writer *w, const struct rows *rows, unsigned extra,
			    struct query *row);
	/* Members of the envelope. */
	void (*write_envelope)(struct json_writer *w, const struct rows *rows);
};

/* A column that is shown, as items.c writes it. */
struct rows_member {
	const char *key; /* "name":, or within an object its "member": */
	const char *top; /* of an object: "name":{ ; else NULL */
	unsigned char key_length, top_length;
	bool begins; /* another object than the member before, or none */
	bool absent_if_null;
	enum list_type type;
	int column;
};

/* One list request. Borrows from the request, with which it lives. */
struct rows {
	struct request *rq;
	const struct rows_shape *shape;
	struct list_request query;
	bool count;
	bool all_members;
	uint64_t columns; /* bit i: column i is shown */
	unsigned extras;  /* bit i: extra i is shown */
	int whole_column; /* -1: none */
	const struct rows_member *members;
	const int *member_columns;
	struct query_value *values; /* of the members in the present row */
	unsigned member_count;
};

/* Reads limit, cursor, sort, count, fields, include and the filters. fixed (may be NULL) is a
 * filter of the handler itself. */
int rows_prepare(struct request *rq, const struct rows_shape *shape, const struct list_param *fixed,
		 struct rows *ret, struct ts_error *err);

/* items.c: length of the first-level name of a column. */
size_t rows_top_length(const char *member);
/* items.c: what is written of each row; false without memory. The last step of rows_prepare. */
bool rows_plan_items(struct rows *rows);
/* One item, an object. */
void rows_write_item(struct json_writer *w, const struct rows *rows, struct page *page);

/* Fills the answer with one page: envelope or bare array. */
int rows_answer_page(struct rows *rows, struct db *db, struct ts_error *err);

/* Fills the answer with a stream of lines. Below a run: takes db, which lives as long as the
 * stream. In the catalog (db NULL): page by page, so that no read transaction stays open. */
int rows_answer_lines(struct rows *rows, struct db *db, struct ts_error *err);

#endif
