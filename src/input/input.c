/* input.c: bytes from a plain or gzip file: members, trailer checks, expansion cap, digest
 *
 * The gzip frame is read here and only the deflate data go through zlib, in raw mode: zlib's own
 * gzip mode compares the CRC before it has seen the whole trailer, and so would call some
 * truncated files corrupt.
 */
#include "tracespool/input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "tracespool/util.h"

#define RAW_BLOCK ((size_t)128 << 10)   /* bytes of the file at a time */
#define DRAIN_BLOCK ((size_t)128 << 10) /* what input_finish reads at a time */
#define RATIO_FROM ((uint64_t)64 << 20) /* the expansion ratio counts from here on */

enum gzip_flag { GZ_HCRC = 2, GZ_EXTRA = 4, GZ_NAME = 8, GZ_COMMENT = 16, GZ_RESERVED = 0xe0 };

enum step { STEP_BORDER, STEP_DATA, STEP_END, STEP_FAILED };

struct input {
	int fd;
	bool gzip;
	bool raw_eof;
	uint64_t ratio;
	uint64_t offset; /* in the file: the next pread */
	uint64_t decoded, members;
	struct digest *digest;
	enum step step;
	struct ts_error failure; /* of STEP_FAILED: given at each further read */
	/* gzip only */
	unsigned char *raw; /* RAW_BLOCK bytes, z.next_in points into it */
	z_stream z;
	bool z_ready;
	bool z_full; /* the last step filled all its room: zlib may hold more output */
	uint64_t member_at; /* file offset of the member being read */
	uLong crc;          /* of the member's header, then of its data */
	uint32_t length;    /* of the member's data, modulo 2^32 */
};

bool input_name_is_gzip(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *last = slash ? slash + 1 : name, *dot = strrchr(last, '.');

	return dot && dot != last && strcmp(dot, ".gz") == 0;
}

int input_open(int fd, bool gzip, const struct input_limits *limits, struct input **ret,
	       struct ts_error *err)
{
	CLEAN(input_closep) struct input *in = calloc(1, sizeof(*in));

	if (!in)
		return ts_error_nomem(err);
	in->fd = fd;
	in->gzip = gzip;
	in->ratio = limits->expansion_ratio;
	in->step = gzip ? STEP_BORDER : STEP_DATA;
	ts_error_init(&in->failure);
	in->digest = digest_new();
	if (!in->digest)
		return ts_error_nomem(err);
	if (gzip) {
		in->raw = malloc(RAW_BLOCK);
		if (!in->raw || inflateInit2(&in->z, -MAX_WBITS) != Z_OK)
			return ts_error_nomem(err);
		in->z_ready = true;
	}
	/* Only a hint: file systems that do not know it read all the same. */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	*ret = TAKE(in);
	return 0;
}

void input_close(struct input *in)
{
	if (!in)
		return;
	if (in->z_ready)
		inflateEnd(&in->z);
	free(in->raw);
	digest_free(in->digest);
	free(in);
}

void input_closep(struct input **in)
{
	input_close(*in);
}

/* Bytes of the file at `offset`: above 0 how many, 0 the end, -1 an error. */
static ssize_t raw_pread(int fd, void *out, size_t size, uint64_t offset, struct ts_error *err)
{
	ssize_t n;

	do {
		n = pread(fd, out, size, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		ts_error_sys(err, errno == EACCES ? TS_E_UNREADABLE : TS_E_IO, errno,
			     "reading at byte %llu failed", (unsigned long long)offset);
	return n;
}

/* Puts a block into the empty raw buffer: 1, 0 at the end of the file, -1 (in->failure set). */
static int raw_fill(struct input *in)
{
	ssize_t n;

	if (in->raw_eof)
		return 0;
	n = raw_pread(in->fd, in->raw, RAW_BLOCK, in->offset, &in->failure);
	if (n < 0)
		return -1;
	in->raw_eof = n == 0;
	in->offset += (uint64_t)n;
	in->z.next_in = in->raw;
	in->z.avail_in = (uInt)n;
	return n > 0;
}

static uint64_t raw_consumed(const struct input *in)
{
	return in->offset - in->z.avail_in;
}

uint64_t input_consumed(const struct input *in)
{
	return raw_consumed(in);
}

static int member_fail(struct input *in, enum ts_code_id id, const char *what)
{
	ts_error_set(&in->failure, id, "gzip member at byte %llu: %s",
		     (unsigned long long)in->member_at, what);
	in->failure.byte = (int64_t)in->member_at;
	return -1;
}

/* The next bytes of the frame of a member; that the file ends there is gzip_truncated. */
static int frame_bytes(struct input *in, unsigned char *out, size_t n, const char *where)
{
	for (size_t i = 0; i < n; i++) {
		if (in->z.avail_in == 0) {
			int more = raw_fill(in);

			if (more < 0)
				return -1;
			if (more == 0)
				return member_fail(in, TS_E_GZIP_TRUNCATED, where);
		}
		out[i] = *in->z.next_in++;
		in->z.avail_in--;
	}
	return 0;
}

/* The same in the header, which has an optional CRC over all of it. */
static int header_bytes(struct input *in, unsigned char *out, size_t n)
{
	if (frame_bytes(in, out, n, "the file ends in its header") < 0)
		return -1;
	in->crc = crc32_z(in->crc, out, n);
	return 0;
}

static int header_text(struct input *in)
{
	unsigned char c;

	do {
		if (header_bytes(in, &c, 1) < 0)
			return -1;
	} while (c);
	return 0;
}

static int header_extra(struct input *in)
{
	unsigned char size[2], c;

	if (header_bytes(in, size, 2) < 0)
		return -1;
	for (unsigned left = size[0] | (unsigned)size[1] << 8; left; left--)
		if (header_bytes(in, &c, 1) < 0)
			return -1;
	return 0;
}

static int header_crc(struct input *in)
{
	unsigned have = (unsigned)in->crc & 0xffff;
	unsigned char want[2];

	if (header_bytes(in, want, 2) < 0)
		return -1;
	if (have != (want[0] | (unsigned)want[1] << 8))
		return member_fail(in, TS_E_GZIP_CORRUPT, "wrong CRC of its header");
	return 0;
}

/* At a member border. The file may end here once it had a member. */
static int member_begin(struct input *in)
{
	unsigned char head[10];
	int more = in->z.avail_in ? 1 : raw_fill(in);

	if (more < 0)
		return -1;
	in->member_at = raw_consumed(in);
	if (more == 0) {
		if (in->members == 0)
			return member_fail(in, TS_E_GZIP_TRUNCATED, "the file is empty");
		in->step = STEP_END;
		return 0;
	}
	in->crc = crc32_z(0, NULL, 0);
	if (header_bytes(in, head, 1) < 0)
		return -1;
	if (head[0] != 0x1f)
		return member_fail(in, TS_E_GZIP_CORRUPT,
				   in->members ? "other bytes follow the last member"
					       : "the file does not begin as gzip");
	if (header_bytes(in, head + 1, 1) < 0)
		return -1;
	if (head[1] != 0x8b)
		return member_fail(in, TS_E_GZIP_CORRUPT, "it does not begin as gzip");
	if (header_bytes(in, head + 2, 8) < 0)
		return -1;
	if (head[2] != Z_DEFLATED)
		return member_fail(in, TS_E_GZIP_CORRUPT, "unknown compression method");
	if (head[3] & GZ_RESERVED)
		return member_fail(in, TS_E_GZIP_CORRUPT, "reserved flags in its header");
	if (head[3] & GZ_EXTRA && header_extra(in) < 0)
		return -1;
	if (head[3] & GZ_NAME && header_text(in) < 0)
		return -1;
	if (head[3] & GZ_COMMENT && header_text(in) < 0)
		return -1;
	if (head[3] & GZ_HCRC && header_crc(in) < 0)
		return -1;
	CHECK(inflateReset(&in->z) == Z_OK);
	in->crc = crc32_z(0, NULL, 0);
	in->length = 0;
	in->z_full = false;
	in->step = STEP_DATA;
	return 0;
}

static uint32_t le32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int member_end(struct input *in)
{
	unsigned char trailer[8];

	if (frame_bytes(in, trailer, sizeof(trailer), "the file ends in its trailer") < 0)
		return -1;
	if (le32(trailer) != (uint32_t)in->crc)
		return member_fail(in, TS_E_GZIP_CORRUPT, "wrong CRC of its data");
	if (le32(trailer + 4) != in->length)
		return member_fail(in, TS_E_GZIP_CORRUPT, "wrong length of its data");
	in->members++;
	in->step = STEP_BORDER;
	return 0;
}

/* Inflates into out, *used bytes of which are filled. */
static int member_data(struct input *in, unsigned char *out, size_t size, size_t *used)
{
	size_t room = size - *used;
	uInt give = room > UINT32_MAX ? UINT32_MAX : (uInt)room;
	uInt got;
	int result;

	/* Not before zlib has handed out what it holds: all bytes in front of a cut count. */
	if (in->z.avail_in == 0 && !in->z_full) {
		int more = raw_fill(in);

		if (more < 0)
			return -1;
		if (more == 0)
			return member_fail(in, TS_E_GZIP_TRUNCATED, "the file ends in its data");
	}
	in->z.next_out = out + *used;
	in->z.avail_out = give;
	result = inflate(&in->z, Z_NO_FLUSH);
	got = give - in->z.avail_out;
	in->z_full = in->z.avail_out == 0;
	in->crc = crc32_z(in->crc, out + *used, got);
	in->length += got;
	*used += got;
	if (result == Z_STREAM_END)
		return member_end(in);
	if (result == Z_MEM_ERROR)
		return ts_error_nomem(&in->failure);
	/* Z_BUF_ERROR: zlib holds all of the input it was given and wants more. */
	if (result != Z_OK && result != Z_BUF_ERROR)
		return member_fail(in, TS_E_GZIP_CORRUPT, "its data do not inflate");
	return 0;
}

static bool over_ratio(const struct input *in, uint64_t decoded)
{
	return decoded >= RATIO_FROM &&
	       (unsigned __int128)decoded > (unsigned __int128)raw_consumed(in) * in->ratio;
}

static size_t gzip_read(struct input *in, void *out, size_t size)
{
	size_t used = 0;

	while (used < size && in->step != STEP_END) {
		int result = in->step == STEP_BORDER ? member_begin(in)
						     : member_data(in, out, size, &used);

		if (result < 0) {
			in->step = STEP_FAILED;
			break;
		}
	}
	if (used && over_ratio(in, in->decoded + used)) {
		/* Takes the place of a failure behind these bytes: they are not handed out. */
		ts_error_init(&in->failure);
		ts_error_set(&in->failure, TS_E_EXPANSION_RATIO,
			     "%llu bytes inflate to more than %llu times as many",
			     (unsigned long long)raw_consumed(in), (unsigned long long)in->ratio);
		in->step = STEP_FAILED;
		used = 0;
	}
	return used;
}

static size_t plain_read(struct input *in, void *out, size_t size)
{
	ssize_t n = raw_pread(in->fd, out, size, in->offset, &in->failure);

	if (n < 0)
		in->step = STEP_FAILED;
	else if (n == 0)
		in->step = STEP_END;
	else
		in->offset += (uint64_t)n;
	return n < 0 ? 0 : (size_t)n;
}

ssize_t input_read(struct input *in, void *out, size_t size, struct ts_error *err)
{
	size_t n = 0;

	CHECK(size > 0 && size <= SSIZE_MAX);
	if (in->step != STEP_FAILED && in->step != STEP_END)
		n = in->gzip ? gzip_read(in, out, size) : plain_read(in, out, size);
	if (n) {
		digest_add(in->digest, out, n);
		in->decoded += n;
		return (ssize_t)n;
	}
	if (in->step != STEP_FAILED)
		return 0;
	if (!err->code)
		*err = in->failure;
	return -1;
}

/* The digest of a file that does not decode: of all its bytes. */
static int digest_raw(struct input *in, void *block, size_t size, char out[static DIGEST_TEXT + 1],
		      struct ts_error *err)
{
	uint64_t offset = 0;
	ssize_t n;

	digest_finish(in->digest, out); /* forgets what was decoded */
	while ((n = raw_pread(in->fd, block, size, offset, err)) > 0) {
		digest_add(in->digest, block, (size_t)n);
		offset += (uint64_t)n;
	}
	if (n < 0)
		return -1;
	in->offset = offset;
	in->z.avail_in = 0;
	digest_finish(in->digest, out);
	return 0;
}

int input_finish(struct input *in, struct input_facts *ret, struct ts_error *err)
{
	CLEAN(free_ptr) void *block = malloc(DRAIN_BLOCK);
	struct ts_error failure = TS_ERROR_INIT;
	struct input_facts facts = {.gzip = in->gzip};
	ssize_t n;

	if (!block)
		return ts_error_nomem(err);
	do {
		n = input_read(in, block, DRAIN_BLOCK, &failure);
	} while (n > 0);
	if (n == 0) {
		digest_finish(in->digest, facts.digest);
	} else if (failure.code->fate == TS_FATE_REFUSE) {
		if (digest_raw(in, block, DRAIN_BLOCK, facts.digest, err) < 0)
			return -1;
	} else {
		if (!err->code)
			*err = failure;
		return -1;
	}
	facts.file_bytes = raw_consumed(in);
	facts.decoded_bytes = in->decoded;
	facts.members = in->members;
	*ret = facts;
	return 0;
}
