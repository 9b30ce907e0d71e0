/* request_case.c: request trace cases of the shared corpus: see request_case.h */
#include "request_case.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracespool/format.h"
#include "tracespool/input.h"

static struct node *parse_value(struct json *j, struct arena *arena)
{
	struct node *n = arena_alloc(arena, sizeof(*n)), **end;
	struct json_value v;
	bool object;

	ck_assert_ptr_nonnull(n);
	*n = (struct node){.type = json_value(j, &v)};
	n->u64 = n->type == JSON_U64 ? v.u64 : 0;
	if (n->type == JSON_STRING)
		n->str = v.str;
	else if (n->type == JSON_U64 || n->type == JSON_NEG || n->type == JSON_NUMBER)
		n->raw = v.raw;
	if (n->type != JSON_ARRAY && n->type != JSON_OBJECT)
		return n;
	object = n->type == JSON_OBJECT;
	end = &n->child;
	for (bool first = true;; first = false) {
		struct ts_str key = {0};

		if (object ? !json_key(j, first, &key) : !json_element(j, first))
			return n;
		*end = parse_value(j, arena);
		(*end)->key = key;
		end = &(*end)->next;
	}
}

struct node *tree_parse(const char *text, size_t len, struct arena *arena)
{
	struct json j;
	struct node *n;

	json_begin(&j, text, len, arena);
	n = parse_value(&j, arena);
	ck_assert_msg(json_end(&j) == 0, "not JSON: %s in %.200s", j.error, text);
	return n;
}

const struct node *tree_get(const struct node *object, const char *member)
{
	for (const struct node *n = object ? object->child : NULL; n; n = n->next)
		if (ts_str_is(n->key, member))
			return n;
	return NULL;
}

bool tree_is_null(const struct node *n)
{
	return !n || n->type == JSON_NULL;
}

size_t tree_count(const struct node *n)
{
	size_t count = 0;

	for (const struct node *c = n->child; c; c = c->next)
		count++;
	return count;
}

static bool is_number(const struct node *n)
{
	return n->type == JSON_U64 || n->type == JSON_NEG || n->type == JSON_NUMBER;
}

static double as_double(const struct node *n)
{
	return n->type == JSON_U64 ? (double)n->u64 : json_double(n->raw);
}

static void same_scalar(const struct node *want, const struct node *got, const char *place)
{
	if (is_number(want) && is_number(got)) {
		bool same = want->type == JSON_U64 && got->type == JSON_U64 ? want->u64 == got->u64
			    : want->type == JSON_NEG && got->type == JSON_NEG
				    ? ts_str_eq(want->raw, got->raw)
				    : as_double(want) == as_double(got);

		ck_assert_msg(same, "%s: want %.*s, got %.*s", place, (int)want->raw.n, want->raw.p,
			      (int)got->raw.n, got->raw.p);
		return;
	}
	ck_assert_msg(want->type == got->type, "%s: want type %d, got %d", place, want->type,
		      got->type);
	if (want->type == JSON_STRING)
		ck_assert_msg(ts_str_eq(want->str, got->str), "%s: want %.*s, got %.*s", place,
			      (int)want->str.n, want->str.p, (int)got->str.n, got->str.p);
}

static void compare(const struct node *want, const struct node *got, const char *place, bool within)
{
	char deeper[400];

	ck_assert_msg(got != NULL, "%s: missing", place);
	if (want->type != JSON_ARRAY && want->type != JSON_OBJECT) {
		same_scalar(want, got, place);
		return;
	}
	ck_assert_msg(want->type == got->type, "%s: want type %d, got %d", place, want->type,
		      got->type);
	if (want->type == JSON_ARRAY) {
		const struct node *g = got->child;
		unsigned i = 0;

		for (const struct node *w = want->child; w; w = w->next, g = g->next, i++) {
			snprintf(deeper, sizeof(deeper), "%s[%u]", place, i);
			compare(w, g, deeper, false);
		}
		ck_assert_msg(!g, "%s: more than %u elements", place, i);
		return;
	}
	for (const struct node *w = want->child; w; w = w->next) {
		char name[100];

		snprintf(name, sizeof(name), "%.*s", (int)w->key.n, w->key.p);
		snprintf(deeper, sizeof(deeper), "%.290s.%s", place, name);
		compare(w, tree_get(got, name), deeper, false);
	}
	ck_assert_msg(within || tree_count(want) == tree_count(got),
		      "%s: want %zu members, got %zu", place, tree_count(want), tree_count(got));
}

void tree_same(const struct node *want, const struct node *got, const char *place)
{
	compare(want, got, place, false);
}

void tree_within(const struct node *want, const struct node *got, const char *place)
{
	compare(want, got, place, true);
}

const char *corpus_path(void)
{
	const char *path = getenv("TRACESPOOL_CORPUS");
	const char *source = getenv("srcdir");
	static char fallback[500];
	struct stat st;

	if (!path) {
		snprintf(fallback, sizeof(fallback), "%s/../shared/corpus", source ? source : ".");
		path = fallback;
	}
	return stat(path, &st) == 0 ? path : NULL;
}

static void read_file(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "re");

	ck_assert_msg(f != NULL, "cannot open %s", path);
	for (size_t n = 1; n > 0;) {
		ck_assert(buf_reserve(out, 65536));
		n = fread(out->data + out->len, 1, 65536, f);
		out->len += n;
		out->data[out->len] = 0;
	}
	fclose(f);
}

void corpus_read(const char *name, struct buf *out)
{
	static const struct input_limits limits = {67108864, 250};
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", corpus_path(), name);
	CLEAN(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEAN(input_closep) struct input *in = NULL;
	struct ts_error err = TS_ERROR_INIT;
	ssize_t n = 1;

	ck_assert_msg(fd >= 0, "cannot open %s", path);
	ck_assert_int_eq(input_open(fd, input_name_is_gzip(name), &limits, &in, &err), 0);
	while (n > 0) {
		ck_assert(buf_reserve(out, 65536));
		n = input_read(in, out->data + out->len, 65536, &err);
		ck_assert_msg(n >= 0, "%s: %s", path, err.message);
		out->len += (size_t)n;
		out->data[out->len] = 0;
	}
}

unsigned corpus_each(void (*run)(const struct request_case *c))
{
	static const char *const folders[] = {"dynamo", "real"};
	unsigned count = 0;

	if (!corpus_path())
		return 0;
	for (unsigned i = 0; i < ARRAY_LEN(folders); i++) {
		CLEAN(buf_done) struct buf text = BUF_INIT;
		struct arena arena = {0};
		char path[600];

		snprintf(path, sizeof(path), "%s/%s/EXPECTED.json", corpus_path(), folders[i]);
		read_file(path, &text);
		const struct node *all = tree_parse(text.data, text.len, &arena);

		for (const struct node *n = all->child; n; n = n->next, count++) {
			struct request_case c = {folders[i], n->key, n, ""};

			snprintf(c.place, sizeof(c.place), "%s/%.*s", folders[i], (int)n->key.n,
				 n->key.p);
			run(&c);
		}
		arena_done(&arena);
	}
	return count;
}

static int shard_load(const char *path, uint32_t number, struct format_state *st, struct sink *sink,
		      struct ts_error *err)
{
	static const struct input_limits limits = {67108864, 250};
	CLEAN(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEAN(input_closep) struct input *in = NULL;
	CLEAN(lines_closep) struct lines *lines = NULL;
	const char *name = strrchr(path, '/') + 1;
	struct line line;
	int more;

	ck_assert_msg(fd >= 0, "cannot open %s", path);
	if (input_open(fd, input_name_is_gzip(name), &limits, &in, err) < 0 ||
	    lines_open(in, &limits, &lines, err) < 0)
		return -1;
	while ((more = lines_next(lines, &line, err)) > 0) {
		line.shard = number;
		if (format_request.record(st, &line, sink, err) < 0)
			return -1;
	}
	return more;
}

/* The parts of a shard's name that it is sorted by (request-trace.md 2.3). */
static int64_t shard_index(const char *name, size_t *ret_prefix)
{
	size_t n = strlen(name), end = n, digits = 0;

	*ret_prefix = n;
	if (n < 9 || strcmp(name + n - 9, ".jsonl.gz") != 0)
		return -1;
	for (end = n - 9; end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9'; end--)
		digits++;
	if (digits < 6 || end == 0 || name[end - 1] != '.')
		return -1;
	*ret_prefix = end - 1;
	return strtoll(name + end, NULL, 10);
}

static int by_load_order(const struct dirent **a, const struct dirent **b)
{
	size_t m, n;
	int64_t i = shard_index((*a)->d_name, &m), j = shard_index((*b)->d_name, &n);
	int c = ts_str_cmp(ts_str((*a)->d_name, m), ts_str((*b)->d_name, n));

	return c ? c : (i > j) - (i < j);
}

static int is_shard(const struct dirent *d)
{
	struct ts_str name = ts_str_c(d->d_name);

	return ts_str_ends(name, ".jsonl") || ts_str_ends(name, ".jsonl.gz");
}

static int folder_load(const char *path, struct format_state *st, struct sink *sink,
		       struct trace_counts *counts, struct ts_error *err)
{
	struct dirent **names;
	int n = scandir(path, &names, is_shard, by_load_order), result = 0;
	char file[1100];

	ck_assert_msg(n > 0, "no shards in %s", path);
	counts->shards = (uint64_t)n;
	for (int i = 0; i < n; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		if (result == 0)
			result = shard_load(file, (uint32_t)i, st, sink, err);
		if (result < 0 && !err->file[0])
			snprintf(err->file, sizeof(err->file), "%.255s", names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return result;
}

int case_load(const struct request_case *c, struct sink *sink, struct trace_counts *counts,
	      struct ts_error *err)
{
	struct format_state *st;
	char path[800];
	size_t n;
	int result;

	snprintf(path, sizeof(path), "%s/%s/%.*s", corpus_path(), c->folder, (int)c->name.n,
		 c->name.p);
	*counts = (struct trace_counts){.shards = 1};
	ck_assert_int_eq(format_request.begin(&st, counts, err), 0);
	n = strlen(path);
	if (path[n - 1] == '/') {
		path[n - 1] = 0;
		result = folder_load(path, st, sink, counts, err);
	} else {
		result = shard_load(path, 0, st, sink, err);
		if (result < 0)
			snprintf(err->file, sizeof(err->file), "%.255s", strrchr(path, '/') + 1);
	}
	if (result == 0) {
		result = format_request.finish(st, sink, err);
	}
	format_request.end(st);
	return result;
}

int text_load(const char *text, struct sink *sink, struct trace_counts *counts,
	      struct ts_error *err)
{
	struct format_state *st;
	struct line line = {.number = 1};
	int result = 0;

	*counts = (struct trace_counts){.shards = 1};
	ck_assert_int_eq(format_request.begin(&st, counts, err), 0);
	for (const char *at = text; *at && result == 0;) {
		const char *end = strchrnul(at, '\n');

		line.text = at;
		line.len = (size_t)(end - at);
		line.byte = (uint64_t)(at - text);
		line.blank = text_is_blank(ts_str(at, line.len));
		result = format_request.record(st, &line, sink, err);
		line.number++;
		at = *end ? end + 1 : end;
	}
	if (result == 0)
		result = format_request.finish(st, sink, err);
	format_request.end(st);
	return result;
}
