/* health_tensors.c: tensor ids that data edges name and no record has (candle-trace.md 12.3)
 *
 * The ids that edges ask for are kept, and those that a record names are crossed off: what is left
 * is unknown, and goes into health_asked_rows. So it does not matter how many tensors there are.
 * Where the ids asked for are too many for memory, they stand in that table from the start.
 */
#include "health.h"

#include <stdlib.h>

#include "tracespool/map.h"
#include "tracespool/util.h"

struct asked {
	struct strmap ids;
	uint8_t *found; /* bit of an id */
	size_t left;
};

/* ---- in memory ---- */

/* 1, or 0 when they do not fit. */
static int ask(struct health *h, struct asked *a, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(h->db, "health_data_edges", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		if (strmap_bytes(&a->ids) > h->kept_bytes / 3)
			return 0;
		if (strmap_add(&a->ids, query_str(q, 0), NULL) == STRMAP_NONE ||
		    strmap_add(&a->ids, query_str(q, 1), NULL) == STRMAP_NONE)
			return ts_error_nomem(err);
	}
	if (n < 0)
		return -1;
	a->left = a->ids.count;
	a->found = calloc(a->left / 8 + 1, 1);
	return a->found ? 1 : ts_error_nomem(err);
}

static void cross_off(struct asked *a, struct ts_str id)
{
	uint32_t i = id.p ? strmap_find(&a->ids, id) : STRMAP_NONE;

	if (i == STRMAP_NONE || a->found[i / 8] >> i % 8 & 1)
		return;
	a->found[i / 8] |= (uint8_t)(1 << i % 8);
	a->left--;
}

/* The ids in the first column of a statement, one by one or as lists. */
static int cross_off_all(struct health *h, struct asked *a, const char *name, bool lists,
			 struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	struct health_labels ids CLEAN(health_labels_done) = HEALTH_LABELS_INIT;
	struct ts_str id;
	int n = 1;

	if (a->left == 0)
		return 0;
	if (query_open(h->db, name, &q, err) < 0)
		return -1;
	while (a->left > 0 && (n = query_step(q, err)) == 1) {
		if (!lists) {
			cross_off(a, query_str(q, 0));
			continue;
		}
		if (health_labels_open(&ids, query_str(q, 0), err) < 0)
			return -1;
		while (health_labels_next(&ids, &id))
			cross_off(a, id);
	}
	return n < 0 ? -1 : 0;
}

static int write_left(struct health *h, const struct asked *a, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(h->db, "health_asked_insert", &q, err) < 0)
		return -1;
	for (uint32_t i = 0; a->left > 0 && i < a->ids.count; i++) {
		if (a->found[i / 8] >> i % 8 & 1)
			continue;
		query_bind_str(q, 1, strmap_get(&a->ids, i));
		if (query_step(q, err) < 0)
			return -1;
		query_reset(q);
	}
	return 0;
}

/* 1, or 0 when the ids do not fit. */
static int find_in_memory(struct health *h, struct asked *a, struct ts_error *err)
{
	int n = ask(h, a, err);

	if (n != 1)
		return n;
	return cross_off_all(h, a, "health_tensor_ids", false, err) < 0 ||
			       cross_off_all(h, a, "health_op_outputs", false, err) < 0 ||
			       cross_off_all(h, a, "health_op_inputs", true, err) < 0 ||
			       write_left(h, a, err) < 0
		       ? -1
		       : 1;
}

/* ---- in the table ---- */

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

static int find_in_table(struct health *h, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (run_named(h->db, "health_asked_from", err) < 0 ||
	    run_named(h->db, "health_asked_to", err) < 0 ||
	    run_named(h->db, "health_asked_take_tensors", err) < 0 ||
	    run_named(h->db, "health_asked_take_outputs", err) < 0 ||
	    query_open(h->db, "health_asked_any", &q, err) < 0 || (n = query_step(q, err)) < 0)
		return -1;
	return n ? take_all_inputs(h, err) : 0;
}

int health_tensors(struct health *h, struct ts_error *err)
{
	struct asked a = {0};
	int n = find_in_memory(h, &a, err);

	strmap_done(&a.ids);
	free(a.found);
	return n == 0 ? find_in_table(h, err) : n < 0 ? -1 : 0;
}
