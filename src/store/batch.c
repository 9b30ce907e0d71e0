/* batch.c: rows of one kind collected in memory, handed to SQLite as a table it can select from
 *
 * Measured, one statement that selects from such a table inserts rows nearly twice as fast as a
 * bind and step a row. The rows are copies of the row structs, their strings lie in one block.
 */
#include "batch.h"

#include <endian.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

enum {
	BATCH_ROWS = 512,
	BATCH_BYTES = 192 * 1024,
	ROW_COPY_MAX = 64 * 1024, /* strings of one row; above, the row is not copied */
};

struct batch {
	struct db *db;
	const struct row_shape *shape;
	unsigned columns, shape_column;
	unsigned char *rows; /* BATCH_ROWS structs; made at the first row */
	unsigned char *bytes;
	size_t count, used;
	const unsigned char *view; /* what the table shows: the rows, or one that is borrowed */
	size_t view_count;
	struct query *insert;
	struct rows_seen seen;
};

struct batch_table {
	sqlite3_vtab base;
	struct batch *batch;
};

struct batch_cursor {
	sqlite3_vtab_cursor base;
	size_t at;
};

static int table_connect(sqlite3 *h, void *arg, int argc, const char *const *argv,
			 sqlite3_vtab **ret, char **ret_message)
{
	struct batch *b = arg;
	sqlite3_str *sql = sqlite3_str_new(h);

	(void)argc, (void)argv, (void)ret_message;
	sqlite3_str_appendall(sql, "create table x");
	for (unsigned i = 0; i < b->columns; i++)
		sqlite3_str_appendf(sql, "%s%s", i ? "," : "(", b->shape->columns[i].name);
	sqlite3_str_appendall(sql, ")");
	char *text = sqlite3_str_finish(sql);
	int rc = text ? sqlite3_declare_vtab(h, text) : SQLITE_NOMEM;

	sqlite3_free(text);
	if (rc != SQLITE_OK)
		return rc;
	struct batch_table *t = calloc(1, sizeof(*t));

	if (!t)
		return SQLITE_NOMEM;
	t->batch = b;
	*ret = &t->base;
	return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	(void)base;
	info->estimatedCost = BATCH_ROWS;
	info->estimatedRows = BATCH_ROWS;
	return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct batch_cursor *c = calloc(1, sizeof(*c));

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

static struct batch *cursor_batch(sqlite3_vtab_cursor *base)
{
	return ((struct batch_table *)base->pVtab)->batch;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
			 sqlite3_value **argv)
{
	(void)number, (void)text, (void)argc, (void)argv;
	((struct batch_cursor *)base)->at = 0;
	return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
	((struct batch_cursor *)base)->at++;
	return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
	return ((struct batch_cursor *)base)->at >= cursor_batch(base)->view_count;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct batch_cursor *)base)->at;
	return SQLITE_OK;
}

static void show_u64(sqlite3_context *ctx, uint64_t v)
{
	if (v <= INT64_MAX) {
		sqlite3_result_int64(ctx, (sqlite3_int64)v);
		return;
	}
	uint64_t big = htobe64(v);

	sqlite3_result_blob(ctx, &big, sizeof(big), SQLITE_TRANSIENT);
}

static void show(sqlite3_context *ctx, const struct column *c, const unsigned char *row)
{
	const void *p = row + c->offset;

	switch (c->type) {
	case COLUMN_NUMBER:
		break;
	case COLUMN_TEXT: {
		const struct ts_str *s = p;

		if (s->p)
			sqlite3_result_text64(ctx, s->p, s->n, SQLITE_STATIC, SQLITE_UTF8);
		break;
	}
	case COLUMN_U64:
		show_u64(ctx, *(const uint64_t *)p);
		break;
	case COLUMN_OPT_U64:
		if (((const struct opt_u64 *)p)->has)
			show_u64(ctx, ((const struct opt_u64 *)p)->v);
		break;
	case COLUMN_I64:
		sqlite3_result_int64(ctx, *(const int64_t *)p);
		break;
	case COLUMN_BOOL:
		sqlite3_result_int(ctx, *(const bool *)p);
		break;
	case COLUMN_DOUBLE:
		sqlite3_result_double(ctx, *(const double *)p);
		break;
	case COLUMN_OPT_DOUBLE:
		if (((const struct opt_double *)p)->has)
			sqlite3_result_double(ctx, ((const struct opt_double *)p)->v);
		break;
	case COLUMN_HASHES: {
		const uint64_t *v = *(const uint64_t *const *)p;
		size_t n = *(const size_t *)(const void *)(row + c->count);

		if (v)
			sqlite3_result_blob64(ctx, v, n * sizeof(*v), SQLITE_STATIC);
		break;
	}
	}
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	struct batch *b = cursor_batch(base);
	const unsigned char *row = b->view + ((struct batch_cursor *)base)->at * b->shape->size;

	show(ctx, &b->shape->columns[i], row);
	return SQLITE_OK;
}

/* Without xCreate the table is there under the module's name and cannot be made elsewhere. */
static const sqlite3_module batch_module = {
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

int batch_new(struct db *db, const struct row_shape *shape, struct batch **ret,
	      struct ts_error *err)
{
	struct batch *b = calloc(1, sizeof(*b));

	if (!b)
		return ts_error_nomem(err);
	b->db = db;
	b->shape = shape;
	b->shape_column = UINT_MAX;
	for (; shape->columns[b->columns].name; b->columns++)
		if (strcmp(shape->columns[b->columns].name, "shape") == 0)
			b->shape_column = b->columns;
	char name[64], sql[160];

	snprintf(name, sizeof(name), "batch_%s", shape->name);
	int rc = sqlite3_create_module_v2(db->h, name, &batch_module, b, NULL);

	if (rc != SQLITE_OK) {
		db_error(db, rc, name, err);
		goto fail;
	}
	int n = snprintf(sql, sizeof(sql), "insert into %s select * from %s", shape->table, name);

	CHECK(n > 0 && (size_t)n < sizeof(sql));
	if (query_open_sql(db, sql, (size_t)n, &b->insert, err) < 0)
		goto fail;
	*ret = b;
	return 0;
fail:
	batch_free(b);
	return -1;
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	query_close(b->insert);
	free(b->rows);
	free(b->bytes);
	free(b);
}

static int insert(struct batch *b, const unsigned char *rows, size_t count, struct ts_error *err)
{
	b->view = rows;
	b->view_count = count;
	int n = query_step(b->insert, err);

	query_reset(b->insert);
	b->view_count = 0;
	return n;
}

int batch_flush(struct batch *b, struct ts_error *err)
{
	size_t count = b->count;

	b->count = b->used = 0;
	return count ? insert(b, b->rows, count, err) : 0;
}

void batch_clear(struct batch *b)
{
	b->count = b->used = 0;
	b->seen = (struct rows_seen){0};
}

/* Notes what is seen of the row; returns the bytes of its strings. */
static size_t look_at(struct batch *b, const unsigned char *row)
{
	size_t sum = 0;

	for (unsigned i = 0; i < b->columns; i++) {
		const struct column *c = &b->shape->columns[i];
		const void *p = row + c->offset;

		if (c->type == COLUMN_TEXT) {
			size_t n = ((const struct ts_str *)p)->n;

			sum += n;
			if (i == b->shape_column && n > b->seen.shape_bytes)
				b->seen.shape_bytes = n;
		} else if (c->type == COLUMN_U64) {
			b->seen.number_bits |= *(const uint64_t *)p;
		} else if (c->type == COLUMN_OPT_U64 && ((const struct opt_u64 *)p)->has) {
			b->seen.number_bits |= ((const struct opt_u64 *)p)->v;
		} else if (c->type == COLUMN_HASHES) {
			sum += 8 * *(const size_t *)(const void *)(row + c->count);
		}
	}
	return sum;
}

struct rows_seen batch_seen(const struct batch *b)
{
	return b->seen;
}

/* Hashes are kept as little-endian bytes; on other machines they are turned round. */
static void put_hashes(uint64_t *to, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = htole64(from[i]);
}

/* Moves the strings of a row into `bytes`, hashes first so that they stay aligned. */
static void move_strings(const struct batch *b, unsigned char *row, unsigned char *bytes)
{
	for (const struct column *c = b->shape->columns; c->name; c++) {
		if (c->type != COLUMN_HASHES)
			continue;
		const uint64_t **v = (const uint64_t **)(void *)(row + c->offset);
		size_t n = *(const size_t *)(const void *)(row + c->count);

		if (!*v)
			continue;
		put_hashes((uint64_t *)(void *)bytes, *v, n);
		*v = (const uint64_t *)(const void *)bytes;
		bytes += 8 * n;
	}
	for (const struct column *c = b->shape->columns; c->name; c++) {
		if (c->type != COLUMN_TEXT)
			continue;
		struct ts_str *s = (struct ts_str *)(void *)(row + c->offset);

		if (!s->p)
			continue;
		if (s->n)
			memcpy(bytes, s->p, s->n);
		s->p = (const char *)bytes;
		bytes += s->n;
	}
}

/* A row with long strings goes in from where it lies, after the rows before it. */
static int insert_long(struct batch *b, const void *row, size_t size, struct ts_error *err)
{
	if (batch_flush(b, err) < 0)
		return -1;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	(void)size;
	return insert(b, row, 1, err);
#else
	unsigned char *copy = malloc(b->shape->size + size);
	int result;

	if (!copy)
		return ts_error_nomem(err);
	memcpy(copy, row, b->shape->size);
	move_strings(b, copy, copy + b->shape->size);
	result = insert(b, copy, 1, err);
	free(copy);
	return result;
#endif
}

int batch_add(struct batch *b, const void *row, struct ts_error *err)
{
	size_t size = look_at(b, row);

	if (size > ROW_COPY_MAX)
		return insert_long(b, row, size, err);
	size_t aligned = (size + 7) & ~(size_t)7;

	if ((b->count == BATCH_ROWS || b->used + aligned > BATCH_BYTES) && batch_flush(b, err) < 0)
		return -1;
	if (!b->rows) {
		b->rows = malloc(BATCH_ROWS * b->shape->size);
		b->bytes = malloc(BATCH_BYTES);
		if (!b->rows || !b->bytes) {
			free(b->rows);
			free(b->bytes);
			b->rows = b->bytes = NULL;
			return ts_error_nomem(err);
		}
	}
	unsigned char *copy = b->rows + b->count * b->shape->size;

	memcpy(copy, row, b->shape->size);
	move_strings(b, copy, b->bytes + b->used);
	b->used += aligned;
	b->count++;
	return 0;
}
