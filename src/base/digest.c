/* digest.c: SHA-256 by libcrypto */
#include "tracespool/digest.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

struct digest {
	EVP_MD_CTX *ctx;
};

struct digest *digest_new(void)
{
	struct digest *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->ctx = EVP_MD_CTX_new();
	if (!d->ctx || EVP_DigestInit_ex(d->ctx, EVP_sha256(), NULL) != 1) {
		digest_free(d);
		return NULL;
	}
	return d;
}

void digest_free(struct digest *d)
{
	if (d) {
		EVP_MD_CTX_free(d->ctx);
		free(d);
	}
}

void digest_freep(struct digest **d)
{
	digest_free(*d);
}

void digest_add(struct digest *d, const void *bytes, size_t n)
{
	CHECK(EVP_DigestUpdate(d->ctx, bytes, n) == 1);
}

void digest_finish(struct digest *d, char out[static DIGEST_TEXT + 1])
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;
	static const char hex[] = "0123456789abcdef";

	CHECK(EVP_DigestFinal_ex(d->ctx, sum, &n) == 1 && n * 2 == DIGEST_HEX);
	memcpy(out, "sha256:", 7);
	for (unsigned i = 0; i < n; i++) {
		out[7 + 2 * i] = hex[sum[i] >> 4];
		out[8 + 2 * i] = hex[sum[i] & 15];
	}
	out[DIGEST_TEXT] = 0;
	CHECK(EVP_DigestInit_ex(d->ctx, EVP_sha256(), NULL) == 1);
}
