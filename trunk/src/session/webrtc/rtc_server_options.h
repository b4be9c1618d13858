// What the RtcServer is told, and what it counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/net_address.h"
#include "proto/ice/lite_agent.h"

namespace weir::session {

struct RtcServerOptions {
    // Addresses at which peers reach the server, without port; empty: those of the interfaces.
    std::vector<NetAddress> candidates;
    int receive_buffer_bytes = 4 << 20;
    int send_buffer_bytes = 4 << 20;
    size_t max_sessions = 10'000;
    size_t max_unproven_per_address = 256;  // offers that have not connected yet; 0: any number
    size_t max_tcp_connections = 10'000;    // and those of all protocols: Services::connections
    Millis tcp_proof_timeout{10'000};       // for a TCP connection to bring a valid check
    ice::AgentOptions ice{.connect_timeout = Millis(15'000)};
    int64_t opus_bits_per_second = 96'000;  // of sound that is made Opus
    int64_t aac_bits_per_second = 128'000;  // and AAC
    Micros key_frame_interval{0};           // publishers are asked for one so often; 0: not
};

struct RtcServerStats {
    uint64_t sessions_made = 0;
    uint64_t sessions_refused = 0;  // over max_sessions
    uint64_t never_connected = 0;
    uint64_t unknown_datagrams = 0;  // of nobody
    uint64_t unknown_stun = 0;       // checks with a user name of nobody
    uint64_t malformed = 0;          // neither STUN, DTLS, RTP nor RTCP
    uint64_t unauthentic = 0;        // SRTP that did not open: forged, or of another session
    uint64_t replayed = 0;
    uint64_t passed_on = 0;     // to the process whose session they are for (single_port)
    uint64_t pass_limited = 0;  // not passed on: over a limit
    uint64_t taken_over = 0;    // passed on by other processes
    uint64_t peer_sockets_failed = 0;
    uint64_t tcp_accepted = 0;
    uint64_t tcp_refused = 0;    // over a limit
    uint64_t tcp_unproven = 0;   // closed: no valid check came, or not any more
    uint64_t tcp_malformed = 0;  // closed: not in frames, or in too long ones
    uint64_t tcp_blocked = 0;    // bursts that a connection did not take, sent later or left out
    uint64_t tcp_dropped = 0;    // other datagrams for which its queue had no room

    // Datagrams that came and were for nothing.
    uint64_t dropped() const {
        return unknown_datagrams + unknown_stun + malformed + unauthentic + replayed;
    }
};

}  // namespace weir::session
