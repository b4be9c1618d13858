#include <array>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "stream/wire_log.h"

#include "bench/micro/packets.h"

namespace weir::stream {
namespace {

// Appends messages as a muxer does: a header and a body; the first of each GOP is a start.
class Writer {
  public:
    explicit Writer(size_t size) : body_(size, 0x55) {}

    void add(WireLog& log) {
        log.begin_entry(time_ms_, number_ % micro::kFramesPerGop == 0);
        log.write(header_);
        log.write(body_);
        log.end_entry();
        number_++;
        time_ms_ += 33;
    }

  private:
    std::array<uint8_t, 8> header_{};
    Bytes body_;
    int number_ = 0;
    int64_t time_ms_ = 0;
};

void append(benchmark::State& state) {
    WireLog log;
    Writer writer(static_cast<size_t>(state.range(0)));
    for (auto _ : state) {
        writer.add(log);
    }
    state.SetBytesProcessed(state.iterations() * (state.range(0) + 8));
}

BENCHMARK(append)->Name("WireLog/append")->ArgName("bytes")->Arg(190)->Arg(1'700)->Arg(20'000);

// What a player costs per flush besides the system call: gather and advance. `players` cursors lie
// apart in memory as players do, and each follows `messages` new ones at a time.
void read(benchmark::State& state) {
    struct Reader {
        std::array<uint8_t, 200> rest_of_a_player;
        Cursor cursor;
    };

    const auto players = static_cast<size_t>(state.range(0));
    WireLog log;
    Writer writer(micro::kFrameBytes);
    writer.add(log);
    std::vector<std::unique_ptr<Reader>> readers;
    for (size_t i = 0; i < players; i++) {
        readers.push_back(std::make_unique<Reader>());
        readers.back()->cursor = log.start();
    }
    size_t parts_sum = 0;
    for (auto _ : state) {
        for (int64_t i = 0; i < state.range(1); i++) {
            writer.add(log);
        }
        for (auto& reader : readers) {
            std::array<iovec, 8> parts;
            for (;;) {
                size_t count = 0;
                const size_t bytes = log.gather(reader->cursor, parts, 256 * 1024, count);
                if (bytes == 0) {
                    break;
                }
                parts_sum += count;
                WireLog::advance(reader->cursor, bytes);
            }
        }
    }
    benchmark::DoNotOptimize(parts_sum);
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(read)
    ->Name("WireLog/append and read")
    ->ArgNames({"players", "messages"})
    ->Args({1, 1})
    ->Args({100, 1})
    ->Args({1'000, 1})
    ->Args({10'000, 1})
    ->Args({1'000, 10});

void look_behind(benchmark::State& state) {
    WireLog log;
    Writer writer(micro::kFrameBytes);
    writer.add(log);
    const Cursor cursor = log.start();
    for (int64_t i = 0; i < state.range(0); i++) {
        writer.add(log);
    }
    for (auto _ : state) {
        benchmark::DoNotOptimize(log.ms_behind(cursor));
        benchmark::DoNotOptimize(log.next_boundary(cursor));
    }
}

BENCHMARK(look_behind)
    ->Name("WireLog/ms behind and next boundary")
    ->ArgName("messages")
    ->Arg(1)
    ->Arg(50);

}  // namespace
}  // namespace weir::stream
