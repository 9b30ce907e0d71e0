/* health_contract.c: the gradient contract: is it valid, and does the run keep it? (candle-trace.md
 * 12.4, 13)
 */
#include "health.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/digest.h"
#include "tracespool/map.h"
#include "tracespool/util.h"

/* What the run's records say of the members of a family. */
struct tally {
	size_t entries, seen, present, attached;
	bool non_finite;
};

struct manifest {
	struct health *h;
	const struct health_expected *expected;
	const struct health_family *families;
	size_t n, family_count;
	struct strmap keys;  /* (root, key) of entry i has number i */
	struct strmap names; /* family name of family i has number i */
	uint8_t *state;      /* of entry i: 1 + GRADIENT_* of its first record; 0: no record */
	struct tally *tallies;
	struct buf key; /* scratch */
};

static void manifest_done(struct manifest *m)
{
	strmap_done(&m->keys);
	strmap_done(&m->names);
	free(m->state);
	free(m->tallies);
	buf_done(&m->key);
}

static int nomem_or_zero(const struct manifest *m, struct ts_error *err)
{
	return m->key.failed ? ts_error_nomem(err) : 0;
}

/* Root and key as one text: the length of the root keeps them apart. */
static struct ts_str pair_of(struct manifest *m, struct ts_str root, struct ts_str key)
{
	uint64_t n = root.n;

	buf_clear(&m->key);
	buf_add(&m->key, &n, sizeof(n));
	buf_add(&m->key, root.p, root.n);
	buf_add(&m->key, key.p, key.n);
	return ts_str(m->key.data, m->key.len);
}

static void add_text(struct digest *d, struct ts_str s)
{
	unsigned char length[8];

	for (unsigned i = 0; i < 8; i++)
		length[i] = (unsigned char)((uint64_t)s.n >> (8 * i));
	digest_add(d, length, sizeof(length));
	digest_add(d, s.p, s.n);
}

static int digest_of(const struct manifest *m, char out[static DIGEST_TEXT + 1],
		     struct ts_error *err)
{
	static const char domain[] = "candle-graph/gradient-manifest/1"; /* its 0 counts */
	struct digest *d CLEAN(digest_freep) = digest_new();

	if (!d)
		return ts_error_nomem(err);
	digest_add(d, domain, sizeof(domain));
	for (size_t i = 0; i < m->n; i++) {
		add_text(d, m->expected[i].root);
		add_text(d, m->expected[i].key);
		add_text(d, m->expected[i].family);
	}
	digest_finish(d, out);
	return 0;
}

/* 1: an issue was written; 0: nothing is wrong so far. */
static int invalid(struct manifest *m, struct ts_error *err, const char *what, struct ts_str name)
{
	if (health_issue(m->h, HEALTH_ERROR, "gradient_contract_invalid", err, "%s%s%s%s.", what,
			 name.p ? ": \"" : "", name.p ? SHOWN(name) : "", name.p ? "\"" : "") < 0)
		return -1;
	return 1;
}

static int check_entries(struct manifest *m, struct ts_error *err)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct health_expected *e = &m->expected[i];
		bool fresh;

		if (text_is_blank(e->root) || text_is_blank(e->key) || text_is_blank(e->family))
			return invalid(m, err, "A manifest entry has a blank member", e->key);
		struct ts_str pair = pair_of(m, e->root, e->key);

		if (m->key.failed || strmap_add(&m->keys, pair, &fresh) == STRMAP_NONE)
			return ts_error_nomem(err);
		if (!fresh)
			return invalid(m, err, "The manifest has a key twice", e->key);
	}
	return 0;
}

static int check_families(struct manifest *m, struct ts_error *err)
{
	for (size_t i = 0; i < m->family_count; i++) {
		const struct health_family *f = &m->families[i];
		bool fresh;

		if (text_is_blank(f->family))
			return invalid(m, err, "A gradient family has a blank name",
				       ts_str_c(NULL));
		if (strmap_add(&m->names, f->family, &fresh) == STRMAP_NONE)
			return ts_error_nomem(err);
		if (!fresh)
			return invalid(m, err, "A gradient family is there twice", f->family);
	}
	for (size_t i = 0; i < m->n; i++) {
		uint32_t family = strmap_find(&m->names, m->expected[i].family);

		if (family == STRMAP_NONE)
			return invalid(m, err, "A manifest entry names an unknown family",
				       m->expected[i].family);
		m->tallies[family].entries++;
	}
	for (size_t i = 0; i < m->family_count; i++) {
		const struct health_family *f = &m->families[i];
		bool inactive = ts_str_is(f->expectation, "inactive");

		if (m->tallies[i].entries == 0)
			return invalid(m, err, "A gradient family has no entry", f->family);
		if (inactive ? f->min_present != 0
			     : f->min_present < 1 || f->min_present > m->tallies[i].entries)
			return invalid(m, err, "min_present of a gradient family does not fit",
				       f->family);
	}
	return 0;
}

static int check_contract(struct manifest *m, struct ts_error *err)
{
	char digest[DIGEST_TEXT + 1];
	int n;

	if (m->n == 0 || m->family_count == 0)
		return invalid(m, err, "The gradient contract has no entries or no families",
			       ts_str_c(NULL));
	if (digest_of(m, digest, err) < 0)
		return -1;
	if (!ts_str_is(m->h->contract.gradient_contract.manifest_sha256, digest))
		return invalid(m, err, "manifest_sha256 is not the digest of the entries",
			       ts_str_c(NULL));
	n = check_entries(m, err);
	return n ? n : check_families(m, err);
}

/* Seen keys in order: twice, or not in the manifest. Notes the first state of each entry. */
static int check_seen(struct manifest *m, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(m->h->db, "health_gradient_keys", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		struct ts_str root = query_str(q, 0), key = query_str(q, 1);
		uint32_t i = strmap_find(&m->keys, pair_of(m, root, key));

		if (nomem_or_zero(m, err) < 0)
			return -1;
		if (query_u64(q, 2) > 1 &&
		    health_issue(m->h, HEALTH_ERROR, "gradient_manifest_duplicate_key", err,
				 "Gradient \"%s\" of root \"%s\" has %llu records.", SHOWN(key),
				 SHOWN(root), (unsigned long long)query_u64(q, 2)) < 0)
			return -1;
		if (i != STRMAP_NONE)
			m->state[i] = (uint8_t)(1 + health_gradient_state(query_str(q, 3)));
		else if (health_issue(m->h, HEALTH_ERROR, "gradient_manifest_undeclared_key", err,
				      "Gradient \"%s\" of root \"%s\" is not in the manifest.",
				      SHOWN(key), SHOWN(root)) < 0)
			return -1;
	}
	return n;
}

static int check_missing(struct manifest *m, struct ts_error *err)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct health_expected *e = &m->expected[i];
		struct tally *t = &m->tallies[strmap_find(&m->names, e->family)];

		if (m->state[i] == 0) {
			if (health_issue(m->h, HEALTH_SOFT, "gradient_manifest_missing_key", err,
					 "Gradient \"%s\" of root \"%s\" has no record.",
					 SHOWN(e->key), SHOWN(e->root)) < 0)
				return -1;
			continue;
		}
		t->seen++;
		t->present += m->state[i] == 1 + GRADIENT_PRESENT;
		t->attached += m->state[i] != 1 + GRADIENT_MISSING;
		t->non_finite |= m->state[i] == 1 + GRADIENT_NON_FINITE;
	}
	return 0;
}

static int below(struct health *h, const char *code, const struct health_family *f,
		 const struct tally *t, struct ts_error *err)
{
	return health_issue(h, HEALTH_ERROR, code, err,
			    "Gradient family \"%s\" has %zu present members, at least %llu "
			    "should be.",
			    SHOWN(f->family), t->present, (unsigned long long)f->min_present);
}

static int check_family(struct health *h, const struct health_family *f, const struct tally *t,
			struct ts_error *err)
{
	bool judged = !h->failed || t->seen == t->entries;
	bool few = judged && t->present < f->min_present;

	if (t->non_finite && health_issue(h, HEALTH_ERROR, "gradient_family_non_finite", err,
					  "Gradient family \"%s\" has a member that is not finite.",
					  SHOWN(f->family)) < 0)
		return -1;
	if (ts_str_is(f->expectation, "active"))
		return few ? below(h, "gradient_active_family_below_minimum", f, t, err) : 0;
	if (ts_str_is(f->expectation, "data_conditional"))
		return few && t->present > 0
			       ? below(h, "gradient_conditional_family_below_minimum", f, t, err)
			       : 0;
	return t->attached == 0
		       ? 0
		       : health_issue(h, HEALTH_ERROR, "gradient_inactive_family_leakage", err,
				      "Gradient family \"%s\" should be inactive, and %zu of its "
				      "members are attached.",
				      SHOWN(f->family), t->attached);
}

static int check_run(struct health *h, struct ts_error *err)
{
	const struct health_gradient_contract *c = &h->contract.gradient_contract;
	struct manifest m CLEAN(manifest_done) = {
		.h = h,
		.expected = c->expected.v,
		.families = c->families.v,
		.n = c->expected.n,
		.family_count = c->families.n,
		.key = BUF_INIT,
	};

	m.state = calloc(m.n + 1, sizeof(*m.state));
	m.tallies = calloc(m.family_count + 1, sizeof(*m.tallies));
	if (!m.state || !m.tallies)
		return ts_error_nomem(err);
	int n = check_contract(&m, err);

	if (n != 0)
		return n < 0 ? -1 : 0;
	if (check_seen(&m, err) < 0 || check_missing(&m, err) < 0)
		return -1;
	for (size_t i = 0; i < m.family_count; i++)
		if (check_family(h, &m.families[i], &m.tallies[i], err) < 0)
			return -1;
	return 0;
}

int health_gradient_contract(struct health *h, struct ts_error *err)
{
	bool complete = ts_str_is(h->contract.gradients, "complete");

	if (!h->contract.has_gradient_contract)
		return !complete ? 0
				 : health_issue(h, HEALTH_ERROR, "gradient_contract_missing", err,
						"Gradients are declared complete, and there is no "
						"gradient_contract.");
	if (!complete)
		return health_issue(h, HEALTH_ERROR, "gradient_contract_without_complete_coverage",
				    err,
				    "There is a gradient_contract, and gradients are not declared "
				    "complete.");
	return check_run(h, err);
}
