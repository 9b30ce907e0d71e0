/* salvage.c: may a damaged drop be taken up to its damage (http-api.md 6.1), and what is said of it
 *
 * Damage is what a writer that was killed leaves at the very end: gzip data that stop or go wrong,
 * or a last line that is torn. Anything else, and the same anywhere else, is refused as ever.
 */
#include "load.h"

#include <inttypes.h>

#include "tracespool/text.h"
#include "tracespool/util.h"

bool salvage_accepts(const struct ts_error *reason, bool last_line)
{
	if (ts_error_is(reason, TS_E_GZIP_TRUNCATED) || ts_error_is(reason, TS_E_GZIP_CORRUPT))
		return true;
	return last_line &&
	       (ts_error_is(reason, TS_E_BAD_JSON) || ts_error_is(reason, TS_E_BAD_UTF8));
}

bool salvage_is_void(const struct ts_error *why)
{
	return ts_error_is(why, TS_E_EMPTY_FILE) || ts_error_is(why, TS_E_NO_REQUESTS) ||
	       ts_error_is(why, TS_E_MISSING_META);
}

int salvage_describe(const struct load *l, struct arena *keep, struct ts_str *ret,
		     struct ts_error *err)
{
	CLEAN(buf_done) struct buf text = BUF_INIT;
	const struct ts_error *e = &l->damage;
	const char *copy;

	if (!e->code)
		return 0;
	buf_puts(&text, e->code->code);
	if (e->file[0])
		buf_printf(&text, ", shard %s", e->file);
	if (e->line)
		buf_printf(&text, ", line %" PRIu64, e->line);
	if (e->byte >= 0)
		buf_printf(&text, ", byte %" PRId64, e->byte);
	buf_printf(&text, ": %s; taken: what stands before, %" PRIu64 " lines", e->message,
		   l->counts.lines);
	copy = text.failed ? NULL : arena_dup(keep, text.data, text.len);
	if (!copy)
		return ts_error_nomem(err);
	*ret = ts_str(copy, text.len);
	return 0;
}
