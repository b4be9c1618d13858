// What is missing of one RTP source: since when, how often it was asked for again, and when to ask
// next (RFC 4585 §6.2.1 for the packet, §3.5 for asking at once). A machine without packets of its
// own; proto/rtp/receiver.h drives it.
//
// A packet is asked for when it has been missing for the reorder delay, then each time a round trip
// passed without an answer, up to kMaxRequests times, with longer pauses from the fourth on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"

namespace weir::rtp {

class NackTracker {
  public:
    static constexpr size_t kMaxMissing = 1024;  // more at once: only a new key frame helps
    static constexpr uint8_t kMaxRequests = 10;  // for one packet

    // Packets from..to - 1 are missing. `from` is beyond all that was added before. False, and
    // nothing is added, when there would be more than kMaxMissing.
    bool add(int64_t from, int64_t to, MonoTime now);

    struct Found {
        uint8_t requests = 0;
        MonoTime since{};
        MonoTime asked{};  // the last time, if ever
    };

    // A packet arrived. Nothing when it was not missing.
    std::optional<Found> remove(int64_t sequence);

    // Forgets all below `sequence`: given up.
    void forget_before(int64_t sequence);

    void clear() { missing_.clear(); }

    size_t size() const { return missing_.size(); }

    // Since when the first missing packet is missing.
    std::optional<MonoTime> oldest() const;

    // Fills `out` with the packets to ask for now, rising; returns how many. Call again when it is
    // full.
    size_t take_due(MonoTime now, Micros rtt, Micros reorder_delay, std::span<uint16_t> out);

    // When take_due() has something; nothing while nothing is to be asked for.
    std::optional<MonoTime> next_due(Micros rtt, Micros reorder_delay) const;

    uint64_t requests() const { return requests_; }

  private:
    struct Missing {
        int64_t sequence;
        MonoTime since;
        MonoTime asked;
        uint8_t requests;

        MonoTime due(Micros rtt, Micros reorder_delay) const;
    };

    std::vector<Missing> missing_;  // rising
    uint64_t requests_ = 0;
};

}  // namespace weir::rtp
