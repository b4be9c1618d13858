// What all RTSP players of a group counted together: below frames, at the packets.
#pragma once

#include <cstdint>

#include "bench/load/core/histogram.h"
#include "bench/load/core/report.h"

namespace weir::load {

// Loss above this counts as broken, as in the paper that the tool follows.
inline constexpr double kBrokenLoss = 0.07;

struct RtspTotals {
    bool used = false;  // the group speaks RTSP

    // Since the window began.
    uint64_t packets = 0;     // of media, each once
    uint64_t lost = 0;        // that never came
    uint64_t late = 0;        // that came after a later one, or twice
    uint64_t malformed = 0;   // that break their format
    uint64_t reports = 0;     // sender reports
    double variation_us = 0;  // sum of |(Rj - Ri) - (Sj - Si)| of packets in their order
    uint64_t variations = 0;  // so many
    Histogram jitter;         // microseconds, RFC 3550 section 6.4.1, of each track at the end

    // Of the whole run, microseconds.
    Histogram response;  // from the PLAY request to the first RTP packet

    // Forgets what is of the window.
    void begin_window();
    void merge(const RtspTotals& other);

    // Missing, as a share of all packets from the first to the last number: 1 - received /
    // (highest - first + 1), with numbers that do not wrap.
    double loss() const;

    // The mean of the variations: the paper's jitter.
    double mean_variation_us() const;

    // Section "rtsp", unless nothing was used.
    void add_to(Report& report, double window_s) const;
};

}  // namespace weir::load
