#include <benchmark/benchmark.h>

#include "proto/amf/amf0.h"

namespace weir::amf {
namespace {

// The first command of a session, as publishers send it.
Bytes connect_command() {
    Bytes out;
    Writer(out)
        .string("connect")
        .number(1)
        .begin_object()
        .key("app")
        .string("live")
        .key("type")
        .string("nonprivate")
        .key("flashVer")
        .string("FMLE/3.0 (compatible; Lavf59.27.100)")
        .key("tcUrl")
        .string("rtmp://127.0.0.1:1935/live")
        .key("fpad")
        .boolean(false)
        .key("capabilities")
        .number(15)
        .key("audioCodecs")
        .number(4071)
        .key("videoCodecs")
        .number(252)
        .key("videoFunction")
        .number(1)
        .end_object();
    return out;
}

Bytes metadata() {
    Bytes out;
    Writer writer(out);
    writer.string("@setDataFrame").string("onMetaData").begin_ecma_array(8);
    for (const char* name : {"duration", "width", "height", "videodatarate", "framerate",
                             "videocodecid", "audiodatarate", "audiosamplerate"}) {
        writer.key(name).number(640);
    }
    writer.end_object();
    return out;
}

void parse_message(benchmark::State& state, const Bytes& bytes) {
    for (auto _ : state) {
        auto values = parse_all(bytes);
        benchmark::DoNotOptimize(values);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.size()));
}

BENCHMARK_CAPTURE(parse_message, connect, connect_command())->Name("Amf0/parse connect");
BENCHMARK_CAPTURE(parse_message, metadata, metadata())->Name("Amf0/parse metadata");

void write_message(benchmark::State& state) {
    Bytes out;
    for (auto _ : state) {
        out.clear();
        Writer(out).string("_result").number(1).null().begin_object().key("level").string("status");
        benchmark::DoNotOptimize(out.data());
    }
}

BENCHMARK(write_message)->Name("Amf0/write answer");

}  // namespace
}  // namespace weir::amf
