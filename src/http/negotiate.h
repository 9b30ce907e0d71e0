/* negotiate.h: what request headers ask for: form, coding, validator, host; pure functions
 */
#ifndef HTTP_NEGOTIATE_H
#define HTTP_NEGOTIATE_H

#include <stdbool.h>

#include "tracespool/text.h"

/* Which of `types` (NULL-ended) suits the Accept header best, the earlier one on a tie: its index,
 * or -1 if none is accepted. No value, or an empty header, accepts all. */
int negotiate_type(struct ts_str accept, const char *const *types);

/* Does Accept-Encoding allow gzip? Without the header: no. */
bool negotiate_gzip(struct ts_str accept_encoding);

/* Does an If-None-Match list name this tag? Weak comparison; `base` has no quotes. The tag of the
 * gzip form, `base` with ".gz", matches too if gzip is allowed now. *ret_gzip says which of the two
 * it was ("*": the one that would be sent). */
bool negotiate_unchanged(struct ts_str if_none_match, struct ts_str base, bool gzip,
			 bool *ret_gzip);

/* What a Range header asks of `size` bytes. RANGE_ALL: no header, another unit, several ranges, or
 * bad syntax, all of which are answered by the whole. */
enum range { RANGE_ALL, RANGE_PART, RANGE_OUTSIDE };
enum range negotiate_range(struct ts_str range, uint64_t size, uint64_t *ret_from,
			   uint64_t *ret_length);

/* Is this Host value (with or without port) one that is served over TCP: localhost, a loopback
 * address, `address` ("127.0.0.1:7117"), or one of hosts (NULL-ended, may be NULL)? */
bool negotiate_host(struct ts_str host, const char *address, char *const *hosts);

#endif
