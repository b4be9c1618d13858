// McastCheck: what one receiver of a group gets, TS packet by TS packet: continuity counters of all
// PIDs, and, of a stream of McastStream, the sequence and the delay of every packet. Pure; bytes
// may be cut anywhere.
//
// Tables that a server repeats in front of the first packet of a stream (PAT, PMT) are no part of
// the sequence: it begins with the first stamped packet of another PID.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

#include "bench/load/core/histogram.h"
#include "bench/load/core/mcast_stream.h"

namespace weir::load {

struct McastCounts {
    uint64_t bytes = 0;
    uint64_t packets = 0;     // of TS
    uint64_t stamped = 0;     // of them, checked by their stamps
    uint64_t lost = 0;        // stamped ones that were left out
    uint64_t repeated = 0;    // stamped ones that came twice or late
    uint64_t foreign = 0;     // stamped ones of another group
    uint64_t restarts = 0;    // another sender began; no loss
    uint64_t jumps = 0;       // continuity counters that did not go on
    uint64_t no_packets = 0;  // places where a sync byte was expected, and none was there

    void add(const McastCounts& other);

    // What must never be, but for what is lost.
    uint64_t wrong() const { return repeated + foreign + no_packets; }
};

class McastCheck {
  public:
    // `group`: the number that the stamps must have. `delays` (microseconds) must outlive it.
    McastCheck(uint32_t group, Histogram& delays);

    // Delays count of what was sent from then on: before, it is what a server had kept.
    void joined(uint64_t now_ns) { joined_ns_ = now_ns; }

    // Whether delays count now.
    void set_measuring(bool measuring) { measuring_ = measuring; }

    // Received at `now_ns` (CLOCK_MONOTONIC).
    void feed(ByteSpan bytes, uint64_t now_ns);

    const McastCounts& counts() const { return counts_; }

  private:
    static constexpr size_t kPids = 8192;
    static constexpr uint8_t kUnseen = 0xFF;

    void take(ByteSpan packet, uint64_t now_ns);
    void check_continuity(ByteSpan packet, uint16_t pid);
    void check_stamp(const McastStamp& stamp, bool table, uint64_t now_ns);

    uint32_t group_;
    Histogram& delays_;
    McastCounts counts_;
    uint64_t joined_ns_ = 0;
    uint64_t next_ = 0;
    uint32_t session_ = 0;
    bool began_ = false;
    bool measuring_ = false;
    size_t held_ = 0;  // bytes of a packet that is not whole yet
    std::array<uint8_t, kTsPacketBytes> part_{};
    std::vector<uint8_t> continuity_;  // of each PID, the last one
};

}  // namespace weir::load
