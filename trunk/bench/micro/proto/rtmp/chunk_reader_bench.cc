#include <algorithm>

#include <benchmark/benchmark.h>

#include "proto/rtmp/chunk_reader.h"
#include "proto/rtmp/chunk_writer.h"

namespace weir::rtmp {
namespace {

// A publisher's messages of range(0) bytes in chunks of range(1), read 16 KiB at a time.
void read(benchmark::State& state) {
    constexpr size_t kRead = 16 * 1024;
    constexpr int kMessages = 100;
    const auto size = static_cast<size_t>(state.range(0));
    const auto chunk_size = static_cast<uint32_t>(state.range(1));
    Bytes wire;
    const Bytes body(size, 0x55);
    Bytes set_chunk_size;
    ByteWriter(set_chunk_size).u32(chunk_size);
    for (int i = 0; i < kMessages; i++) {
        write_message({ChunkFormat::kFull, kVideo, 6, 33, 0, 1}, body, chunk_size, wire);
    }
    ChunkReader reader;
    Bytes first;
    write_message({ChunkFormat::kFull, kSetChunkSize, 2, 0, 0, 0}, set_chunk_size, 128, first);
    reader.feed(first);
    Message message;
    (void)reader.next(message);
    for (auto _ : state) {
        for (ByteSpan rest = wire; !rest.empty();) {
            ByteSpan part = rest.first(std::min(rest.size(), kRead));
            rest = rest.subspan(part.size());
            while (!part.empty()) {
                part = part.subspan(reader.feed(part));
                benchmark::DoNotOptimize(reader.next(message));
            }
        }
    }
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(wire.size()));
    state.SetItemsProcessed(state.iterations() * kMessages);
}

BENCHMARK(read)
    ->Name("ChunkReader/message")
    ->ArgNames({"bytes", "chunk"})
    ->Args({190, 60'000})
    ->Args({1'700, 60'000})
    ->Args({20'000, 4'096})
    ->Args({20'000, 128});

}  // namespace
}  // namespace weir::rtmp
