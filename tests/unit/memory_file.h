/* memory_file.h: files of tests: bytes in an anonymous file, and gzip members made of bytes */
#ifndef TESTS_MEMORY_FILE_H
#define TESTS_MEMORY_FILE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "tracespool/buf.h"
#include "tracespool/input.h"

/* A descriptor of a file with these bytes; the caller closes it. */
static inline int memory_file(const void *bytes, size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	for (size_t done = 0; done < n;) {
		ssize_t step = write(fd, (const char *)bytes + done, n - done);

		ck_assert_int_gt(step, 0);
		done += (size_t)step;
	}
	return fd;
}

/* Appends one gzip member of the bytes; header may be NULL. */
static inline void add_member(struct buf *out, const void *bytes, size_t n, gz_header *header)
{
	z_stream z = {0};
	size_t room;

	ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	if (header)
		ck_assert_int_eq(deflateSetHeader(&z, header), Z_OK);
	room = deflateBound(&z, n) + 1024;
	ck_assert(buf_reserve(out, room));
	z.next_in = (Bytef *)bytes;
	z.avail_in = (uInt)n;
	z.next_out = (Bytef *)out->data + out->len;
	z.avail_out = (uInt)room;
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	out->len += room - z.avail_out;
	out->data[out->len] = 0;
	deflateEnd(&z);
}

static inline void add_text_member(struct buf *out, const char *text)
{
	add_member(out, text, strlen(text), NULL);
}

static const struct input_limits test_limits = {.line_bytes = 67108864, .expansion_ratio = 250};

#endif
