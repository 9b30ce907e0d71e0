/* health_gradients.c: gradient records one by one (candle-trace.md 12.4) */
#include "health.h"

#include <math.h>
#include <string.h>

#include "tracespool/util.h"

/* Writes the numbers of the records whose event_id occurred before into health_repeat_rows. */
static int find_repeats(struct health *h, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL, *insert CLEAN(query_closep) = NULL;
	struct buf last CLEAN(buf_done) = BUF_INIT;
	bool any = false;
	int n;

	if (query_open(h->db, "health_gradients_by_event", &q, err) < 0 ||
	    query_open(h->db, "health_repeat_insert", &insert, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		struct ts_str id = query_str(q, 1);

		if (!any || last.len != id.n || (id.n && memcmp(last.data, id.p, id.n) != 0)) {
			any = true;
			buf_clear(&last);
			buf_add(&last, id.p, id.n);
			if (last.failed)
				return ts_error_nomem(err);
			continue;
		}
		query_bind_u64(insert, 1, query_u64(q, 0));
		int result = query_step(insert, err);

		query_reset(insert);
		if (result < 0)
			return -1;
	}
	return n;
}

static bool norm_fits(unsigned state, struct opt_double norm)
{
	switch (state) {
	case GRADIENT_PRESENT:
		return norm.has && norm.v > 0;
	case GRADIENT_ZERO:
		return norm.has && norm.v == 0 && !signbit(norm.v);
	default:
		return !norm.has;
	}
}

/* Columns: no, event_id, root, key, state, norm, whether the event_id occurred before. */
static int look_at(struct health *h, struct query *q, struct ts_error *err)
{
	unsigned long long no = query_u64(q, 0);
	struct ts_str event = query_str(q, 1), root = query_str(q, 2), key = query_str(q, 3),
		      word = query_str(q, 4);
	unsigned state = health_gradient_state(word);

	h->report.coverage.gradients++;
	if (state < GRADIENT_STATES)
		h->report.gradient_states[state]++;
	if (text_is_blank(event) &&
	    health_issue(h, HEALTH_ERROR, "empty_gradient_event_id", err,
			 "Gradient record %llu of \"%s\" has a blank event_id.", no,
			 SHOWN(key)) < 0)
		return -1;
	if ((text_is_blank(root) || text_is_blank(key)) &&
	    health_issue(h, HEALTH_ERROR, "empty_gradient_parameter_key", err,
			 "Gradient record %llu has a blank %s.", no,
			 text_is_blank(root) ? "root" : "key") < 0)
		return -1;
	if (query_u64(q, 6) &&
	    health_issue(h, HEALTH_ERROR, "duplicate_gradient_event_id", err,
			 "Gradient record %llu has event_id \"%s\", as one before it.", no,
			 SHOWN(event)) < 0)
		return -1;
	if (!norm_fits(state, query_opt_double(q, 5)))
		return health_issue(h, HEALTH_ERROR, "gradient_state_norm_inconsistent", err,
				    "Gradient record %llu of \"%s\" is %s, and its norm says "
				    "otherwise.",
				    no, SHOWN(key), SHOWN(word));
	return 0;
}

int health_gradients(struct health *h, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (find_repeats(h, err) < 0 || query_open(h->db, "health_gradients", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1)
		if (look_at(h, q, err) < 0)
			return -1;
	query_close(TAKE(q));
	return n < 0 ? -1 : run_named(h->db, "health_repeat_clear", err);
}
