/* salvage.h: the issue of a run that was salvaged, for the health of both kinds */
#ifndef ANALYZE_SALVAGE_H
#define ANALYZE_SALVAGE_H

#include "tracespool/store.h"
#include "tracespool/writer.h"

#define SALVAGE_CODE "salvaged"

/* Nothing for a run that is whole. A run with a value in record->salvaged has capture_complete
 * false, whatever its terminal record says. */
void salvage_issue_write(struct json_writer *w, const struct run_record *record);

#endif
