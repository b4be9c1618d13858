// What both sides of the SRT engine know: options of a connection, its figures, who decides about a
// handshake. No header of libsrt.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/net_address.h"

namespace weir::io {

// A connection of the engine; no two ever have the same.
using SrtId = uint64_t;

// Media for any number of connections. A shared_ptr, as it is let go by another thread than that
// which made it; it is never changed.
using SrtBytes = std::shared_ptr<const Bytes>;

inline constexpr size_t kMinSrtPassphrase = 10;  // bytes, of libsrt
inline constexpr size_t kMaxSrtPassphrase = 79;
inline constexpr size_t kSrtPayload = 1316;  // bytes of a message: 7 packets of MPEG-TS

struct SrtOptions {
    std::string passphrase;         // empty: no encryption, and who wants it is refused
    uint8_t key_bytes = 0;          // 16, 24 or 32; 0: what the peer says, or 16
    Millis latency{120};            // at least; the peer's counts when it is longer
    uint64_t max_bandwidth = 0;     // bytes a second that are sent at most; 0: any number
    std::string stream_id;          // of a caller
    Millis connect_timeout{3'000};  // of a caller
    Millis peer_idle{5'000};        // a peer that says nothing for so long is gone
};

// Of all that calls in, for handshakes from now on.
struct SrtLimits {
    size_t connections = 4'000;  // at a time
    // Of one address (IPv6: of one /64), loopback exempt.
    size_t connections_of_one = std::numeric_limits<size_t>::max();
    uint64_t max_bitrate = 50'000'000;  // bits per second: windows are made for it
    Millis latency{120};                // the longest one of the configuration
};

// How much waits for a peer before it is given up.
struct SrtSendLimits {
    uint64_t bytes = 16u << 20;
    Millis time{10'000};
};

// Totals since the connection began, and the newest values.
struct SrtStats {
    Micros rtt{0};
    Millis latency{0};  // of this connection, as both have agreed
    uint64_t sent_packets = 0;
    uint64_t sent_bytes = 0;  // payload, without what was sent again
    uint64_t received_packets = 0;
    uint64_t received_bytes = 0;
    uint64_t send_lost = 0;  // packets that the peer reported as lost
    uint64_t receive_lost = 0;
    uint64_t retransmitted = 0;    // packets sent again
    uint64_t send_dropped = 0;     // packets that were too late to be sent (again)
    uint64_t receive_dropped = 0;  // packets that came too late or never
    uint64_t undecrypted = 0;      // packets
    uint32_t flight = 0;           // packets on their way
    uint32_t send_buffer_ms = 0;   // span of what libsrt holds for the peer
    uint64_t backlog_bytes = 0;    // what the engine holds for it besides
    uint64_t bandwidth_bps = 0;    // of the path, as libsrt estimates it
    uint64_t unread_dropped = 0;   // bytes that came and found the queue to the media thread full
};

// What becomes of a handshake: 0, and these options hold; else a code of srt/access_control.h.
struct SrtVerdict {
    int reject = 0;
    SrtOptions options;
    bool receives = true;  // false: the caller plays, and nothing that it sends is wanted
};

// Decides about handshakes. Called by threads of libsrt, any number at a time: what it looks at
// must never change. It may not wait.
class SrtGate {
  public:
    SrtGate() = default;
    SrtGate(const SrtGate&) = delete;
    SrtGate& operator=(const SrtGate&) = delete;
    virtual ~SrtGate() = default;

    virtual SrtVerdict decide(std::string_view stream_id) const = 0;
};

// Codes of a refusal, of SRT's access control guidelines.
inline constexpr int kSrtBadRequest = 1400;
inline constexpr int kSrtOverload = 1402;
inline constexpr int kSrtForbidden = 1403;

struct SrtNewcomer {
    SrtId id = 0;
    NetAddress peer;
    std::string stream_id;
    bool encrypted = false;
};

// Counters of the engine since it was made.
struct SrtCounters {
    uint64_t handshakes = 0;         // that asked for a stream
    uint64_t refused_overload = 0;   // more of them than kHandshakesPerSecond, or kMaxUnadmitted
    uint64_t refused_full = 0;       // SrtLimits::connections
    uint64_t refused_address = 0;    // SrtLimits::connections_of_one
    uint64_t unheard = 0;            // dropped unanswered: too many were refused before
    uint64_t refused_gate = 0;       // by the gate
    uint64_t failed_handshakes = 0;  // refused by libsrt (wrong passphrase) or given up by the peer
    uint64_t accepted = 0;
    uint64_t unread_dropped = 0;  // bytes, over all connections
    uint64_t unsent_dropped = 0;  // bytes that the engine had no room for
    uint64_t slow = 0;            // peers that were given up as too slow
    uint64_t connections = 0;     // now
    uint64_t listeners = 0;       // now
};

}  // namespace weir::io
