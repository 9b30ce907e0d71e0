/* list.h: a list of the API as data: columns, filters, sorts; page queries with opaque cursors
 *
 * A struct list describes one list (runs, receipts, requests, tools, ...). The HTTP room turns
 * query parameters into a struct list_request, the store turns that into SQL, and rows come back
 * column by column. A new list is a new table here, not new code.
 */
#ifndef TRACESPOOL_LIST_H
#define TRACESPOOL_LIST_H

#include "tracespool/store.h"

enum list_type {
	LIST_TEXT,
	LIST_U64,
	LIST_I64,
	LIST_ID64, /* identity: rendered as a string unless numbers=exact (http-api.md 2.5) */
	LIST_DOUBLE,
	LIST_BOOL,
	LIST_TIME,   /* milliseconds, rendered as RFC 3339 */
	LIST_JSON,   /* compact JSON text */
	LIST_HASHES, /* blob of little-endian u64, rendered as an array of identities */
	LIST_HIDDEN, /* selected for the handler, not rendered */
};

/* A member of an item. "worker.prefill_dp_rank" is a member of a nested object: columns of one
 * object stand together. include: only there with include=NAME (NULL: always). */
struct list_column {
	const char *member;
	enum list_type type;
	const char *expr; /* SQL over `from` */
	const char *include;
	bool absent_if_null; /* leave the member out instead of writing null */
};

enum list_op {
	LIST_EQ,     /* any of the values given */
	LIST_PREFIX, /* begins with, bytewise */
	LIST_MIN,    /* at least */
	LIST_BELOW,  /* less than */
	LIST_MAX,    /* at most */
	LIST_SQL, /* each ? of expr is the value: true for it; for BOOL: expr holds or does not */
	LIST_CHOICE, /* no condition; with the second of its words, filters that have `other` use
			that in place of expr (/runs: time=ingested) */
};

struct list_filter {
	const char *param; /* "entrypoint"; "tag." takes tag.KEY=VALUE with two ? in expr */
	enum list_op op;
	enum list_type type; /* of the value: TEXT, U64, I64, DOUBLE, BOOL, TIME (RFC 3339) */
	const char *expr;
	const char *const *words; /* NULL-ended list of permitted texts, or NULL: any */
	const char *other;        /* see LIST_CHOICE */
};

#define LIST_FILTERS_MAX 256 /* filter values of a request; more are bad_parameter */

/* An order: the name as in sort=, and up to three expressions, the last unique in the list. A
 * leading '-' in the name means falling (ties still rising). */
struct list_sort {
	const char *param;
	const char *expr[4]; /* NULL-ended; expr[0] falls with '-' */
	bool nullable;       /* expr[0] can be null: null sorts last both ways */
};

struct list {
	const char *name;       /* for the cursor */
	const char *schema;     /* of the envelope: "tracespool/run-list/1" */
	const char *from;       /* SQL */
	const char *count_from; /* cheaper source for count if there is no filter; NULL: from */
	const struct list_column *columns; /* ended by member NULL */
	const struct list_filter *filters; /* ended by param NULL */
	const struct list_sort *sorts;     /* ended by param NULL; [0] is the default */
	const char *row_number; /* unique integer expression: stands in a cursor in place of keys
				   that are too long for one */
	bool one_way;           /* only the sorts listed; else each also in the other direction */
};

struct list_param {
	struct ts_str name, value; /* decoded */
};

struct list_request {
	const struct list_param *params; /* filters only */
	size_t param_count;
	struct ts_str sort;   /* no value: default */
	struct ts_str cursor; /* no value: from the start */
	uint64_t limit;       /* 0: all */
	const char *include;  /* or NULL */
};

struct page;

/* Is this a filter of the list? (tag.KEY too) */
bool list_knows(const struct list *l, struct ts_str param);

/* Opens the page; db stays borrowed until page_close. Errors: bad_parameter (message names the
 * parameter), bad_cursor, store_busy. */
int page_open(struct db *db, const struct list *l, const struct list_request *req,
	      struct page **ret, struct ts_error *err);
void page_close(struct page *p); /* takes NULL */
void page_closep(struct page **p);
/* 1: a row; 0: no further row on this page; -1: error. */
int page_next(struct page *p, struct ts_error *err);
/* Column i of the list (of those selected: page_has tells). */
struct query *page_row(struct page *p); /* columns in list order; not included ones are NULL */
bool page_has(const struct page *p, unsigned column);
/* After page_next returned 0: the cursor of the next page, appended to out; false when there is
 * none. */
bool page_next_cursor(struct page *p, struct buf *out);
/* Number of matches of the filters, without cursor and limit. */
int page_count(struct db *db, const struct list *l, const struct list_request *req, uint64_t *ret,
	       struct ts_error *err);

/* The lists of this program (src/store/lists_*.c).
 * list_runs: the item of http-api.md 3.1 without links, then hidden `no`. The catalog's connection,
 * as for receipts.
 * list_receipts: one hidden column `json`, the whole item.
 * list_requests, list_tools, list_sessions: a run file's connection; nested members as
 * http-api.md 4.1 has them. list_spans, list_ops, list_op_groups: those of an execution run
 * (3.4, 3.5).
 */
extern const struct list list_runs, list_receipts, list_requests, list_tools, list_sessions;
/* Records of an execution run, in file order: a run file's connection (http-api.md 3.7). */
extern const struct list list_tensors, list_tensor_stats, list_gradients, list_edges,
	list_device_intervals;
extern const struct list list_spans, list_ops, list_op_groups;
/* Memory records in time order. */
extern const struct list list_memory_events;

#endif
