/* provenance.c: `source` of a run: where its bytes came from, for a folder shard by shard */
#include "documents.h"

#include "tracespool/input.h"

struct totals {
	uint64_t size, uncompressed, lines, members;
	size_t gzip; /* shards */
};

static void write_facts(struct json_writer *w, const char *name, const struct totals *t,
			const char *encoding, int64_t mtime_ms)
{
	char text[NAME_TEXT];

	text_name(ts_str_c(name), text, sizeof(text));
	jw_kv_text(w, "name", text);
	jw_kv_u64(w, "size_bytes", t->size);
	jw_kv_u64(w, "uncompressed_bytes", t->uncompressed);
	jw_kv_u64(w, "line_count", t->lines);
	jw_kv_text(w, "encoding", encoding);
	if (t->gzip)
		jw_kv_u64(w, "members", t->members);
	else
		jw_kv_null(w, "members");
	jw_kv_time(w, "mtime_at", mtime_ms);
}

static void add_shard(struct totals *t, const struct load_shard *s)
{
	t->size += s->facts.file_bytes;
	t->uncompressed = u64_add_sat(t->uncompressed, s->facts.decoded_bytes);
	t->lines += s->lines;
	t->members += s->facts.members;
	t->gzip += s->facts.gzip;
}

void write_provenance(const struct load *l, const char *kept, const char *path, struct buf *out)
{
	struct json_writer w;
	struct totals all = {0};
	int64_t newest = INT64_MIN;
	char text[3 * 4096 + 1];

	for (size_t i = 0; i < l->shard_count; i++) {
		add_shard(&all, &l->shards[i]);
		if (l->shards[i].mtime_ms > newest)
			newest = l->shards[i].mtime_ms;
	}
	jw_init(&w, out, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	/* Of shards of both kinds no single word is true. */
	write_facts(&w, l->claim->name, &all,
		    all.gzip == l->shard_count ? "gzip"
		    : all.gzip == 0            ? "identity"
					       : NULL,
		    newest);
	jw_kv_text(&w, "kept", kept);
	if (path)
		text_name(ts_str_c(path), text, sizeof(text));
	jw_kv_text(&w, "path", path ? text : NULL);
	jw_kv_bool(&w, "salvaged", l->damage.code != NULL);
	if (l->claim->folder) {
		jw_key(&w, "shards");
		jw_open_array(&w);
		for (size_t i = 0; i < l->shard_count; i++) {
			const struct load_shard *s = &l->shards[i];
			struct totals one = {0};

			add_shard(&one, s);
			jw_open_object(&w);
			write_facts(&w, load_shard_name(l->claim, i), &one,
				    s->facts.gzip ? "gzip" : "identity", s->mtime_ms);
			jw_kv_text(&w, "digest", s->facts.digest);
			jw_close_object(&w);
		}
		jw_close_array(&w);
	}
	jw_close_object(&w);
}
