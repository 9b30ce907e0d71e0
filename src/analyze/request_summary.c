/* request_summary.c: the summary of a request run as JSON (http-api.md 3.3) */
#include "request.h"

#include "tracespool/writer.h"

static const char *const percentile_name[PERCENTILES] = {"p50", "p90", "p95", "p99"};

static void write_distribution(struct json_writer *w, const char *key, const struct distribution *d)
{
	jw_key(w, key);
	if (!d->any) {
		jw_null(w);
		return;
	}
	jw_open_object(w);
	jw_kv_u64(w, "min", d->min);
	jw_kv_u64(w, "max", d->max);
	jw_kv_double(w, "mean", d->mean);
	for (unsigned i = 0; i < PERCENTILES; i++)
		jw_kv_u64(w, percentile_name[i], d->at[i]);
	jw_close_object(w);
}

static void write_doubles(struct json_writer *w, const char *key,
			  const struct double_distribution *d)
{
	jw_key(w, key);
	if (!d->any) {
		jw_null(w);
		return;
	}
	jw_open_object(w);
	jw_kv_double(w, "min", d->min);
	jw_kv_double(w, "max", d->max);
	for (unsigned i = 0; i < PERCENTILES; i++)
		jw_kv_double(w, percentile_name[i], d->at[i]);
	jw_close_object(w);
}

static void write_opt_u64(struct json_writer *w, const char *key, struct opt_u64 v)
{
	if (v.has)
		jw_kv_u64(w, key, v.v);
	else
		jw_kv_null(w, key);
}

static void write_opt_double(struct json_writer *w, const char *key, struct opt_double v)
{
	if (v.has)
		jw_kv_double(w, key, v.v);
	else
		jw_kv_null(w, key);
}

static void write_map(struct json_writer *w, const char *key, const struct count_map *map)
{
	jw_key(w, key);
	jw_open_object(w);
	for (size_t i = 0; i < map->n; i++) {
		jw_key_str(w, map->v[i].key);
		jw_u64(w, map->v[i].count);
	}
	jw_close_object(w);
}

static void write_lines(struct json_writer *w, const struct trace_counts *counts)
{
	jw_key(w, "lines");
	jw_open_object(w);
	jw_kv_u64(w, "total", counts->lines);
	jw_kv_u64(w, "blank", counts->blank);
	jw_kv_u64(w, "non_record", counts->non_record);
	jw_kv_u64(w, "request_payload", counts->request_payload);
	jw_kv_u64(w, "request_end", counts->request_end);
	jw_kv_u64(w, "tool_start", counts->tool_start);
	jw_kv_u64(w, "tool_terminal", counts->tool_terminal);
	jw_kv_u64(w, "tool_dropped", counts->tool_dropped);
	jw_close_object(w);
}

static void write_load(struct json_writer *w, const struct request_figures *f)
{
	uint64_t duration = f->last_end - f->first_start;

	jw_kv_u64(w, "input_tokens_total", f->input_total);
	jw_kv_u64(w, "output_tokens_total", f->output_total);
	write_distribution(w, "input_tokens", &f->input);
	write_distribution(w, "output_tokens", &f->output);
	write_distribution(w, "latency_ms", &f->latency);
	write_doubles(w, "ttft_ms", &f->ttft);
	jw_kv_u64(w, "first_start_ms", f->first_start);
	jw_kv_u64(w, "last_end_ms", f->last_end);
	jw_kv_u64(w, "duration_ms", duration);
	jw_kv_u64(w, "arrival_span_ms", f->last_start - f->first_start);
	write_opt_double(w, "arrival_rate_rps", f->arrival_rate);
	jw_kv_u64(w, "concurrency_peak", f->concurrency_peak);
	write_opt_double(w, "concurrency_mean", f->concurrency_mean);
	jw_kv_u64(w, "blocks_total", f->blocks_total);
	jw_kv_u64(w, "blocks_unique", f->blocks_unique);
	jw_kv_u64(w, "prefix_hit_blocks", f->hit_blocks);
	write_opt_double(w, "prefix_reuse_ratio", ratio_of(f->hit_blocks, f->blocks_total));
	jw_kv_u64(w, "prefix_hit_tokens", f->hit_tokens);
	write_opt_double(w, "prefix_reuse_token_ratio", ratio_of(f->hit_tokens, f->input_total));
}

static void write_truncated(struct json_writer *w, const struct request_maps *maps)
{
	if (!maps->tool_status.cut && !maps->models.cut && !maps->finish_reasons.cut)
		return;
	jw_key(w, "truncated");
	jw_open_array(w);
	if (maps->tool_status.cut)
		jw_text(w, "tool_status");
	if (maps->models.cut)
		jw_text(w, "models");
	if (maps->finish_reasons.cut)
		jw_text(w, "finish_reasons");
	jw_close_array(w);
}

void summary_write(const struct request_figures *f, const struct request_maps *maps,
		   const struct trace_counts *counts, const struct run_record *record,
		   struct buf *out)
{
	struct json_writer w;

	jw_init(&w, out, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	jw_kv_text(&w, "schema", "tracespool/run-summary/1");
	jw_kv_str(&w, "id", record->id);
	jw_kv_text(&w, "kind", "requests");
	jw_kv_str(&w, "capture", record->capture);
	write_opt_u64(&w, "segment", record->segment);
	if (record->has_captured)
		jw_kv_time(&w, "captured_at", record->captured_ms);
	else
		jw_kv_null(&w, "captured_at");
	jw_kv_str(&w, "mode", record->mode);
	write_opt_u64(&w, "trace_block_size", f->block_size);
	jw_kv_u64(&w, "shards", counts->shards);
	write_lines(&w, counts);
	jw_kv_u64(&w, "requests", f->requests);
	jw_kv_u64(&w, "unreplayable_rows", f->unreplayable);
	jw_kv_u64(&w, "sessions", f->sessions);
	jw_kv_u64(&w, "root_sessions", f->root_sessions);
	jw_kv_u64(&w, "tools", counts->tools);
	write_map(&w, "tool_status", &maps->tool_status);
	write_opt_double(&w, "tool_time_ms", f->tool_time);
	write_map(&w, "models", &maps->models);
	write_load(&w, f);
	write_map(&w, "finish_reasons", &maps->finish_reasons);

	jw_key(&w, "replay");
	jw_open_object(&w);
	if (record->replay_error.p)
		jw_kv_null(&w, "rows");
	else
		jw_kv_u64(&w, "rows", f->requests);
	jw_kv_str(&w, "error", record->replay_error);
	jw_close_object(&w);

	jw_key(&w, "health");
	jw_open_object(&w);
	jw_kv_bool(&w, "structurally_valid", record->structurally_valid == 1);
	/* Loss leaves no mark in these files, so only its presence can be known. */
	if (record->salvaged.p)
		jw_kv_bool(&w, "capture_complete", false);
	else
		jw_kv_null(&w, "capture_complete");
	jw_key(&w, "issues");
	jw_raw(&w, record->issues);
	jw_close_object(&w);
	write_truncated(&w, maps);
	jw_close_object(&w);
	buf_putc(out, '\n');
}
