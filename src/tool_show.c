/* tool_show.c: tracespool status and tracespool runs */
#include <stdlib.h>
#include <string.h>

#include "tool_json.h"

/* ---- status ---- */

static void put_time(const json_t *object, const char *member)
{
	struct ts_str at = tool_str(object, member);

	tool_put(stdout, at.p ? at : TS_STR("not yet"));
}

static void put_size(const json_t *object, const char *member)
{
	char text[TOOL_UNIT_MAX];
	uint64_t n;

	if (!tool_u64(object, member, &n)) {
		fputs("unknown", stdout);
		return;
	}
	tool_bytes(n, text);
	fputs(text, stdout);
}

static unsigned long long count_of(const json_t *object, const char *member)
{
	uint64_t n = 0;

	tool_u64(object, member, &n);
	return n;
}

static void put_spool(const json_t *spool)
{
	uint64_t oldest;

	fputs("spool       ", stdout);
	tool_put_json(stdout, json_object_get(spool, "path"));
	fputs(" (", stdout);
	tool_put_json(stdout, json_object_get(spool, "watch"));
	fputs("), last scan: ", stdout);
	put_time(spool, "last_scan_at");
	printf("\n            %llu waiting, %llu being read, %llu ignored",
	       count_of(spool, "waiting"), count_of(spool, "ingesting"),
	       count_of(spool, "ignored"));
	if (tool_u64(spool, "oldest_waiting_ms", &oldest) && oldest) {
		char text[TOOL_UNIT_MAX];

		tool_time((double)oldest * 1e6, text);
		printf(", oldest waits for %s", text);
	}
	putchar('\n');
}

static void put_checks(const json_t *ready)
{
	const char *name;
	json_t *check;

	printf("state       %s\n",
	       ts_str_is(tool_str(ready, "status"), "ready") ? "ready" : "not ready");
	json_object_foreach(json_object_get(ready, "checks"), name, check)
	{
		if (!json_is_string(check) || !strcmp(json_string_value(check), "ok"))
			continue;
		printf("            %s: ", name);
		tool_put_json(stdout, check);
		putchar('\n');
	}
}

static void put_status(const json_t *ready, const json_t *ingest)
{
	const json_t *store = json_object_get(ingest, "store");
	const json_t *spool;
	size_t i;

	put_checks(ready);
	json_array_foreach(json_object_get(ingest, "spools"), i, spool) put_spool(spool);
	fputs("store       ", stdout);
	put_size(store, "size_bytes");
	fputs(", log ", stdout);
	put_size(store, "wal_bytes");
	fputs(", free on the disk ", stdout);
	put_size(store, "free_bytes");
	fputs("\ningested    last: ", stdout);
	put_time(ingest, "last_ingested_at");
	printf("\nquarantine  %llu\n", count_of(ingest, "quarantine_count"));
	if (json_is_string(json_object_get(ingest, "paused"))) {
		fputs("paused      ", stdout);
		tool_put_json(stdout, json_object_get(ingest, "paused"));
		putchar('\n');
	}
}

/* Both bodies as they came, as two members of one line. */
static void put_status_json(struct tool_reply *ready, struct tool_reply *ingest)
{
	struct ts_str r = text_trim(ts_str(ready->body.data, ready->body.len));
	struct ts_str i = text_trim(ts_str(ingest->body.data, ingest->body.len));

	printf("{\"ready\":%.*s,\"ingest\":%.*s}\n", (int)r.n, r.p, (int)i.n, i.p);
}

int tool_status(struct tool *t, char **args)
{
	struct ts_error err = TS_ERROR_INIT;
	CLEAN(tool_reply_done) struct tool_reply ready = {0}, ingest = {0};
	CLEAN(tool_json_free) json_t *ready_json = NULL, *ingest_json = NULL;
	struct tool_address at;
	int code;

	(void)args;
	if (tool_find_daemon(t, &at, &err) < 0 ||
	    tool_get(&at, "/readyz", 30000, &ready, &err) < 0) {
		tool_error(&err);
		return TOOL_UNREACHABLE;
	}
	code = tool_ask(t, &at, "/ingest", &ingest);
	if (code != TOOL_OK)
		return code;
	ready_json = tool_parse(&ready.body);
	ingest_json = tool_parse(&ingest.body);
	if (!ready_json || !ingest_json)
		return TOOL_REFUSED;
	if (t->json)
		put_status_json(&ready, &ingest);
	else
		put_status(ready_json, ingest_json);
	return ready.status == 200 ? TOOL_OK : TOOL_REFUSED;
}

/* ---- runs ---- */

enum column { COL_ID, COL_KIND, COL_OUTCOME, COL_CAPTURED, COL_SIZE, COL_TOTAL, COLUMNS };

static const char *const titles[COLUMNS] = {"ID",   "KIND", "OUTCOME", "CAPTURED (UTC)",
					    "SIZE", "TIME"};

static void free_cells(char ***cells)
{
	for (char **c = *cells; c && *c; c++)
		free(*c);
	free(*cells);
}

static char *text_of(struct ts_str s)
{
	return s.p ? strndup(s.p, s.n) : strdup("-");
}

/* "2025-11-03T09:14:07Z" as "2025-11-03 09:14" */
static char *minute_of(struct ts_str at)
{
	char *text;

	if (at.n < 16)
		return strdup("-");
	text = strndup(at.p, 16);
	if (text && text[10] == 'T')
		text[10] = ' ';
	return text;
}

static char *size_of(const json_t *run)
{
	bool execution = ts_str_is(tool_str(run, "kind"), "execution");
	const char *unit = execution ? "span" : "request";
	char *text = NULL;
	uint64_t n;

	if (!tool_u64(run, execution ? "span_count" : "requests", &n))
		return strdup("-");
	if (asprintf(&text, "%llu %s%s", (unsigned long long)n, unit, n == 1 ? "" : "s") < 0)
		return NULL;
	return text;
}

static char *total_of(const json_t *run)
{
	char text[TOOL_UNIT_MAX];
	uint64_t ns;

	if (!tool_u64(run, "total_ns", &ns))
		return strdup("-");
	tool_time((double)ns, text);
	return strdup(text);
}

static struct ts_str kind_of(const json_t *run)
{
	struct ts_str kind = tool_str(run, "kind");

	return ts_str_is(kind, "execution") ? TS_STR("exec") : kind;
}

/* COLUMNS cells a run, NULL-ended; NULL without memory. */
static char **make_cells(const json_t *items)
{
	size_t n = json_array_size(items);
	CLEAN(free_cells) char **cells = calloc(n * COLUMNS + 1, sizeof(*cells));

	for (size_t i = 0; cells && i < n; i++) {
		const json_t *run = json_array_get(items, i);
		char **row = cells + i * COLUMNS;

		row[COL_ID] = text_of(tool_str(run, "id"));
		row[COL_KIND] = row[COL_ID] ? text_of(kind_of(run)) : NULL;
		row[COL_OUTCOME] = row[COL_KIND] ? text_of(tool_str(run, "outcome")) : NULL;
		row[COL_CAPTURED] =
			row[COL_OUTCOME] ? minute_of(tool_str(run, "captured_at")) : NULL;
		row[COL_SIZE] = row[COL_CAPTURED] ? size_of(run) : NULL;
		row[COL_TOTAL] = row[COL_SIZE] ? total_of(run) : NULL;
		if (!row[COL_TOTAL])
			return NULL;
	}
	return TAKE(cells);
}

static void put_row(const struct tool *t, char *const *row, const unsigned width[COLUMNS])
{
	for (unsigned c = 0; c < COLUMNS; c++) {
		CLEAN(buf_done) struct buf cell = BUF_INIT;
		struct ts_str text = ts_str_c(row[c]);
		unsigned used = tool_width(text);

		/* A script gets the whole id. */
		if (t->tty && used > width[c]) {
			tool_put_cut(&cell, text, width[c]);
			fputs(cell.data ? cell.data : "", stdout);
			used = width[c];
		} else {
			tool_put(stdout, text);
		}
		if (c + 1 < COLUMNS)
			printf("%*s", used < width[c] ? (int)(width[c] - used) + 2 : 2, "");
	}
	putchar('\n');
}

static int put_runs(const struct tool *t, const json_t *list)
{
	const json_t *items = json_object_get(list, "items");
	struct ts_str cursor = tool_str(list, "next_cursor");
	CLEAN(free_cells) char **cells = make_cells(items);
	unsigned width[COLUMNS], others = 0;
	size_t count = json_array_size(items);
	char *head[COLUMNS];

	if (!cells) {
		tool_complain("no memory");
		return TOOL_REFUSED;
	}
	for (unsigned c = 0; c < COLUMNS; c++) {
		head[c] = (char *)(uintptr_t)titles[c];
		width[c] = tool_width(ts_str_c(titles[c]));
		for (size_t i = 0; i < count; i++) {
			unsigned w = tool_width(ts_str_c(cells[i * COLUMNS + c]));

			width[c] = w > width[c] ? w : width[c];
		}
		others += c == COL_ID ? 0 : width[c] + 2;
	}
	if (t->tty && width[COL_ID] + others > t->width)
		width[COL_ID] = t->width > others + 12 ? t->width - others : 12;
	put_row(t, head, width);
	for (char **row = cells; *row; row += COLUMNS)
		put_row(t, row, width);
	if (cursor.n) {
		fflush(stdout);
		fputs("further runs: add cursor=", stderr);
		tool_put(stderr, cursor);
		fputc('\n', stderr);
	}
	return TOOL_OK;
}

/* "kind=requests" as "&kind=requests", both sides encoded. */
static int add_parameter(struct buf *target, const char *arg)
{
	const char *eq = strchr(arg, '=');
	CLEAN(free_ptr) char *name = NULL;
	CLEAN(free_ptr) char *value = NULL;

	if (!eq || eq == arg) {
		tool_complain("%s is not NAME=VALUE", arg);
		return TOOL_USAGE;
	}
	name = malloc(3 * (size_t)(eq - arg) + 1);
	value = malloc(3 * strlen(eq + 1) + 1);
	if (!name || !value) {
		tool_complain("no memory");
		return TOOL_REFUSED;
	}
	name[text_percent_encode(ts_str(arg, (size_t)(eq - arg)), name)] = 0;
	value[text_percent_encode(ts_str_c(eq + 1), value)] = 0;
	buf_printf(target, "%c%s=%s", strchr(target->data, '?') ? '&' : '?', name, value);
	return TOOL_OK;
}

int tool_runs(struct tool *t, char **args)
{
	struct ts_error err = TS_ERROR_INIT;
	CLEAN(buf_done) struct buf target = BUF_INIT;
	CLEAN(tool_reply_done) struct tool_reply reply = {0};
	CLEAN(tool_json_free) json_t *list = NULL;
	struct tool_address at;
	int code = TOOL_OK;

	buf_puts(&target, t->json ? "/runs" : "/runs?numbers=string");
	for (; *args && code == TOOL_OK && !target.failed; args++)
		code = add_parameter(&target, *args);
	if (code != TOOL_OK)
		return code;
	if (target.failed) {
		tool_complain("no memory");
		return TOOL_REFUSED;
	}
	if (tool_find_daemon(t, &at, &err) < 0) {
		tool_error(&err);
		return TOOL_UNREACHABLE;
	}
	code = tool_ask(t, &at, target.data, &reply);
	if (code != TOOL_OK)
		return code;
	if (t->json) {
		fwrite(reply.body.data, 1, reply.body.len, stdout);
		return TOOL_OK;
	}
	list = tool_parse(&reply.body);
	return list ? put_runs(t, list) : TOOL_REFUSED;
}
