/* test_spans_naive.c: figures of spans against a plain reading of the format on random small
 * traces, and shapes of a hundred thousand spans or ops that must be ordinary
 */
#include <stdio.h>
#include <string.h>

#include "../../src/store/db.h"
#include "candle_analysis.h"
#include "sanitized.h"
#include "tracespool/util.h"

#define ROUNDS (SANITIZED ? 400u : 3000u)

enum { SPANS_MAX = 7, OPS_MAX = 8, TIME_MAX = 24 };

struct small_span {
	char id[4], parent[4];
	bool root, closed, measured, op_kind;
	unsigned step; /* 0: none */
	uint64_t start, duration;
};

struct small_op {
	unsigned span; /* n: one that is not there */
	uint64_t at, duration;
};

struct small {
	unsigned n, ops;
	struct small_span s[SPANS_MAX];
	struct small_op o[OPS_MAX];
};

static uint32_t seed = 1;

static unsigned roll(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 12) % n;
}

static void make(struct small *t)
{
	bool tree = roll(2);

	memset(t, 0, sizeof(*t));
	t->n = 1 + roll(SPANS_MAX);
	t->ops = roll(OPS_MAX + 1);
	for (unsigned i = 0; i < t->n; i++) {
		struct small_span *s = &t->s[i];

		/* Ids in another order than the numbers. */
		s->id[0] = (char)('a' + (int)roll(3));
		s->id[1] = (char)('0' + (int)i);
	}
	for (unsigned i = 0; i < t->n; i++) {
		struct small_span *s = &t->s[i];
		unsigned p = tree ? roll(i + 1) : roll(t->n + 1);

		s->root = roll(8) == 0 || (tree && i == 0);
		if (!s->root)
			strcpy(s->parent, p == t->n ? "?" : t->s[tree && i ? roll(i) : p].id);
		s->closed = roll(5) > 0;
		s->measured = i == roll(2);
		s->op_kind = roll(4) == 0;
		s->step = roll(4);
		s->start = roll(TIME_MAX);
		s->duration = s->closed ? roll(4) * roll(5) : 0;
	}
	for (unsigned i = 0; i < t->ops; i++)
		t->o[i] = (struct small_op){roll(t->n + 1), roll(TIME_MAX), roll(6)};
}

/* ---- the plain reading ---- */

static int parent_of(const struct small *t, unsigned i)
{
	for (unsigned k = 0; !t->s[i].root && k < t->n; k++)
		if (strcmp(t->s[k].id, t->s[i].parent) == 0)
			return (int)k;
	return -1;
}

/* Is x the span itself or an ancestor of it? */
static bool is_above(const struct small *t, unsigned x, unsigned i)
{
	int at = (int)i;

	for (unsigned k = 0; at >= 0 && k <= t->n; k++, at = parent_of(t, (unsigned)at))
		if ((unsigned)at == x)
			return true;
	return false;
}

static bool meets_ring(const struct small *t, unsigned i)
{
	int at = (int)i;

	for (unsigned k = 0; at >= 0 && k <= t->n; k++)
		at = parent_of(t, (unsigned)at);
	return at >= 0;
}

static bool has_rings(const struct small *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if (meets_ring(t, i))
			return true;
	return false;
}

static uint64_t total_of(const struct small *t, unsigned i)
{
	uint64_t sum = t->s[i].duration;

	if (sum)
		return sum;
	for (unsigned k = 0; k < t->ops; k++)
		sum += t->o[k].span == i ? t->o[k].duration : 0;
	for (unsigned k = 0; k < t->n; k++)
		sum += parent_of(t, k) == (int)i ? total_of(t, k) : 0;
	return sum;
}

/* Nanoseconds of [low, high) that ops and children cover; totals: children with their total. */
static uint64_t covered(const struct small *t, unsigned i, bool totals, uint64_t low, uint64_t high)
{
	uint64_t sum = 0;

	for (uint64_t ns = low; ns < high; ns++) {
		bool hit = false;

		for (unsigned k = 0; k < t->ops; k++)
			hit |= t->o[k].span == i && ns >= t->o[k].at &&
			       ns < t->o[k].at + t->o[k].duration;
		for (unsigned k = 0; k < t->n; k++) {
			uint64_t length = totals ? total_of(t, k) : t->s[k].duration;

			hit |= parent_of(t, k) == (int)i && (totals || t->s[k].closed) &&
			       ns >= t->s[k].start && ns < t->s[k].start + length;
		}
		sum += hit;
	}
	return sum;
}

static struct opt_u64 step_of(const struct small *t, unsigned step)
{
	struct opt_u64 sum = {0};

	for (unsigned i = 0; i < t->n; i++) {
		bool inner = false;
		int p = parent_of(t, i);

		for (unsigned k = 0; p >= 0 && !meets_ring(t, i) && k < t->n; k++)
			inner |= t->s[k].step == step && is_above(t, k, (unsigned)p);
		if (t->s[i].step == step && t->s[i].closed && !inner)
			sum = (struct opt_u64){.v = sum.v + t->s[i].duration, .has = true};
	}
	return sum;
}

/* ---- against it ---- */

static void put(struct analysis *a, const struct small *t)
{
	static const char *const steps[] = {NULL, "forward", "backward", "optimizer"};

	for (unsigned i = 0; i < t->n; i++) {
		const struct small_span *s = &t->s[i];

		analysis_put(a, ROW_SPAN,
			     &(struct row_span){
				     .no = i + 1,
				     .id = ts_str_c(s->id),
				     .parent_id = s->root ? ts_str(NULL, 0) : ts_str_c(s->parent),
				     .name = TS_STR("n"),
				     .span_kind = s->op_kind ? TS_STR("op") : TS_STR("module"),
				     .step = ts_str_c(steps[s->step]),
				     .measured = s->measured,
				     .start_ns = s->start});
		analysis_put(a, ROW_SPAN_TIME,
			     &(struct row_span_time){.no = i + 1,
						     .parent_no = (uint64_t)(parent_of(t, i) + 1),
						     .closed = s->closed,
						     .duration_ns = s->duration});
	}
	for (unsigned i = 0; i < t->ops; i++)
		analysis_put(a, ROW_OP,
			     &(struct row_op){.span_id = ts_str_c(t->o[i].span == t->n
									  ? "none"
									  : t->s[t->o[i].span].id),
					      .op_name = TS_STR("o"),
					      .device = TS_STR("d"),
					      .dtype = TS_STR("t"),
					      .shape.json = TS_STR("[]"),
					      .timestamp_ns = t->o[i].at,
					      .duration_ns = t->o[i].duration});
}

static uint64_t number(struct analysis *a, const char *sql)
{
	struct ts_error err = TS_ERROR_INIT;
	uint64_t n = 0;

	assert_fine(db_number(runfile_db(a->rf), sql, &n, &err), &err);
	return n;
}

static void assert_spans(struct analysis *a, const struct small *t, bool totals)
{
	static const char *const sql =
		"select child_count, op_count, self_ns, host_total_ns, host_self_ns, tree_first, "
		"tree_last from span_figure_rows order by no";
	struct ts_error err = TS_ERROR_INIT;
	struct query *q CLEAN(query_closep) = NULL;

	assert_fine(query_open_sql(runfile_db(a->rf), sql, strlen(sql), &q, &err), &err);
	for (unsigned i = 0; i < t->n; i++) {
		const struct small_span *s = &t->s[i];
		unsigned children = 0, ops = 0, below = 0;

		ck_assert_int_eq(query_step(q, &err), 1);
		for (unsigned k = 0; k < t->n; k++) {
			children += parent_of(t, k) == (int)i;
			below += is_above(t, i, k);
		}
		for (unsigned k = 0; k < t->ops; k++)
			ops += t->o[k].span == i;
		ck_assert_uint_eq(query_u64(q, 0), children);
		ck_assert_uint_eq(query_u64(q, 1), ops);
		ck_assert_int_eq(query_is_null(q, 2), !s->closed);
		if (s->closed)
			ck_assert_uint_eq(query_u64(q, 2),
					  s->duration - covered(t, i, false, s->start,
								s->start + s->duration));
		ck_assert_uint_eq(query_u64(q, 6) - query_u64(q, 5) + 1, below);
		if (!totals)
			continue;
		uint64_t total = total_of(t, i), inner = covered(t, i, true, 0, 400);

		ck_assert_uint_eq(query_u64(q, 3), total);
		ck_assert_uint_eq(query_u64(q, 4), total > inner ? total - inner : 0);
	}
}

/* Each pair of spans: in the range of numbers exactly when below. */
static void assert_tree(struct analysis *a, const struct small *t)
{
	static const char *const sql =
		"select x.no, y.no from span_figure_rows x join span_figure_rows y "
		"on y.tree_no between x.tree_first and x.tree_last";
	struct ts_error err = TS_ERROR_INIT;
	struct query *q CLEAN(query_closep) = NULL;

	assert_fine(query_open_sql(runfile_db(a->rf), sql, strlen(sql), &q, &err), &err);
	while (query_step(q, &err) == 1)
		ck_assert(
			is_above(t, (unsigned)query_u64(q, 0) - 1, (unsigned)query_u64(q, 1) - 1));
}

struct slow {
	unsigned no;
	uint64_t self, overlap_self;
};

static bool stands_before(const struct small *t, const struct slow *a, const struct slow *b)
{
	if (a->overlap_self != b->overlap_self)
		return a->overlap_self > b->overlap_self;
	if (a->self != b->self)
		return a->self > b->self;
	return strcmp(t->s[a->no].id, t->s[b->no].id) < 0;
}

static void assert_slowest(struct analysis *a, const struct small *t, unsigned m)
{
	uint64_t low = t->s[m].start, high = low + total_of(t, m);
	struct slow want[SPANS_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < t->n; i++) {
		uint64_t from = t->s[i].start, total = total_of(t, i), to = from + total;
		uint64_t inner = covered(t, i, true, low, high), all = covered(t, i, true, 0, 400);

		if ((t->s[i].op_kind && !t->s[i].root) || (i != m && is_above(t, i, m)))
			continue;
		from = from < low ? low : from;
		to = to > high ? high : to;
		if (from >= to)
			continue;
		struct slow x = {i, total > all ? total - all : 0,
				 to - from > inner ? to - from - inner : 0};
		unsigned at = n++;

		for (; at > 0 && stands_before(t, &x, &want[at - 1]); at--)
			want[at] = want[at - 1];
		want[at] = x;
	}
	ck_assert_uint_eq(number(a, "select count(*) from slowest_host_rows"), n);
	for (unsigned i = 0; i < n; i++) {
		char sql[200];

		snprintf(
			sql, sizeof(sql),
			"select no * 1000000 + overlap_self_ns * 10 + (scope = 'measured_subtree') "
			"from slowest_host_rows where place = %u",
			i + 1);
		ck_assert_uint_eq(number(a, sql), (want[i].no + 1) * 1000000 +
							  want[i].overlap_self * 10 +
							  is_above(t, m, want[i].no));
	}
}

/* The index of each op in its span, in the order of slow ops. */
static void assert_slow_ops(struct analysis *a, const struct small *t)
{
	char ids[OPS_MAX][8];
	bool taken[OPS_MAX] = {false};

	for (unsigned i = 0; i < t->ops; i++)
		strcpy(ids[i], t->o[i].span == t->n ? "none" : t->s[t->o[i].span].id);
	for (unsigned place = 1; place <= t->ops; place++) {
		unsigned best = OPS_MAX, index = 0;
		char sql[100];

		for (unsigned i = 0; i < t->ops; i++) {
			if (taken[i])
				continue;
			if (best == OPS_MAX || t->o[i].duration > t->o[best].duration ||
			    (t->o[i].duration == t->o[best].duration &&
			     strcmp(ids[i], ids[best]) < 0))
				best = i;
		}
		taken[best] = true;
		for (unsigned i = 0; i < best; i++)
			index += strcmp(ids[i], ids[best]) == 0;
		snprintf(sql, sizeof(sql),
			 "select op * 100 + op_index from slow_op_rows where place = %u", place);
		ck_assert_uint_eq(number(a, sql), (best + 1) * 100 + index);
	}
}

START_TEST(figures_are_those_of_a_plain_reading_on_random_traces)
{
	unsigned graphs = 0, rings = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct ts_error err = TS_ERROR_INIT;
		struct execution_figures f;
		struct small t;
		struct analysis a;
		unsigned measured = 0, m = 0;

		make(&t);
		if (round % 8 == 0) /* both ways a run file is made */
			analysis_begin_large(&a);
		else
			analysis_begin(&a);
		put(&a, &t);
		assert_fine(runfile_flush(a.rf, &err), &err);
		assert_fine(analyze_execution_figures(runfile_db(a.rf), a.kept_bytes, &f, &err), &err);
		bool ring = has_rings(&t);

		assert_spans(&a, &t, !ring);
		assert_tree(&a, &t);
		assert_slow_ops(&a, &t);
		for (unsigned i = 0; i < 3; i++) {
			struct opt_u64 want = step_of(&t, i + 1);

			ck_assert_msg(want.has == f.step_ns[i].has && want.v == f.step_ns[i].v,
				      "step %u of round %u", i, round);
		}
		for (unsigned i = 0; i < t.n; i++) {
			measured += t.s[i].measured;
			m = t.s[i].measured ? i : m;
		}
		if (measured == 1 && !ring) {
			assert_slowest(&a, &t, m);
			graphs++;
		}
		rings += ring;
		analysis_end(&a);
	}
	ck_assert_uint_gt(graphs, ROUNDS / 6);
	ck_assert_uint_gt(rings, ROUNDS / 6);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spans-naive");
	TCase *t = tcase_create("spans-naive");

	tcase_set_timeout(t, 300);
	tcase_add_test(t, figures_are_those_of_a_plain_reading_on_random_traces);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
