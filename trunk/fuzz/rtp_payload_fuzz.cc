// Payload formats: the first byte chooses the codec and what a description says of it; then packets
// (flags, size, payload). Frames that come out are cut and put together again, and must be the
// same.
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
        (codec == Codec::kVp8 || codec == Codec::kVp9 || codec == Codec::kOpus ||
         codec == Codec::kAac || codec == Codec::kMp3)) {
        WEIR_CHECK(again.data == frame.data && again.key == frame.key);
    }
}

struct Format {
    Codec codec;
    rtp::PayloadParameters parameters;
};

Format format_of(uint8_t choice) {
    static constexpr std::array<Codec, 6> kPlain = {Codec::kH264, Codec::kHevc, Codec::kAv1,
                                                    Codec::kVp8,  Codec::kVp9,  Codec::kOpus};
    constexpr uint8_t kFormats = 14;
    Format format{kPlain[choice % kFormats % kPlain.size()], {}};
    rtp::PayloadParameters& parameters = format.parameters;
    rtp::AuHeaderFields& fields = parameters.au_header;
    switch (choice % kFormats) {
        case 6:
            parameters.decoding_order_numbers = true;
            format.codec = Codec::kHevc;
            break;
        case 7: format.codec = Codec::kAac; break;
        case 8:
            format.codec = Codec::kAac;
            fields = {6, 2, 2, 4, 5, 3, 8, true, 0};
            break;
        case 9:
            format.codec = Codec::kAac;
            fields = {0, 0, 0, 0, 0, 0, 0, false, 7};
            break;
        case 10:
        case 11:
            format.codec = Codec::kAac;
            parameters.audio = rtp::AudioFraming::kLatm;
            parameters.latm_in_band = choice % kFormats == 10;
            parameters.latm_config = {0x42, 0x00, 0x26, 0x10, 0x3F, 0xC0};  // two frames
            break;
        case 12: format.codec = Codec::kMp3; break;
        case 13:
            format.codec = Codec::kMp3;
            parameters.audio = rtp::AudioFraming::kAdu;
            break;
        default: break;
    }
    return format;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    weir::ByteReader reader(weir::ByteSpan(data, size));
    const Format format = format_of(reader.u8());
    const Codec codec = format.codec;
    const auto depacketizer = rtp::make_depacketizer(codec, 5, format.parameters);
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
