/* target.h: a request target: split raw, decoded piece by piece (http-api.md 2.2, 2.3, 11)
 */
#ifndef HTTP_TARGET_H
#define HTTP_TARGET_H

#include "tracespool/buf.h"
#include "tracespool/error.h"
#include "tracespool/list.h"
#include "tracespool/text.h"

#define TARGET_QUERY_MAX 8192   /* bytes of the raw query, with what a Link has to encode */
#define TARGET_SEGMENTS_MAX 6   /* deeper paths are unknown */
#define TARGET_INSTANCE_MAX 512 /* bytes of a target shown in problems and logs */

struct target {
	struct ts_str authority;   /* of an absolute-form target, or no value */
	struct ts_str raw;         /* path and query as sent, below the base path */
	struct ts_str path, query; /* raw; query has no value if there is no '?' */
	struct ts_str segment[TARGET_SEGMENTS_MAX]; /* decoded */
	size_t segment_count; /* may be above TARGET_SEGMENTS_MAX: then it is no path of ours */
	struct list_param *params; /* decoded, in the order sent */
	size_t param_count;
};

/* Splits; nothing is decoded yet. All pieces borrow from `sent`. base_path ("" or "/prefix") is
 * taken off where the path has it. */
void target_split(struct target *t, struct ts_str sent, const char *base_path);

/* Splits the raw path at '/', then decodes each segment. Errors: bad_encoding. */
int target_decode_path(struct target *t, struct arena *arena, struct ts_error *err);

/* Splits the raw query at '&' and '=', then decodes names and values ('+' is a space). */
int target_decode_query(struct target *t, struct arena *arena, struct ts_error *err);

/* Decodes %XX, and '+' if `form`. 0, or -1 for a bad escape or an encoded NUL (*ret untouched). */
int target_unescape(struct ts_str s, bool form, struct arena *arena, struct ts_str *ret,
		    struct ts_error *err);

/* Bytes of the raw query as a URI has it: those that have no place in one count three. */
size_t target_query_size(const struct target *t);

/* The raw target of the same list one page further: `limit` and `cursor` replaced, bytes that have
 * no place in a header encoded. Appended to out with base_path in front. The query is decoded. */
void target_next_page(const struct target *t, const char *base_path, uint64_t limit,
		      struct ts_str cursor, struct buf *out);

/* FNV-1a of the raw path and query, for validators. */
uint64_t target_hash(const struct target *t);

#endif
