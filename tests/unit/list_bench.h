/* list_bench.h: lists for tests: a store, queries as text, pages as text */
#ifndef TESTS_LIST_BENCH_H
#define TESTS_LIST_BENCH_H

#include "store_bench.h"

extern struct bench list_store;
extern struct db *list_db; /* that lists are asked on; the catalog's unless a test changes it */

void list_bench_open(void);
void list_bench_close(void);

/* Parameters from text: "kind=execution&tag.a=1", already decoded. */
struct list_request list_request_of(const char *query, struct list_param *params);
/* The column `member` of the rows of one page, joined by spaces, null as "-"; the cursor of the
 * next page, or empty. cursor may be NULL. */
char *list_page_text(const struct list *l, const struct list_request *req, const char *member,
		     struct buf *cursor);
/* Fails the test unless the query's rows are these, asked for at once and then one a page. */
void assert_list(const struct list *l, const char *query, const char *sort, const char *member,
		 const char *want);
/* Fails the test unless the page is refused with the code and a message that holds the word. */
void assert_refused(const struct list *l, const char *query, const char *sort, const char *code,
		    const char *word);

/* Five runs: a to e. total_ns: a 2^63, b 5, c none, d 2^63-1, e 5. Captured: e has no time. */
void list_commit_five(void);

#endif
