// One packet of a transport stream (ISO/IEC 13818-1 §2.4.3.2): header and adaptation field, and the
// clocks that its fields carry.
//
//     0x47 | error 1, unit start 1, priority 1, PID 13 | scrambling 2, field and payload 2, counter
//     4 | adaptation field: length 8, flags 8, PCR 48 ... | payload
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weir::mpegts {

inline constexpr size_t kPacketSize = 188;
inline constexpr size_t kHeaderSize = 4;
inline constexpr size_t kMaxPayload = kPacketSize - kHeaderSize;
inline constexpr uint8_t kSyncByte = 0x47;

inline constexpr uint16_t kPatPid = 0;
inline constexpr uint16_t kNullPid = 0x1FFF;
inline constexpr size_t kPids = 0x2000;

inline constexpr uint32_t kClockHz = 90'000;          // of times of presentation and decoding
inline constexpr uint32_t kPcrPerTick = 300;          // a PCR counts 27 MHz
inline constexpr uint64_t kTimeMask = 0x1'FFFF'FFFF;  // times have 33 bits

// A packet as it was read; `payload` is a view of it.
struct Packet {
    uint16_t pid = 0;
    bool transport_error = false;  // then nothing else is to be trusted
    bool unit_start = false;       // a section or a PES packet begins in the payload
    bool scrambled = false;
    bool has_payload = false;
    bool discontinuity = false;  // of the counter, and of the clock where the PID carries it
    bool random_access = false;
    uint8_t counter = 0;          // continuity_counter, 4 bits
    std::optional<uint64_t> pcr;  // in 27 MHz
    ByteSpan payload;

    // `bytes`: kPacketSize of them, the first one kSyncByte. Nothing when the adaptation field is
    // longer than the packet, or neither it nor a payload is there (reserved).
    static std::optional<Packet> parse(ByteSpan bytes);
};

// Widens the 33 bits of times to 64, over wraps: each is the one nearest to the time before it. One
// for all tracks of a programme, so that they stay together.
class TimeUnwrapper {
  public:
    int64_t unwrap(uint64_t time);

    void reset() { last_.reset(); }

  private:
    std::optional<int64_t> last_;
};

}  // namespace weir::mpegts
