// The jitter buffer of telephony: bytes are packets, steps of time and ticks of an owner. Each tick
// ends, memory is bounded, and every frame that comes out went in.
#include <algorithm>

#include "base/check.h"
#include "proto/rtp/playout.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

namespace weir::rtp {
namespace {

using Content = PlayoutPacketView::Content;

class Call {
  public:
    void packet(Content content, uint8_t shape, int16_t sequence_step, int32_t time_step) {
        sequence_ = static_cast<uint16_t>(sequence_ + sequence_step);
        time_ += static_cast<uint32_t>(time_step);
        const Bytes payload(shape % 64, shape);
        PlayoutPacketView packet;
        packet.content = content;
        packet.marker = (shape & 1U) != 0;
        packet.sequence = sequence_;
        packet.rtp_time = time_;
        packet.ssrc = shape > 250 ? shape : 1;
        packet.ticks = uint32_t{shape} * 16U;
        packet.payload = payload;
        buffer_.handle_packet(now_, packet);
        WEIR_CHECK(buffer_.held() <= PlayoutBuffer::kMaxPackets);
    }

    void pass(Micros time) { now_ += time; }

    void tick(bool silent) {
        constexpr uint32_t kTick = 160;
        for (int steps = 0; decoded_ < kTick; steps++) {
            WEIR_CHECK(steps < 200);
            const PlayoutStepView step = buffer_.next(now_, {decoded_, silent});
            if (step.kind == PlayoutKind::kNothing) {
                WEIR_CHECK(frames_ == 0);
                break;
            }
            WEIR_CHECK(step.ticks > 0 && step.ticks <= 8000);
            if (step.kind == PlayoutKind::kFrame) {
                frames_++;
                WEIR_CHECK(!step.payload.empty() && step.ticks / 16 % 64 == step.payload.size());
                WEIR_CHECK(std::ranges::count(step.payload, step.payload[0]) ==
                           static_cast<std::ptrdiff_t>(step.payload.size()));
            }
            decoded_ += step.ticks;
            if (step.adjust == PlayoutAdjust::kShorten) {
                decoded_ -= std::min<uint32_t>(80, step.ticks / 2);
            }
        }
        decoded_ -= std::min(decoded_, kTick);
        now_ += Millis(20);
        const PlayoutStats& stats = buffer_.stats();
        WEIR_CHECK(frames_ <= stats.received && stats.target <= Millis(200));
    }

  private:
    PlayoutBuffer buffer_{PlayoutOptions()};
    MonoTime now_{Seconds(100)};
    uint16_t sequence_ = 0;
    uint32_t time_ = 0;
    uint32_t decoded_ = 0;
    uint64_t frames_ = 0;
};

}  // namespace
}  // namespace weir::rtp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using weir::rtp::Content;
    weir::ByteReader in({data, size});
    weir::rtp::Call call;
    while (!in.empty()) {
        const uint8_t op = in.u8();
        switch (op % 8) {
            case 0: call.packet(Content::kAudio, 10, 1, 160); break;
            case 1: {
                const auto step = static_cast<int8_t>(in.u8());
                call.packet(Content::kAudio, in.u8(), step, step * 160);
                break;
            }
            case 2: {
                const auto step = static_cast<int16_t>(in.u16());
                call.packet(Content::kAudio, 10, step, static_cast<int32_t>(in.u32()));
                break;
            }
            case 3: call.packet(Content::kComfortNoise, in.u8(), 1, 160); break;
            case 4: call.packet(Content::kOther, op, 1, 0); break;
            case 5: call.pass(weir::Millis(in.u8())); break;
            case 6: call.pass(weir::Seconds(in.u8())); break;
            default: call.tick(op > 127); break;
        }
    }
    return 0;
}
