/* names.c: what a name says: drop, unfinished, segment number, order of shards */
#include <string.h>

#include "internal.h"

/* request-trace.md 2.4: the index has at least six digits. */
#define SEGMENT_DIGITS_MIN 6

bool name_is_shard(const char *name)
{
	struct ts_str s = ts_str_c(name);

	return ts_str_ends(s, ".jsonl") || ts_str_ends(s, ".jsonl.gz");
}

bool name_is_plain(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/');
}

enum spool_name spool_classify_name(const char *name)
{
	static const char *const unfinished[] = {".tmp", ".part", ".partial", ".lock", ".swp", "~"};
	struct ts_str s = ts_str_c(name);

	for (size_t i = 0; i < ARRAY_LEN(unfinished); i++)
		if (ts_str_ends(s, unfinished[i]))
			return NAME_UNFINISHED;
	if (name[0] == '.' || !name_is_shard(name))
		return NAME_IGNORED;
	return NAME_DROP_FILE;
}

bool spool_segment(const char *name, struct ts_str *ret_prefix, uint64_t *ret_number)
{
	struct ts_str s = ts_str_c(name);
	uint64_t number;
	size_t begin;

	if (!ts_str_ends(s, ".jsonl.gz"))
		return false;
	s.n -= strlen(".jsonl.gz");
	begin = s.n;
	while (begin > 0 && s.p[begin - 1] >= '0' && s.p[begin - 1] <= '9')
		begin--;
	if (s.n - begin < SEGMENT_DIGITS_MIN || begin == 0 || s.p[begin - 1] != '.')
		return false;
	if (!text_parse_u64(ts_str(s.p + begin, s.n - begin), &number) || number > INT64_MAX)
		return false;
	*ret_prefix = ts_str(s.p, begin - 1);
	*ret_number = number;
	return true;
}

int name_shard_cmp(const void *a, const void *b)
{
	const char *name_a = *(char *const *)a, *name_b = *(char *const *)b;
	struct ts_str key_a = ts_str_c(name_a), key_b = ts_str_c(name_b);
	uint64_t number_a = 0, number_b = 0;
	bool seg_a = spool_segment(name_a, &key_a, &number_a);
	bool seg_b = spool_segment(name_b, &key_b, &number_b);
	int cmp = ts_str_cmp(key_a, key_b);

	if (cmp)
		return cmp;
	if (seg_a != seg_b)
		return seg_a ? 1 : -1;
	if (number_a != number_b)
		return number_a < number_b ? -1 : 1;
	return strcmp(name_a, name_b);
}
