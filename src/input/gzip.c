/* gzip.c: bytes to one gzip member in memory, for small documents that are stored compressed */
#include "tracespool/input.h"

#include <limits.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* 16: gzip header and trailer instead of zlib's */

int buf_gzip(struct ts_str in, struct buf *out)
{
	z_stream z = {0};
	size_t bound;
	int rc;

	if (in.n > INT_MAX)
		return -1;
	if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
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
