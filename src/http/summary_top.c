/* summary_top.c: the stored summary with another number of slowest spans and ops
 */
#include "tracespool/analyze.h"
#include "tracespool/json.h"

#include "handlers.h"
#include "reply.h"
#include "server.h"
#include "summary_top.h"

/* The names of what was cut: those of the other members as stored, and of the two new ones. */
static void write_truncated(struct json_writer *w, struct json *stored, const bool cut[2])
{
	struct json_value name;
	bool begun = false;

	for (bool first = true; stored && json_element(stored, first); first = false) {
		json_value(stored, &name);
		if (ts_str_is(name.str, "slowest_spans") || ts_str_is(name.str, "slowest_ops"))
			continue;
		if (!begun) {
			jw_key(w, "truncated");
			jw_open_array(w);
			begun = true;
		}
		jw_str(w, name.str);
	}
	for (int i = 0; i < 2; i++) {
		if (!cut[i])
			continue;
		if (!begun) {
			jw_key(w, "truncated");
			jw_open_array(w);
			begun = true;
		}
		jw_text(w, i ? "slowest_ops" : "slowest_spans");
	}
	if (begun)
		jw_close_array(w);
}

/* Copies the summary member by member. */
static int write_summary(struct json_writer *w, struct json *j, struct db *db, uint64_t total_ns,
			 uint64_t top, struct ts_error *err)
{
	struct json_value v;
	struct ts_str key;
	bool cut[2] = {false, false}, named = false;

	if (json_value(j, &v) != JSON_OBJECT)
		return ts_error_set(err, TS_E_INTERNAL, "a stored summary is no object");
	jw_open_object(w);
	for (bool first = true; json_key(j, first, &key); first = false) {
		const char *from = j->at;

		if (ts_str_is(key, "truncated")) {
			json_value(j, &v);
			write_truncated(w, j, cut);
			named = true;
			continue;
		}
		json_skip(j);
		if (ts_str_is(key, "slowest_spans")) {
			if (analyze_write_slowest(db, total_ns, top, w, cut, err) < 0)
				return -1;
		} else if (!ts_str_is(key, "slowest_ops")) {
			jw_key_str(w, key);
			jw_raw(w, ts_str(from, (size_t)(j->at - from)));
		}
	}
	if (!named)
		write_truncated(w, NULL, cut);
	jw_close_object(w);
	return j->error ? ts_error_set(err, TS_E_INTERNAL, "a stored summary: %s", j->error) : 0;
}

int summary_with_top(struct request *rq, struct ts_str stored, uint64_t top, struct ts_error *err)
{
	struct arena strings CLEAN(arena_done) = {0};
	struct db *db CLEAN(db_releasep) = NULL;
	struct json_writer w;
	struct json j;

	if (store_run_db(rq->http->store, rq->run.digest, rq->run.revision, request_deadline_ms(rq),
			 &db, err) < 0)
		return -1;
	jw_init(&w, &rq->answer.body, rq->numbers);
	json_begin(&j, stored.p, stored.n, &strings);
	if (write_summary(&w, &j, db, rq->run.total_ns.v, top, err) < 0)
		return -1;
	answer_json(rq, 200);
	return 0;
}
