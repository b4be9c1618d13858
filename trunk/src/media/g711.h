// G.711 (ITU-T G.711, tables 1 and 2): samples of 8 bits by the A-law and the mu-law, to and from
// linear ones of 16 bits. Exact: each code decodes to its value of the tables, and a sample gets
// the code whose decision interval it lies in, as the reference of ITU-T G.191 has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace weir::media::g711 {

inline constexpr uint32_t kSampleRate = 8'000;

enum class Law : uint8_t { kA, kMu };

// Codes of silence.
inline constexpr uint8_t kSilenceA = 0xD5;
inline constexpr uint8_t kSilenceMu = 0xFF;

uint8_t encode(Law law, int16_t sample);
int16_t decode(Law law, uint8_t code);

// `out` is as long as `samples`, or as `codes`.
void encode(Law law, std::span<const int16_t> samples, std::span<uint8_t> out);
void decode(Law law, ByteSpan codes, std::span<int16_t> out);

// From one law to the other (ITU-T G.711, tables 3 and 4), in place or not.
void convert(Law from, ByteSpan codes, std::span<uint8_t> out);

}  // namespace weir::media::g711
