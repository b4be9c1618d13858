// What the ICE agent (lite_agent.h) is told and tells: paths, options, verdicts, events.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "base/net_address.h"
#include "proto/ice/credentials.h"

namespace weir::ice {

inline constexpr size_t kMaxPaths = 8;            // the one longest without a check makes room
inline constexpr size_t kMaxResponseBytes = 128;  // what handle_packet() may write
inline constexpr size_t kMaxCheckBytes = 384;     // what poll_check() may write
inline constexpr uint8_t kMaxRejections = 8;

// A proven path is its session's for so long after it was heard there last: peers that are there
// check or report more often.
inline constexpr Millis kPathHeld{5'000};

// Where a datagram came from: the peer's address, and a number that the owner gives to the socket
// it came through (the UDP port, a TCP connection, one of several local addresses).
struct Path {
    NetAddress remote;
    uint32_t link = 0;

    bool operator==(const Path&) const = default;
};

struct AgentOptions {
    Millis connect_timeout{30'000};      // to the first nomination; from there to the first proof
    Millis consent_timeout{30'000};      // since the last valid check of a path (RFC 7675 §5.1)
    Millis previous_generation{15'000};  // what the old credentials live on after a restart
    uint32_t check_tag = 0;              // of this agent's checks, see path_proof.h
};

enum class Verdict : uint8_t {
    kAccepted,  // a valid check
    kNotStun,   // not a STUN message, or a malformed one
    kBadFingerprint,
    kAnswer,            // proves the path: the answer to our check
    kIgnored,           // an indication, another answer, another method: nothing to do
    kUnauthenticated,   // no USERNAME or no integrity: 400
    kUnknownUser,       // user name of no generation in force: 401
    kWrongPassword,     // 401
    kUnknownAttribute,  // authentic, with an attribute that we must understand and do not: 420
    kRoleConflict,      // authentic, and the peer thinks that it is controlled: 487
    kClosed,            // the session has ended
};

struct Reply {
    Verdict verdict = Verdict::kNotStun;
    size_t response_bytes = 0;  // of the caller's buffer, to be sent on the path of the request
};

// What arrived, for the log line of a session that never connected, and for metrics.
struct ArrivalCounters {
    uint32_t accepted = 0;
    uint32_t nominations = 0;  // accepted ones with USE-CANDIDATE
    uint32_t malformed = 0;    // kNotStun and kBadFingerprint
    uint32_t unauthenticated = 0;
    uint32_t unknown_user = 0;
    uint32_t wrong_password = 0;
    uint32_t unknown_attribute = 0;
    uint32_t role_conflict = 0;
    uint32_t ignored = 0;
    uint32_t evicted_paths = 0;  // for want of room
    uint32_t answers = 0;        // valid ones to our checks
};

enum class State : uint8_t {
    kWaiting,    // nothing nominated yet
    kConnected,  // there is a selected path, or there was one less than consent_timeout ago
    kFailed,     // nothing was nominated, or then proven, within connect_timeout
    kExpired,    // no valid check for consent_timeout
};

struct Event {
    enum class Type : uint8_t {
        kPathAdded,        // valid checks come from `path`: datagrams of it belong to this session
        kPathRemoved,      // and now no more
        kConnected,        // the first nomination; `path` is selected
        kPathSelected,     // another `path` is selected
        kPathProven,       // only this peer is at `path`; media_path() may be it
        kGenerationEnded,  // the fragment `ufrag` does not find this session any more
        kFailed,           // final, see State
        kExpired,          // final
    };

    Type type = Type::kPathAdded;
    Path path;
    std::array<char, kUfragCharacters> ufrag{};

    std::string_view ufrag_text() const { return {ufrag.data(), ufrag.size()}; }
};

}  // namespace weir::ice
