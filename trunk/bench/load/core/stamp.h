// The stamp that every synthetic frame carries, and the filler behind it.
//
//   stamp, 60 lower-case hexadecimal digits (no byte that H.264 or AAC would have to escape):
//   | stream 8 | epoch 8 | sequence 8 | send time ns 16 | filler bytes 8 | place in GOP 4 | check 8
//   |
//
// The check covers the fields, so a damaged stamp is not taken for a lost or foreign frame. The
// filler is a window of one fixed table of pseudo-random bytes (1 to 255); where it starts depends
// on stream, sequence and kind. So a player can compare every byte with what was sent, without
// having seen the publisher.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace weir::load {

struct Stamp {
    uint32_t stream = 0;    // number of the stream in its pattern
    uint32_t epoch = 0;     // one value per publishing session: a new one starts at sequence 0
    uint32_t sequence = 0;  // counts the frames of one track
    uint64_t send_ns = 0;   // CLOCK_MONOTONIC of the publisher
    uint32_t filler = 0;    // bytes of filler in this frame
    uint16_t place = 0;     // video: 0 is the key frame

    bool operator==(const Stamp&) const = default;
};

constexpr size_t kStampSize = 60;

// `out` has kStampSize bytes.
void write_stamp(std::span<uint8_t, kStampSize> out, const Stamp& stamp);

// nullopt when a digit or the check is wrong.
std::optional<Stamp> parse_stamp(std::span<const uint8_t, kStampSize> in);

enum class FillerKind : uint8_t { kVideo, kAudio };

// Where the filler of a frame starts, for fill() and filler_equals(); any offset into the filler
// may be added to it.
uint64_t filler_start(const Stamp& stamp, FillerKind kind);

void fill(std::span<uint8_t> out, uint64_t start);

bool filler_equals(ByteSpan bytes, uint64_t start);

}  // namespace weir::load
