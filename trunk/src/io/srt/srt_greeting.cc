#include "io/srt/srt_greeting.h"

#include <algorithm>

namespace weir::io {
namespace {

constexpr uint32_t kHandshake = 0x8000'0000;  // control bit, type 0
constexpr size_t kDestination = 12;           // in the header

// In the body:
constexpr size_t kWindow = 16;
constexpr size_t kType = 20;
constexpr size_t kExtensions = 48;

constexpr uint32_t kConclusion = 0xFFFF'FFFF;
constexpr uint16_t kRequest = 1;  // SRT_CMD_HSREQ, 3.2.1.1
constexpr uint16_t kResponse = 2;
constexpr size_t kWord = 4;
constexpr size_t kDelays = 2;  // word of these two: one for each direction

uint32_t word(ByteSpan from, size_t at) {
    return ByteReader(from.subspan(at)).u32();
}

Millis latency_of(ByteSpan blocks) {
    ByteReader reader(blocks);
    while (reader.remaining() >= kWord) {
        const uint16_t kind = reader.u16();
        const size_t size = reader.u16() * kWord;
        if (size > reader.remaining()) {
            break;
        }
        const ByteSpan content = reader.take(size);
        if ((kind == kRequest || kind == kResponse) && size >= (kDelays + 1) * kWord) {
            const uint32_t delays = word(content, kDelays * kWord);
            return Millis(std::max(delays >> 16, delays & 0xFFFF));
        }
    }
    return Millis(0);
}

}  // namespace

std::optional<SrtGreeting> SrtGreeting::parse(ByteSpan header, ByteSpan body) {
    if (header.size() < kSrtHeader || body.size() < kExtensions || word(header, 0) != kHandshake) {
        return std::nullopt;
    }
    SrtGreeting out;
    out.to_listener = word(header, kDestination) == 0;
    out.conclusion = word(body, kType) == kConclusion;
    out.window = word(body, kWindow);
    out.latency = latency_of(body.subspan(kExtensions));
    return out;
}

void set_srt_window(std::span<uint8_t> body, uint32_t packets) {
    for (size_t i = 0; i < kWord; i++) {
        body[kWindow + i] = static_cast<uint8_t>(packets >> (24 - 8 * i));
    }
}

}  // namespace weir::io
