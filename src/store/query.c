/* query.c: statements: opening, binding, stepping, reading columns */
#include "numbers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sql.h"
#include "tracespool/util.h"

int query_open_sql(struct db *db, const char *sql, size_t len, struct query **ret,
		   struct ts_error *err)
{
	struct query *q = calloc(1, sizeof(*q));

	if (!q || len >= INT32_MAX) {
		free(q);
		return ts_error_nomem(err);
	}
	q->db = db;
	q->number = SIZE_MAX;
	int rc = sqlite3_prepare_v2(db->h, sql, (int)len, &q->stmt, NULL);

	if (rc != SQLITE_OK) {
		db_error(db, rc, "statement", err);
		query_close(q);
		return -1;
	}
	*ret = q;
	return 0;
}

static sqlite3_stmt *take_text(struct db *db, const char *sql, size_t len)
{
	for (size_t i = 0; i < DB_TEXTS; i++) {
		struct text_statement *t = &db->texts[i];
		const char *text = t->stmt ? sqlite3_sql(t->stmt) : NULL;

		if (!text || strlen(text) != len || memcmp(text, sql, len) != 0)
			continue;
		t->used = 0;
		return TAKE(t->stmt);
	}
	return NULL;
}

/* In place of the one that was used longest ago. */
static void keep_text(struct db *db, sqlite3_stmt *stmt)
{
	struct text_statement *oldest = &db->texts[0];

	for (size_t i = 1; i < DB_TEXTS; i++)
		if (db->texts[i].used < oldest->used)
			oldest = &db->texts[i];
	sqlite3_finalize(oldest->stmt);
	*oldest = (struct text_statement){stmt, ++db->clock};
}

int query_open_text(struct db *db, const char *sql, size_t len, struct query **ret,
		    struct ts_error *err)
{
	sqlite3_stmt *kept = take_text(db, sql, len);

	if (!kept) {
		if (query_open_sql(db, sql, len, ret, err) < 0)
			return -1;
		(*ret)->keep = true;
		return 0;
	}
	struct query *q = calloc(1, sizeof(*q));

	if (!q) {
		sqlite3_finalize(kept);
		return ts_error_nomem(err);
	}
	*q = (struct query){.db = db, .stmt = kept, .number = SIZE_MAX, .keep = true};
	*ret = q;
	return 0;
}

/* The named statements by the hash of their names: a small drop asks some fifty times. */
static uint16_t named_slots[1024]; /* number + 1; 0: free */

static size_t named_slot(const char *name)
{
	uint32_t h = 2166136261u;

	for (const char *p = name; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	return (h ^ h >> 15) % ARRAY_LEN(named_slots);
}

static void fill_named_slots(void)
{
	CHECK(sql_named_count < ARRAY_LEN(named_slots) / 2);
	for (size_t i = 0; i < sql_named_count; i++) {
		size_t slot = named_slot(sql_named[i].name);

		while (named_slots[slot])
			slot = (slot + 1) % ARRAY_LEN(named_slots);
		named_slots[slot] = (uint16_t)(i + 1);
	}
}

static size_t find_named(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t slot = named_slot(name);

	pthread_once(&once, fill_named_slots);
	while (named_slots[slot] && strcmp(sql_named[named_slots[slot] - 1].name, name) != 0)
		slot = (slot + 1) % ARRAY_LEN(named_slots);
	CHECK(named_slots[slot]);
	return named_slots[slot] - 1u;
}

int query_open(struct db *db, const char *name, struct query **ret, struct ts_error *err)
{
	size_t i = find_named(name);
	struct query *q = calloc(1, sizeof(*q));

	if (!q)
		return ts_error_nomem(err);
	q->db = db;
	q->number = i;
	q->stmt = TAKE(db->at_rest[i]);
	if (!q->stmt) {
		int rc = sqlite3_prepare_v3(db->h, sql_named[i].text, -1, SQLITE_PREPARE_PERSISTENT,
					    &q->stmt, NULL);

		if (rc != SQLITE_OK) {
			db_error(db, rc, name, err);
			query_close(q);
			return -1;
		}
	}
	*ret = q;
	return 0;
}

void query_close(struct query *q)
{
	if (!q)
		return;
	/* A statement that was stepped and not reset would pin the log (pitfall D2). */
	if (q->number != SIZE_MAX && q->stmt && !q->db->at_rest[q->number]) {
		sqlite3_reset(q->stmt);
		sqlite3_clear_bindings(q->stmt);
		q->db->at_rest[q->number] = q->stmt;
	} else if (q->keep) {
		sqlite3_reset(q->stmt);
		sqlite3_clear_bindings(q->stmt);
		keep_text(q->db, q->stmt);
	} else {
		sqlite3_finalize(q->stmt);
	}
	free(q);
}

void query_closep(struct query **q)
{
	query_close(*q);
}

static void note(struct query *q, int rc)
{
	if (rc != SQLITE_OK && !q->failed)
		q->failed = rc;
}

void query_bind_u64(struct query *q, int i, uint64_t v)
{
	if (v <= INT64_MAX) {
		note(q, sqlite3_bind_int64(q->stmt, i, (sqlite3_int64)v));
		return;
	}
	unsigned char big[8];

	for (int k = 0; k < 8; k++)
		big[k] = (unsigned char)(v >> (56 - 8 * k));
	note(q, sqlite3_bind_blob(q->stmt, i, big, sizeof(big), SQLITE_TRANSIENT));
}

void query_bind_i64(struct query *q, int i, int64_t v)
{
	note(q, sqlite3_bind_int64(q->stmt, i, v));
}

void query_bind_double(struct query *q, int i, double v)
{
	note(q, sqlite3_bind_double(q->stmt, i, v));
}

void query_bind_str(struct query *q, int i, struct ts_str s)
{
	if (!s.p)
		note(q, sqlite3_bind_null(q->stmt, i));
	else
		note(q, sqlite3_bind_text64(q->stmt, i, s.p, s.n, SQLITE_STATIC, SQLITE_UTF8));
}

void query_bind_blob(struct query *q, int i, const void *p, size_t n)
{
	if (!p)
		note(q, sqlite3_bind_null(q->stmt, i));
	else
		note(q, sqlite3_bind_blob64(q->stmt, i, p, n, SQLITE_STATIC));
}

void query_bind_numbers(struct query *q, int i, const uint64_t *v, size_t n)
{
	note(q, numbers_bind(q->stmt, i, v, n));
}

void query_bind_null(struct query *q, int i)
{
	note(q, sqlite3_bind_null(q->stmt, i));
}

static const char *query_name(const struct query *q)
{
	return q->number != SIZE_MAX ? sql_named[q->number].name : "statement";
}

int query_step(struct query *q, struct ts_error *err)
{
	if (q->failed)
		return db_error(q->db, q->failed, query_name(q), err);
	int rc = sqlite3_step(q->stmt);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE) {
		sqlite3_reset(q->stmt);
		return 0;
	}
	db_error(q->db, rc, query_name(q), err);
	sqlite3_reset(q->stmt);
	return -1;
}

void query_reset(struct query *q)
{
	/* The result is that of the last step, which was reported there. */
	sqlite3_reset(q->stmt);
	q->failed = 0;
}

int query_run(struct query *q, struct ts_error *err)
{
	int n;

	do
		n = query_step(q, err);
	while (n > 0);
	query_close(q);
	return n;
}

int db_number(struct db *db, const char *sql, uint64_t *ret, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open_sql(db, sql, strlen(sql), &q, err) < 0)
		return -1;
	int n = query_step(q, err);

	if (n < 0)
		return -1;
	*ret = n ? query_u64(q, 0) : 0;
	return 0;
}

bool query_is_null(struct query *q, int i)
{
	return sqlite3_column_type(q->stmt, i) == SQLITE_NULL;
}

static uint64_t u64_of_blob(const void *blob, size_t n)
{
	const unsigned char *big = blob;
	uint64_t v = 0;

	for (size_t k = 0; big && n == 8 && k < 8; k++)
		v = v << 8 | big[k];
	return v;
}

uint64_t query_value_u64(const struct query_value *v)
{
	if (v->type == QUERY_INTEGER)
		return (uint64_t)v->integer;
	return v->type == QUERY_BLOB ? u64_of_blob(v->str.p, v->str.n) : 0;
}

struct query_value query_value(struct query *q, int i)
{
	/* One thread at a time has the connection: its values need no protection. */
	sqlite3_value *column = sqlite3_column_value(q->stmt, i);
	struct query_value v = {.type = QUERY_NULL};

	switch (sqlite3_value_type(column)) {
	case SQLITE_INTEGER:
		v.type = QUERY_INTEGER;
		v.integer = sqlite3_value_int64(column);
		break;
	case SQLITE_FLOAT:
		v.type = QUERY_DOUBLE;
		v.real = sqlite3_value_double(column);
		break;
	case SQLITE_TEXT:
		v.type = QUERY_TEXT;
		v.str.p = sqlite3_value_blob(column); /* as text it would be copied */
		v.str.n = (size_t)sqlite3_value_bytes(column);
		break;
	case SQLITE_BLOB:
		v.type = QUERY_BLOB;
		v.str.p = sqlite3_value_blob(column);
		v.str.n = (size_t)sqlite3_value_bytes(column);
		break;
	}
	if (v.type >= QUERY_TEXT && !v.str.p)
		v.str.p = ""; /* an empty value has no pointer; it is a value all the same */
	return v;
}

void query_values(struct query *q, const int *columns, size_t n, struct query_value *ret)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = query_value(q, columns[i]);
}

uint64_t query_u64(struct query *q, int i)
{
	/* One thread at a time has the connection: its values need no protection. */
	sqlite3_value *column = sqlite3_column_value(q->stmt, i);

	if (sqlite3_value_type(column) != SQLITE_BLOB)
		return (uint64_t)sqlite3_value_int64(column);
	const void *blob = sqlite3_value_blob(column);

	return u64_of_blob(blob, (size_t)sqlite3_value_bytes(column));
}

struct ts_str query_str(struct query *q, int i)
{
	sqlite3_value *column = sqlite3_column_value(q->stmt, i);

	if (sqlite3_value_type(column) == SQLITE_NULL)
		return ts_str(NULL, 0);
	/* A text as a blob: asked for as text it would be copied for the sake of a zero behind. */
	const char *p = sqlite3_value_blob(column);

	/* An empty value has no pointer; it is a value all the same. */
	return ts_str(p ? p : "", p ? (size_t)sqlite3_value_bytes(column) : 0);
}

int64_t query_i64(struct query *q, int i)
{
	return sqlite3_column_int64(q->stmt, i);
}

double query_double(struct query *q, int i)
{
	return sqlite3_column_double(q->stmt, i);
}

struct opt_u64 query_opt_u64(struct query *q, int i)
{
	return (struct opt_u64){.v = query_u64(q, i), .has = !query_is_null(q, i)};
}

struct opt_double query_opt_double(struct query *q, int i)
{
	return (struct opt_double){.v = query_double(q, i), .has = !query_is_null(q, i)};
}
