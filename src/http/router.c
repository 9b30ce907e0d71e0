/* router.c: finds the route of a decoded path; knows the parameters of a route
 */
#include "router.h"

#include <string.h>

#include "tracespool/util.h"

/* Those that every JSON answer understands (http-api.md 2.4, 2.5, 2.7). */
static const char *const common_params[] = {"format", "pretty", "numbers", NULL};
static const char *const page_params[] = {"limit", "cursor", "count", "sort", "fields", NULL};

static bool pattern_fits(const char *pattern, const struct target *t, struct ts_str *ret_var)
{
	size_t i = 0;
	struct ts_str var = {NULL, 0};

	for (const char *at = pattern; *at == '/' && at[1]; i++) {
		const char *from = at + 1;
		size_t n = strcspn(from, "/");

		if (i >= t->segment_count)
			return false;
		if (*from == '{')
			var = t->segment[i];
		else if (t->segment[i].n != n || memcmp(t->segment[i].p, from, n) != 0)
			return false;
		at = from + n;
	}
	if (i != t->segment_count || (var.p && var.n == 0))
		return false;
	*ret_var = var;
	return true;
}

const struct route *route_find(const struct route *routes, const struct target *t,
			       struct ts_str *ret_var)
{
	if (t->segment_count > TARGET_SEGMENTS_MAX)
		return NULL;
	for (; routes->pattern; routes++)
		if (pattern_fits(routes->pattern, t, ret_var))
			return routes;
	return NULL;
}

static bool among(const char *const *names, struct ts_str param)
{
	for (; names && *names; names++)
		if (ts_str_is(param, *names))
			return true;
	return false;
}

bool route_knows(const struct route *route, struct ts_str param)
{
	if (param.n > 0 && param.p[0] == '_')
		return true;
	return among(common_params, param) || among(route->params, param) ||
	       (route->list && (among(page_params, param) || list_knows(route->list, param)));
}

static void add_names(const char *const *names, struct buf *out)
{
	for (; names && *names; names++)
		buf_printf(out, "%s%s", out->len ? ", " : "", *names);
}

void route_list_params(const struct route *route, struct buf *out)
{
	if (route->list) {
		for (const struct list_filter *f = route->list->filters; f->param; f++) {
			size_t n = strlen(f->param);

			buf_printf(out, "%s%s%s", out->len ? ", " : "", f->param,
				   n && f->param[n - 1] == '.' ? "KEY" : "");
		}
		add_names(page_params, out);
	}
	add_names(route->params, out);
	add_names(common_params, out);
}
