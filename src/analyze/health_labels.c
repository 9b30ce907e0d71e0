/* health_labels.c: required semantic labels and their partition (candle-trace.md 12.6) */
#include "health.h"

#include <stdlib.h>

#include "tracespool/map.h"
#include "tracespool/util.h"

enum { IN_GPU = 1, IN_CPU = 2 };

struct labels {
	struct health *h;
	struct strmap required, classified;
	uint64_t *spans;   /* of required label i: how many spans have that name */
	bool *occurred;    /* of required label i: in the list so far */
	uint8_t *in;       /* of classified label i: the lists that it is in so far */
	size_t unrequired; /* distinct classified labels that are not required */
};

static void labels_done(struct labels *l)
{
	strmap_done(&l->required);
	strmap_done(&l->classified);
	free(l->spans);
	free(l->occurred);
	free(l->in);
}

static int add_all(struct strmap *map, struct ts_str array, struct ts_error *err)
{
	struct health_labels labels CLEAN(health_labels_done) = HEALTH_LABELS_INIT;
	struct ts_str label;
	int result = health_labels_open(&labels, array, err);

	while (result == 0 && health_labels_next(&labels, &label))
		if (strmap_add(map, label, NULL) == STRMAP_NONE)
			result = ts_error_nomem(err);
	return result;
}

static int count_spans(struct labels *l, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (l->required.count == 0)
		return 0;
	if (query_open(l->h->db, "health_span_names", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		uint32_t i = strmap_find(&l->required, query_str(q, 0));

		if (i != STRMAP_NONE)
			l->spans[i]++;
	}
	return n;
}

static int check_required(struct labels *l, struct ts_str label, struct ts_error *err)
{
	struct health *h = l->h;
	uint32_t i = strmap_find(&l->required, label);

	if (text_is_blank(label) && health_issue(h, HEALTH_SOFT, "empty_required_semantic_label",
						 err, "A required semantic label is blank.") < 0)
		return -1;
	if (l->occurred[i] &&
	    health_issue(h, HEALTH_SOFT, "duplicate_required_semantic_label", err,
			 "Semantic label \"%s\" is required twice.", SHOWN(label)) < 0)
		return -1;
	l->occurred[i] = true;
	return l->spans[i] == 1
		       ? 0
		       : health_issue(h, HEALTH_SOFT, "required_semantic_label_cardinality", err,
				      "Semantic label \"%s\" names %llu spans instead of 1.",
				      SHOWN(label), (unsigned long long)l->spans[i]);
}

static int check_classified(struct labels *l, struct ts_str label, uint8_t list,
			    struct ts_error *err)
{
	struct health *h = l->h;
	uint32_t i = strmap_find(&l->classified, label);
	bool required = strmap_find(&l->required, label) != STRMAP_NONE;

	if (text_is_blank(label) &&
	    health_issue(h, HEALTH_SOFT, "empty_semantic_label_classification", err,
			 "A classified semantic label is blank.") < 0)
		return -1;
	if ((l->in[i] & list) &&
	    health_issue(h, HEALTH_SOFT, "duplicate_semantic_label_classification", err,
			 "Semantic label \"%s\" is in a list twice.", SHOWN(label)) < 0)
		return -1;
	if (!required &&
	    health_issue(h, HEALTH_SOFT, "unrequired_semantic_label_classification", err,
			 "Semantic label \"%s\" is classified and not required.", SHOWN(label)) < 0)
		return -1;
	l->unrequired += !required && !l->in[i];
	if (l->in[i] &&
	    health_issue(h, HEALTH_SOFT, "overlapping_semantic_label_classification", err,
			 "Semantic label \"%s\" is classified before.", SHOWN(label)) < 0)
		return -1;
	l->in[i] |= list;
	return 0;
}

static int check_list(struct labels *l, struct ts_str array, uint8_t list, struct ts_error *err)
{
	struct health_labels labels CLEAN(health_labels_done) = HEALTH_LABELS_INIT;
	struct ts_str label;
	int result = health_labels_open(&labels, array, err);

	while (result == 0 && health_labels_next(&labels, &label))
		result = list ? check_classified(l, label, list, err)
			      : check_required(l, label, err);
	return result;
}

int health_semantic_labels(struct health *h, struct ts_error *err)
{
	const struct health_contract *c = &h->contract;
	struct labels l CLEAN(labels_done) = {.h = h};

	if (add_all(&l.required, c->required, err) < 0 ||
	    add_all(&l.classified, c->gpu_expected, err) < 0 ||
	    add_all(&l.classified, c->cpu_only, err) < 0)
		return -1;
	l.spans = calloc(l.required.count + 1, sizeof(*l.spans));
	l.occurred = calloc(l.required.count + 1, sizeof(*l.occurred));
	l.in = calloc(l.classified.count + 1, sizeof(*l.in));
	if (!l.spans || !l.occurred || !l.in)
		return ts_error_nomem(err);
	if (count_spans(&l, err) < 0 || check_list(&l, c->required, 0, err) < 0)
		return -1;
	if (l.classified.count == 0)
		return 0;
	if (check_list(&l, c->gpu_expected, IN_GPU, err) < 0 ||
	    check_list(&l, c->cpu_only, IN_CPU, err) < 0)
		return -1;
	if (l.unrequired == 0 && l.classified.count == l.required.count)
		return 0;
	return health_issue(h, HEALTH_SOFT, "incomplete_semantic_label_partition", err,
			    "The classified semantic labels are not the required ones.");
}
