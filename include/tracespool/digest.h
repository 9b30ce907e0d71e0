/* digest.h: SHA-256, the identity of a drop (http-api.md, "digest") */
#ifndef TRACESPOOL_DIGEST_H
#define TRACESPOOL_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#define DIGEST_HEX 64                /* lower-case hex digits */
#define DIGEST_TEXT (7 + DIGEST_HEX) /* "sha256:" and the digits */

struct digest;

/* NULL without memory. */
struct digest *digest_new(void);
void digest_free(struct digest *d);
void digest_freep(struct digest **d); /* for CLEAN */
void digest_add(struct digest *d, const void *bytes, size_t n);
/* Writes "sha256:" and 64 digits and a final 0, and starts anew. */
void digest_finish(struct digest *d, char out[static DIGEST_TEXT + 1]);

#endif
