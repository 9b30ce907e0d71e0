/* fuzz_target.c: a request target: path, query, routes, the next page; and request headers */
#include <string.h>

#include "tracespool/util.h"

#include "../../src/http/negotiate.h"
#include "../../src/http/router.h"

#include "fuzz.h"

static void check_target(struct ts_str sent, const char *base_path)
{
	struct ts_error err = TS_ERROR_INIT;
	struct arena arena = {.limit = 1048576};
	struct ts_str var = {NULL, 0};
	struct target t;
	struct buf next = BUF_INIT;

	target_split(&t, sent, base_path);
	HOLDS(t.path.n <= sent.n + 1 && t.query.n <= sent.n);
	if (target_decode_path(&t, &arena, &err) == 0 &&
	    target_decode_query(&t, &arena, &err) == 0) {
		const struct route *route = route_find(http_routes, &t, &var);

		for (size_t i = 0; i < t.param_count; i++) {
			HOLDS(!memchr(t.params[i].name.p, 0, t.params[i].name.n));
			HOLDS(!memchr(t.params[i].value.p, 0, t.params[i].value.n));
			if (route)
				route_knows(route, t.params[i].name);
		}
		target_next_page(&t, base_path, 100, ts_str("a%/+\"<>", 7), &next);
		HOLDS(next.failed || !strpbrk(next.data, "\r\n <>\""));
	} else {
		HOLDS(err.code && err.message[0]);
	}
	buf_done(&next);
	arena_done(&arena);
}

static void check_headers(struct ts_str text)
{
	static const char *const types[] = {"application/json", "application/x-ndjson", NULL};
	static char *const hosts[] = {"traces.example.org", NULL};
	bool gzip;
	int chosen = negotiate_type(text, types);

	HOLDS(chosen >= -1 && chosen < 2);
	gzip = negotiate_gzip(text);
	negotiate_unchanged(text, TS_STR("sha256-abc"), gzip, &gzip);
	negotiate_host(text, "127.0.0.1:7117", hosts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *nul = memchr(data, 0, size);
	struct ts_str text = ts_str((const char *)data, size);

	check_headers(text);
	if (nul) /* the library ends a target there */
		text.n = (size_t)(nul - text.p);
	check_target(text, "");
	check_target(text, "/traces");
	return 0;
}
