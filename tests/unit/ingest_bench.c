/* ingest_bench.c: a spool, a store and workers in a folder of their own, for the tests of ingest */
#include "ingest_bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracespool/input.h"
#include "tracespool/list.h"

#define DEADLINE_MS 20000

/* ---- life ---- */

static void open_rooms(struct bench *b)
{
	struct spool_options spool = {b->spool_path, ".archive", ".quarantine"};
	struct store_options store = {.path = b->store_path, .wal_limit_bytes = 1 << 20};
	struct ts_error err = TS_ERROR_INIT;

	ck_assert_msg(spool_open(&spool, &b->spool, &err) == 0, "%s", err.message);
	ck_assert_msg(store_open(&store, &b->store, &err) == 0, "%s", err.message);
}

void bench_open(struct bench *b)
{
	*b = (struct bench){0};
	strcpy(b->dir, "/tmp/tracespool-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(b->dir));
	snprintf(b->spool_path, sizeof(b->spool_path), "%s/spool", b->dir);
	snprintf(b->store_path, sizeof(b->store_path), "%s/store", b->dir);
	b->conf.ingest.workers = 2;
	b->conf.limits.line_bytes = 67108864;
	b->conf.limits.expansion_ratio = 250;
	b->conf.limits.shards = 100;
	b->conf.limits.queue = 1000;
	open_rooms(b);
}

void bench_start(struct bench *b)
{
	struct ingest_options o = {
		.conf = &b->conf,
		.spool = b->spool,
		.store = b->store,
		.changed = b->changed,
		.arg = b,
	};
	struct ts_error err = TS_ERROR_INIT;

	ck_assert_msg(ingest_start(&o, &b->in, &err) == 0, "%s", err.message);
}

static bool offer(void *arg, const char *name, int64_t seen_ms)
{
	return ingest_offer(arg, name, seen_ms);
}

static bool known(void *arg, const char *name, const struct stat *st)
{
	return ingest_is_known(arg, name, st);
}

void bench_watch(struct bench *b)
{
	struct watcher_options o = {
		.spool = b->spool,
		.content = ingest_content(),
		.settle_ms = 60,
		.scan_ms = 100,
		.idle_ms = 600000,
		.offer = offer,
		.known = known,
		.arg = b->in,
	};
	struct ts_error err = TS_ERROR_INIT;

	ck_assert_msg(watcher_start(&o, &b->watcher, &err) == 0, "%s", err.message);
	ingest_set_watcher(b->in, b->watcher);
}

void bench_stop(struct bench *b)
{
	if (b->watcher)
		watcher_stop(b->watcher);
	ingest_stop(b->in);
	b->watcher = NULL;
	b->in = NULL;
}

void bench_reopen(struct bench *b)
{
	bench_stop(b);
	spool_close(b->spool);
	store_close(b->store);
	open_rooms(b);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void bench_close(struct bench *b)
{
	bench_stop(b);
	spool_close(b->spool);
	store_close(b->store);
	nftw(b->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- files ---- */

static void full_path(const struct bench *b, const char *path, char out[static 512])
{
	ck_assert_int_lt(snprintf(out, 512, "%s/%s", b->dir, path), 512);
}

void bench_write(const struct bench *b, const char *path, const void *bytes, size_t size)
{
	char full[512];
	FILE *f;

	full_path(b, path, full);
	f = fopen(full, "we");
	ck_assert_msg(f != NULL, "%s: %s", full, strerror(errno));
	ck_assert_uint_eq(fwrite(bytes, 1, size, f), size);
	ck_assert_int_eq(fclose(f), 0);
}

void bench_write_text(const struct bench *b, const char *path, const char *text)
{
	bench_write(b, path, text, strlen(text));
}

void bench_append(const struct bench *b, const char *path, const char *text)
{
	char full[512];
	FILE *f;

	full_path(b, path, full);
	f = fopen(full, "ae");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

void bench_mkdir(const struct bench *b, const char *path)
{
	char full[512];

	full_path(b, path, full);
	ck_assert_int_eq(mkdir(full, 0755), 0);
}

void bench_rename(const struct bench *b, const char *from, const char *to)
{
	char a[512], z[512];

	full_path(b, from, a);
	full_path(b, to, z);
	ck_assert_msg(rename(a, z) == 0, "%s to %s: %s", a, z, strerror(errno));
}

bool bench_exists(const struct bench *b, const char *path)
{
	char full[512];
	struct stat st;

	full_path(b, path, full);
	return lstat(full, &st) == 0;
}

char *bench_read(const struct bench *b, const char *path)
{
	char full[512];
	struct buf text = BUF_INIT;
	int c;
	FILE *f;

	full_path(b, path, full);
	f = fopen(full, "re");
	ck_assert_msg(f != NULL, "%s: %s", full, strerror(errno));
	while ((c = getc(f)) != EOF)
		buf_putc(&text, (char)c);
	fclose(f);
	return buf_take(&text);
}

static unsigned files_seen;

static int count_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)st;
	(void)ftw;
	files_seen += type != FTW_D && type != FTW_DP;
	return 0;
}

unsigned bench_count(const struct bench *b, const char *path)
{
	char full[512];

	full_path(b, path, full);
	files_seen = 0;
	nftw(full, count_entry, 16, FTW_PHYS);
	return files_seen;
}

void bench_drop(struct bench *b, const char *name, const char *text)
{
	char path[300];

	snprintf(path, sizeof(path), "spool/%s", name);
	bench_write_text(b, path, text);
	ck_assert(ingest_offer(b->in, name, time_now_ms()));
}

void bench_drop_gzip(struct bench *b, const char *name, const char *text)
{
	struct buf member_bytes = BUF_INIT;
	char path[300];

	ck_assert_int_eq(buf_gzip(ts_str_c(text), &member_bytes), 0);
	snprintf(path, sizeof(path), "spool/%s", name);
	bench_write(b, path, member_bytes.data, member_bytes.len);
	buf_done(&member_bytes);
	ck_assert(ingest_offer(b->in, name, time_now_ms()));
}

/* ---- receipts ---- */

static json_t *try_receipt(const struct bench *b, const char *name)
{
	char path[700];

	snprintf(path, sizeof(path), "%s/.receipts/%s.json", b->spool_path, name);
	return json_load_file(path, 0, NULL);
}

json_t *bench_receipt_action(const struct bench *b, const char *name, const char *state,
			     const char *action)
{
	int64_t until = time_mono_ms() + DEADLINE_MS;
	char *last = NULL;

	while (time_mono_ms() < until) {
		json_t *receipt = try_receipt(b, name);
		const char *is = json_string_value(json_object_get(receipt, "state"));
		json_t *source = json_object_get(receipt, "source");
		const char *did = json_string_value(json_object_get(source, "action"));

		if (is && strcmp(is, state) == 0 && (!action || (did && !strcmp(did, action)))) {
			free(last);
			return receipt;
		}
		free(last);
		last = receipt ? json_dumps(receipt, 0) : NULL;
		json_decref(receipt);
		usleep(3000);
	}
	ck_abort_msg("receipt of %s is not %s: %s", name, state, last ? last : "(none)");
}

json_t *bench_receipt(const struct bench *b, const char *name, const char *state)
{
	return bench_receipt_action(b, name, state, NULL);
}

void bench_idle(const struct bench *b)
{
	int64_t until = time_mono_ms() + DEADLINE_MS;
	struct ingest_state state;

	do {
		ingest_snapshot(b->in, &state);
		if (state.queued == 0 && state.ingesting == 0)
			return;
		usleep(2000);
	} while (time_mono_ms() < until);
	ck_abort_msg("ingest does not come to rest");
}

json_t *member(json_t *object, const char *path)
{
	char copy[200];
	char *save = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *part = strtok_r(copy, ".", &save); part; part = strtok_r(NULL, ".", &save)) {
		json_t *next = json_object_get(object, part);

		ck_assert_msg(next != NULL, "no member %s in %s", path, json_dumps(object, 0));
		object = next;
	}
	return object;
}

const char *text_of(json_t *object, const char *path)
{
	json_t *m = member(object, path);

	ck_assert_msg(json_is_string(m), "%s is no string", path);
	return json_string_value(m);
}

json_int_t number_of(json_t *object, const char *path)
{
	json_t *m = member(object, path);

	ck_assert_msg(json_is_integer(m), "%s is no integer", path);
	return json_integer_value(m);
}

bool is_null(json_t *object, const char *path)
{
	return json_is_null(member(object, path));
}

/* ---- catalog ---- */

static unsigned count_list(const struct bench *b, const struct list *list, const char *param,
			   const char *value)
{
	struct list_param filter = {ts_str_c(param), ts_str_c(value)};
	struct list_request request = {.params = &filter, .param_count = value ? 1 : 0};
	struct ts_error err = TS_ERROR_INIT;
	struct db *db;
	uint64_t n;

	ck_assert_msg(store_catalog_db(b->store, 0, &db, &err) == 0, "%s", err.message);
	ck_assert_msg(page_count(db, list, &request, &n, &err) == 0, "%s", err.message);
	db_release(db);
	return (unsigned)n;
}

unsigned bench_runs(const struct bench *b)
{
	return count_list(b, &list_runs, NULL, NULL);
}

unsigned bench_receipts(const struct bench *b, const char *state)
{
	return count_list(b, &list_receipts, "state", state);
}

/* ---- traces ---- */

const char *execution_trace(const char *run_id)
{
	static char text[4096];

	snprintf(text, sizeof(text),
		 "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"%s\","
		 "\"correlation_id\":\"heron/5\",\"entrypoint\":\"heron::infer\",\"phase\":"
		 "\"infer\",\"timestamp\":\"2026-03-01T10:00:00Z\",\"capture_step\":5,"
		 "\"warmup_steps\":4,\"device\":\"cpu\",\"timing_mode\":\"host\","
		 "\"capture_contract\":{\"measurement_scope\":\"profiled_work\",\"operations\":"
		 "\"partial\",\"logical_memory\":\"complete\",\"physical_memory\":\"none\","
		 "\"device_timing\":\"none\"},\"tags\":{}}\n"
		 "{\"kind\":\"span_start\",\"id\":\"s0\",\"name\":\"capture\",\"start_ns\":0,"
		 "\"span_kind\":\"function\"}\n"
		 "{\"kind\":\"span_start\",\"id\":\"s1\",\"parent_id\":\"s0\",\"name\":\"call\","
		 "\"start_ns\":10,\"span_kind\":\"function\",\"measured\":true}\n"
		 "{\"kind\":\"op\",\"span_id\":\"s1\",\"op_name\":\"matmul\",\"inputs\":[\"x\","
		 "\"w\"],\"output\":\"y\",\"shape\":[8,4],\"dtype\":\"F32\",\"device\":\"cpu\","
		 "\"duration_ns\":30,\"timestamp_ns\":20,\"input_dense_bytes\":192}\n"
		 "{\"kind\":\"memory\",\"timestamp_ns\":20,\"storage_id\":\"m1\",\"tensor_id\":"
		 "\"y\",\"span_id\":\"s1\",\"device\":\"cpu\",\"bytes\":128,\"action\":\"alloc\","
		 "\"dtype\":\"f32\"}\n"
		 "{\"kind\":\"memory\",\"timestamp_ns\":60,\"storage_id\":\"m1\",\"tensor_id\":"
		 "\"y\",\"span_id\":\"s1\",\"device\":\"cpu\",\"bytes\":128,\"action\":\"free\","
		 "\"dtype\":\"f32\"}\n"
		 "{\"kind\":\"span_end\",\"id\":\"s1\",\"duration_ns\":60}\n"
		 "{\"kind\":\"span_end\",\"id\":\"s0\",\"duration_ns\":80}\n"
		 "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":80}\n",
		 run_id);
	return text;
}

const char *request_trace(const char *id, unsigned count)
{
	static char text[131072];
	size_t n = 0;

	text[0] = 0;
	for (unsigned i = 0; i < count; i++) {
		ck_assert_uint_lt(n + 512, sizeof(text));
		n += (size_t)snprintf(
			text + n, sizeof(text) - n,
			"{\"schema\":\"dynamo.request.trace.v1\",\"event_type\":\"request_end\","
			"\"event_time_unix_ms\":%u,\"request\":{\"request_id\":\"%s-%u\","
			"\"request_received_ms\":%u,\"output_tokens\":3,\"total_time_ms\":100,"
			"\"replay\":{\"trace_block_size\":4,\"input_length\":4,"
			"\"input_sequence_hashes\":[%u]}}}\n",
			1000 + 10 * i, id, i, 1000 + 10 * i, i);
	}
	return text;
}
