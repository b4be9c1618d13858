// RTP as one phone receives it: packets that are lost, come twice or late, jitter (RFC 3550
// §6.4.1), gaps in time. Pure.
#pragma once

#include <cstdint>

#include "bench/load/core/sequence_window.h"

namespace weir::load {

struct RtpMeterCounts {
    uint64_t packets = 0;
    uint64_t lost = 0;
    uint64_t duplicated = 0;
    uint64_t reordered = 0;
    uint64_t gaps = 0;  // between two packets, longer than kGapNs
    uint64_t longest_gap_ns = 0;

    void add(const RtpMeterCounts& other);
};

class RtpMeter {
  public:
    static constexpr uint64_t kGapNs = 100'000'000;

    explicit RtpMeter(uint32_t clock_hz) : clock_hz_(clock_hz) {}

    void see(uint64_t now_ns, uint16_t sequence, uint32_t timestamp);

    // What was counted is forgotten: a window begins.
    void reset();

    RtpMeterCounts counts() const;

    double jitter_ms() const { return jitter_ / clock_hz_ * 1000; }

  private:
    uint32_t clock_hz_;
    RtpMeterCounts counts_;
    SequenceWindow order_;
    uint32_t extended_ = 0;
    bool started_ = false;
    double jitter_ = 0;  // in ticks
    uint64_t last_ns_ = 0;
    uint32_t last_timestamp_ = 0;
};

}  // namespace weir::load
