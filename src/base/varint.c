/* varint.c: numbers of 64 bits as bytes, seven bits a byte */
#include "tracespool/varint.h"

void varint_put(struct buf *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_putc(out, (char)(v | 0x80));
	buf_putc(out, (char)v);
}

struct varint_reader varint_open(struct ts_str bytes)
{
	const char *p = bytes.p ? bytes.p : "";

	return (struct varint_reader){.at = (const unsigned char *)p,
				      .end = (const unsigned char *)p + bytes.n};
}

uint64_t varint_take(struct varint_reader *in)
{
	uint64_t v = 0;

	for (unsigned shift = 0; !in->damaged && shift < 64 && in->at < in->end; shift += 7) {
		uint64_t bits = *in->at & 0x7f;

		if (shift == 63 && bits > 1)
			break;
		v |= bits << shift;
		if (!(*in->at++ & 0x80))
			return v;
	}
	in->damaged = true;
	return 0;
}
