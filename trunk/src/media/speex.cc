#include "media/speex.h"

#include <algorithm>
#include <array>
#include <utility>

namespace weir::media::speex {
namespace {

constexpr size_t kNarrowHead = 5;  // the band bit and the mode
constexpr size_t kWideHead = 4;
constexpr uint32_t kUserMessage = 13;
constexpr uint32_t kRequest = 14;
constexpr uint32_t kTerminator = 15;
constexpr size_t kMaxLayers = 2;

// Bits of a part with its head; 0: there is no such mode.
constexpr std::array<uint16_t, 13> kNarrowBits = {5,   43, 119, 160, 220, 300, 364,
                                                  492, 79, 0,   0,   0,   0};
constexpr std::array<uint16_t, 8> kWideBits = {4, 36, 112, 192, 352, 0, 0, 0};

class BitsView {
  public:
    explicit BitsView(ByteSpan bytes) : bytes_(bytes) {}

    size_t at() const { return at_; }

    size_t left() const { return 8 * bytes_.size() - at_; }

    // The next `count` bits, at most 8, which are there.
    uint32_t peek(size_t count) const {
        uint32_t value = 0;
        for (size_t i = at_; i < at_ + count; i++) {
            value = value << 1U | (uint32_t{bytes_[i / 8]} >> (7 - i % 8) & 1U);
        }
        return value;
    }

    bool skip(size_t count) {
        if (count > left()) {
            return false;
        }
        at_ += count;
        return true;
    }

  private:
    ByteSpan bytes_;
    size_t at_ = 0;
};

struct FrameBits {
    size_t at = 0;
    size_t size = 0;
    size_t layers = 0;  // beside narrowband
};

// Bits of a message after its mode; the sizes of requests are those of section 5.5 of the manual.
bool skip_message(BitsView& bits, uint32_t mode) {
    if (mode == kUserMessage) {
        // As libspeex reads it: a size in bytes, and a bit that says nothing.
        constexpr size_t kSizeBits = 4;
        return bits.left() >= kSizeBits && bits.skip(5 + 8 * bits.peek(kSizeBits) + kSizeBits);
    }
    constexpr size_t kTypeBits = 4;
    if (bits.left() < kTypeBits) {
        return false;
    }
    const uint32_t type = bits.peek(kTypeBits);
    const size_t size = type < 2    ? 1
                        : type < 8  ? 4
                        : type < 10 ? 8
                        : type < 12 ? 16
                        : type < 14 ? 32
                                    : 64;
    return bits.skip(kTypeBits + size);
}

enum class Found : uint8_t { kFrame, kMessage, kEnd, kMalformed };

Found next_frame(BitsView& bits, FrameBits& out) {
    if (bits.left() < kNarrowHead) {
        return Found::kEnd;  // padding of a packet without a terminator
    }
    const uint32_t mode = bits.peek(kNarrowHead);
    if (mode == kTerminator) {
        return Found::kEnd;
    }
    out = {bits.at(), 0, 0};
    if (mode == kUserMessage || mode == kRequest) {
        return bits.skip(kNarrowHead) && skip_message(bits, mode) ? Found::kMessage
                                                                  : Found::kMalformed;
    }
    // A wide part without a narrow one in front has its top bit set, and is none of the modes.
    if (mode >= kNarrowBits.size() || kNarrowBits[mode] == 0 || !bits.skip(kNarrowBits[mode])) {
        return Found::kMalformed;
    }
    while (bits.left() >= kWideHead && bits.peek(1) == 1 && out.layers < kMaxLayers) {
        const uint16_t size = kWideBits[bits.peek(kWideHead) & 7U];
        if (size == 0 || !bits.skip(size)) {
            return Found::kMalformed;
        }
        out.layers++;
    }
    out.size = bits.at() - out.at;
    return Found::kFrame;
}

// Calls visit(const FrameBits&) for each frame. False when the packet is malformed.
template <typename Visit>
bool for_each_frame(ByteSpan packet, Visit&& visit) {
    BitsView bits(packet);
    FrameBits frame;
    size_t count = 0;
    while (true) {
        switch (next_frame(bits, frame)) {
            case Found::kMalformed: return false;
            case Found::kEnd: return count > 0;
            case Found::kMessage: break;
            case Found::kFrame:
                if (++count > kMaxFrames) {
                    return false;
                }
                visit(frame);
                break;
        }
    }
}

class BitWriter {
  public:
    void add(bool bit) {
        if (used_ % 8 == 0) {
            bytes_.push_back(0);
        }
        if (bit) {
            bytes_.back() = static_cast<uint8_t>(bytes_.back() | 1U << (7 - used_ % 8));
        }
        used_++;
    }

    void add(ByteSpan from, const FrameBits& frame) {
        for (size_t i = frame.at; i < frame.at + frame.size; i++) {
            add((uint32_t{from[i / 8]} >> (7 - i % 8) & 1U) != 0);
        }
    }

    // RFC 5574 §3.3: a zero and then ones fill the last byte.
    Bytes finish() {
        for (bool bit = false; used_ % 8 != 0; bit = true) {
            add(bit);
        }
        used_ = 0;
        return std::move(bytes_);
    }

  private:
    Bytes bytes_;
    size_t used_ = 0;
};

}  // namespace

size_t count_frames(ByteSpan packet) {
    size_t count = 0;
    return for_each_frame(packet, [&](const FrameBits&) { count++; }) ? count : 0;
}

uint32_t sample_rate(ByteSpan packet) {
    size_t layers = 0;
    const bool whole =
        for_each_frame(packet, [&](const FrameBits& f) { layers = std::max(layers, f.layers); });
    return whole ? uint32_t{8000} << layers : 0;
}

std::vector<Bytes> split(ByteSpan packet, size_t frames) {
    std::vector<Bytes> out;
    BitWriter writer;
    size_t held = 0;
    const bool whole = for_each_frame(packet, [&](const FrameBits& frame) {
        writer.add(packet, frame);
        if (++held == frames) {
            out.push_back(writer.finish());
            held = 0;
        }
    });
    if (!whole || frames == 0) {
        return {};
    }
    if (held > 0) {
        out.push_back(writer.finish());
    }
    return out;
}

}  // namespace weir::media::speex
