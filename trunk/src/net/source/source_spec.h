// What the configuration says of one source or forward.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "net/source/source_url.h"
#include "stream/stream_key.h"

namespace weir::net {

enum class SourceRole : uint8_t {
    kPull,     // brings a stream from another server and publishes it here
    kForward,  // sends a stream that is published here to another server
};

inline constexpr size_t kSourceRoles = 2;

// "pull", "forward".
std::string_view to_string(SourceRole role);

// How media comes from a server that can send it in several ways (RTSP).
enum class SourceTransport : uint8_t {
    kAuto,  // by UDP; by TCP where UDP is refused, or nothing comes
    kTcp,
    kUdp,
    kMulticast,
};

struct SourceSpec {
    SourceRole role = SourceRole::kPull;
    stream::StreamKey key;  // of the stream here
    SourceUrl url;          // of the same stream there
    std::string shown;      // `url` for logs and the API, without secrets
    SourceTransport transport = SourceTransport::kAuto;
    bool on_demand = false;
    Millis linger{10'000};
    bool tls_verify = true;  // the certificate of the other server
    bool named = false;      // the configuration names the stream; else it was asked for
    std::string range;       // of RTSP: the Range of PLAY; empty: from the start
    // HOST or HOST:PORT to which its server may redirect. Empty: to any, as the configuration names
    // the server.
    std::vector<std::string> only_servers;
    // Of a group: for players who take the transport stream as it is, and frames only while
    // somebody wants them.
    bool carried = false;
    std::vector<std::string> command;  // scheme "exec": a program and its arguments
    bool by_api = false;               // added by the API, not by the configuration
    // Scheme "relay": it is published at another node; where, is asked at each run (net::Origins).
    // Such a pull gives way to whoever publishes here, and is forgotten first where there are too
    // many.
    bool relayed = false;
    // A relay beside the stream's own source, which another node runs.
    bool stands_in = false;
    Millis input_timeout{0};  // in place of normal_timeout; 0: that one

    bool operator==(const SourceSpec&) const = default;
};

}  // namespace weir::net
