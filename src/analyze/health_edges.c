/* health_edges.c: call edges against the span tree, data edges against the tensors (12.3)
 *
 * The tensor ids that data edges ask for are put into a table, and those that a record names are
 * taken out again: what is left is unknown. So it does not matter how many tensors there are.
 */
#include "health.h"

#include "tracespool/util.h"

/* Takes the ids of an op's inputs out of the table. */
static int take_inputs(struct health_labels *ids, struct ts_str inputs, struct query *take,
		       struct ts_error *err)
{
	struct ts_str id;
	int result = health_labels_open(ids, inputs, err);

	while (result >= 0 && health_labels_next(ids, &id)) {
		query_bind_str(take, 1, id);
		result = query_step(take, err);
		query_reset(take);
	}
	return result;
}

static int take_all_inputs(struct health *h, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL, *take CLEAN(query_closep) = NULL;
	struct health_labels ids CLEAN(health_labels_done) = HEALTH_LABELS_INIT;
	int n;

	if (query_open(h->db, "health_op_inputs", &q, err) < 0 ||
	    query_open(h->db, "health_asked_take", &take, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1)
		if (take_inputs(&ids, query_str(q, 0), take, err) < 0)
			return -1;
	return n;
}

static int find_unknown_tensors(struct health *h, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (health_exec(h, "health_asked_from", err) < 0 ||
	    health_exec(h, "health_asked_to", err) < 0 ||
	    health_exec(h, "health_asked_take_tensors", err) < 0 ||
	    health_exec(h, "health_asked_take_outputs", err) < 0 ||
	    query_open(h->db, "health_asked_any", &q, err) < 0 || (n = query_step(q, err)) < 0)
		return -1;
	return n ? take_all_inputs(h, err) : 0;
}

/* Columns: no, kind, from_span, to_span, whether both are there, whether from is the parent,
 * to's closed and duration, host_duration_ns. */
static int call_edge(struct health *h, struct query *q, struct ts_error *err)
{
	unsigned long long no = query_u64(q, 0);

	if (!query_u64(q, 4))
		return health_issue(h, HEALTH_ERROR, "unknown_call_edge_span", err,
				    "Edge %llu from \"%s\" to \"%s\" names a span that is not "
				    "there.",
				    no, SHOWN(query_str(q, 2)), SHOWN(query_str(q, 3)));
	if (!query_u64(q, 5) &&
	    health_issue(h, HEALTH_ERROR, "call_edge_hierarchy_mismatch", err,
			 "Edge %llu: span \"%s\" is not the parent of \"%s\".", no,
			 SHOWN(query_str(q, 2)), SHOWN(query_str(q, 3))) < 0)
		return -1;
	if (query_u64(q, 6) && query_u64(q, 7) != query_u64(q, 8))
		return health_issue(h, HEALTH_ERROR, "call_edge_duration_mismatch", err,
				    "Edge %llu says %llu ns, and span \"%s\" took %llu ns.", no,
				    (unsigned long long)query_u64(q, 8), SHOWN(query_str(q, 3)),
				    (unsigned long long)query_u64(q, 7));
	return 0;
}

/* Columns 9 on: from_tensor, to_tensor, whether each is unknown. */
static int data_edge(struct health *h, struct query *q, struct ts_error *err)
{
	unsigned long long no = query_u64(q, 0);
	struct ts_str from = query_str(q, 9), to = query_str(q, 10);

	if (from.n == 0 || to.n == 0)
		return health_issue(h, HEALTH_ERROR, "empty_data_edge_endpoint", err,
				    "Edge %llu from \"%s\" to \"%s\" has an empty end.", no,
				    SHOWN(from), SHOWN(to));
	if (query_u64(q, 11) || query_u64(q, 12))
		return health_issue(h, HEALTH_ERROR, "unknown_data_edge_tensor", err,
				    "Edge %llu names tensor \"%s\", which is not there.", no,
				    SHOWN(query_u64(q, 11) ? from : to));
	return 0;
}

int health_edges(struct health *h, struct ts_error *err)
{
	struct health_coverage *c = &h->report.coverage;
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (find_unknown_tensors(h, err) < 0 || query_open(h->db, "health_edges", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		bool call = ts_str_is(query_str(q, 1), "call");

		c->call_edges += call;
		c->data_edges += !call;
		if ((call ? call_edge(h, q, err) : data_edge(h, q, err)) < 0)
			return -1;
	}
	query_close(TAKE(q));
	return n < 0 ? -1 : health_exec(h, "health_asked_clear", err);
}
