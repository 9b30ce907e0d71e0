/* memory_flow.c: starts and ends of lifetimes in time order, and a point behind each moment */
#include "memory.h"

#include <string.h>

static int next_time(struct flow *f, struct ts_error *err)
{
	int n;

	while ((n = query_step(f->times, err)) == 1) {
		f->time.time = query_u64(f->times, 0);
		if (f->by_device) {
			struct ts_str device = query_str(f->times, 1);

			if (f->device_no == 0 || f->device.len != device.n ||
			    (device.n > 0 && memcmp(f->device.data, device.p, device.n) != 0)) {
				f->device_no++;
				buf_clear(&f->device);
				buf_add(&f->device, device.p, device.n);
			}
			f->time.device_no = f->device_no;
		} else if (f->choice && f->choice->some_devices) {
			f->time.device_no = query_u64(f->times, 1);
			struct memory_choice devices = *f->choice;

			devices.categories = 1;
			if (!choice_has(&devices, f->time.device_no, 0))
				continue;
		}
		break;
	}
	f->time.more = n == 1;
	return n < 0 || f->device.failed ? (n < 0 ? -1 : ts_error_nomem(err)) : 0;
}

static int next_event(struct flow *f, struct query *q, struct flow_event *e, struct ts_error *err)
{
	int n;

	while ((n = query_step(q, err)) == 1) {
		e->time = query_u64(q, 0);
		e->bytes = query_u64(q, 1);
		e->category = query_u64(q, 2);
		e->device_no = query_u64(q, 3);
		e->span_no = query_u64(q, 4);
		e->instant = query_u64(q, 5) != 0;
		if (choice_has(f->choice, e->device_no, e->category))
			break;
	}
	e->more = n == 1;
	return n < 0 ? -1 : 0;
}

int flow_open(struct db *db, bool by_device, const struct memory_choice *choice, struct flow *f,
	      struct ts_error *err)
{
	const char *times = by_device                        ? "memory_times_by_device"
			    : choice && choice->some_devices ? "memory_times_with_device"
							     : "memory_times";

	*f = (struct flow){.by_device = by_device, .choice = choice, .device = BUF_INIT};
	if (query_open(db, times, &f->times, err) < 0 ||
	    query_open(db, by_device ? "memory_starts_by_device" : "memory_starts", &f->starts,
		       err) < 0 ||
	    query_open(db, by_device ? "memory_ends_by_device" : "memory_ends", &f->ends, err) < 0)
		return -1;
	return next_time(f, err) < 0 || next_event(f, f->starts, &f->start, err) < 0 ||
			       next_event(f, f->ends, &f->end, err) < 0
		       ? -1
		       : 0;
}

void flow_done(struct flow *f)
{
	query_close(f->times);
	query_close(f->starts);
	query_close(f->ends);
	buf_done(&f->device);
}

static bool is_now(const struct flow *f, const struct flow_event *e, uint64_t now, uint64_t device)
{
	return e->more && e->time == now && (!f->by_device || e->device_no == device);
}

int flow_step(struct flow *f, struct flow_user *u, struct ts_error *err)
{
	uint64_t now = f->time.time, device = f->time.device_no;

	/* Each start and each end has the time of a record. */
	if (!f->time.more)
		return 0;
	while (is_now(f, &f->time, now, device))
		if (next_time(f, err) < 0)
			return -1;
	while (is_now(f, &f->end, now, device))
		if (u->end(u, &f->end, err) < 0 || next_event(f, f->ends, &f->end, err) < 0)
			return -1;
	while (is_now(f, &f->start, now, device))
		if (u->start(u, &f->start, err) < 0 || next_event(f, f->starts, &f->start, err) < 0)
			return -1;
	return u->point(u, now, err) < 0 ? -1 : 1;
}

int flow_run(struct flow *f, struct flow_user *u, struct ts_error *err)
{
	uint64_t device = f->time.device_no;
	int n = 1;

	while (n == 1 && f->time.more && (!f->by_device || f->time.device_no == device))
		n = flow_step(f, u, err);
	return n < 0 ? -1 : 0;
}
