/* candle_random.c: seeded valid execution traces for tests, odd in every way that is legal */
#include "candle_random.h"

#include <stdbool.h>
#include <stdio.h>

#include "tracespool/util.h"

static uint64_t state;

static uint64_t draw(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

#define PICK(list) ((list)[draw(ARRAY_LEN(list))])

/* Inside quotes. */
static const char *const texts[] = {
	"",         "a",         "A",        "layer.0",      "\\u0000",           "a\\u0000b",
	"\\\"\\\\", "\\n\\t\\b", "\xc3\xa9", "\\u00e9",      "\\ud83d\\ude00",    "\x7f",
	"\\/x",     "cuda:0",    "  ",       "\xe2\x80\xa8", "{\\\"a\\\":1}",     "\\u001f",
	"a/b::c",   "%2F",       "null",     "\xef\xbf\xbd", "\xf0\x9f\x98\x80z", "long name here",
};

static const char *const numbers[] = {
	"0",
	"1",
	"7",
	"4096",
	"1000000",
	"9007199254740993",
	"9223372036854775807",
	"9223372036854775808",
	"18446744073709551614",
	"18446744073709551615",
};

static const char *const doubles[] = {
	"0",
	"-0",
	"-0.0",
	"0.1",
	"1e-320",
	"1.7976931348623157e308",
	"2.2250738585072014e-308",
	"3",
	"1e3",
	"18446744073709551615",
	"0.30000000000000004",
	"-1.5",
	"123456789.125",
};

static const char *const shapes[] = {"[]", "[8,4]", "[0]", "[18446744073709551615,2]", "[1,1,1]"};
static const char *const dtypes[] = {"f32", " BF16 ", "u8", "weird", "F64"};
static const char *const categories[] = {"parameter", "activation", "gradient", "optimizer",
					 "other"};

static void text_member(struct buf *out, const char *name, const char *text)
{
	buf_printf(out, ",\"%s\":\"%s\"", name, text);
}

static void text(struct buf *out, const char *name)
{
	text_member(out, name, PICK(texts));
}

static void raw(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, ",\"%s\":%s", name, value);
}

static void number(struct buf *out, const char *name)
{
	raw(out, name, PICK(numbers));
}

/* Of type T?: absent, null, or given. */
static bool given(struct buf *out, const char *name)
{
	uint64_t what = draw(3);

	if (what == 1)
		raw(out, name, "null");
	return what == 2;
}

static void begin(struct buf *out, const char *kind)
{
	buf_printf(out, "{\"kind\":\"%s\"", kind);
	if (draw(4) == 0)
		buf_puts(out, ",\"unknown\":[1,{}]");
}

static void end(struct buf *out)
{
	buf_puts(out, "}\n");
}

static void span_id(struct buf *out, const char *name, uint64_t spans)
{
	buf_printf(out, ",\"%s\":\"%s%llu\"", name, texts[draw(3)],
		   (unsigned long long)draw(spans + 2));
}

static void meta(struct buf *out)
{
	begin(out, "meta");
	text_member(out, "schema", "candle-graph/trace/10");
	text_member(out, "run_id", "random");
	text(out, "correlation_id");
	text(out, "entrypoint");
	text_member(out, "phase", draw(2) ? "train" : "infer");
	text(out, "timestamp");
	number(out, "capture_step");
	number(out, "warmup_steps");
	text(out, "device");
	if (draw(2))
		raw(out, "measured_region_device_synchronized", draw(2) ? "true" : "false");
	text_member(out, "timing_mode", draw(2) ? "host" : "device_synchronized");
	buf_puts(out, ",\"capture_contract\":{\"operations\":\"partial\",\"measurement_scope\":"
		      "\"unknown\",\"logical_memory\":\"complete\",\"physical_memory\":\"none\","
		      "\"device_timing\":\"none\"");
	if (given(out, "gradient_contract"))
		buf_printf(out,
			   ",\"gradient_contract\":{\"manifest_sha256\":\"x\",\"expected\":["
			   "{\"root\":\"%s\",\"key\":\"k\",\"family\":\"\"}],\"families\":["
			   "{\"family\":\"\",\"expectation\":\"active\",\"min_present\":%s}]}",
			   PICK(texts), PICK(numbers));
	if (draw(2))
		raw(out, "gpu_expected_semantic_labels", draw(2) ? "[]" : "[\"\\u0000\",\"b\"]");
	end(out);
	out->len--; /* the contract's own end; the record goes on */
	if (given(out, "comparison_identity")) {
		buf_puts(out, ",\"comparison_identity\":{\"workload_id\":\"w\",\"model_id\":\"\","
			      "\"config_id\":\"c\",\"data_id\":\"d\",\"seed_policy\":\"s\","
			      "\"precision\":\"p\",\"device_state\":\"e\"");
		number(out, "physical_batch");
		number(out, "accumulation_steps");
		if (given(out, "pair_id"))
			text(out, "pair_id");
		buf_putc(out, '}');
	}
	buf_puts(out, ",\"tags\":{\"b\":\"1\",\"a\":\"\\u0000\",\"b\":\"2\",\"\":\"\xc3\xa9\"}");
	if (given(out, "candle_version"))
		text(out, "candle_version");
	end(out);
}

/* Starts, some without an end, children also before their parents. */
static void spans(struct buf *out, uint64_t count)
{
	static const char *const kinds[] = {"function", "op", "module"};
	static const char *const steps[] = {"forward", "backward", "optimizer"};

	for (uint64_t i = count; i-- > 0;) {
		const char *prefix = PICK(texts);

		begin(out, "span_start");
		buf_printf(out, ",\"id\":\"%s%llu\"", prefix, (unsigned long long)i);
		if (given(out, "parent_id"))
			span_id(out, "parent_id", count);
		text(out, "name");
		if (draw(3))
			buf_printf(out, ",\"start_ns\":%llu", (unsigned long long)draw(50));
		else
			number(out, "start_ns");
		text_member(out, "span_kind", PICK(kinds));
		if (draw(2))
			raw(out, "measured", draw(2) ? "true" : "false");
		if (given(out, "step"))
			text_member(out, "step", PICK(steps));
		end(out);
		if (draw(5) == 0)
			continue;
		begin(out, "span_end");
		buf_printf(out, ",\"id\":\"%s%llu\"", prefix, (unsigned long long)i);
		if (draw(3))
			buf_printf(out, ",\"duration_ns\":%llu", (unsigned long long)draw(50));
		else if (draw(2))
			number(out, "duration_ns");
		end(out);
	}
}

static void op(struct buf *out, uint64_t count)
{
	begin(out, "op");
	span_id(out, "span_id", count);
	text(out, "op_name");
	if (draw(2))
		raw(out, "inputs", draw(2) ? "[]" : "[\"\\u0000\",\"x\",\"\"]");
	if (given(out, "output"))
		text(out, "output");
	raw(out, "shape", PICK(shapes));
	text_member(out, "dtype", PICK(dtypes));
	text(out, "device");
	number(out, "duration_ns");
	if (draw(2))
		number(out, "timestamp_ns");
	if (given(out, "output_dense_bytes"))
		number(out, "output_dense_bytes");
	number(out, "input_dense_bytes");
	end(out);
}

static void tensor(struct buf *out, uint64_t count)
{
	begin(out, "tensor");
	span_id(out, "span_id", count);
	text(out, "tensor_id");
	if (given(out, "label"))
		text(out, "label");
	raw(out, "shape", PICK(shapes));
	text_member(out, "dtype", PICK(dtypes));
	text(out, "device");
	if (draw(2))
		raw(out, "requires_grad", draw(2) ? "true" : "false");
	if (given(out, "dense_bytes"))
		number(out, "dense_bytes");
	if (draw(2))
		text_member(out, "category", PICK(categories));
	end(out);
	begin(out, "tensor_stats");
	span_id(out, "span_id", count);
	text_member(out, "label", "\\u0000 l");
	raw(out, "shape", "[2,3]");
	text(out, "dtype");
	raw(out, "elements", "6");
	raw(out, "non_finite", draw(2) ? "6" : "0");
	raw(out, "rms", doubles[draw(11)]);
	raw(out, "abs_max", doubles[draw(11)]);
	raw(out, "mean", PICK(doubles));
	end(out);
}

static void memory(struct buf *out, uint64_t count)
{
	begin(out, "memory");
	number(out, "timestamp_ns");
	buf_printf(out, ",\"storage_id\":\"%s\"", texts[draw(4)]);
	text(out, "tensor_id");
	span_id(out, "span_id", count);
	if (given(out, "op_name"))
		text(out, "op_name");
	buf_printf(out, ",\"device\":\"%s\"", texts[draw(2)]);
	number(out, "bytes");
	text_member(out, "action", draw(2) ? "alloc" : "free");
	if (draw(2))
		raw(out, "shape", PICK(shapes));
	text_member(out, "dtype", PICK(dtypes));
	if (draw(2))
		text_member(out, "category", PICK(categories));
	end(out);
	begin(out, "device_memory");
	number(out, "timestamp_ns");
	text(out, "device");
	if (given(out, "used_bytes"))
		number(out, "used_bytes");
	if (given(out, "capacity_bytes"))
		number(out, "capacity_bytes");
	end(out);
}

static void others(struct buf *out, uint64_t count)
{
	static const char *const states[] = {"present", "missing", "zero", "non_finite"};

	begin(out, "device_interval");
	span_id(out, "span_id", count);
	buf_printf(out, ",\"device\":\"%s\"", texts[draw(3)]);
	buf_printf(out, ",\"stream_id\":\"%s\"", texts[draw(3)]);
	buf_printf(out, ",\"clock_id\":\"%s\"", texts[draw(2)]);
	text(out, "backend");
	number(out, "start_ns");
	number(out, "duration_ns");
	end(out);
	begin(out, "gradient");
	text(out, "event_id");
	text(out, "root");
	text(out, "key");
	text_member(out, "state", PICK(states));
	if (given(out, "norm"))
		raw(out, "norm", PICK(doubles));
	end(out);
	begin(out, "edge");
	if (draw(2)) {
		text_member(out, "edge_kind", "call");
		span_id(out, "from_span", count);
		span_id(out, "to_span", count);
		number(out, "host_duration_ns");
	} else {
		text_member(out, "edge_kind", "data");
		text(out, "from_tensor");
		text(out, "to_tensor");
	}
	end(out);
}

void random_trace(uint64_t seed, struct buf *out)
{
	uint64_t count, failed;

	state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (int i = 0; i < 8; i++)
		draw(2);
	count = draw(60);
	failed = draw(2);
	meta(out);
	for (uint64_t i = draw(20); i > 0; i--)
		op(out, count);
	spans(out, count);
	for (uint64_t i = draw(30); i > 0; i--) {
		op(out, count);
		tensor(out, count);
		memory(out, count);
		others(out, count);
	}
	begin(out, "terminal");
	text_member(out, "outcome", failed ? "failed" : "complete");
	raw(out, "timestamp_ns", "18446744073709551615");
	if (failed)
		text_member(out, "reason", "stopped \\u0000");
	end(out);
}
