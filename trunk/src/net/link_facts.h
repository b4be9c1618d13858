// What is known of the way to a client and of how far it is behind, for the API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"

namespace weir::net {

// What a protocol knows of the way to its peer, at the moment of the question; for the API.
struct LinkFacts {
    std::string state;      // "connecting", "connected"
    std::string transport;  // "udp", "tcp"
    std::string remote;     // the peer's address; empty while there is none
    std::string local;      // ours, where that is known
    std::optional<Micros> rtt;
    double loss = 0;  // share, 0 to 1: of a player's last report, of a publisher since it came
    std::optional<double> jitter_ms;  // of a player's last report
    uint64_t packets = 0;             // to a player, from a publisher
    uint64_t retransmitted = 0;       // packets
    uint64_t lost = 0;                // that never came, or were asked for when they were gone
    uint64_t skipped = 0;       // bursts left out for a slow player, frames dropped of a publisher
    uint64_t key_requests = 0;  // by a player, to a publisher
    std::optional<int64_t> estimate_bps;
    std::string layer;  // of simulcast, that a player gets; empty: there is no choice
};

// The same of an SRT connection: totals since it began, and the newest values.
struct SrtFacts {
    Micros rtt{0};
    Millis latency{0};  // that both sides have agreed on
    uint64_t sent_packets = 0;
    uint64_t received_packets = 0;
    uint64_t lost = 0;           // packets, before they were sent again
    uint64_t retransmitted = 0;  // packets
    uint64_t dropped = 0;        // packets that were too late
    uint64_t undecrypted = 0;    // packets
    uint32_t flight = 0;         // packets on their way
    uint32_t send_buffer_ms = 0;
    uint64_t bandwidth_bps = 0;         // of the path, as libsrt estimates it
    uint64_t unread_dropped_bytes = 0;  // that came faster than this server took them
};

// How far a player is behind, at the moment of the question.
struct LagFacts {
    const char* state = "";         // "waiting", "flowing", "blocked", "paused"
    int64_t lag_ms = 0;             // stream time that it has not been sent yet
    std::optional<uint64_t> bytes;  // the same in bytes of its wire format
};

}  // namespace weir::net
