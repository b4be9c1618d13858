#include "media/vpx_config.h"

#include <algorithm>
#include <array>

namespace weir::media {
namespace {

constexpr uint32_t kVersion1NoFlags = 0x01000000;

// Largest picture of a level, VP9 specification annex A.
struct Level {
    uint32_t max_pixels;
    uint8_t level;
};

constexpr std::array<Level, 9> kLevels = {{{36'864, 10},
                                           {73'728, 11},
                                           {122'880, 20},
                                           {245'760, 21},
                                           {552'960, 30},
                                           {983'040, 31},
                                           {2'228'224, 40},
                                           {8'912'896, 50},
                                           {35'651'584, 60}}};

}  // namespace

std::optional<VpxConfig> parse_vpx_config(ByteSpan record) {
    ByteReader reader(record);
    if (record.size() >= 4 + kVpxConfigSize && ByteReader(record).u32() == kVersion1NoFlags) {
        reader.skip(4);
    }
    VpxConfig config;
    config.profile = reader.u8();
    config.level = reader.u8();
    const uint8_t format = reader.u8();
    config.bit_depth = format >> 4;
    config.chroma_subsampling = format >> 1 & 7;
    config.full_range = (format & 1) != 0;
    config.color_primaries = reader.u8();
    config.transfer = reader.u8();
    config.matrix = reader.u8();
    reader.skip(reader.u16());
    return reader.ok() ? std::optional(config) : std::nullopt;
}

Bytes build_vpx_config(const VpxConfig& config) {
    Bytes record;
    ByteWriter(record)
        .u8(config.profile)
        .u8(config.level)
        .u8(static_cast<uint8_t>(config.bit_depth << 4 | config.chroma_subsampling << 1 |
                                 (config.full_range ? 1 : 0)))
        .u8(config.color_primaries)
        .u8(config.transfer)
        .u8(config.matrix)
        .u16(0);
    return record;
}

VpxConfig vpx_config_of(const vp9::FrameInfo& key_frame) {
    VpxConfig config;
    config.profile = key_frame.profile;
    config.bit_depth = key_frame.bit_depth;
    config.full_range = key_frame.full_range;
    config.chroma_subsampling = key_frame.subsampling_x ? (key_frame.subsampling_y ? 1 : 2) : 3;
    const uint64_t pixels = uint64_t{key_frame.width} * key_frame.height;
    const auto* level = std::find_if(kLevels.begin(), kLevels.end(),
                                     [&](const Level& l) { return pixels <= l.max_pixels; });
    config.level = level == kLevels.end() ? uint8_t{0} : level->level;
    return config;
}

}  // namespace weir::media
