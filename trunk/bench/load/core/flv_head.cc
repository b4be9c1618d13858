#include "bench/load/core/flv_head.h"

#include <algorithm>
#include <string_view>

namespace weir::load {
namespace {

void write_fourcc(uint8_t* head, std::string_view fourcc) {
    std::copy(fourcc.begin(), fourcc.end(), head + 1);
}

}  // namespace

size_t flv_head_size(media::Codec codec) {
    return codec == media::Codec::kAac ? 2 : kMaxFlvHead;
}

void write_flv_head(std::span<uint8_t> head, media::Codec codec, bool key) {
    constexpr uint8_t kCodedFrames = 0x83;    // enhanced, without composition time
    constexpr uint8_t kEnhancedSound = 0x91;  // enhanced, coded frames
    const auto type = static_cast<uint8_t>((key ? 1U : 2U) << 4U);
    switch (codec) {
        case media::Codec::kH264:
            head[0] = type | 7U;
            head[1] = 1;
            return;
        case media::Codec::kAac:
            head[0] = 0xAF;
            head[1] = 1;
            return;
        case media::Codec::kHevc: write_fourcc(head.data(), "hvc1"); break;
        case media::Codec::kAv1: write_fourcc(head.data(), "av01"); break;
        case media::Codec::kVp8: write_fourcc(head.data(), "vp08"); break;
        case media::Codec::kVp9: write_fourcc(head.data(), "vp09"); break;
        default:
            head[0] = kEnhancedSound;
            write_fourcc(head.data(), codec == media::Codec::kMp3 ? ".mp3" : "Opus");
            return;
    }
    head[0] = static_cast<uint8_t>(kCodedFrames | type);
}

}  // namespace weir::load
