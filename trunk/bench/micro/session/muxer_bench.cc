// The muxers: what a packet costs once per stream and format, into the log.
#include <array>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "session/flv/flv_muxer.h"
#include "session/rtmp/rtmp_muxer.h"

#include "bench/micro/packets.h"

namespace weir::session {
namespace {

// One GOP at a time: a key frame, other frames, and audio between them.
std::vector<Ref<media::MediaPacket>> gop() {
    std::vector<Ref<media::MediaPacket>> out;
    for (int i = 0; i < micro::kFramesPerGop; i++) {
        out.push_back(
            micro::video_frame(i == 0, 0, i == 0 ? micro::kKeyBytes : micro::kFrameBytes));
        out.push_back(micro::audio_frame(0, micro::kAudioBytes));
    }
    return out;
}

void mux(benchmark::State& state, const stream::Format& format) {
    const auto packets = gop();
    const auto muxer = format.create_muxer();
    const stream::Configs configs;
    int64_t time_ms = 0;
    size_t at = 0;
    int64_t bytes = 0;
    for (auto _ : state) {
        const auto& packet = packets[at];
        packet->set_time_ms(time_ms);
        muxer->on_packet(packet, at == 0 ? &configs : nullptr);
        bytes += static_cast<int64_t>(packet->body().size());
        time_ms += 16;
        at = at + 1 == packets.size() ? 0 : at + 1;
    }
    state.SetBytesProcessed(bytes);
    state.SetItemsProcessed(state.iterations());
}

const RtmpFormat kRtmp(60'000);
const RtmpFormat kRtmpSmallChunks(4'096);
const FlvFormat kFlv;

BENCHMARK_CAPTURE(mux, rtmp, kRtmp)->Name("Muxer/rtmp");
BENCHMARK_CAPTURE(mux, rtmp_small, kRtmpSmallChunks)->Name("Muxer/rtmp, chunks of 4 KiB");
BENCHMARK_CAPTURE(mux, flv, kFlv)->Name("Muxer/flv");

}  // namespace
}  // namespace weir::session
