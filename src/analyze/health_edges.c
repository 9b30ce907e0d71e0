/* health_edges.c: call edges against the span tree, data edges against the tensors (12.3) */
#include "health.h"

#include "tracespool/util.h"

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

	if (health_tensors(h, err) < 0 || query_open(h->db, "health_edges", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		bool call = ts_str_is(query_str(q, 1), "call");

		c->call_edges += call;
		c->data_edges += !call;
		if ((call ? call_edge(h, q, err) : data_edge(h, q, err)) < 0)
			return -1;
	}
	query_close(TAKE(q));
	return n < 0 ? -1 : run_named(h->db, "health_asked_clear", err);
}
