// What the RTP codecs cost: cutting a frame into payloads (once per stream), putting it together
// again (once per publisher), rewriting of a header (once per player and packet).
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "proto/rtp/depacketizer.h"
#include "proto/rtp/header.h"
#include "proto/rtp/packetizer.h"

namespace weir::rtp {
namespace {

constexpr size_t kRoom = 1180;
constexpr size_t kFrameSize = 30'000;

// One slice of an H.264 P-frame.
Bytes frame() {
    Bytes bytes;
    ByteWriter(bytes).u32(kFrameSize).u8(0x41).u8(0x9a);
    bytes.resize(4 + kFrameSize, 0x55);
    return bytes;
}

class CountingSink final : public PayloadSink {
  public:
    void on_payload(std::span<const ByteSpan> parts, bool /*last*/) override {
        packets++;
        benchmark::DoNotOptimize(parts.back().data());
    }

    int64_t packets = 0;
};

class KeepingSink final : public PayloadSink {
  public:
    void on_payload(std::span<const ByteSpan> parts, bool /*last*/) override {
        Bytes& payload = payloads.emplace_back();
        for (ByteSpan part : parts) {
            payload.insert(payload.end(), part.begin(), part.end());
        }
    }

    std::vector<Bytes> payloads;
};

void packetize_h264(benchmark::State& state) {
    const Bytes bytes = frame();
    const auto packetizer = make_packetizer(media::Codec::kH264);
    CountingSink sink;
    for (auto _ : state) {
        packetizer->packetize(bytes, kRoom, sink);
    }
    state.SetItemsProcessed(sink.packets);
}

BENCHMARK(packetize_h264);

void depacketize_h264(benchmark::State& state) {
    KeepingSink sink;
    make_packetizer(media::Codec::kH264)->packetize(frame(), kRoom, sink);
    const auto depacketizer = make_depacketizer(media::Codec::kH264, 5);
    uint32_t time = 0;
    int64_t packets = 0;
    Frame out;
    for (auto _ : state) {
        time += 3000;
        for (const Bytes& payload : sink.payloads) {
            depacketizer->feed(payload, {time, &payload == &sink.payloads.back(), false});
            packets++;
        }
        depacketizer->next(out);
        benchmark::DoNotOptimize(out.data.data());
    }
    state.SetItemsProcessed(packets);
}

BENCHMARK(depacketize_h264);

void rewrite_packet_header(benchmark::State& state) {
    Bytes packet(1200);
    uint16_t sequence = 0;
    write_header(Header{96, true, 0, 0, 1}, packet.data());
    for (auto _ : state) {
        rewrite_header(Header{102, true, sequence++, 90'000, 7}, packet.data());
        benchmark::DoNotOptimize(packet.data());
    }
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK(rewrite_packet_header);

void parse_packet_with_extensions(benchmark::State& state) {
    const Bytes two = {1, 2};
    const Bytes three = {1, 2, 3};
    const std::vector<Extension> extensions = {{3, two}, {4, three}, {9, as_bytes("0")}};
    Bytes packet(header_size(extensions) + 1100);
    write_header(Header{96, true, 1, 2, 3}, extensions, packet.data());
    for (auto _ : state) {
        const auto view = PacketView::parse(packet);
        benchmark::DoNotOptimize(view->extension(3)->data());
    }
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK(parse_packet_with_extensions);

}  // namespace
}  // namespace weir::rtp
