// What all HLS players of a group counted together: requests, and what a viewer would see.
#pragma once

#include <cstdint>

#include "bench/load/core/histogram.h"
#include "bench/load/core/report.h"

namespace weir::load {

struct HlsTotals {
    bool used = false;  // the group speaks HLS

    // Since the window began.
    uint64_t playlists = 0;  // answered
    uint64_t blocked = 0;    // of these: asked for before they were there
    uint64_t segments = 0;
    uint64_t parts = 0;
    uint64_t headers = 0;
    uint64_t stalls = 0;    // a viewer had played all that it had
    uint64_t stall_us = 0;  // for so long
    Histogram playlist;     // microseconds from the request to the last byte, of playlists that
                            // need not be waited for
    Histogram media;        // the same of segments and parts
    Histogram behind;       // how old what a viewer sees is: the delay of the newest frame and
                            // what lies before it in the buffer, at each segment or part

    uint64_t requests() const { return playlists + segments + parts + headers; }

    // Forgets what is of the window.
    void begin_window();
    void merge(const HlsTotals& other);

    // Section "hls", unless nothing was used.
    void add_to(Report& report, double window_s) const;
};

}  // namespace weir::load
