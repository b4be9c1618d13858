// The writer and the reader of transport streams: frames of range(0) bytes with an audio frame
// each.
#include <algorithm>
#include <array>
#include <vector>

#include <benchmark/benchmark.h>

#include "proto/mpegts/es_writer.h"
#include "proto/mpegts/reader.h"
#include "proto/mpegts/writer.h"

namespace weir::mpegts {
namespace {

constexpr int kFrames = 50;
constexpr int64_t kFrameTicks = 3'600;

class Source {
  public:
    explicit Source(size_t frame_bytes) {
        // Baseline, 16 x 16; and 48,000 Hz, stereo.
        static constexpr std::array<uint8_t, 25> kRecord = {
            0x01, 0x42, 0xC0, 0x1E, 0xFF, 0xE1, 0x00, 0x0A, 0x67, 0x42, 0xC0, 0x1E, 0xD9,
            0xEC, 0x04, 0x40, 0x00, 0x00, 0x01, 0x00, 0x04, 0x68, 0xCB, 0x8C, 0xB2};
        static constexpr std::array<uint8_t, 2> kAudio = {0x11, 0x90};
        video_.set_config(kRecord);
        audio_.set_config(kAudio);
        const std::vector<std::optional<StreamInfo>> streams = {video_.stream(), audio_.stream()};
        writer_.set_streams(streams);
        ByteWriter writer(frame_);
        writer.u32(static_cast<uint32_t>(frame_bytes)).u8(0x41).u8(0x9A);
        uint32_t seed = 1;
        while (frame_.size() < 4 + frame_bytes) {  // as compressed video looks
            seed = seed * 1664525 + 1013904223;
            frame_.push_back(static_cast<uint8_t>(seed >> 24U | 1U));
        }
        key_ = frame_;
        key_[4] = 0x65;
    }

    // Two seconds.
    void write(Bytes& out) {
        for (int i = 0; i < kFrames; i++) {
            const bool key = i == 0;
            writer_.write(
                {0, time_ + kFrameTicks, time_, key, video_.write(key ? key_ : frame_, key)}, out);
            writer_.write({1, time_, time_, false, audio_.write(sound_, false)}, out);
            time_ += kFrameTicks;
        }
    }

  private:
    EsWriter video_{media::Codec::kH264};
    EsWriter audio_{media::Codec::kAac};
    Writer writer_;
    Bytes frame_;
    Bytes key_;
    Bytes sound_ = Bytes(340, 0x21);
    int64_t time_ = 900'000;
};

void write(benchmark::State& state) {
    Source source(static_cast<size_t>(state.range(0)));
    Bytes out;
    int64_t bytes = 0;
    for (auto _ : state) {
        out.clear();
        source.write(out);
        benchmark::DoNotOptimize(out.data());
        bytes += static_cast<int64_t>(out.size());
    }
    state.SetBytesProcessed(bytes);
    state.SetItemsProcessed(state.iterations() * 2 * kFrames);
}

// 1,316 bytes at a time, as datagrams bring them.
void read(benchmark::State& state) {
    constexpr size_t kDatagram = 7 * kPacketSize;
    Source source(static_cast<size_t>(state.range(0)));
    Reader reader;
    Bytes out;
    int64_t bytes = 0;
    uint64_t units = 0;
    for (auto _ : state) {
        state.PauseTiming();
        out.clear();
        source.write(out);
        state.ResumeTiming();
        for (ByteSpan rest = out; !rest.empty();) {
            ByteSpan part = rest.first(std::min(rest.size(), kDatagram));
            rest = rest.subspan(part.size());
            while (!part.empty()) {
                part = part.subspan(reader.feed(part));
                Unit unit;
                size_t track = 0;
                while (reader.next(unit, track) != Reader::Event::kNeedMore) {
                    units += unit.nals.size();
                }
            }
        }
        bytes += static_cast<int64_t>(out.size());
    }
    benchmark::DoNotOptimize(units);
    if (reader.counters().units < static_cast<uint64_t>(state.iterations())) {
        state.SkipWithError("nothing was read");
    }
    state.SetBytesProcessed(bytes);
}

BENCHMARK(write)
    ->Name("mpegts::Writer/frames")
    ->ArgName("bytes")
    ->Arg(2'000)
    ->Arg(20'000)
    ->Arg(200'000);
BENCHMARK(read)
    ->Name("mpegts::Reader/frames")
    ->ArgName("bytes")
    ->Arg(2'000)
    ->Arg(20'000)
    ->Arg(200'000);

}  // namespace
}  // namespace weir::mpegts
