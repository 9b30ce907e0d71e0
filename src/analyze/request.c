/* request.c: figures of a request run: record, summary, issues, verdict of the lowering */
#include "request.h"
#include "salvage.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tracespool/writer.h"

#define EXACT_IN_A_DOUBLE 9007199254740991 /* 2^53 - 1 (http-api.md 2.5) */

/* Lowers the run: stores its rows and takes from them what they tell of sessions and reuse. The
 * class of the error that stands in the way of rows, or NULL, in *ret. */
static int try_replay(struct db *db, struct request_figures *f, const char **ret,
		      struct ts_error *err)
{
	CLEAN(replay_closep) struct replay *r = NULL;
	struct ts_error why = TS_ERROR_INIT;

	*ret = NULL;
	if (replay_open(db, &r, &why) == 0)
		return sessions_write(db, r, f, err);
	if (why.code->fate != TS_FATE_NONE) {
		if (!err->code)
			*err = why;
		return -1;
	}
	*ret = why.code->code;
	return reuse_find(db, f, err) < 0 ? -1 : sessions_write(db, NULL, f, err);
}

/* Finds the first integer in rows that doubles do not hold; 1 with its member and place in message,
 * 0 if there is none. */
static int find_large(struct db *db, const char *statement, const char *row, uint64_t shards,
		      struct buf *message, struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;
	int found;

	if (query_open(db, statement, &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, EXACT_IN_A_DOUBLE);
	found = query_step(q, err);
	if (found <= 0)
		return found;
	struct ts_str member = query_str(q, 0);

	buf_add(message, member.p, member.n);
	buf_printf(message, " of the %s on line %" PRIu64, row, query_u64(q, 2));
	if (shards > 1)
		buf_printf(message, " of shard %" PRIu64, query_u64(q, 1));
	return 1;
}

/* Compact JSON of health.issues, kept in `keep`, into the record. */
static int find_issues(struct db *db, const struct request_figures *f, uint64_t shards,
		       struct run_record *record, struct arena *keep, struct ts_error *err)
{
	CLEAN(buf_done) struct buf message = BUF_INIT;
	CLEAN(buf_done) struct buf json = BUF_INIT;
	struct json_writer w;
	const char *text;
	int found = find_large(db, "analyze_requests_large", "request", shards, &message, err);

	if (found == 0)
		found = find_large(db, "analyze_requests_large_tool", "tool span", shards, &message,
				   err);
	if (found < 0)
		return -1;
	if (!found && (f->input_total > EXACT_IN_A_DOUBLE || f->output_total > EXACT_IN_A_DOUBLE)) {
		buf_puts(&message, "a sum of tokens");
		found = 1;
	}
	if (found)
		buf_printf(&message,
			   " is outside -%" PRIu64 " to %" PRIu64
			   ", where readers that take numbers as doubles round",
			   (uint64_t)EXACT_IN_A_DOUBLE, (uint64_t)EXACT_IN_A_DOUBLE);

	jw_init(&w, &json, JSON_NUMBERS_DEFAULT);
	jw_open_array(&w);
	if (found) {
		jw_open_object(&w);
		jw_kv_text(&w, "severity", "warning");
		jw_kv_text(&w, "code", "integer_above_2_53");
		jw_kv_text(&w, "message", message.data);
		jw_close_object(&w);
	}
	salvage_issue_write(&w, record);
	jw_close_array(&w);
	text = json.failed || message.failed ? NULL : arena_dup(keep, json.data, json.len);
	if (!text)
		return ts_error_nomem(err);
	record->issues = ts_str(text, json.len);
	return 0;
}

static int keep_models(const struct count_map *models, struct arena *keep, struct ts_str *ret,
		       struct ts_error *err)
{
	CLEAN(buf_done) struct buf json = BUF_INIT;
	const char *text;

	count_map_write(models, &json);
	text = json.failed ? NULL : arena_dup(keep, json.data, json.len);
	if (!text)
		return ts_error_nomem(err);
	*ret = ts_str(text, json.len);
	return 0;
}

static struct ts_str mode_of(const struct request_figures *f)
{
	if (!f->with_context)
		return TS_STR("standard");
	return f->with_context == f->requests ? TS_STR("agentic") : TS_STR("mixed");
}

static void fill_record(struct run_record *record, const struct request_figures *f,
			const struct trace_counts *counts)
{
	char time[TEXT_TIME_MAX];

	record->mode = mode_of(f);
	record->trace_schema = TS_STR("dynamo.request.trace.v1");
	record->structurally_valid = 1;
	record->requests = (struct opt_u64){.v = f->requests, .has = true};
	record->tools = (struct opt_u64){.v = counts->tools, .has = true};
	record->sessions = (struct opt_u64){.v = f->sessions, .has = true};
	record->unreplayable_rows = (struct opt_u64){.v = f->unreplayable, .has = true};
	record->trace_block_size = f->block_size;
	record->first_start_ms = (struct opt_u64){.v = f->first_start, .has = true};
	record->last_end_ms = (struct opt_u64){.v = f->last_end, .has = true};
	/* Start times are saturated to i64 by the format. */
	record->captured_ms = (int64_t)f->first_start;
	record->has_captured = text_format_time(record->captured_ms, time);
}

static void maps_free(struct request_maps **maps)
{
	free(*maps);
}

int analyze_requests(struct db *db, const struct trace_counts *counts, struct run_record *record,
		     struct arena *keep, struct buf *out, struct ts_error *err)
{
	CLEAN(maps_free) struct request_maps *maps = calloc(1, sizeof(*maps));
	struct request_figures f = {0};
	const char *replay_error;

	if (!maps)
		return ts_error_nomem(err);
	if (figures_of_requests(db, counts->request_end, &f, err) < 0 ||
	    figures_of_tools(db, &f, err) < 0 ||
	    count_map_read(db, "analyze_requests_tool_status", &maps->tool_status, keep, err) < 0 ||
	    count_map_read(db, "analyze_requests_models", &maps->models, keep, err) < 0 ||
	    count_map_read(db, "analyze_requests_finish_reasons", &maps->finish_reasons, keep,
			   err) < 0 ||
	    try_replay(db, &f, &replay_error, err) < 0)
		return -1;
	fill_record(record, &f, counts);
	record->replay_error = ts_str_c(replay_error);
	if (keep_models(&maps->models, keep, &record->models, err) < 0 ||
	    find_issues(db, &f, counts->shards, record, keep, err) < 0)
		return -1;
	summary_write(&f, maps, counts, record, out);
	return out->failed ? ts_error_nomem(err) : 0;
}
