/* reply.c: sends what a handler filled: JSON, validators, gzip, streams
 */
#include "reply.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "kept.h"
#include "merged.h"
#include "negotiate.h"
#include "server.h"

#define GZIP_MIN 1024 /* smaller bodies stay plain */
#define GZIP_LEVEL 5
#define BLOCK_MIN (32 * 1024) /* bytes that one step of a stream makes, at least */
#define VALUE_MAX (16 * 1024) /* of a header; a Link repeats the query, encoded */

struct stream {
	struct request *rq;
	bool handed_over; /* MHD frees it, and it holds a reference to rq */
	struct source *source;
	struct buf plain, packed;
	const char *block;
	size_t block_len, sent;
	bool gzip, end, failed;
	z_stream z;
};

/* ---- gzip ---- */

static int gzip_begin(z_stream *z)
{
	memset(z, 0, sizeof(*z));
	return deflateInit2(z, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK ? 0
											       : -1;
}

/* Compresses all of `in`; `last` ends the member. 0, or -1 without memory. */
static int gzip_add(z_stream *z, const char *in, size_t n, bool last, struct buf *out)
{
	const uInt room = 16 * 1024;
	int result;

	z->next_in = (Bytef *)(uintptr_t)in;
	do {
		uInt piece = n > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)n;

		z->avail_in = piece;
		n -= piece;
		do {
			if (!buf_reserve(out, room))
				return -1;
			z->next_out = (Bytef *)out->data + out->len;
			z->avail_out = room;
			result = deflate(z, last && n == 0 ? Z_FINISH : Z_NO_FLUSH);
			out->len += room - z->avail_out;
		} while (z->avail_out == 0);
	} while (n > 0);
	return last && result != Z_STREAM_END ? -1 : 0;
}

/* The body as one gzip member, if it is worth it. */
static bool gzip_body(struct buf *body)
{
	struct buf packed = BUF_INIT;
	z_stream z;
	bool done;

	if (body->len < GZIP_MIN || gzip_begin(&z) < 0)
		return false;
	done = gzip_add(&z, body->data, body->len, true, &packed) == 0;
	deflateEnd(&z);
	if (done) {
		buf_done(body);
		*body = packed;
	} else {
		buf_done(&packed);
	}
	return done;
}

/* ---- streams ---- */

static void stream_free(struct stream *s)
{
	struct request *rq;

	if (!s)
		return;
	rq = s->handed_over ? s->rq : NULL;
	if (s->source)
		s->source->close(s->source);
	if (s->gzip)
		deflateEnd(&s->z);
	buf_done(&s->plain);
	buf_done(&s->packed);
	free(s);
	request_unref(rq);
}

/* Makes the next block. With gzip it can be empty before the end. */
static int stream_step(struct stream *s, struct ts_error *err)
{
	buf_clear(&s->plain);
	while (!s->end && s->plain.len < BLOCK_MIN) {
		int more = s->source->fill(s->source, &s->plain, err);

		if (more < 0)
			return -1;
		s->end = more == 0;
	}
	if (s->plain.failed)
		return ts_error_nomem(err);
	s->block = s->plain.data;
	s->block_len = s->plain.len;
	s->sent = 0;
	if (!s->gzip)
		return 0;
	buf_clear(&s->packed);
	if (gzip_add(&s->z, s->plain.data, s->plain.len, s->end, &s->packed) < 0)
		return ts_error_nomem(err);
	s->block = s->packed.data;
	s->block_len = s->packed.len;
	return 0;
}

/* The next block; false: there is none, because of the end or a failure, which is logged. */
static bool next_block(struct stream *s)
{
	struct ts_error err = TS_ERROR_INIT;

	if (s->end || s->failed)
		return false;
	if (atomic_load(&s->rq->http->cut))
		ts_error_set(&err, TS_E_SHUTDOWN, "the service is stopping");
	else
		stream_step(s, &err);
	if (err.code) {
		problem_log(s->rq, &err);
		s->failed = true;
		s->block_len = s->sent = 0;
	}
	return !s->failed;
}

/* Fills all the room that there is: each piece is a system call. */
static ssize_t on_read(void *cls, uint64_t pos, char *out, size_t max)
{
	struct stream *s = cls;
	size_t n = 0;

	(void)pos;
	while (n < max && (s->sent < s->block_len || next_block(s))) {
		size_t part = s->block_len - s->sent < max - n ? s->block_len - s->sent : max - n;

		memcpy(out + n, s->block + s->sent, part);
		s->sent += part;
		n += part;
	}
	if (n > 0)
		return (ssize_t)n;
	return s->failed ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
}

static void on_stream_freed(void *cls)
{
	stream_free(cls);
}

int answer_stream(struct request *rq, struct source *source, struct ts_error *err)
{
	struct stream *s = calloc(1, sizeof(*s));

	CHECK(rq->holds_place);
	if (!s) {
		source->close(source);
		return ts_error_nomem(err);
	}
	s->rq = rq;
	s->source = source;
	buf_init(&s->plain, SIZE_MAX);
	buf_init(&s->packed, SIZE_MAX);
	if (rq->gzip) {
		if (gzip_begin(&s->z) < 0)
			ts_error_nomem(err);
		else
			s->gzip = true;
	}
	if (err->code || stream_step(s, err) < 0) {
		stream_free(s);
		return -1;
	}
	rq->answer.stream = s;
	rq->answer.status = 200;
	rq->answer.content_type = rq->content_type;
	return 0;
}

/* ---- filling ---- */

void answer_reset(struct answer *answer)
{
	struct buf body = answer->body;

	stream_free(answer->stream);
	buf_done(&body);
	memset(answer, 0, sizeof(*answer));
	buf_init(&answer->body, SIZE_MAX);
}

void answer_header(struct request *rq, const char *name, const char *fmt, ...)
{
	struct answer *answer = &rq->answer;
	va_list ap;
	char *value;
	int n;

	CHECK(answer->header_count < ANSWER_HEADERS_MAX);
	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	value = n >= 0 && n < VALUE_MAX ? arena_alloc(&rq->arena, (size_t)n + 1) : NULL;
	if (!value)
		return;
	va_start(ap, fmt);
	vsnprintf(value, (size_t)n + 1, fmt, ap);
	va_end(ap);
	answer->headers[answer->header_count++] = (struct answer_header){name, value};
}

void answer_json(struct request *rq, unsigned status)
{
	struct buf *body = &rq->answer.body;

	if (rq->pretty) {
		struct buf compact = *body;

		buf_init(body, SIZE_MAX);
		json_reformat(body, ts_str(compact.data, compact.len), true, JSON_NUMBERS_DEFAULT);
		buf_done(&compact);
	}
	buf_putc(body, '\n');
	rq->answer.status = status;
	rq->answer.content_type = "application/json";
}

void answer_stored_json(struct request *rq, unsigned status, struct ts_str json)
{
	struct buf *body = &rq->answer.body;

	while (json.n > 0 && json.p[json.n - 1] == '\n')
		json.n--;
	if (rq->pretty || rq->numbers == JSON_NUMBERS_STRING)
		json_reformat(body, json, rq->pretty, rq->numbers);
	else
		buf_add(body, json.p, json.n);
	buf_putc(body, '\n');
	rq->answer.status = status;
	rq->answer.content_type = "application/json";
}

__attribute__((format(printf, 2, 0))) static bool is_unchanged(struct request *rq, const char *fmt,
							       va_list ap)
{
	char tag[256];
	int n = vsnprintf(tag, sizeof(tag), fmt, ap);

	if (n < 0 || (size_t)n >= sizeof(tag))
		return false;
	rq->answer.etag = arena_dup(&rq->arena, tag, (size_t)n);
	if (!rq->answer.etag || !rq->if_none_match.p)
		return false;
	if (!negotiate_unchanged(rq->if_none_match, ts_str(tag, (size_t)n), rq->gzip,
				 &rq->answer.etag_gzip))
		return false;
	rq->answer.status = 304;
	return true;
}

bool answer_is_unchanged(struct request *rq, const char *fmt, ...)
{
	bool unchanged;
	va_list ap;

	va_start(ap, fmt);
	unchanged = is_unchanged(rq, fmt, ap);
	va_end(ap);
	return unchanged;
}

bool answer_is_known(struct request *rq, const char *fmt, ...)
{
	bool unchanged;
	va_list ap;

	va_start(ap, fmt);
	unchanged = is_unchanged(rq, fmt, ap);
	va_end(ap);
	rq->keepable = rq->answer.etag && !request_is_capture(rq);
	return unchanged || (rq->keepable && kept_find_of_run(rq));
}

/* ---- sending ---- */

static void add(struct MHD_Response *response, const char *name, const char *value)
{
	/* Fails only without memory: the answer is then the same without that header. */
	(void)MHD_add_response_header(response, name, value);
}

static void add_date(struct MHD_Response *response, const char *name, int64_t ms)
{
	static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
	static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
					 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	time_t seconds = (time_t)(ms / 1000);
	char text[64];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm))
		return;
	snprintf(text, sizeof(text), "%s, %02d %s %04d %02d:%02d:%02d GMT", days[tm.tm_wday],
		 tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
		 tm.tm_sec);
	add(response, name, text);
}

static void add_headers(struct MHD_Response *response, const struct answer *answer, bool gzip)
{
	char tag[300];

	if (answer->content_type)
		add(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->content_type);
	if (gzip)
		add(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	if (answer->etag) {
		snprintf(tag, sizeof(tag), "\"%s%s\"", answer->etag,
			 gzip || answer->etag_gzip ? ".gz" : "");
		add(response, MHD_HTTP_HEADER_ETAG, tag);
	}
	if (answer->modified_ms > 0)
		add_date(response, MHD_HTTP_HEADER_LAST_MODIFIED, answer->modified_ms);
	add(response, MHD_HTTP_HEADER_CACHE_CONTROL,
	    answer->cache == CACHE_NEVER ? "no-store" : "private, no-cache");
	add(response, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding, Authorization, Origin");
	add(response, "X-Content-Type-Options", "nosniff");
	for (unsigned i = 0; i < answer->header_count; i++)
		add(response, answer->headers[i].name, answer->headers[i].value);
}

/* tight: the bytes will stay for some time. */
static struct MHD_Response *body_response(struct buf *body, bool tight)
{
	size_t n = body->len;
	char *bytes;
	struct MHD_Response *response;

	if (body->failed)
		return NULL;
	if (n == 0)
		return MHD_create_response_from_buffer(0, (void *)(uintptr_t) "",
						       MHD_RESPMEM_PERSISTENT);
	bytes = buf_take(body);
	if (tight) {
		char *smaller = realloc(bytes, n);

		bytes = smaller ? smaller : bytes;
	}
	response = MHD_create_response_from_buffer(n, bytes, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(bytes);
	return response;
}

static struct MHD_Response *stream_response(struct request *rq)
{
	struct stream *s = rq->answer.stream;
	struct MHD_Response *response = MHD_create_response_from_callback(
		rq->answer.length.has ? rq->answer.length.v : MHD_SIZE_UNKNOWN, BLOCK_MIN, on_read,
		s, on_stream_freed);

	if (!response)
		return NULL;
	request_ref(rq);
	s->handed_over = true;
	rq->answer.stream = NULL;
	return response;
}

enum MHD_Result reply_send(struct request *rq)
{
	struct answer *answer = &rq->answer;
	struct MHD_Response *response;
	enum MHD_Result result;
	bool gzip, keep;
	size_t bytes;

	rq->state = REQUEST_SENT;
	if (rq->kept)
		return kept_send(rq);
	if (answer->stream)
		gzip = answer->stream->gzip;
	else
		gzip = answer->body_is_gzip || (rq->gzip && gzip_body(&answer->body));
	bytes = answer->body.len;
	keep = kept_wants(rq, bytes);
	response = answer->stream ? stream_response(rq) : body_response(&answer->body, keep);
	if (!response)
		return MHD_NO;
	add_headers(response, answer, gzip);
	result = MHD_queue_response(rq->connection, answer->status, response);
	if (keep)
		kept_add(rq, response, bytes);
	else
		MHD_destroy_response(response);
	return result;
}
