/* report.c: the two documents that an error becomes: the reason of a receipt, and a problem */
#include <stdio.h>

#include "tracespool/writer.h"

static void kv_place(struct json_writer *w, const char *key, bool known, uint64_t value)
{
	if (known)
		jw_kv_u64(w, key, value);
	else
		jw_kv_null(w, key);
}

/* The place in front of the message, since people often see the message alone. */
static void place_message(const struct ts_error *err, const char *file, char *out, size_t size)
{
	if (file[0] && err->line)
		snprintf(out, size, "%s, line %llu: %s", file, (unsigned long long)err->line,
			 err->message);
	else if (file[0])
		snprintf(out, size, "%s: %s", file, err->message);
	else if (err->line)
		snprintf(out, size, "line %llu: %s", (unsigned long long)err->line, err->message);
	else
		snprintf(out, size, "%s", err->message);
}

void jw_reason(struct json_writer *w, const struct ts_error *err)
{
	char file[3 * sizeof(err->file)];
	char message[sizeof(file) + sizeof(err->message) + 32];

	if (!err->code) {
		jw_null(w);
		return;
	}
	text_name(ts_str_c(err->file), file, sizeof(file));
	place_message(err, file, message, sizeof(message));
	jw_open_object(w);
	jw_kv_text(w, "code", err->code->code);
	jw_kv_text(w, "message", message);
	jw_kv_text(w, "file", file[0] ? file : NULL);
	kv_place(w, "line", err->line > 0, err->line);
	kv_place(w, "event_index", err->event >= 0, (uint64_t)err->event);
	kv_place(w, "byte_offset", err->byte >= 0, (uint64_t)err->byte);
	kv_place(w, "column", err->column > 0, err->column);
	jw_kv_text(w, "excerpt", err->excerpt[0] ? err->excerpt : NULL);
	jw_kv_text(w, "hint", ts_error_get_hint(err));
	jw_close_object(w);
}

void jw_problem(struct json_writer *w, const struct ts_error *err, const char *instance,
		const char *parameter, const char *log_id)
{
	const struct ts_code *code = err->code ? err->code : ts_code_get(TS_E_INTERNAL);
	char type[128];

	snprintf(type, sizeof(type), "/problems/%s", code->code);
	jw_open_object(w);
	jw_kv_text(w, "type", type);
	jw_kv_text(w, "title", code->title);
	jw_kv_u64(w, "status", (uint64_t)(code->status ? code->status : 500));
	jw_kv_text(w, "code", code->code);
	jw_kv_text(w, "detail", err->message[0] ? err->message : code->title);
	jw_kv_text(w, "instance", instance);
	if (parameter)
		jw_kv_text(w, "parameter", parameter);
	jw_kv_text(w, "log_id", log_id);
	jw_close_object(w);
}
