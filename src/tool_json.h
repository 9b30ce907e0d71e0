/* tool_json.h: answers of the daemon as jansson reads them; apart from tool.h, since the names of
 * jansson and of tracespool/json.h collide
 */
#ifndef TRACESPOOL_TOOL_JSON_H
#define TRACESPOOL_TOOL_JSON_H

#include <jansson.h>

#include "tool.h"

/* Parses a body; prints a message and gives NULL if it is not JSON. */
json_t *tool_parse(const struct buf *body);
void tool_json_free(json_t **j);                                  /* for CLEAN */
struct ts_str tool_str(const json_t *object, const char *member); /* no value if not a string */
/* A number, also one that came as a string; false if it is null or absent. */
bool tool_u64(const json_t *object, const char *member, uint64_t *ret);
void tool_put_json(FILE *out, const json_t *text); /* a string; others: "-" */
/* "bad_json at line 2210, column 77: message" of a reason object, and lines for excerpt and hint.
 */
void tool_put_reason(FILE *out, const json_t *reason);

#endif
