// What all WebRTC clients of a group counted together: below frames, at the packets.
#pragma once

#include <cstdint>

#include "bench/load/core/histogram.h"
#include "bench/load/core/report.h"

namespace weir::load {

struct RtcTotals {
    bool used = false;  // the group speaks WebRTC

    // Since the window began.
    uint64_t packets = 0;        // of media, without retransmissions
    uint64_t retransmitted = 0;  // by RTX
    uint64_t recovered = 0;      // packets that were missing and came
    uint64_t lost = 0;           // packets that never came
    uint64_t nacks = 0;          // feedback packets that asked for missing ones
    uint64_t key_requests = 0;   // PLI
    uint64_t reports = 0;        // receiver or sender reports
    uint64_t transport_feedback = 0;
    uint64_t refused = 0;    // packets that are not authentic, or come twice
    uint64_t malformed = 0;  // packets that break their format
    uint64_t freezes = 0;
    uint64_t frozen_us = 0;
    uint64_t dropped = 0;  // received and thrown away (--drop)
    Histogram rtt;         // microseconds, as the server answers ICE checks
    Histogram jitter;      // microseconds, of each player's pictures once a second

    // Of the whole run, microseconds from the request on.
    Histogram ice;
    Histogram dtls;

    // Forgets what is of the window.
    void begin_window();
    void merge(const RtcTotals& other);

    // Missing when first looked for, as a share of all that were sent; then what stayed missing.
    double loss_before() const;
    double loss_after() const;

    // Section "webrtc", unless nothing was used.
    void add_to(Report& report, double window_s) const;
};

}  // namespace weir::load
