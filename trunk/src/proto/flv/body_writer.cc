#include "proto/flv/body_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace weir::flv {
namespace {

using media::Codec;

constexpr uint8_t kKeyFrameType = 1;
constexpr uint8_t kInterFrameType = 2;
constexpr uint8_t kAvc = 7;
constexpr uint8_t kExtended = 0x80;       // Enhanced RTMP: IsExHeader of video
constexpr uint8_t kExtendedSound = 0x90;  // SoundFormat 9
// Packet types of Enhanced RTMP v2.
constexpr uint8_t kSequenceStart = 0;
constexpr uint8_t kCodedFrames = 1;
constexpr uint8_t kCodedFramesX = 3;  // without composition time, which is 0

std::string_view four_cc(Codec codec) {
    switch (codec) {
        case Codec::kHevc: return "hvc1";
        case Codec::kAv1: return "av01";
        case Codec::kVp9: return "vp09";
        case Codec::kVp8: return "vp08";
        case Codec::kOpus: return "Opus";
        default: return {};
    }
}

std::array<uint8_t, kMaxBodyHeader> extended(uint8_t first, Codec codec) {
    std::array<uint8_t, kMaxBodyHeader> header{first};
    std::memcpy(header.data() + 1, four_cc(codec).data(), 4);
    return header;
}

std::array<uint8_t, kMaxBodyHeader> make(Codec codec, BodyKind kind) {
    const bool config = kind == BodyKind::kConfig;
    const auto frame_type =
        static_cast<uint8_t>((kind == BodyKind::kFrame ? kInterFrameType : kKeyFrameType) << 4U);
    switch (codec) {
        case Codec::kH264:
            return {static_cast<uint8_t>(frame_type | kAvc), static_cast<uint8_t>(config ? 0 : 1)};
        case Codec::kHevc:
            return extended(static_cast<uint8_t>(kExtended | frame_type |
                                                 (config ? kSequenceStart : kCodedFramesX)),
                            codec);
        case Codec::kAac: return {0xAF, static_cast<uint8_t>(config ? 0 : 1)};
        case Codec::kG711A: return {0x72};
        case Codec::kG711U: return {0x82};
        case Codec::kOpus:
            return extended(
                static_cast<uint8_t>(kExtendedSound | (config ? kSequenceStart : kCodedFrames)),
                codec);
        default:
            return extended(static_cast<uint8_t>(kExtended | frame_type |
                                                 (config ? kSequenceStart : kCodedFrames)),
                            codec);
    }
}

}  // namespace

size_t body_header_size(Codec codec, BodyKind kind) {
    switch (codec) {
        case Codec::kH264:
        case Codec::kHevc:
        case Codec::kAv1:
        case Codec::kVp9:
        case Codec::kVp8:
        case Codec::kOpus: return 5;
        case Codec::kAac: return 2;
        case Codec::kG711A:
        case Codec::kG711U: return kind == BodyKind::kConfig ? 0 : 1;
        default: return 0;
    }
}

size_t write_body_header(Codec codec, BodyKind kind, std::span<uint8_t> out) {
    const size_t size = body_header_size(codec, kind);
    if (size == 0 || out.size() < size) {
        return 0;
    }
    const auto header = make(codec, kind);
    std::copy_n(header.begin(), size, out.begin());
    return size;
}

}  // namespace weir::flv
