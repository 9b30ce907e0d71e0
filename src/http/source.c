/* source.c: GET /runs/<id>/source: the bytes that were dropped, with ranges and digests
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracespool/digest.h"
#include "tracespool/input.h"
#include "tracespool/json.h"

#include "handlers.h"
#include "negotiate.h"
#include "reply.h"
#include "server.h"

#define BLOCK ((size_t)64 << 10)
#define BASE64_MAX 48

/* One kept file, from `source` of the run (http-api.md 3.2). */
struct kept {
	struct spool_kept place;
	uint64_t decoded_bytes;
	bool gzip, salvaged, has_digest;
	char digest[DIGEST_TEXT + 1]; /* of the decoded bytes */
};

struct body {
	struct source source;
	struct kept kept;
	int fd;
	struct input *in; /* decodes; or NULL */
	uint64_t at, left;
};

/* ---- what is known of the source ---- */

/* Members that are read; of these only `shards` is no scalar. */
static bool is_known(struct ts_str key)
{
	static const char *const names[] = {
		"size_bytes", "uncompressed_bytes", "encoding", "mtime_at", "digest", "kept",
		"path",       "salvaged",           "shards"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (ts_str_is(key, names[i]))
			return true;
	return false;
}

static void read_fact(struct kept *k, struct ts_str key, const struct json_value *v)
{
	if (ts_str_is(key, "size_bytes")) {
		k->place.size = v->u64;
	} else if (ts_str_is(key, "uncompressed_bytes")) {
		k->decoded_bytes = v->u64;
	} else if (ts_str_is(key, "encoding")) {
		k->gzip = v->type == JSON_STRING && ts_str_is(v->str, "gzip");
	} else if (ts_str_is(key, "salvaged")) {
		k->salvaged = v->type == JSON_TRUE;
	} else if (ts_str_is(key, "mtime_at")) {
		if (v->type == JSON_STRING)
			text_parse_time(v->str, &k->place.mtime_ms);
	} else if (ts_str_is(key, "digest") && v->type == JSON_STRING && v->str.n == DIGEST_TEXT) {
		memcpy(k->digest, v->str.p, DIGEST_TEXT);
		k->has_digest = true;
	}
}

/* The facts of shard n, and how many there are. */
static void read_shards(struct json *j, struct kept *k)
{
	struct json_value v;
	struct ts_str key;

	k->place.folder = true;
	k->place.shard_count = 0;
	for (bool first = true; json_element(j, first); first = false) {
		bool wanted = k->place.shard_count++ == k->place.shard;

		if (json_value(j, &v) != JSON_OBJECT)
			return;
		for (bool head = true; json_key(j, head, &key); head = false) {
			if (!wanted || !is_known(key))
				json_skip(j);
			else if (json_value(j, &v) != JSON_NONE)
				read_fact(k, key, &v);
		}
	}
}

static int read_source(struct request *rq, uint64_t shard, struct kept *k, bool *ret_kept,
		       struct ts_error *err)
{
	struct ts_str text = rq->run.source;
	struct json_value v;
	struct ts_str key;
	struct json j;

	memset(k, 0, sizeof(*k));
	k->place.shard = shard;
	k->place.shard_count = 1;
	*ret_kept = false;
	json_begin(&j, text.p ? text.p : "{}", text.p ? text.n : 2, &rq->arena);
	if (json_value(&j, &v) == JSON_OBJECT) {
		for (bool first = true; json_key(&j, first, &key); first = false) {
			if (!is_known(key)) {
				json_skip(&j);
				continue;
			}
			if (json_value(&j, &v) == JSON_ARRAY)
				read_shards(&j, k);
			else if (ts_str_is(key, "kept"))
				*ret_kept = v.type == JSON_STRING && !ts_str_is(v.str, "none");
			else if (ts_str_is(key, "path") && v.type == JSON_STRING)
				k->place.path = v.str;
			else
				read_fact(k, key, &v);
		}
	}
	if (json_end(&j) < 0)
		return ts_error_set(err, TS_E_INTERNAL, "what is known of the source is damaged");
	if (!k->place.folder || k->place.shard_count == 1) {
		memcpy(k->digest, rq->run.digest, DIGEST_TEXT);
		k->has_digest = true;
	}
	/* Data that end in damage are known by the digest of the compressed bytes. */
	k->has_digest = k->has_digest && !(k->salvaged && k->gzip);
	return 0;
}

/* The receipt knows the name's own bytes, and where the source really went. */
static int find_place(struct request *rq, struct kept *k, bool kept, struct ts_error *err)
{
	struct db *db CLEAN(db_releasep) = NULL;
	struct receipt_record receipt = {0};
	char *copy = NULL;
	int found;

	if (request_catalog(rq, &db, err) < 0)
		return -1;
	found = catalog_receipt_of_run(db, rq->run.digest, &receipt, err);
	if (found < 0)
		return -1;
	if (found > 0) {
		kept = receipt.source_path.p != NULL;
		if (kept)
			copy = arena_dup(&rq->arena, receipt.source_path.p, receipt.source_path.n);
		k->place.path = ts_str(copy, receipt.source_path.n);
		receipt_record_done(&receipt);
		if (kept && !copy)
			return ts_error_nomem(err);
	}
	if (!kept || !k->place.path.p)
		return ts_error_set(err, TS_E_SOURCE_NOT_KEPT, "the source was not kept");
	return 0;
}

/* Prompts and responses may be in it: those need rights that nobody can have yet. What the summary
 * does not tell is taken for the worst. */
static int check_access(struct request *rq, struct ts_error *err)
{
	struct db *db CLEAN(db_releasep) = NULL;
	struct buf summary CLEAN(buf_done) = BUF_INIT;
	struct json_value v = {.type = JSON_NONE};
	struct ts_str key;
	struct json j;
	bool gzip, known = false;

	if (rq->run.kind != RUN_REQUESTS)
		return 0;
	if (request_catalog(rq, &db, err) < 0 ||
	    catalog_summary(db, rq->run.no, false, &summary, &gzip, err) < 0)
		return -1;
	json_begin(&j, summary.data, summary.len, &rq->arena);
	if (json_value(&j, &v) != JSON_OBJECT)
		return ts_error_set(err, TS_E_INTERNAL, "the summary is damaged");
	for (bool first = true; !known && json_key(&j, first, &key); first = false) {
		if (!ts_str_is(key, "lines")) {
			json_skip(&j);
			continue;
		}
		if (json_value(&j, &v) != JSON_OBJECT)
			break;
		for (bool head = true; json_key(&j, head, &key); head = false) {
			if (json_value(&j, &v) == JSON_U64 && ts_str_is(key, "request_payload"))
				known = v.u64 == 0;
		}
		break;
	}
	if (known)
		return 0;
	return ts_error_set(err, TS_E_SCOPE_MISSING,
			    "the source may hold prompts and responses: it needs the scope admin");
}

/* ---- the body ---- */

static int read_at(const struct body *b, void *out, size_t n, uint64_t at, struct ts_error *err)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(b->fd, (char *)out + done, n - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return ts_error_sys(err, TS_E_IO, errno, "the source cannot be read");
		if (got == 0)
			return ts_error_set(err, TS_E_IO, "the source became shorter");
		done += (size_t)got;
	}
	return 0;
}

static int check_same(const struct body *b, struct ts_error *err)
{
	if (spool_kept_same(b->fd, &b->kept.place))
		return 0;
	return ts_error_set(err, TS_E_IO, "the source changed while it was read");
}

static int fill_body(struct source *source, struct buf *out, struct ts_error *err)
{
	struct body *b = (struct body *)source;
	size_t n = b->left < BLOCK ? (size_t)b->left : BLOCK;
	ssize_t got;

	if (n == 0)
		return 0;
	if (!buf_reserve(out, n))
		return ts_error_nomem(err);
	if (b->in) {
		got = input_read(b->in, out->data + out->len, n, err);
		if (got < 0)
			return -1;
		if (got == 0)
			return ts_error_set(err, TS_E_IO, "the source became shorter");
		n = (size_t)got;
	} else if (read_at(b, out->data + out->len, n, b->at, err) < 0) {
		return -1;
	}
	out->len += n;
	out->data[out->len] = 0;
	b->at += n;
	b->left -= n;
	if (b->left)
		return 1;
	return check_same(b, err) < 0 ? -1 : 0;
}

static void close_body(struct source *source)
{
	struct body *b = (struct body *)source;

	input_close(b->in);
	close_fd(&b->fd);
	free(b);
}

/* ---- digests (RFC 9530) ---- */

static unsigned nibble(char hex)
{
	return (unsigned)(hex <= '9' ? hex - '0' : hex - 'a' + 10);
}

static void base64_of(const char digest[static DIGEST_TEXT + 1], char out[static BASE64_MAX])
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *hex = digest + 7;
	size_t n = 0;

	/* 32 bytes: ten groups of three, and two that are filled up. */
	for (unsigned i = 0; i < 33; i += 3) {
		unsigned v = 0;

		for (unsigned k = i; k < i + 3; k++)
			v = v << 8 |
			    (k < 32 ? nibble(hex[2 * k]) << 4 | nibble(hex[2 * k + 1]) : 0);
		for (int shift = 18; shift >= 0; shift -= 6)
			out[n++] = digits[v >> shift & 63];
	}
	out[n - 1] = '=';
	out[n] = 0;
}

static void digest_header(struct request *rq, const char *name,
			  const char digest[static DIGEST_TEXT + 1])
{
	char text[BASE64_MAX];

	base64_of(digest, text);
	answer_header(rq, name, "sha-256=:%s:", text);
}

/* Of the bytes that will be sent: a pass over them, before the first goes out. */
static int digest_part(const struct body *b, char out[static DIGEST_TEXT + 1], struct ts_error *err)
{
	CLEAN(digest_freep) struct digest *d = digest_new();
	CLEAN(free_ptr) char *block = malloc(BLOCK);

	if (!d || !block)
		return ts_error_nomem(err);
	for (uint64_t done = 0; done < b->left;) {
		size_t n = b->left - done < BLOCK ? (size_t)(b->left - done) : BLOCK;

		if (read_at(b, block, n, b->at + done, err) < 0)
			return -1;
		digest_add(d, block, n);
		done += n;
	}
	digest_finish(d, out);
	return 0;
}

/* Of a compressed file only the digest of the text is known beforehand; with a part of it the
 * digest of the whole is not said. */
static int add_digests(struct request *rq, const struct body *b, bool whole, struct ts_error *err)
{
	const struct kept *k = &b->kept;
	bool known = k->has_digest && (b->in || !k->gzip);
	char sent[DIGEST_TEXT + 1];

	if (whole && known)
		memcpy(sent, k->digest, sizeof(sent));
	else if (b->in)
		return 0;
	else if (digest_part(b, sent, err) < 0)
		return -1;
	digest_header(rq, "Content-Digest", sent);
	if (whole)
		digest_header(rq, "Repr-Digest", sent);
	else if (known)
		digest_header(rq, "Repr-Digest", k->digest);
	return 0;
}

/* ---- the answer ---- */

/* If-Range that does not name the present form makes the range void. */
static bool range_holds(const struct request *rq)
{
	struct ts_str tag = rq->if_range;

	if (!tag.p)
		return true;
	return tag.n >= 2 && tag.p[0] == '"' && tag.p[tag.n - 1] == '"' &&
	       ts_str_is(ts_str(tag.p + 1, tag.n - 2), rq->answer.etag);
}

static int choose_range(struct request *rq, struct body *b, bool *ret_whole, struct ts_error *err)
{
	uint64_t size = b->in ? b->kept.decoded_bytes : b->kept.place.size;
	enum range range = RANGE_ALL;

	b->left = size;
	/* Decoding can begin at the begin only. */
	if (!b->in && range_holds(rq))
		range = negotiate_range(rq->range, size, &b->at, &b->left);
	if (range == RANGE_OUTSIDE) {
		rq->range_size = size;
		return ts_error_set(err, TS_E_BAD_RANGE, "the source has %" PRIu64 " bytes", size);
	}
	*ret_whole = range == RANGE_ALL;
	answer_header(rq, MHD_HTTP_HEADER_ACCEPT_RANGES, b->in ? "none" : "bytes");
	if (range == RANGE_PART)
		answer_header(rq, MHD_HTTP_HEADER_CONTENT_RANGE,
			      "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, b->at, b->at + b->left - 1,
			      size);
	return 0;
}

static int open_body(struct request *rq, struct body *b, bool decode, struct ts_error *err)
{
	const struct input_limits limits = {
		.line_bytes = rq->http->conf->limits.line_bytes,
		.expansion_ratio = rq->http->conf->limits.expansion_ratio,
	};

	if (spool_open_kept(rq->http->options.spool, &b->kept.place, &b->fd, err) < 0)
		return -1;
	return decode && b->kept.gzip ? input_open(b->fd, true, &limits, &b->in, err) : 0;
}

static enum outcome stream_source(struct request *rq, const struct kept *kept, bool decode,
				  struct ts_error *err)
{
	struct body *b = calloc(1, sizeof(*b));
	uint64_t length;
	bool whole = true;

	if (!b) {
		ts_error_nomem(err);
		return FAILED;
	}
	*b = (struct body){
		.source = {fill_body, close_body},
		.kept = *kept,
		.fd = -1,
	};
	if (open_body(rq, b, decode, err) < 0 || choose_range(rq, b, &whole, err) < 0 ||
	    add_digests(rq, b, whole, err) < 0) {
		close_body(&b->source);
		return FAILED;
	}
	rq->content_type = b->kept.gzip && !b->in ? "application/gzip" : "application/x-ndjson";
	length = b->left;
	if (answer_stream(rq, &b->source, err) < 0)
		return FAILED;
	rq->answer.length = (struct opt_u64){.v = length, .has = true};
	if (!whole)
		rq->answer.status = 206;
	return ANSWERED;
}

enum outcome handle_source(struct request *rq, struct ts_error *err)
{
	uint64_t shard = 0;
	struct ts_str named;
	bool decode = false, kept;
	struct kept k;

	rq->gzip = false; /* the bytes are sent as they are */
	if (request_param_bool(rq, "decode", &decode, err) < 0 ||
	    request_param(rq, "shard", &named, err) < 0 ||
	    request_param_u64(rq, "shard", 0, UINT64_MAX, &shard, err) < 0 ||
	    request_find_run(rq, -1, err) < 0 || check_access(rq, err) < 0 ||
	    read_source(rq, shard, &k, &kept, err) < 0 || find_place(rq, &k, kept, err) < 0)
		return FAILED;
	if (shard >= k.place.shard_count || (!named.p && k.place.shard_count > 1)) {
		rq->parameter = "shard";
		ts_error_set(err, TS_E_BAD_PARAMETER, "shard is one of 0 to %" PRIu64,
			     k.place.shard_count - 1);
		return FAILED;
	}
	rq->answer.modified_ms = rq->run.ingested_ms;
	if (answer_is_unchanged(rq, "%.12s.%u.%c1.%" PRIu64, rq->run.digest + 7, rq->run.revision,
				decode && k.gzip ? 'd' : 'b', shard))
		return ANSWERED;
	if (request_take_place(rq, err) < 0)
		return FAILED;
	return rq->on_worker ? stream_source(rq, &k, decode, err) : LATER;
}
