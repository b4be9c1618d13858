#include "proto/rtp/payload_latm.h"

#include <algorithm>
#include <array>
#include <utility>

#include "media/aac.h"

namespace weir::rtp {
namespace {

using media::BitReader;

constexpr size_t kMaxConfigBits = 8 * 256;
constexpr size_t kMaxSubFrames = 64;  // 6 bits
constexpr uint64_t kMaxOtherBits = 8 * 65'536;

// LatmGetValue(), table 1.43.
uint32_t read_value(BitReader& bits) {
    const uint32_t bytes = bits.bits(2) + 1;
    return bits.bits(8 * bytes);
}

// The next bits, filled up with zeros; nothing when there are fewer.
Bytes copy_bits(BitReader& bits, size_t count) {
    Bytes out;
    out.reserve((count + 7) / 8);
    for (; count >= 8; count -= 8) {
        out.push_back(static_cast<uint8_t>(bits.bits(8)));
    }
    if (count > 0) {
        out.push_back(static_cast<uint8_t>(bits.bits(static_cast<unsigned>(count)) << (8 - count)));
    }
    return out;
}

// Bytes from any bit on; they are there.
Bytes copy_frame(ByteSpan element, size_t place, size_t size) {
    const ByteSpan from = element.subspan(place / 8);
    const size_t shift = place % 8;
    Bytes out(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(size));
    for (size_t i = 0; shift != 0 && i < size; i++) {
        out[i] = static_cast<uint8_t>(from[i] << shift | from[i + 1] >> (8 - shift));
    }
    return out;
}

// AudioSpecificConfig: with its length (audioMuxVersion 1), or as long as it says itself.
std::optional<media::aac::Config> read_audio_config(BitReader& bits, bool has_size, Bytes& out) {
    if (has_size) {
        const size_t size = read_value(bits);
        if (!bits.ok() || size > kMaxConfigBits) {
            return std::nullopt;
        }
        out = copy_bits(bits, size);
        return bits.ok() ? media::aac::parse_config(out) : std::nullopt;
    }
    BitReader start = bits;
    const std::optional<media::aac::Config> config = media::aac::read_config(bits);
    if (config) {
        out = copy_bits(start, bits.position() - start.position());
    }
    return config;
}

uint64_t read_other_bits(BitReader& bits, bool has_value) {
    if (has_value) {
        return read_value(bits);
    }
    uint64_t sum = 0;
    bool more = true;
    while (more && bits.ok() && sum <= kMaxOtherBits) {
        more = bits.flag();
        sum = sum << 8U | bits.bits(8);
    }
    return sum;
}

// PayloadLengthInfo() of frames that say their length, table 1.47.
size_t read_frame_size(BitReader& bits) {
    size_t size = 0;
    uint32_t byte = 255;
    while (byte == 255 && bits.ok()) {
        byte = bits.bits(8);
        size += byte;
    }
    return size;
}

}  // namespace

std::optional<LatmConfig> LatmConfig::read(BitReader& bits, uint32_t clock_hz) {
    LatmConfig out;
    const bool version1 = bits.flag();
    if (version1 && bits.flag()) {
        return std::nullopt;  // audioMuxVersionA: reserved
    }
    if (version1) {
        read_value(bits);  // taraBufferFullness
    }
    const bool same_framing = bits.flag();
    out.frames = static_cast<uint8_t>(bits.bits(6) + 1);
    const uint32_t more_programs = bits.bits(4);
    const uint32_t more_layers = bits.bits(3);
    if (!bits.ok() || !same_framing || more_programs != 0 || more_layers != 0) {
        return std::nullopt;
    }
    const auto config = read_audio_config(bits, version1, out.audio_config);
    if (!config || bits.bits(3) != 0 || !bits.ok()) {
        return std::nullopt;  // frameLengthType 0: a frame says how long it is
    }
    out.frame_ticks = config->frame_ticks(clock_hz == 0 ? config->sample_rate : clock_hz);
    // Deviation: GStreamer does not count the bits of the extension, and cuts off the end.
    BitReader fullness = bits;
    fullness.skip(8);
    if (config->extended && !fullness.ok()) {
        return out;
    }
    bits.skip(8);  // latmBufferFullness
    if (bits.flag()) {
        out.other_bits = read_other_bits(bits, version1);
    }
    if (bits.flag()) {
        bits.skip(8);  // CRC
    }
    return bits.ok() && out.other_bits <= kMaxOtherBits ? std::optional(std::move(out))
                                                        : std::nullopt;
}

std::optional<LatmConfig> LatmConfig::parse(ByteSpan config, uint32_t clock_hz) {
    BitReader bits(config);
    return read(bits, clock_hz);
}

// An audioMuxElement: where its frames are.
struct LatmDepacketizer::Element {
    std::optional<LatmConfig> config;            // that it brings along
    std::array<size_t, kMaxSubFrames> places{};  // in bits
    std::array<size_t, kMaxSubFrames> sizes{};   // in bytes
    size_t count = 0;
};

LatmDepacketizer::LatmDepacketizer(const PayloadParameters& parameters, size_t reserved_front)
    : FrameAssembler(reserved_front),
      clock_hz_(parameters.clock_hz),
      in_band_(parameters.latm_in_band),
      config_(LatmConfig::parse(parameters.latm_config, parameters.clock_hz)) {}

// AudioMuxElement(), table 1.41. False: it is not whole, longer than it says, or its configuration
// is not known.
bool LatmDepacketizer::read_element(ByteSpan bytes, Element& out) const {
    BitReader bits(bytes);
    if (in_band_ && !bits.flag()) {
        out.config = LatmConfig::read(bits, clock_hz_);
        if (!out.config) {
            return false;
        }
    }
    const LatmConfig* config = out.config ? &*out.config : config_ ? &*config_ : nullptr;
    if (config == nullptr) {
        return false;
    }
    for (size_t i = 0; i < config->frames && bits.ok(); i++) {
        const size_t size = read_frame_size(bits);
        out.places[i] = bits.position();
        out.sizes[i] = size;
        out.count++;
        if (size > bytes.size()) {
            return false;
        }
        bits.skip(8 * size);
    }
    bits.skip(config->other_bits);
    return bits.ok() && (bits.position() + 7) / 8 == bytes.size();
}

bool LatmDepacketizer::begins_frame(ByteSpan payload) const {
    Element element;
    return read_element(payload, element);
}

FrameAssembler::Completion LatmDepacketizer::complete(Frame& out) {
    Element element;
    if (!read_element(data(), element)) {
        return Completion::kBroken;
    }
    if (element.config && element.config != config_) {
        config_ = std::move(element.config);
        config_given_ = false;
    }
    if (!std::exchange(config_given_, true)) {
        out.config = config_->audio_config;
    }
    out.key = true;
    const uint32_t first_time = out.rtp_time;
    bool any = false;
    for (size_t i = 0; i < element.count; i++) {
        if (element.sizes[i] == 0) {
            continue;
        }
        if (any) {
            Frame before = out;
            give(std::move(before), last_);
            out.config.clear();
            out.after_loss = false;
        }
        any = true;
        last_ = copy_frame(data(), element.places[i], element.sizes[i]);
        out.rtp_time = first_time + static_cast<uint32_t>(i) * config_->frame_ticks;
    }
    data() = last_;
    return any ? Completion::kFrame : Completion::kNothing;
}

}  // namespace weir::rtp
