// Payload formats: the first byte chooses the codec; then packets (flags, size, payload). Frames
// that come out are cut and put together again, and must be the same.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "proto/rtp/depacketizer.h"
#include "proto/rtp/packetizer.h"

namespace rtp = weir::rtp;
using weir::media::Codec;

namespace {

constexpr size_t kRoom = 100;

class Echo final : public rtp::PayloadSink {
  public:
    explicit Echo(Codec codec) : depacketizer(rtp::make_depacketizer(codec)) {}

    void on_payload(std::span<const weir::ByteSpan> parts, bool last) override {
        weir::Bytes payload;
        for (weir::ByteSpan part : parts) {
            payload.insert(payload.end(), part.begin(), part.end());
        }
        WEIR_CHECK(!payload.empty() && payload.size() <= kRoom);
        depacketizer->feed(payload, {1, last, false});
    }

    std::unique_ptr<rtp::Depacketizer> depacketizer;
};

// Formats that leave nothing of a frame out give back what they were given.
void check_frame(Codec codec, const rtp::Frame& frame) {
    Echo echo(codec);
    const auto packetizer = rtp::make_packetizer(codec);
    packetizer->set_config(frame.config);
    rtp::Frame again;
    if (packetizer->packetize(frame.data, kRoom, echo) && echo.depacketizer->next(again) &&
        (codec == Codec::kVp8 || codec == Codec::kVp9 || codec == Codec::kOpus)) {
        WEIR_CHECK(again.data == frame.data && again.key == frame.key);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static constexpr std::array<Codec, 6> kCodecs = {Codec::kH264, Codec::kHevc, Codec::kAv1,
                                                     Codec::kVp8,  Codec::kVp9,  Codec::kOpus};
    weir::ByteReader reader(weir::ByteSpan(data, size));
    const Codec codec = kCodecs[reader.u8() % kCodecs.size()];
    const auto depacketizer = rtp::make_depacketizer(codec, 5);
    uint32_t time = 0;
    while (!reader.empty()) {
        const uint8_t flags = reader.u8();  // 1: marker, 2: gap, 4: another time
        const weir::ByteSpan payload =
            reader.take(std::min<size_t>(reader.u8(), reader.remaining()));
        time += (flags & 4) != 0 ? 3000 : 0;
        depacketizer->feed(payload, {time, (flags & 1) != 0, (flags & 2) != 0});
        for (rtp::Frame frame; depacketizer->next(frame);) {
            WEIR_CHECK(frame.data.size() >= 5);
            frame.data.erase(frame.data.begin(), frame.data.begin() + 5);
            check_frame(codec, frame);
        }
    }
    return 0;
}
