// Speex packets (The Speex Codec Manual, section 9 and 10; RFC 5574): frames that follow one
// another bit by bit, each of 20 ms. No decoding.
//
// A frame is a narrowband part, and in wider bands one or two parts more, each with a bit of its
// own in front:
//
//     | 0 | mode 4 bits | bits of the mode | 1 | mode 3 bits | bits of the mode | ...
//
// Modes of narrowband 13 and 14 are messages between frames, 15 ends the packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace weir::media::speex {

inline constexpr size_t kMaxFrames = 64;  // of a packet; more are malformed

// Frames of 20 ms in a packet; 0 when it is empty or malformed.
size_t count_frames(ByteSpan packet);

// Samples a second that the frames were made for: 8000, 16000 or 32000; 0 when it is malformed.
uint32_t sample_rate(ByteSpan packet);

// The packet cut into packets of at most `frames` frames each, in order. Messages between frames
// are left out. Empty when it is malformed or `frames` is 0.
std::vector<Bytes> split(ByteSpan packet, size_t frames);

}  // namespace weir::media::speex
