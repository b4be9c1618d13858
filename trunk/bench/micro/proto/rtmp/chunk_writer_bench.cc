#include <array>

#include <benchmark/benchmark.h>

#include "proto/rtmp/chunk_writer.h"

namespace weir::rtmp {
namespace {

void write_header(benchmark::State& state) {
    ChunkHeader header{ChunkFormat::kDelta, 9, 6, 33, 1700, 1};
    header.format = state.range(0) == 0 ? ChunkFormat::kFull : ChunkFormat::kDelta;
    std::array<uint8_t, kMaxChunkHeaderSize> out{};
    for (auto _ : state) {
        benchmark::DoNotOptimize(header);
        benchmark::DoNotOptimize(write_chunk_header(header, out.data()));
        benchmark::ClobberMemory();
    }
}

BENCHMARK(write_header)->Name("ChunkWriter/header")->ArgName("format")->Arg(0)->Arg(1);

// A whole message of range(0) bytes in chunks of range(1).
void write_whole(benchmark::State& state) {
    const auto size = static_cast<size_t>(state.range(0));
    const auto chunk_size = static_cast<uint32_t>(state.range(1));
    const Bytes body(size, 0x55);
    const ChunkHeader header{ChunkFormat::kDelta, 9, 6, 33, 0, 1};
    Bytes out;
    out.reserve(2 * size + kMaxChunkHeaderSize);
    for (auto _ : state) {
        out.clear();
        write_message(header, body, chunk_size, out);
        benchmark::DoNotOptimize(out.data());
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

BENCHMARK(write_whole)
    ->Name("ChunkWriter/message")
    ->ArgNames({"bytes", "chunk"})
    ->Args({190, 60'000})
    ->Args({1'700, 60'000})
    ->Args({20'000, 60'000})
    ->Args({20'000, 4'096})
    ->Args({20'000, 128});

}  // namespace
}  // namespace weir::rtmp
