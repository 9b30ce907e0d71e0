/* pages.c: a list as one page (envelope, array) or as a stream of lines
 */
#include <stdlib.h>
#include <string.h>

#include "rows.h"
#include "server.h"

#define LINES_A_STEP 64  /* rows of a run file between two looks at the clock */
#define CATALOG_PAGE 200 /* rows of the catalog between two short transactions */

/* ---- one page ---- */

/* The cursor of the next page, and the Link to it. False: this was the last page. */
static bool link_next(struct rows *rows, struct page *page, struct buf *cursor)
{
	struct request *rq = rows->rq;
	struct buf url = BUF_INIT;

	if (!page_next_cursor(page, cursor))
		return false;
	target_next_page(&rq->target, rq->http->conf->http.base_path, rows->query.limit,
			 ts_str(cursor->data, cursor->len), &url);
	if (!url.failed)
		answer_header(rq, MHD_HTTP_HEADER_LINK, "<%s>; rel=\"next\"", url.data);
	buf_done(&url);
	return true;
}

static int write_items(struct json_writer *w, struct rows *rows, struct page *page,
		       struct ts_error *err)
{
	int more;

	jw_open_array(w);
	while ((more = page_next(page, err)) > 0)
		rows_write_item(w, rows, page);
	jw_close_array(w);
	return more;
}

static int write_envelope(struct json_writer *w, struct rows *rows, struct page *page,
			  const uint64_t *total, struct ts_error *err)
{
	const struct rows_shape *shape = rows->shape;
	struct buf cursor CLEAN(buf_done) = BUF_INIT;

	jw_open_object(w);
	jw_kv_text(w, "schema", shape->schema ? shape->schema : shape->list->schema);
	if (shape->write_envelope)
		shape->write_envelope(w, rows);
	jw_key(w, "items");
	if (write_items(w, rows, page, err) < 0)
		return -1;
	jw_kv_u64(w, "limit", rows->query.limit);
	if (link_next(rows, page, &cursor))
		jw_kv_str(w, "next_cursor", ts_str(cursor.data, cursor.len));
	else
		jw_kv_null(w, "next_cursor");
	if (total)
		jw_kv_u64(w, "total", *total);
	jw_close_object(w);
	return cursor.failed ? ts_error_nomem(err) : 0;
}

int rows_answer_page(struct rows *rows, struct db *db, struct ts_error *err)
{
	struct request *rq = rows->rq;
	struct page *page CLEAN(page_closep) = NULL;
	struct buf cursor CLEAN(buf_done) = BUF_INIT;
	struct json_writer w;
	uint64_t total = 0;

	if (rows->count && page_count(db, rows->shape->list, &rows->query, &total, err) < 0)
		return -1;
	if (page_open(db, rows->shape->list, &rows->query, &page, err) < 0)
		return -1;
	jw_init(&w, &rq->answer.body, rq->numbers);
	if (rq->form == FORM_ARRAY) {
		if (write_items(&w, rows, page, err) < 0)
			return -1;
		(void)link_next(rows, page, &cursor);
	} else if (write_envelope(&w, rows, page, rows->count ? &total : NULL, err) < 0) {
		return -1;
	}
	answer_json(rq, 200);
	return 0;
}

/* ---- lines ---- */

struct line_source {
	struct source source;
	struct rows rows;
	struct db *db;     /* of a run; NULL: the catalog */
	struct page *page; /* of a run */
	struct buf cursor; /* of the catalog: where the next page begins */
	uint64_t left;     /* rows that were announced and are still to come */
};

static void write_line(struct line_source *ls, struct page *page, struct buf *out)
{
	struct json_writer w;

	jw_init(&w, out, ls->rows.rq->numbers);
	rows_write_item(&w, &ls->rows, page);
	buf_putc(out, '\n');
	ls->left--;
}

static int fill_from_run(struct source *source, struct buf *out, struct ts_error *err)
{
	struct line_source *ls = (struct line_source *)source;

	db_set_deadline(ls->db, request_deadline_ms(ls->rows.rq));
	for (unsigned n = 0; n < LINES_A_STEP && ls->left > 0; n++) {
		int more = page_next(ls->page, err);

		if (more <= 0)
			return more;
		write_line(ls, ls->page, out);
	}
	return ls->left > 0;
}

static int fill_from_catalog(struct source *source, struct buf *out, struct ts_error *err)
{
	struct line_source *ls = (struct line_source *)source;
	struct list_request query = ls->rows.query;
	struct db *db CLEAN(db_releasep) = NULL;
	struct page *page CLEAN(page_closep) = NULL;
	int more;

	query.limit = ls->left < CATALOG_PAGE ? ls->left : CATALOG_PAGE;
	if (ls->cursor.len > 0)
		query.cursor = ts_str(ls->cursor.data, ls->cursor.len);
	if (ls->left == 0)
		return 0;
	if (request_catalog(ls->rows.rq, &db, err) < 0 ||
	    page_open(db, ls->rows.shape->list, &query, &page, err) < 0)
		return -1;
	while ((more = page_next(page, err)) > 0)
		write_line(ls, page, out);
	if (more < 0)
		return -1;
	buf_clear(&ls->cursor);
	if (!page_next_cursor(page, &ls->cursor))
		return 0;
	return ls->cursor.failed ? ts_error_nomem(err) : ls->left > 0;
}

static void close_lines(struct source *source)
{
	struct line_source *ls = (struct line_source *)source;

	page_close(ls->page);
	db_release(ls->db);
	buf_done(&ls->cursor);
	free(ls);
}

/* Rows behind a cursor can only be counted by walking them. */
static int count_behind_cursor(struct rows *rows, struct db *db, uint64_t *ret,
			       struct ts_error *err)
{
	struct list_request query = rows->query;
	struct page *page CLEAN(page_closep) = NULL;
	uint64_t n = 0;
	int more;

	query.include = NULL;
	if (page_open(db, rows->shape->list, &query, &page, err) < 0)
		return -1;
	while ((more = page_next(page, err)) > 0)
		n++;
	if (more < 0)
		return -1;
	*ret = n;
	return 0;
}

static int count_lines(struct rows *rows, struct db *db, uint64_t *ret, struct ts_error *err)
{
	struct db *catalog CLEAN(db_releasep) = NULL;

	if (!db) {
		if (request_catalog(rows->rq, &catalog, err) < 0)
			return -1;
		db = catalog;
	}
	if (rows->query.cursor.p)
		return count_behind_cursor(rows, db, ret, err);
	if (page_count(db, rows->shape->list, &rows->query, ret, err) < 0)
		return -1;
	if (rows->query.limit > 0 && *ret > rows->query.limit)
		*ret = rows->query.limit;
	return 0;
}

int rows_answer_lines(struct rows *rows, struct db *db, struct ts_error *err)
{
	struct line_source *ls = calloc(1, sizeof(*ls));

	if (!ls) {
		db_release(db);
		return ts_error_nomem(err);
	}
	ls->source.fill = db ? fill_from_run : fill_from_catalog;
	ls->source.close = close_lines;
	ls->rows = *rows;
	ls->db = db;
	buf_init(&ls->cursor, SIZE_MAX);
	if (count_lines(rows, db, &ls->left, err) < 0 ||
	    (db && page_open(db, rows->shape->list, &rows->query, &ls->page, err) < 0)) {
		close_lines(&ls->source);
		return -1;
	}
	answer_header(rows->rq, "Tracespool-Row-Count", "%llu", (unsigned long long)ls->left);
	return answer_stream(rows->rq, &ls->source, err);
}
