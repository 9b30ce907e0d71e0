/* negotiate.c: what request headers ask for: Accept, Accept-Encoding, If-None-Match, Host
 */
#include "negotiate.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static struct ts_str strip(struct ts_str s)
{
	while (s.n > 0 && is_space(s.p[0]))
		s = ts_str(s.p + 1, s.n - 1);
	while (s.n > 0 && is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

static bool same_word(struct ts_str s, const char *word)
{
	return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* Cuts the text up to `separator` off the front of *rest; false when nothing is left. */
static bool cut(struct ts_str *rest, char separator, struct ts_str *ret)
{
	const char *end;

	if (!rest->p)
		return false;
	end = rest->n ? memchr(rest->p, separator, rest->n) : NULL;
	if (end) {
		size_t n = (size_t)(end - rest->p);

		*ret = strip(ts_str(rest->p, n));
		*rest = ts_str(end + 1, rest->n - n - 1);
	} else {
		*ret = strip(*rest);
		*rest = (struct ts_str){NULL, 0};
	}
	return true;
}

/* "0.8" as 800. What is no weight counts as 1000, as if it were not there. */
static int parse_weight(struct ts_str s)
{
	int weight, scale = 100;

	if (s.n == 0 || s.n > 5 || (s.p[0] != '0' && s.p[0] != '1') || (s.n > 1 && s.p[1] != '.'))
		return 1000;
	weight = (s.p[0] - '0') * 1000;
	for (size_t i = 2; i < s.n; i++, scale /= 10) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return 1000;
		weight += (s.p[i] - '0') * scale;
	}
	return weight > 1000 ? 1000 : weight;
}

/* The value before the first ';', and the weight of a q parameter behind it. */
static struct ts_str split_weight(struct ts_str element, int *ret_weight)
{
	struct ts_str rest = element, value, param;

	*ret_weight = 1000;
	if (!cut(&rest, ';', &value))
		return (struct ts_str){NULL, 0};
	while (cut(&rest, ';', &param))
		if (param.n > 1 && (param.p[0] == 'q' || param.p[0] == 'Q') && param.p[1] == '=')
			*ret_weight = parse_weight(strip(ts_str(param.p + 2, param.n - 2)));
	return value;
}

/* How closely a media range fits: 3 the type itself, 2 "text/" and a star, 1 two stars, 0 not. */
static int range_fit(struct ts_str range, const char *type)
{
	const char *slash = strchr(type, '/');
	size_t major = slash ? (size_t)(slash - type) : strlen(type);

	if (same_word(range, type))
		return 3;
	if (range.n == major + 2 && strncasecmp(range.p, type, major + 1) == 0 &&
	    range.p[range.n - 1] == '*')
		return 2;
	return same_word(range, "*/*") ? 1 : 0;
}

/* Weight that the header gives to a type, by its closest range; 0: not accepted. */
static int type_weight(struct ts_str accept, const char *type)
{
	struct ts_str rest = accept, element;
	int best_fit = 0, best = 0;

	while (cut(&rest, ',', &element)) {
		int weight;
		struct ts_str range = split_weight(element, &weight);
		int fit = range_fit(range, type);

		if (fit > best_fit) {
			best_fit = fit;
			best = weight;
		}
	}
	return best;
}

int negotiate_type(struct ts_str accept, const char *const *types)
{
	int best = -1, best_weight = 0;

	if (strip(accept).n == 0)
		return 0;
	for (int i = 0; types[i]; i++) {
		int weight = type_weight(accept, types[i]);

		if (weight > best_weight) {
			best = i;
			best_weight = weight;
		}
	}
	return best;
}

bool negotiate_gzip(struct ts_str accept_encoding)
{
	struct ts_str rest = accept_encoding, element;
	int named = -1, star = -1;

	while (cut(&rest, ',', &element)) {
		int weight;
		struct ts_str coding = split_weight(element, &weight);

		if (same_word(coding, "gzip") || same_word(coding, "x-gzip"))
			named = weight > named ? weight : named;
		else if (same_word(coding, "*"))
			star = weight;
	}
	return named >= 0 ? named > 0 : star > 0;
}

/* Takes one entity tag off the list, without W/ and quotes. False at the end or at bad syntax. */
static bool next_tag(struct ts_str *rest, struct ts_str *ret)
{
	size_t i = 0;
	const char *end;

	while (i < rest->n && (is_space(rest->p[i]) || rest->p[i] == ','))
		i++;
	if (rest->n - i > 2 && rest->p[i] == 'W' && rest->p[i + 1] == '/')
		i += 2;
	if (rest->n - i < 2 || rest->p[i] != '"')
		return false;
	end = memchr(rest->p + i + 1, '"', rest->n - i - 1);
	if (!end)
		return false;
	*ret = ts_str(rest->p + i + 1, (size_t)(end - rest->p) - i - 1);
	*rest = ts_str(end + 1, rest->n - (size_t)(end - rest->p) - 1);
	return true;
}

bool negotiate_unchanged(struct ts_str if_none_match, struct ts_str base, bool gzip, bool *ret_gzip)
{
	struct ts_str rest = strip(if_none_match), tag;

	if (ts_str_is(rest, "*")) {
		*ret_gzip = gzip;
		return true;
	}
	while (rest.p && next_tag(&rest, &tag)) {
		if (ts_str_eq(tag, base)) {
			*ret_gzip = false;
			return true;
		}
		if (gzip && tag.n == base.n + 3 && memcmp(tag.p, base.p, base.n) == 0 &&
		    memcmp(tag.p + base.n, ".gz", 3) == 0) {
			*ret_gzip = true;
			return true;
		}
	}
	return false;
}

enum range negotiate_range(struct ts_str range, uint64_t size, uint64_t *ret_from,
			   uint64_t *ret_length)
{
	struct ts_str rest = range, unit, first;
	uint64_t from, to;

	if (!cut(&rest, '=', &unit) || !same_word(unit, "bytes") || !rest.p ||
	    memchr(rest.p, ',', rest.n) || !cut(&rest, '-', &first) || !rest.p)
		return RANGE_ALL;
	rest = strip(rest);
	if (first.n == 0) { /* the last so many */
		if (!text_parse_u64(rest, &to))
			return RANGE_ALL;
		if (to == 0 || size == 0)
			return RANGE_OUTSIDE;
		from = to < size ? size - to : 0;
		to = size - 1;
	} else {
		if (!text_parse_u64(first, &from))
			return RANGE_ALL;
		to = UINT64_MAX;
		if (rest.n && (!text_parse_u64(rest, &to) || to < from))
			return RANGE_ALL;
		if (from >= size)
			return RANGE_OUTSIDE;
		if (to >= size)
			to = size - 1;
	}
	*ret_from = from;
	*ret_length = to - from + 1;
	return RANGE_PART;
}

/* Without port and brackets, and the dot of a fully qualified name. False: not a host. */
static bool host_name(struct ts_str host, struct ts_str *ret)
{
	const char *colon, *bracket;

	host = strip(host);
	if (host.n > 0 && host.p[0] == '[') {
		bracket = memchr(host.p, ']', host.n);
		if (!bracket)
			return false;
		*ret = ts_str(host.p + 1, (size_t)(bracket - host.p) - 1);
		return bracket + 1 == host.p + host.n || bracket[1] == ':';
	}
	colon = host.n ? memchr(host.p, ':', host.n) : NULL;
	if (colon)
		host.n = (size_t)(colon - host.p);
	if (host.n > 1 && host.p[host.n - 1] == '.')
		host.n--;
	*ret = host;
	return host.n > 0;
}

static bool is_loopback(struct ts_str name)
{
	char text[INET6_ADDRSTRLEN];
	struct in_addr v4;
	struct in6_addr v6;

	if (name.n >= sizeof(text))
		return false;
	memcpy(text, name.p, name.n);
	text[name.n] = 0;
	if (inet_pton(AF_INET, text, &v4) == 1)
		return (ntohl(v4.s_addr) >> 24) == 127;
	return inet_pton(AF_INET6, text, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool negotiate_host(struct ts_str host, const char *address, char *const *hosts)
{
	struct ts_str name, own;

	if (!host.p || !host_name(host, &name))
		return false;
	if (same_word(name, "localhost") || is_loopback(name))
		return true;
	if (address && host_name(ts_str_c(address), &own) && own.n == name.n &&
	    strncasecmp(own.p, name.p, own.n) == 0)
		return true;
	for (; hosts && *hosts; hosts++)
		if (same_word(name, *hosts))
			return true;
	return false;
}
