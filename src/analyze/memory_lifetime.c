/* memory_lifetime.c: lifetimes of storages as objects, long lists of tensor ids piece by piece */
#include "memory_view.h"

#include "tracespool/util.h"

/* Columns of view_lifetimes and its like. */
enum { ALLOC, FREE, NO, START, END, BYTES, DEVICE, STORAGE, SPAN, OP, SHAPE, DTYPE, CATEGORY };

static int open_tensors(struct memory_document *d, uint64_t until, struct ts_error *err)
{
	if (query_open(d->db, "view_tensor_ids", &d->tensors, err) < 0)
		return -1;
	query_bind_u64(d->tensors, 1, query_u64(d->q, ALLOC));
	query_bind_u64(d->tensors, 2, query_u64(d->q, FREE));
	query_bind_u64(d->tensors, 3, query_u64(d->q, NO));
	query_bind_u64(d->tensors, 4, until);
	return 0;
}

static void write_rest(struct memory_document *d, bool peak)
{
	struct json_writer *w = &d->w;

	jw_kv_str(w, "allocation_span_id", query_str(d->q, SPAN));
	jw_kv_str(w, "op_name", query_str(d->q, OP));
	jw_kv_u64(w, "bytes", query_u64(d->q, BYTES));
	jw_key(w, "shape");
	jw_raw(w, query_str(d->q, SHAPE));
	jw_kv_str(w, "dtype", query_str(d->q, DTYPE));
	jw_kv_str(w, "category", query_str(d->q, CATEGORY));
	jw_kv_u64(w, "start_timestamp_ns", query_u64(d->q, START));
	if (!peak && !query_is_null(d->q, END))
		jw_kv_u64(w, "end_timestamp_ns", query_u64(d->q, END));
	jw_close_object(w);
}

int lifetime_write(struct memory_document *d, bool peak, uint64_t until, struct ts_error *err)
{
	int n = 1;

	if (!d->in_item) {
		if (open_tensors(d, until, err) < 0)
			return -1;
		d->in_item = true;
		jw_open_object(&d->w);
		jw_kv_str(&d->w, "device", query_str(d->q, DEVICE));
		jw_kv_str(&d->w, "storage_id", query_str(d->q, STORAGE));
		jw_key(&d->w, "tensor_ids");
		jw_open_array(&d->w);
	}
	for (unsigned i = 0; i < IDS_A_PIECE; i++) {
		n = query_step(d->tensors, err);
		if (n != 1)
			break;
		jw_str(&d->w, query_str(d->tensors, 0));
	}
	if (n != 0)
		return n;
	jw_close_array(&d->w);
	query_close(TAKE(d->tensors));
	d->in_item = false;
	write_rest(d, peak);
	return 0;
}

int lifetimes_write(struct memory_document *d, bool peak, uint64_t until, struct ts_error *err)
{
	if (!d->begun) {
		d->begun = true;
		jw_open_array(&d->w);
	}
	for (unsigned i = 0; i < ROWS_A_PIECE; i++) {
		int n = d->in_item ? 1 : query_step(d->q, err);

		if (n == 0)
			jw_close_array(&d->w);
		if (n != 1)
			return n;
		n = lifetime_write(d, peak, until, err);
		if (n != 0)
			return n;
	}
	return 1;
}
