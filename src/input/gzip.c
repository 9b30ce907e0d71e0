/* gzip.c: bytes to one gzip member in memory, for small documents that are stored compressed */
#include "tracespool/input.h"

#include <limits.h>
#include <zlib.h>

#define GZIP_HEADER 16 /* gzip header and trailer instead of zlib's */

/* zlib's tables, 256 KiB at most, cost more than a small text: a window and a hash of its size do
 * the same for it. */
static int window_bits(size_t n)
{
	int bits = 9; /* 8 is not what it says */

	while (bits < 15 && (size_t)1 << bits < n)
		bits++;
	return bits;
}

int buf_gzip(struct ts_str in, struct buf *out)
{
	z_stream z = {0};
	size_t bound;
	int bits = window_bits(in.n);
	int rc;

	if (in.n > INT_MAX)
		return -1;
	if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, bits + GZIP_HEADER, bits - 7,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -1;
	bound = deflateBound(&z, (uLong)in.n);
	if (bound > UINT_MAX || !buf_reserve(out, bound)) {
		deflateEnd(&z);
		return -1;
	}
	/* zlib's input pointer lacks the const; it does not write there. */
	z.next_in = (z_const Bytef *)(uintptr_t)in.p;
	z.avail_in = (uInt)in.n;
	z.next_out = (Bytef *)(out->data + out->len);
	z.avail_out = (uInt)bound;
	rc = deflate(&z, Z_FINISH);
	if (rc == Z_STREAM_END) {
		out->len += z.total_out;
		out->data[out->len] = 0;
	}
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : -1;
}
