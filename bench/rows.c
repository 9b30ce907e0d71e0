/* rows.c: benchmark T2: rows into the run file against bind and step; the bound of the whole ingest
 *
 * rows insert FOLDER FILE...   a table
 * rows bound FOLDER FILE       seconds of one pass: a thread reads, a thread inserts, nothing else
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "bench.h"
#include "recorded.h"
#include "sql.h"

static struct record_block *keep_give(struct recorder *r, size_t size)
{
	(void)r;
	return record_block_new(size);
}

static void keep_full(struct recorder *r, struct record_block *block)
{
	struct record_block ***last = r->arg;

	**last = block;
	*last = &block->next;
}

static struct record_block *record_all(const char *text, size_t size)
{
	struct record_block *first = NULL, **last = &first;
	struct recorder r;

	recorder_init(&r, keep_give, keep_full, &last);
	record_text(text, size, &r.sink);
	recorder_end(&r);
	return first;
}

static struct store *open_store(const char *folder)
{
	struct store_options options = {.path = folder, .wal_limit_bytes = 67108864};
	struct ts_error err = TS_ERROR_INIT;
	struct store *st;

	if (store_open(&options, &st, &err) < 0)
		bench_fail("%s", err.message);
	return st;
}

static void give_rows(struct sink *sink, const struct record_block *block)
{
	struct ts_error err = TS_ERROR_INIT;
	enum row_kind kind;
	const void *row;

	for (size_t at = 0; record_next(block, &at, &kind, &row);)
		if (sink->row(sink, kind, row, &err) < 0)
			bench_fail("%s", err.message);
}

static double insert_ours(struct store *st, const struct record_block *blocks, enum run_kind kind,
			  uint64_t size)
{
	struct ts_error err = TS_ERROR_INIT;
	struct runfile *rf;
	double t = bench_now();

	if (runfile_create(st, kind, size, &rf, &err) < 0)
		bench_fail("%s", err.message);
	for (; blocks; blocks = blocks->next)
		give_rows(runfile_sink(rf), blocks);
	if (runfile_flush(rf, &err) < 0 || db_exec(runfile_db(rf), "commit", &err) < 0)
		bench_fail("%s", err.message);
	t = bench_now() - t;
	runfile_free(rf);
	return t;
}

static void bind_u64(sqlite3_stmt *s, int i, uint64_t v)
{
	if (v <= INT64_MAX) {
		sqlite3_bind_int64(s, i, (sqlite3_int64)v);
		return;
	}
	v = __builtin_bswap64(v); /* as this program is for little-endian machines */
	sqlite3_bind_blob(s, i, &v, sizeof(v), SQLITE_TRANSIENT);
}

static void bind_column(sqlite3_stmt *s, int i, const struct column *c, const unsigned char *row)
{
	const void *p = row + c->offset;

	switch (c->type) {
	case COLUMN_NUMBER:
		sqlite3_bind_null(s, i);
		break;
	case COLUMN_TEXT: {
		const struct ts_str *text = p;

		if (text->p)
			sqlite3_bind_text64(s, i, text->p, text->n, SQLITE_STATIC, SQLITE_UTF8);
		else
			sqlite3_bind_null(s, i);
		break;
	}
	case COLUMN_U64:
		bind_u64(s, i, *(const uint64_t *)p);
		break;
	case COLUMN_OPT_U64:
		if (((const struct opt_u64 *)p)->has)
			bind_u64(s, i, ((const struct opt_u64 *)p)->v);
		else
			sqlite3_bind_null(s, i);
		break;
	case COLUMN_I64:
		sqlite3_bind_int64(s, i, *(const int64_t *)p);
		break;
	case COLUMN_BOOL:
		sqlite3_bind_int(s, i, *(const bool *)p);
		break;
	case COLUMN_DOUBLE:
		sqlite3_bind_double(s, i, *(const double *)p);
		break;
	case COLUMN_OPT_DOUBLE:
		if (((const struct opt_double *)p)->has)
			sqlite3_bind_double(s, i, ((const struct opt_double *)p)->v);
		else
			sqlite3_bind_null(s, i);
		break;
	case COLUMN_HASHES: {
		const uint64_t *v = *(const uint64_t *const *)p;

		if (v)
			sqlite3_bind_blob64(s, i, v,
					    8 * *(const size_t *)(const void *)(row + c->count),
					    SQLITE_STATIC);
		else
			sqlite3_bind_null(s, i);
		break;
	}
	}
}

static sqlite3_stmt *prepare(sqlite3 *h, const struct row_shape *shape)
{
	sqlite3_str *sql = sqlite3_str_new(h);
	sqlite3_stmt *s = NULL;

	sqlite3_str_appendf(sql, "insert into %s values(", shape->table);
	for (const struct column *c = shape->columns; c->name; c++)
		sqlite3_str_appendall(sql, c[1].name ? "?," : "?)");
	char *text = sqlite3_str_finish(sql);

	if (!text || sqlite3_prepare_v2(h, text, -1, &s, NULL) != SQLITE_OK)
		bench_fail("prepare: %s", sqlite3_errmsg(h));
	sqlite3_free(text);
	return s;
}

/* The peer: the same tables and pragmas, a prepared statement a table, a bind and step a row. */
static double insert_peer(const char *folder, const struct record_block *blocks, enum run_kind kind)
{
	sqlite3_stmt *statements[ROW_KIND_COUNT] = {NULL};
	struct ts_error err = TS_ERROR_INIT;
	char path[512];
	struct db *db;
	double t = bench_now();

	snprintf(path, sizeof(path), "%s/tmp/peer.db", folder);
	if (db_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &db, &err) < 0 ||
	    db_exec(db,
		    "pragma page_size = 16384; pragma journal_mode = off; "
		    "pragma synchronous = off; pragma locking_mode = exclusive; "
		    "pragma cache_size = -4096; pragma temp_store = file; begin",
		    &err) < 0 ||
	    db_exec(db,
		    sql_find(sql_run_texts,
			     kind == RUN_EXECUTION ? "execution-tables" : "requests-tables"),
		    &err) < 0)
		bench_fail("%s", err.message);
	for (unsigned i = 0; i < ROW_KIND_COUNT; i++)
		if (row_shapes[i].kind == kind)
			statements[i] = prepare(db->h, &row_shapes[i]);
	for (; blocks; blocks = blocks->next) {
		enum row_kind row_kind;
		const void *row;

		for (size_t at = 0; record_next(blocks, &at, &row_kind, &row);) {
			const struct column *c = row_shapes[row_kind].columns;
			sqlite3_stmt *s = statements[row_kind];

			for (int i = 0; c[i].name; i++)
				bind_column(s, i + 1, &c[i], row);
			if (sqlite3_step(s) != SQLITE_DONE)
				bench_fail("insert: %s", sqlite3_errmsg(db->h));
			sqlite3_reset(s);
		}
	}
	for (unsigned i = 0; i < ROW_KIND_COUNT; i++)
		sqlite3_finalize(statements[i]);
	if (db_exec(db, "commit", &err) < 0)
		bench_fail("%s", err.message);
	t = bench_now() - t;
	db_close(db, &err);
	unlink(path);
	return t;
}

static void compare(struct store *st, const char *folder, const char *path)
{
	double ours[BENCH_RUNS_MAX], peer[BENCH_RUNS_MAX];
	unsigned runs = bench_runs();
	char mine[48], his[48], title[96];
	size_t size;
	char *text = bench_load(path, &size);
	enum run_kind kind = record_kind(text, size);
	struct record_block *blocks = record_all(text, size);
	size_t rows = 0;

	free(text);
	for (struct record_block *b = blocks; b; b = b->next)
		rows += b->rows;
	for (unsigned i = 0; i < runs; i++) {
		ours[i] = insert_ours(st, blocks, kind, size);
		peer[i] = insert_peer(folder, blocks, kind);
	}
	double a = bench_median(ours, runs), b = bench_median(peer, runs);

	snprintf(mine, sizeof(mine), "%.2f M rows/s", (double)rows / a / 1e6);
	snprintf(his, sizeof(his), "%.2f M/s bind+step", (double)rows / b / 1e6);
	snprintf(title, sizeof(title), "%s: %zu rows into the run file",
		 kind == RUN_EXECUTION ? "execution" : "requests", rows);
	bench_row(title, mine, his, b / a, 0, "T2", 1.4);
	for (struct record_block *next; blocks; blocks = next) {
		next = blocks->next;
		free(blocks);
	}
}

/* A ring of blocks between the two threads of the bound. */
enum { RING = 8 };

struct ring {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	struct record_block *full[RING], *empty[RING];
	unsigned full_count, empty_count, first;
	bool end;
	struct sink *sink;
};

static struct record_block *ring_give(struct recorder *r, size_t size)
{
	struct ring *ring = r->arg;
	struct record_block *b;

	pthread_mutex_lock(&ring->lock);
	while (ring->empty_count == 0)
		pthread_cond_wait(&ring->moved, &ring->lock);
	b = ring->empty[--ring->empty_count];
	pthread_mutex_unlock(&ring->lock);
	if (b->size < size) {
		free(b);
		b = record_block_new(size);
	}
	b->used = b->rows = 0;
	return b;
}

static void ring_full(struct recorder *r, struct record_block *block)
{
	struct ring *ring = r->arg;

	pthread_mutex_lock(&ring->lock);
	ring->full[(ring->first + ring->full_count++) % RING] = block;
	pthread_cond_broadcast(&ring->moved);
	pthread_mutex_unlock(&ring->lock);
}

static void *inserter(void *arg)
{
	struct ring *ring = arg;

	for (;;) {
		pthread_mutex_lock(&ring->lock);
		while (ring->full_count == 0 && !ring->end)
			pthread_cond_wait(&ring->moved, &ring->lock);
		if (ring->full_count == 0) {
			pthread_mutex_unlock(&ring->lock);
			return NULL;
		}
		struct record_block *b = ring->full[ring->first];

		pthread_mutex_unlock(&ring->lock);
		give_rows(ring->sink, b);
		pthread_mutex_lock(&ring->lock);
		ring->first = (ring->first + 1) % RING;
		ring->full_count--;
		ring->empty[ring->empty_count++] = b;
		pthread_cond_broadcast(&ring->moved);
		pthread_mutex_unlock(&ring->lock);
	}
}

static double bound(struct store *st, const char *path)
{
	struct ring ring = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
	struct ts_error err = TS_ERROR_INIT;
	struct recorder r;
	struct runfile *rf;
	pthread_t thread;
	double t = bench_now();
	size_t size;
	char *text = bench_load(path, &size);

	if (runfile_create(st, record_kind(text, size), size, &rf, &err) < 0)
		bench_fail("%s", err.message);
	ring.sink = runfile_sink(rf);
	while (ring.empty_count < RING)
		ring.empty[ring.empty_count++] = record_block_new(0);
	if (pthread_create(&thread, NULL, inserter, &ring) != 0)
		bench_fail("no thread");
	recorder_init(&r, ring_give, ring_full, &ring);
	record_text(text, size, &r.sink);
	recorder_end(&r);
	pthread_mutex_lock(&ring.lock);
	ring.end = true;
	pthread_cond_broadcast(&ring.moved);
	pthread_mutex_unlock(&ring.lock);
	pthread_join(thread, NULL);
	if (runfile_flush(rf, &err) < 0 || db_exec(runfile_db(rf), "commit", &err) < 0)
		bench_fail("%s", err.message);
	t = bench_now() - t;
	while (ring.empty_count)
		free(ring.empty[--ring.empty_count]);
	runfile_free(rf);
	free(text);
	return t;
}

int main(int argc, char **argv)
{
	if (argc < 4 || (strcmp(argv[1], "insert") != 0 && strcmp(argv[1], "bound") != 0)) {
		fputs("usage: rows insert FOLDER FILE... | rows bound FOLDER FILE\n", stderr);
		return 2;
	}
	struct store *st = open_store(argv[2]);

	if (strcmp(argv[1], "bound") == 0)
		printf("%.6f\n", bound(st, argv[3]));
	else
		for (int i = 3; i < argc; i++)
			compare(st, argv[2], argv[i]);
	store_close(st);
	return 0;
}
