#include "media/aac.h"

#include <array>

#include "media/bit_reader.h"

namespace weir::media::aac {
namespace {

constexpr uint8_t kSbr = 5;
constexpr uint8_t kParametricStereo = 29;
constexpr uint8_t kEscape = 31;
constexpr uint32_t kRateEscape = 15;
constexpr uint32_t kSyncExtension = 0x2B7;
constexpr uint32_t kPsSyncExtension = 0x548;
constexpr std::array<uint32_t, 13> kRates = {96'000, 88'200, 64'000, 48'000, 44'100, 32'000, 24'000,
                                             22'050, 16'000, 12'000, 11'025, 8'000,  7'350};
// Channels of channelConfiguration, table 1.19.
constexpr std::array<uint8_t, 8> kChannels = {0, 1, 2, 3, 4, 5, 6, 8};

uint8_t read_object_type(BitReader& bits) {
    const uint32_t type = bits.bits(5);
    return static_cast<uint8_t>(type == kEscape ? 32 + bits.bits(6) : type);
}

uint32_t read_rate(BitReader& bits) {
    const uint32_t index = bits.bits(4);
    if (index == kRateEscape) {
        return bits.bits(24);
    }
    if (index >= kRates.size()) {
        bits.fail();
        return 0;
    }
    return kRates[index];
}

// GASpecificConfig §4.4.1 of the types that have one, without a program config element.
void skip_ga(BitReader& bits) {
    bits.flag();  // frame length
    if (bits.flag()) {
        bits.skip(14);  // core coder delay
    }
    bits.flag();  // extension
}

}  // namespace

std::optional<Config> parse_config(ByteSpan config) {
    BitReader bits(config);
    Config result;
    result.object_type = read_object_type(bits);
    result.sample_rate = read_rate(bits);
    const uint32_t channels = bits.bits(4);
    if (!bits.ok() || channels >= kChannels.size() || result.object_type == 0 ||
        result.sample_rate == 0) {
        return std::nullopt;
    }
    result.channels = kChannels[channels];
    if (result.object_type == kSbr || result.object_type == kParametricStereo) {
        result.sample_rate = read_rate(bits);
        if (result.object_type == kParametricStereo) {
            result.channels = 2;
        }
        return bits.ok() && result.sample_rate > 0 ? std::optional(result) : std::nullopt;
    }
    // Signalled behind the rest, for decoders that do not know it (§1.6.5.2).
    if (channels != 0 && result.object_type <= 4) {
        skip_ga(bits);
        if (bits.bits(11) == kSyncExtension && read_object_type(bits) == kSbr && bits.flag()) {
            const uint32_t rate = read_rate(bits);
            if (bits.ok() && rate > 0) {
                result.object_type = kSbr;
                result.sample_rate = rate;
                if (bits.bits(11) == kPsSyncExtension && bits.flag() && bits.ok()) {
                    result.object_type = kParametricStereo;
                    result.channels = 2;
                }
            }
        }
    }
    return result;
}

}  // namespace weir::media::aac
