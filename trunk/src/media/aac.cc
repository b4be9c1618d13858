#include "media/aac.h"

#include <algorithm>
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

constexpr uint8_t kLtp = 4;
constexpr uint8_t kLowDelay = 23;
constexpr uint8_t kEnhancedLowDelay = 39;

// GASpecificConfig §4.4.1 of the types that have one, without a program config element. Its end is
// right for types up to kLtp.
void read_ga(BitReader& bits, uint8_t object_type, Config& out) {
    const bool is_short = bits.flag();
    const bool low_delay = object_type == kLowDelay || object_type == kEnhancedLowDelay;
    out.frame_samples = low_delay ? (is_short ? 480 : 512) : (is_short ? 960 : 1024);
    if (bits.flag()) {
        bits.skip(14);  // core coder delay
    }
    bits.flag();  // extension
}

// What parse_config() and read_config() share: up to and with the rate of SBR. `core_type`: of what
// is encoded.
bool read_head(BitReader& bits, Config& out, uint8_t& core_type) {
    out.object_type = read_object_type(bits);
    core_type = out.object_type;
    out.sample_rate = read_rate(bits);
    out.core_rate = out.sample_rate;
    const uint32_t channels = bits.bits(4);
    if (!bits.ok() || channels >= kChannels.size() || out.object_type == 0 ||
        out.sample_rate == 0) {
        return false;
    }
    out.channels = kChannels[channels];
    if (out.object_type == kSbr || out.object_type == kParametricStereo) {
        out.sample_rate = read_rate(bits);
        if (out.object_type == kParametricStereo) {
            out.channels = 2;
        }
        if (!bits.ok() || out.sample_rate == 0) {
            return false;
        }
        core_type = read_object_type(bits);
    }
    return true;
}

}  // namespace

std::optional<Config> parse_config(ByteSpan config) {
    BitReader bits(config);
    Config result;
    uint8_t core_type = 0;
    if (!read_head(bits, result, core_type)) {
        return std::nullopt;
    }
    const bool has_ga = core_type <= kLtp || core_type == kLowDelay;
    const bool said_before = core_type != result.object_type;
    if (has_ga || core_type == kEnhancedLowDelay) {
        read_ga(bits, core_type, result);
    }
    // Signalled behind the rest, for decoders that do not know it (§1.6.5.2).
    if (said_before || result.channels == 0 || core_type > kLtp) {
        return result;
    }
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
    return result;
}

std::optional<Config> read_config(BitReader& bits) {
    Config result;
    uint8_t core_type = 0;
    if (!read_head(bits, result, core_type) || core_type == 0 || core_type > kLtp ||
        result.channels == 0) {
        return std::nullopt;
    }
    read_ga(bits, core_type, result);
    // Deviation: no syntax element of LATM begins like this, and GStreamer copies the extension
    // from where it has a length.
    BitReader ahead = bits;
    if (ahead.bits(11) == kSyncExtension && read_object_type(ahead) == kSbr) {
        if (ahead.flag()) {
            result.sample_rate = read_rate(ahead);
            result.object_type = kSbr;
        }
        bits = ahead;
        result.extended = true;
    }
    return bits.ok() ? std::optional(result) : std::nullopt;
}

Bytes build_lc_config(uint32_t sample_rate, uint8_t channels) {
    constexpr uint32_t kLc = 2;
    const auto rate = std::ranges::find(kRates, sample_rate);
    const auto layout = std::ranges::find(kChannels, channels);
    if (rate == kRates.end() || layout == kChannels.end() || channels == 0) {
        return {};
    }
    const auto bits = static_cast<uint32_t>(kLc << 11U | (rate - kRates.begin()) << 7U |
                                            (layout - kChannels.begin()) << 3U);
    return {static_cast<uint8_t>(bits >> 8U), static_cast<uint8_t>(bits)};
}

}  // namespace weir::media::aac
