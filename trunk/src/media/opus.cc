#include "media/opus.h"

#include <array>
#include <string_view>

namespace weir::media::opus {
namespace {

constexpr std::string_view kMagic = "OpusHead";
constexpr size_t kHeadSize = 19;
constexpr uint8_t kStereoBit = 0x04;
constexpr uint8_t kFrameCountBits = 0x3F;

// Samples of one frame of a configuration, RFC 6716 table 2.
uint32_t frame_samples(uint8_t config) {
    static constexpr std::array<uint32_t, 4> kSilk = {480, 960, 1920, 2880};
    if (config < 12) {
        return kSilk[config % 4];
    }
    if (config < 16) {
        return config % 2 == 0 ? 480 : 960;  // hybrid
    }
    return uint32_t{120} << (config % 4);  // CELT
}

}  // namespace

std::optional<uint32_t> packet_samples(ByteSpan packet) {
    ByteReader reader(packet);
    const uint8_t toc = reader.u8();
    uint32_t frames = 0;
    switch (toc & 3) {
        case 0: frames = 1; break;
        case 1:
        case 2: frames = 2; break;
        default: frames = reader.u8() & kFrameCountBits; break;
    }
    const uint32_t samples = frames * frame_samples(toc >> 3);
    if (!reader.ok() || samples == 0 || samples > kMaxPacketSamples) {
        return std::nullopt;
    }
    return samples;
}

bool is_stereo(ByteSpan packet) {
    return !packet.empty() && (packet[0] & kStereoBit) != 0;
}

Bytes build_head(uint8_t channels, uint16_t pre_skip) {
    Bytes head;
    head.reserve(kHeadSize);
    ByteWriter(head)
        .text(kMagic)
        .u8(1)
        .u8(channels)
        .u16(__builtin_bswap16(pre_skip))
        .le32(kClockHz)
        .u16(0)  // output gain
        .u8(0);  // mapping family
    return head;
}

std::optional<uint8_t> head_channels(ByteSpan head) {
    ByteReader reader(head);
    const bool magic = as_text(reader.take(kMagic.size())) == kMagic;
    const uint8_t version = reader.u8();
    const uint8_t channels = reader.u8();
    reader.skip(8);
    // RFC 7845 §5.1: the upper half of the version must be 0.
    if (!reader.ok() || !magic || version >> 4 != 0 || channels == 0) {
        return std::nullopt;
    }
    return channels;
}

}  // namespace weir::media::opus
