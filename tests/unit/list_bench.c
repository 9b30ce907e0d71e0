/* list_bench.c: lists for tests: a store, queries as text, pages as text */
#include "list_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

struct bench list_store;
struct db *list_db;

void list_bench_open(void)
{
	struct ts_error err = TS_ERROR_INIT;

	bench_open(&list_store);
	assert_fine(store_catalog_db(list_store.st, 0, &list_db, &err), &err);
}

void list_bench_close(void)
{
	db_release(list_db);
	bench_close(&list_store);
}

static unsigned column_of(const struct list *l, const char *member)
{
	unsigned i = 0;

	while (strcmp(l->columns[i].member, member) != 0)
		i++;
	return i;
}

struct list_request list_request_of(const char *query, struct list_param *params)
{
	struct list_request req = {.params = params};

	while (*query) {
		size_t n = strcspn(query, "&"), eq = strcspn(query, "=");

		params[req.param_count++] = (struct list_param){
			.name = ts_str(query, eq),
			.value = ts_str(query + eq + 1, n - eq - 1),
		};
		query += n + (query[n] == '&');
	}
	return req;
}

char *list_page_text(const struct list *l, const struct list_request *req, const char *member,
		     struct buf *cursor)
{
	struct ts_error err = TS_ERROR_INIT;
	struct page *p CLEAN(page_closep) = NULL;
	struct buf text = BUF_INIT;
	unsigned column = column_of(l, member);

	assert_fine(page_open(list_db, l, req, &p, &err), &err);
	buf_puts(&text, "");
	while (page_next(p, &err) == 1) {
		struct ts_str s = query_str(page_row(p), (int)column);

		if (text.len)
			buf_puts(&text, " ");
		if (s.p)
			buf_add(&text, s.p, s.n);
		else
			buf_puts(&text, "-");
	}
	ck_assert_msg(!err.code, "%s", err.message);
	if (cursor) {
		buf_clear(cursor);
		if (!page_next_cursor(p, cursor))
			buf_clear(cursor);
	}
	return buf_take(&text);
}

void assert_list(const struct list *l, const char *query, const char *sort, const char *member,
		 const char *want)
{
	struct list_param params[16];
	struct list_request req = list_request_of(query, params);
	struct buf cursor CLEAN(buf_done) = BUF_INIT;
	struct buf joined CLEAN(buf_done) = BUF_INIT;
	struct ts_error err = TS_ERROR_INIT;
	uint64_t count = 0, have = 0;

	req.sort = ts_str_c(sort);
	char *all CLEAN(free_ptr) = list_page_text(l, &req, member, &cursor);

	ck_assert_msg(strcmp(all, want) == 0, "%s sort=%s: %s", query, sort ? sort : "", all);
	ck_assert_uint_eq(cursor.len, 0);
	req.limit = 1;
	buf_puts(&joined, "");
	do {
		struct buf given CLEAN(buf_done) = BUF_INIT;

		buf_add(&given, cursor.data, cursor.len);
		req.cursor = have ? ts_str(given.data, given.len) : ts_str(NULL, 0);
		char *one CLEAN(free_ptr) = list_page_text(l, &req, member, &cursor);

		buf_printf(&joined, "%s%s", have++ ? " " : "", one);
	} while (cursor.len);
	ck_assert_msg(strcmp(joined.data, want) == 0, "%s sort=%s by one: %s", query,
		      sort ? sort : "", joined.data);
	assert_fine(page_count(list_db, l, &req, &count, &err), &err);
	ck_assert_uint_eq(count, *want ? have : 0);
}

void assert_refused(const struct list *l, const char *query, const char *sort, const char *code,
		    const char *word)
{
	struct list_param params[300];
	struct list_request req = list_request_of(query, params);
	struct ts_error err = TS_ERROR_INIT;
	struct page *p = NULL;

	req.sort = ts_str_c(sort);
	assert_failed(page_open(list_db, l, &req, &p, &err), &err, code);
	ck_assert_msg(strstr(err.message, word) != NULL, "%s", err.message);
}

void list_commit_five(void)
{
	static const uint64_t totals[] = {9223372036854775808u, 5, 0, 9223372036854775807u, 5};
	static const char *const tags[] = {"{\"batch\":\"128\",\"git\":\"x\"}",
					   "{\"batch\":\"64\"}", "{}", "{\"git\":\"y\"}",
					   "{\"batch\":\"128\"}"};
	struct bench_run run;

	for (unsigned i = 0; i < 5; i++) {
		bench_run(&run, i);
		snprintf(run.id, sizeof(run.id), "%c", 'a' + (int)i);
		run.r.id = ts_str_c(run.id);
		run.r.kind = i == 2 ? RUN_REQUESTS : RUN_EXECUTION;
		run.r.total_ns = (struct opt_u64){.v = totals[i], .has = i != 2};
		run.r.tags = ts_str_c(tags[i]);
		run.r.has_captured = i != 4;
		run.r.captured_ms = 1000 * (int64_t)i;
		run.r.ingested_ms = 100000 - 1000 * (int64_t)i;
		run.r.structurally_valid = i == 0 ? 1 : i == 1 ? 0 : -1;
		run.r.entrypoint = i == 2 ? ts_str(NULL, 0)
					  : ts_str_c(i == 1   ? "net\xff"
						     : i == 3 ? "neu"
							      : "net");
		run.r.models = i == 2 ? TS_STR("{\"lab\":3,\"m2\":1}") : ts_str(NULL, 0);
		bench_commit(&list_store, &run.r, false);
	}
}
