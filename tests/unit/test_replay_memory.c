/* test_replay_memory.c: lowering holds below 200 bytes a request and 32 bytes a distinct hash,
 * counted over every allocation between opening a run and its last row
 *
 * REQUESTS and HASHES (a request) set other sizes; a tenth as many requests are agentic.
 */
#include <check.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sanitized.h"
#include "tracespool/replay.h"
#include "tracespool/store.h"

/* What SQLite takes for its cache and sorts, whatever the run's size. */
#define FIXED_BYTES ((size_t)8 << 20)

#define COUNTED (!SANITIZED)

static size_t held, peak;

#if COUNTED
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);
void *malloc(size_t n);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t n);
void free(void *p);

static void *count(void *p)
{
	held += p ? malloc_usable_size(p) : 0;
	if (held > peak)
		peak = held;
	return p;
}

void *malloc(size_t n)
{
	return count(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
	return count(__libc_calloc(n, size));
}

/* Large blocks are moved by their pages, small ones do not matter. */
void *realloc(void *p, size_t n)
{
	size_t before = p ? malloc_usable_size(p) : 0;
	void *moved = __libc_realloc(p, n);

	if (moved || !n)
		held -= before;
	return count(moved);
}

void free(void *p)
{
	held -= p ? malloc_usable_size(p) : 0;
	__libc_free(p);
}
#endif

static size_t setting(const char *name, size_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

static struct ts_error err;

static void put_request(struct sink *sink, size_t i, const char *session, const char *parent,
			uint64_t *hashes, size_t count)
{
	char id[48];
	struct row_request row = {
		.no = i + 1,
		.line = i + 1,
		.session_id = ts_str_c(session),
		.parent_session_id = ts_str_c(parent),
		.start_ms = (int64_t)(10 * i),
		.end_ms = (int64_t)(10 * i + 10),
		.output_tokens = 1,
		.trace_block_size = 4,
		.input_length = 4 * count,
		.hash_count = count,
	};
	struct row_request_hashes list = {.no = i + 1, .input = hashes, .input_count = count};

	snprintf(id, sizeof(id), "0b9d7c52-6f0e-4000-8000-%012zu", i);
	row.request_id = ts_str_c(id);
	/* Half of each prompt is new, half is as in the one before. */
	for (size_t k = 0; k < count; k++)
		hashes[k] = (i * (count / 2) + k + 1) * UINT64_C(0x9e3779b97f4a7c15);
	ck_assert_int_eq(sink->row(sink, ROW_REQUEST, &row, &err), 0);
	ck_assert_int_eq(sink->row(sink, ROW_REQUEST_HASHES, &list, &err), 0);
}

static void put_tool(struct sink *sink, size_t i, const char *session, const char *source,
		     const char *child)
{
	struct row_tool row = {
		.line = i + 1,
		.event_type = TS_STR("tool_end"),
		.session_id = ts_str_c(session),
		.tool_call_id = TS_STR("t"),
		.tool_class = TS_STR("c"),
		.status = TS_STR("s"),
		.start_ms = (int64_t)(10 * i),
		.end_ms = (int64_t)(10 * i + 2),
		.duration_ms = 2,
		.has_claude = source != NULL,
		.source_request_id = ts_str_c(source),
		.child_session_id = ts_str_c(child),
		.execution_mode = ts_str_c(source ? "blocking" : NULL),
	};

	ck_assert_int_eq(sink->row(sink, ROW_TOOL, &row, &err), 0);
}

/* Sessions of twenty requests, one after another; a session is a child of the one before, and the
 * first request of that one started it with a call. A request has two tool spans, and each names
 * itself as their source. */
enum { CHAIN = 20 };

static void put_agentic(struct sink *sink, size_t i, uint64_t *hashes, size_t count)
{
	char own[48], other[48], source[48];
	size_t session = i / CHAIN;
	bool root = session % 3 == 0;

	snprintf(own, sizeof(own), "session-%08zu", session);
	snprintf(other, sizeof(other), "session-%08zu", root ? 0 : session - 1);
	put_request(sink, i, own, root ? NULL : other, hashes, count);
	snprintf(other, sizeof(other), "session-%08zu", session + 1);
	snprintf(source, sizeof(source), "0b9d7c52-6f0e-4000-8000-%012zu", i);
	put_tool(sink, i, own, source, i % CHAIN == 0 && session % 3 != 2 ? other : NULL);
	put_tool(sink, i, own, NULL, NULL);
}

static void lower(bool agentic, size_t requests, size_t count)
{
	CLEAN(runfile_freep) struct runfile *file = NULL;
	CLEAN(buf_done) struct buf row = BUF_INIT;
	struct replay *replay;
	uint64_t *hashes = calloc(count, sizeof(*hashes));
	size_t n = 0, distinct = (requests - 1) * (count / 2) + count, bound, taken;
	int more;

	ck_assert_ptr_nonnull(hashes);
	ck_assert_int_eq(runfile_create(NULL, RUN_REQUESTS, UINT64_MAX, &file, &err), 0);
	for (size_t i = 0; i < requests; i++) {
		if (agentic)
			put_agentic(runfile_sink(file), i, hashes, count);
		else
			put_request(runfile_sink(file), i, NULL, NULL, hashes, count);
	}
	free(hashes);
	ck_assert_int_eq(runfile_flush(file, &err), 0);

	size_t before = peak = held;

	ck_assert_msg(replay_open(runfile_db(file), &replay, &err) == 0, "%s", err.message);
	while ((more = replay_next(replay, &row, false, &err)) > 0) {
		buf_clear(&row);
		n++;
	}
	ck_assert_int_eq(more, 0);
	ck_assert_uint_eq(n, requests);
	replay_close(replay);
	taken = peak - before;
	bound = 200 * requests + 32 * distinct + FIXED_BYTES;
	printf("%s: %zu requests, %zu distinct hashes: %zu bytes, bound %zu\n",
	       agentic ? "agentic" : "standard", requests, distinct, taken, bound);
	ck_assert_uint_le(taken, bound);
}

START_TEST(standard_rows_with_many_distinct_hashes_stay_within_the_bound)
{
	lower(false, setting("REQUESTS", 200000), setting("HASHES", 8));
}
END_TEST

START_TEST(agentic_rows_with_tools_stay_within_the_bound)
{
	lower(true, setting("REQUESTS", 2000000) / 10, setting("HASHES", 2));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("replay-memory");
	TCase *t = tcase_create("replay-memory");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 600);
	tcase_add_test(t, standard_rows_with_many_distinct_hashes_stay_within_the_bound);
	tcase_add_test(t, agentic_rows_with_tools_stay_within_the_bound);
	suite_add_tcase(s, t);
	if (!COUNTED)
		printf("test_replay_memory: nothing is counted under a sanitizer\n");
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
