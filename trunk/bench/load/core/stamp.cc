#include "bench/load/core/stamp.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace weir::load {
namespace {

// A prime, so that neighbouring sequences and streams meet the table at different places; 16 KiB
// stay in the cache.
constexpr size_t kTableSize = 16381;

using Table = std::array<uint8_t, kTableSize>;

// splitmix64's output function: every input bit reaches every output bit.
constexpr uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9U;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

const Table& table() {
    static const Table instance = [] {
        Table bytes{};
        uint64_t state = 0x57656972;
        for (uint8_t& byte : bytes) {
            state += 0x9e3779b97f4a7c15U;
            byte = static_cast<uint8_t>(1 + mix(state) % 255);
        }
        return bytes;
    }();
    return instance;
}

constexpr std::array<int8_t, 256> kDigits = [] {
    std::array<int8_t, 256> values{};
    values.fill(-1);
    for (int i = 0; i < 10; i++) {
        values['0' + static_cast<size_t>(i)] = static_cast<int8_t>(i);
    }
    for (int i = 0; i < 6; i++) {
        values['a' + static_cast<size_t>(i)] = static_cast<int8_t>(10 + i);
    }
    return values;
}();

uint8_t* put(uint8_t* at, uint64_t value, int digits) {
    for (int i = digits - 1; i >= 0; i--) {
        *at++ = static_cast<uint8_t>("0123456789abcdef"[(value >> (4 * i)) & 15]);
    }
    return at;
}

class DigitReader {
  public:
    explicit DigitReader(const uint8_t* at) : at_(at) {}

    uint64_t take(int digits) {
        uint64_t value = 0;
        for (int i = 0; i < digits; i++) {
            int digit = kDigits[*at_++];
            bad_ |= digit;
            value = value << 4 | (static_cast<uint64_t>(digit) & 15);
        }
        return value;
    }

    bool ok() const { return bad_ >= 0; }

  private:
    const uint8_t* at_;
    int bad_ = 0;
};

uint32_t check_of(const Stamp& s) {
    uint64_t hash = mix((uint64_t{s.stream} << 32 | s.epoch) + 0x9e3779b97f4a7c15U);
    hash = mix(hash ^ s.send_ns);
    hash = mix(hash ^ (uint64_t{s.sequence} << 32 | s.filler));
    return static_cast<uint32_t>(mix(hash ^ s.place));
}

}  // namespace

void write_stamp(std::span<uint8_t, kStampSize> out, const Stamp& stamp) {
    uint8_t* at = put(out.data(), stamp.stream, 8);
    at = put(at, stamp.epoch, 8);
    at = put(at, stamp.sequence, 8);
    at = put(at, stamp.send_ns, 16);
    at = put(at, stamp.filler, 8);
    at = put(at, stamp.place, 4);
    put(at, check_of(stamp), 8);
}

std::optional<Stamp> parse_stamp(std::span<const uint8_t, kStampSize> in) {
    DigitReader reader(in.data());
    Stamp stamp;
    stamp.stream = static_cast<uint32_t>(reader.take(8));
    stamp.epoch = static_cast<uint32_t>(reader.take(8));
    stamp.sequence = static_cast<uint32_t>(reader.take(8));
    stamp.send_ns = reader.take(16);
    stamp.filler = static_cast<uint32_t>(reader.take(8));
    stamp.place = static_cast<uint16_t>(reader.take(4));
    auto check = static_cast<uint32_t>(reader.take(8));
    if (!reader.ok() || check != check_of(stamp)) {
        return std::nullopt;
    }
    return stamp;
}

uint64_t filler_start(const Stamp& stamp, FillerKind kind) {
    return uint64_t{stamp.stream} * 7'001 + uint64_t{stamp.sequence} * 2'503 +
           (kind == FillerKind::kAudio ? 8'191 : 0);
}

void fill(std::span<uint8_t> out, uint64_t start) {
    size_t at = start % kTableSize;
    while (!out.empty()) {
        size_t size = std::min(out.size(), kTableSize - at);
        std::memcpy(out.data(), table().data() + at, size);
        out = out.subspan(size);
        at = 0;
    }
}

bool filler_equals(ByteSpan bytes, uint64_t start) {
    size_t at = start % kTableSize;
    while (!bytes.empty()) {
        size_t size = std::min(bytes.size(), kTableSize - at);
        if (std::memcmp(bytes.data(), table().data() + at, size) != 0) {
            return false;
        }
        bytes = bytes.subspan(size);
        at = 0;
    }
    return true;
}

}  // namespace weir::load
