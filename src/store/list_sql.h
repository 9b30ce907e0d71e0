/* list_sql.h: from a list and a request to SQL text and the values to bind */
#ifndef STORE_LIST_SQL_H
#define STORE_LIST_SQL_H

#include "cursor.h"
#include "db.h"

/* A statement that grows: text, and values for its ? in their order. */
struct list_sql {
	struct buf text;
	struct key_value *values;
	size_t count, cap;
	struct arena space; /* of values that are not borrowed */
	bool failed;
};

void list_sql_done(struct list_sql *s);
void list_sql_value(struct list_sql *s, struct key_value v);
int list_sql_open(struct db *db, struct list_sql *s, struct query **ret, struct ts_error *err);

/* Appends " where ..." for the filters of the request, or nothing. *ret_any (may be NULL): there
 * was one. The values borrow from the request. Errors: bad_parameter. */
int list_sql_filters(struct list_sql *s, const struct list *l, const struct list_request *req,
		     bool *ret_any, struct ts_error *err);
/* Stands for the list and the filters of the request, whatever their order. */
uint64_t list_sql_hash(const struct list *l, const struct list_request *req);

#endif
