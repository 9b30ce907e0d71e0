/* updates.c: receipts of the catalog that change or go */
#include "catalog.h"

static int write_update(struct store *st, const struct receipt_record *r, struct catalog_change *c,
			struct ts_error *err)
{
	struct query *q;

	if (query_open(st->writer, "receipt_state", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, r->no);
	int n = query_step(q, err);
	bool was = n == 1 && ts_str_is(query_str(q, 0), "quarantined");

	query_close(q);
	if (n < 0)
		return -1;
	if (n == 0)
		return ts_error_set(err, TS_E_UNKNOWN_RECEIPT, "receipt %llu is not there",
				    (unsigned long long)r->no);
	c->quarantined = (int64_t)ts_str_is(r->state, "quarantined") - was;
	if (query_open(st->writer, "receipt_update", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, r->no);
	query_bind_str(q, 2, r->state);
	query_bind_str(q, 3, r->code);
	if (r->final_ms)
		query_bind_i64(q, 4, r->final_ms);
	query_bind_str(q, 5, r->run_id);
	query_bind_blob(q, 6, r->source_path.p, r->source_path.n);
	query_bind_u64(q, 7, r->kept);
	query_bind_str(q, 8, r->json);
	return query_run(q, err);
}

int catalog_update_receipt(struct store *st, const struct receipt_record *r, struct ts_error *err)
{
	struct catalog_change c = {0};

	pthread_mutex_lock(&st->write_lock);
	int n = catalog_begin(st, err);

	if (n == 0)
		n = catalog_end(st, write_update(st, r, &c, err), &c, 1, err);
	else
		store_note_write(st, err);
	pthread_mutex_unlock(&st->write_lock);
	return n;
}

static int delete_failed(struct store *st, uint64_t no, struct ts_error *err)
{
	struct query *q;

	if (query_open(st->writer, "receipt_forget_failed", &q, err) < 0)
		return -1;
	query_bind_u64(q, 1, no);
	return query_run(q, err);
}

int catalog_forget_failed(struct store *st, uint64_t no, struct ts_error *err)
{
	struct catalog_change c = {0};

	pthread_mutex_lock(&st->write_lock);
	int n = catalog_begin(st, err);

	if (n == 0)
		n = catalog_end(st, delete_failed(st, no, err), &c, 1, err);
	else
		store_note_write(st, err);
	pthread_mutex_unlock(&st->write_lock);
	return n;
}
