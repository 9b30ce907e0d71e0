/* salvage.c: the issue of a run that was salvaged (http-api.md 6.1) */
#include "salvage.h"

void salvage_issue_write(struct json_writer *w, const struct run_record *record)
{
	if (!record->salvaged.p)
		return;
	jw_open_object(w);
	jw_kv_text(w, "severity", "warning");
	jw_kv_text(w, "code", SALVAGE_CODE);
	jw_kv_str(w, "message", record->salvaged);
	jw_close_object(w);
}
