/* numbers.c: the table numbers(?): a list of row numbers that a statement selects from
 *
 * Asking for many rows in one statement keeps its cursors open, which for rows that lie close costs
 * a third of a statement a row.
 */
#include "numbers.h"

#include <stdlib.h>

#define POINTER_TYPE "tracespool_numbers"

enum { COLUMN_NO, COLUMN_PLACE, COLUMN_LIST };

struct list {
	const uint64_t *v;
	size_t n;
};

struct numbers_cursor {
	sqlite3_vtab_cursor base;
	struct list list;
	size_t at;
};

static int table_connect(sqlite3 *h, void *arg, int argc, const char *const *argv,
			 sqlite3_vtab **ret, char **ret_message)
{
	int rc = sqlite3_declare_vtab(h, "create table x(no, place, list hidden)");

	(void)arg, (void)argc, (void)argv, (void)ret_message;
	if (rc != SQLITE_OK)
		return rc;
	*ret = calloc(1, sizeof(**ret));
	return *ret ? SQLITE_OK : SQLITE_NOMEM;
}

static int table_disconnect(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	(void)base;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];

		if (c->iColumn != COLUMN_LIST || c->op != SQLITE_INDEX_CONSTRAINT_EQ || !c->usable)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->aConstraintUsage[i].omit = 1;
		info->estimatedCost = 1;
		info->estimatedRows = 100;
		return SQLITE_OK;
	}
	return SQLITE_CONSTRAINT;
}

static int cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct numbers_cursor *c = calloc(1, sizeof(*c));

	(void)base;
	if (!c)
		return SQLITE_NOMEM;
	*ret = &c->base;
	return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *base)
{
	free(base);
	return SQLITE_OK;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
			 sqlite3_value **argv)
{
	struct numbers_cursor *c = (struct numbers_cursor *)base;
	const struct list *list = argc ? sqlite3_value_pointer(argv[0], POINTER_TYPE) : NULL;

	(void)number, (void)text;
	c->list = list ? *list : (struct list){0};
	c->at = 0;
	return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
	((struct numbers_cursor *)base)->at++;
	return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
	struct numbers_cursor *c = (struct numbers_cursor *)base;

	return c->at >= c->list.n;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct numbers_cursor *)base)->at;
	return SQLITE_OK;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	struct numbers_cursor *c = (struct numbers_cursor *)base;

	if (i == COLUMN_NO)
		sqlite3_result_int64(ctx, NUMBERED_NO(c->list.v[c->at]));
	else if (i == COLUMN_PLACE)
		sqlite3_result_int64(ctx, NUMBERED_PLACE(c->list.v[c->at]));
	return SQLITE_OK;
}

/* Without xCreate the table is there under the module's name and cannot be made elsewhere. */
static const sqlite3_module numbers_module = {
	.xConnect = table_connect,
	.xBestIndex = table_best_index,
	.xDisconnect = table_disconnect,
	.xOpen = cursor_open,
	.xClose = cursor_close,
	.xFilter = cursor_filter,
	.xNext = cursor_next,
	.xEof = cursor_eof,
	.xColumn = cursor_column,
	.xRowid = cursor_rowid,
};

int numbers_known(sqlite3 *h)
{
	return sqlite3_create_module_v2(h, "numbers", &numbers_module, NULL, NULL);
}

int numbers_bind(sqlite3_stmt *stmt, int i, const uint64_t *v, size_t n)
{
	struct list *list = malloc(sizeof(*list));

	if (!list)
		return SQLITE_NOMEM;
	*list = (struct list){v, n};
	return sqlite3_bind_pointer(stmt, i, list, POINTER_TYPE, free);
}
