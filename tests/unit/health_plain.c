/* health_plain.c: the rules of health, plainly, for tests */
#include "health_plain.h"

#include <math.h>
#include <string.h>

#include "tracespool/text.h"

unsigned find_span(const struct run *r, const char *id)
{
	unsigned i = 0;

	while (i < r->spans && strcmp(r->span[i].id, id) != 0)
		i++;
	return i;
}

static void say(struct buf *out, const char *code)
{
	buf_printf(out, "%s\n", code);
}

static bool in_cycle(const struct run *r, unsigned i)
{
	bool met[SPANS] = {false};

	while (i < r->spans) {
		if (met[i])
			return true;
		met[i] = true;
		i = *r->span[i].parent ? find_span(r, r->span[i].parent) : r->spans;
	}
	return false;
}

static void plain_spans(const struct run *r, struct buf *out)
{
	unsigned roots = 0, measured = 0, done = 0;
	const char *last = "";

	for (unsigned i = 0; i < r->spans; i++) {
		roots += !*r->span[i].parent;
		measured += r->span[i].measured;
	}
	if (r->failed)
		say(out, "capture_failed?");
	if (roots != 1)
		say(out, "root_count");
	if (measured != 1 && !r->failed)
		say(out, "measurement_count");
	for (; done < r->spans; done++) {
		unsigned i = r->spans;

		for (unsigned k = 0; k < r->spans; k++)
			if (strcmp(r->span[k].id, last) > 0 &&
			    (i == r->spans || strcmp(r->span[k].id, r->span[i].id) < 0))
				i = k;
		last = r->span[i].id;
		unsigned p = find_span(r, r->span[i].parent);

		if (!r->span[i].closed)
			say(out, r->failed ? "open_span?" : "open_span");
		if (*r->span[i].parent && p == r->spans)
			say(out, "unknown_parent");
		if (p < r->spans && r->span[i].closed && r->span[p].closed &&
		    (r->span[i].start < r->span[p].start ||
		     u64_add_sat(r->span[i].start, r->span[i].duration) >
			     u64_add_sat(r->span[p].start, r->span[p].duration)))
			say(out, "child_outside_parent");
		if (in_cycle(r, i))
			say(out, "span_cycle");
	}
}

static bool outside(const struct run *r, const char *span, uint64_t at, uint64_t end)
{
	unsigned i = find_span(r, span);

	return i < r->spans && r->span[i].closed &&
	       (at < r->span[i].start || end > u64_add_sat(r->span[i].start, r->span[i].duration));
}

static void plain_records(const struct run *r, struct buf *out)
{
	for (unsigned i = 0; i < r->ops; i++)
		if (find_span(r, r->op[i].span) == r->spans)
			say(out, "unknown_span");
	for (unsigned i = 0; i < r->tensors; i++)
		if (find_span(r, r->tensor[i].span) == r->spans)
			say(out, "unknown_span");
	for (unsigned i = 0; i < r->memory; i++)
		if (find_span(r, r->mem[i].span) == r->spans)
			say(out, "unknown_span");
	for (unsigned i = 0; i < r->intervals; i++)
		if (find_span(r, r->interval[i].span) == r->spans)
			say(out, "unknown_span");
	for (unsigned i = 0; i < r->intervals; i++)
		if (!r->interval[i].duration)
			say(out, "empty_device_interval");
	for (unsigned i = 0; i < r->ops; i++)
		if (outside(r, r->op[i].span, r->op[i].at,
			    u64_add_sat(r->op[i].at, r->op[i].duration)))
			say(out, "operation_outside_span");
	for (unsigned i = 0; i < r->memory; i++)
		if (outside(r, r->mem[i].span, r->mem[i].at, r->mem[i].at))
			say(out, "memory_outside_span");
	for (unsigned i = 0; i < r->samples; i++)
		if (!r->sample_has[i])
			say(out, "empty_device_memory_sample");
}

static bool is_tensor(const struct run *r, const char *id)
{
	bool is = false;

	for (unsigned i = 0; i < r->tensors; i++)
		is |= strcmp(r->tensor[i].id, id) == 0;
	for (unsigned i = 0; i < r->ops; i++)
		is |= strcmp(r->op[i].in, id) == 0 || strcmp(r->op[i].out, id) == 0;
	return is;
}

static void plain_edges(const struct run *r, struct buf *out)
{
	for (unsigned i = 0; i < r->edges; i++) {
		const char *from = r->edge[i].from, *to = r->edge[i].to;
		unsigned t = find_span(r, to);

		if (!r->edge[i].call) {
			if (!*from || !*to)
				say(out, "empty_data_edge_endpoint");
			else if (!is_tensor(r, from) || !is_tensor(r, to))
				say(out, "unknown_data_edge_tensor");
		} else if (t == r->spans || find_span(r, from) == r->spans) {
			say(out, "unknown_call_edge_span");
		} else {
			if (strcmp(r->span[t].parent, from) != 0)
				say(out, "call_edge_hierarchy_mismatch");
			if (r->span[t].closed && r->span[t].duration != r->edge[i].duration)
				say(out, "call_edge_duration_mismatch");
		}
	}
}

/* Two storages on each of two devices, held by two tensors. */
static void plain_memory(const struct run *r, struct buf *out)
{
	struct {
		bool live, holds[2];
		uint64_t bytes;
	} table[2][2] = {0};
	bool done[2 * RECORDS] = {false};
	unsigned retained = 0;

	for (unsigned n = 0; n < r->memory; n++) {
		unsigned i = r->memory;

		for (unsigned k = 0; k < r->memory; k++)
			if (!done[k] && (i == r->memory || r->mem[k].at < r->mem[i].at))
				i = k;
		done[i] = true;
		__auto_type s = &table[r->mem[i].device[1] - '0'][r->mem[i].storage[1] - '0'];
		unsigned tensor = (unsigned)(r->mem[i].tensor[1] - '0');

		if (r->mem[i].alloc && !s->live) {
			s->live = true;
			s->bytes = r->mem[i].bytes;
			s->holds[tensor] = true;
			s->holds[!tensor] = false;
		} else if (r->mem[i].alloc) {
			if (r->mem[i].bytes != s->bytes)
				say(out, "allocation_size_mismatch");
			else if (s->holds[tensor])
				say(out, "duplicate_allocation");
			else
				s->holds[tensor] = true;
		} else if (!s->live) {
			say(out, "unpaired_free");
		} else {
			if (r->mem[i].bytes != s->bytes)
				say(out, "allocation_size_mismatch");
			s->live = false;
		}
	}
	for (unsigned i = 0; i < 4; i++)
		retained += table[i / 2][i % 2].live;
	if (retained)
		say(out, "retained_allocations?");
}

static void plain_gradients(const struct run *r, struct buf *out)
{
	for (unsigned i = 0; i < r->gradients; i++) {
		struct opt_double norm = r->gradient[i].norm;
		bool again = false, fits = !norm.has;

		for (unsigned k = 0; k < i; k++)
			again |= strcmp(r->gradient[k].event, r->gradient[i].event) == 0;
		if (!*r->gradient[i].event)
			say(out, "empty_gradient_event_id");
		if (!*r->gradient[i].root || !*r->gradient[i].key)
			say(out, "empty_gradient_parameter_key");
		if (again)
			say(out, "duplicate_gradient_event_id");
		if (r->gradient[i].state == 0)
			fits = norm.has && norm.v > 0;
		if (r->gradient[i].state == 2)
			fits = norm.has && norm.v == 0 && !signbit(norm.v);
		if (!fits)
			say(out, "gradient_state_norm_inconsistent");
	}
}

void plain_issues(const struct run *r, struct buf *out)
{
	buf_puts(out, "");
	plain_spans(r, out);
	plain_records(r, out);
	plain_edges(r, out);
	plain_memory(r, out);
	plain_gradients(r, out);
}
