#include "proto/mp4/codec_string.h"

#include <fmt/format.h>

#include "media/aac.h"
#include "media/av1.h"
#include "media/avc.h"
#include "media/hevc.h"
#include "media/vpx_config.h"

namespace weir::mp4 {
namespace {

using media::Codec;

std::string avc_string(ByteSpan config) {
    const auto view = media::avc::ConfigView::parse(config);
    return view ? fmt::format("avc1.{:02X}{:02X}{:02X}", view->profile(), view->compatibility(),
                              view->level())
                : std::string();
}

uint32_t reversed(uint32_t bits) {
    uint32_t out = 0;
    for (int i = 0; i < 32; i++) {
        out = out << 1 | (bits >> i & 1);
    }
    return out;
}

// ISO/IEC 14496-15 §E.3: profile, compatibility with its bits in reverse, tier and level,
// constraints without the zero bytes at the end.
std::string hevc_string(ByteSpan config) {
    const auto view = media::hevc::ConfigView::parse(config);
    const auto sps = view ? media::hevc::parse_sps(view->sps()) : std::nullopt;
    if (!sps) {
        return {};
    }
    ByteReader fields(sps->profile_tier_level);
    const uint8_t first = fields.u8();
    const uint32_t compatibility = fields.u32();
    const ByteSpan constraints = fields.take(6);
    const uint8_t space = first >> 6;
    std::string text = fmt::format(
        "hvc1.{}{}.{:X}.{}{}", space > 0 ? std::string(1, "?ABC"[space]) : "", first & 0x1F,
        reversed(compatibility), (first & 0x20) != 0 ? 'H' : 'L', sps->level_idc());
    size_t count = constraints.size();
    while (count > 0 && constraints[count - 1] == 0) {
        count--;
    }
    for (size_t i = 0; i < count; i++) {
        text += fmt::format(".{:X}", constraints[i]);
    }
    return text;
}

std::string av1_string(ByteSpan config) {
    constexpr size_t kFixed = media::av1::kConfigFixedSize;
    if (config.size() < kFixed || config[0] != 0x81) {
        return {};
    }
    const bool high_bitdepth = (config[2] & 0x40) != 0;
    const bool twelve_bit = (config[2] & 0x20) != 0;
    return fmt::format("av01.{}.{:02}{}.{:02}", config[1] >> 5, config[1] & 0x1F,
                       (config[2] & 0x80) != 0 ? 'H' : 'M',
                       high_bitdepth ? (twelve_bit ? 12 : 10) : 8);
}

std::string vpx_string(const char* name, ByteSpan config) {
    const auto parsed = media::parse_vpx_config(config);
    return parsed ? fmt::format("{}.{:02}.{:02}.{:02}", name, parsed->profile,
                                parsed->level == 0 ? 10 : parsed->level, parsed->bit_depth)
                  : std::string();
}

std::string aac_string(ByteSpan config) {
    const auto parsed = media::aac::parse_config(config);
    return parsed ? fmt::format("mp4a.40.{}", parsed->object_type) : std::string();
}

}  // namespace

std::string codec_string(Codec codec, ByteSpan config) {
    switch (codec) {
        case Codec::kH264: return avc_string(config);
        case Codec::kHevc: return hevc_string(config);
        case Codec::kAv1: return av1_string(config);
        case Codec::kVp8: return vpx_string("vp08", config);
        case Codec::kVp9: return vpx_string("vp09", config);
        case Codec::kAac: return aac_string(config);
        case Codec::kMp3: return "mp4a.40.34";
        case Codec::kOpus: return "Opus";
        case Codec::kAc3: return "ac-3";
        case Codec::kEac3: return "ec-3";
        default: return {};
    }
}

}  // namespace weir::mp4
