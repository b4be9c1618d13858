// The ICE agent of one session of a lite server (RFC 8445 §2.5, one component): answers the checks
// of the peer, knows the path that the peer nominated, and whether the peer still consents to
// getting media (RFC 7675). Sans-IO.
//
//   reply = agent.handle_packet(now, datagram, path, buffer);   // or handle_message()
//   if (reply.response_bytes > 0) send them back on `path`;
//   while ((event = agent.poll_event())) ...;                   // after each handle_*, restart,
//   forget_* arm a timer for agent.next_timeout(); when it fires: agent.handle_timeout(now),
//   poll_event()
//
// It never sends by itself: no checks (lite), no keep-alives (answers to the peer's checks are
// enough), so the answer comes back in the caller's buffer and no copy is queued here.
//
// The owner finds the session of a STUN request by the user name first (stun::MessageView,
// split_username), of other datagrams by their path; events tell which paths and fragments are
// its. After a final event it forgets all of them.
//
// Who comes in: only a request whose user name is that of a generation in force and whose integrity
// is right changes anything here; wrong user names cost no digest, wrong passwords one. Such
// requests are answered as RFC 8489 §9.1.3 says (400, 401), but at most kMaxRejections times
// between two valid checks; then they are dropped silently.
// Deviation: RFC 8489 wants each one answered. A flood would make the server a sender of packets to
// whom the flood names as its source.
//
// Which path: the peer controls, always (RFC 8445 §6.1.1; a peer that says it is controlled gets
// 487 and changes its role). The selected path follows USE-CANDIDATE, see PathOrder in the .cc.
//
// Restart (RFC 8445 §9): restart() brings new credentials; the old generation stays valid until
// `previous_generation` after the first valid check of the new one.
//
// Memory: all of it is in the object, kMaxPaths paths; see the static_assert below.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/net_address.h"
#include "base/object_count.h"
#include "proto/ice/credentials.h"
#include "proto/stun/message.h"

// Peers: stun
namespace weir::ice {

inline constexpr size_t kMaxPaths = 8;            // the one longest without a check makes room
inline constexpr size_t kMaxResponseBytes = 128;  // what handle_packet() may write
inline constexpr uint8_t kMaxRejections = 8;

// Where a datagram came from: the peer's address, and a number that the owner gives to the socket
// it came through (the UDP port, a TCP connection, one of several local addresses).
struct Path {
    NetAddress remote;
    uint32_t link = 0;

    bool operator==(const Path&) const = default;
};

struct AgentOptions {
    Millis connect_timeout{30'000};      // from construction to the first nomination
    Millis consent_timeout{30'000};      // since the last valid check of a path (RFC 7675 §5.1)
    Millis previous_generation{15'000};  // what the old credentials live on after a restart
};

enum class Verdict : uint8_t {
    kAccepted,  // a valid check
    kNotStun,   // not a STUN message, or a malformed one
    kBadFingerprint,
    kIgnored,           // an indication, an answer, another method: nothing to do
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
};

enum class State : uint8_t {
    kWaiting,    // nothing nominated yet
    kConnected,  // there is a selected path, or there was one less than consent_timeout ago
    kFailed,     // nothing was nominated within connect_timeout
    kExpired,    // no valid check for consent_timeout
};

struct Event {
    enum class Type : uint8_t {
        kPathAdded,        // valid checks come from `path`: datagrams of it belong to this session
        kPathRemoved,      // and now no more
        kConnected,        // the first nomination; `path` is selected
        kPathSelected,     // media goes to another `path` from now on
        kGenerationEnded,  // the fragment `ufrag` does not find this session any more
        kFailed,           // final, see State
        kExpired,          // final
    };

    Type type = Type::kPathAdded;
    Path path;
    std::array<char, kUfragCharacters> ufrag{};

    std::string_view ufrag_text() const { return {ufrag.data(), ufrag.size()}; }
};

class LiteAgent final : private Counted<LiteAgent> {
  public:
    static constexpr ObjectName kObjectName{"ice_agent", "ice"};

    LiteAgent(MonoTime now, const AgentOptions& options, const Credentials& local);

    // A datagram that looks like STUN (stun::looks_like_stun). `response` has room for
    // kMaxResponseBytes.
    Reply handle_packet(MonoTime now,
                        ByteSpan datagram,
                        const Path& from,
                        std::span<uint8_t> response);

    // The same for a message that is parsed already, to find the session by its user name.
    Reply handle_message(MonoTime now,
                         const stun::MessageView& message,
                         const Path& from,
                         std::span<uint8_t> response);

    void handle_timeout(MonoTime now);

    // When to call handle_timeout(); none once the session has ended.
    std::optional<MonoTime> next_timeout() const;

    std::optional<Event> poll_event();

    // New credentials, after the peer asked for an ICE restart. The old generation stays valid as
    // said above; one before it ends now (unless the peer has not used the one in between).
    void restart(const Credentials& local);

    // All paths through a link that is gone (a closed TCP connection).
    void forget_link(uint32_t link);

    // This path, because its address now belongs to another session (the ports of a NAT are used
    // again).
    void forget_path(const Path& path);

    State state() const { return state_; }

    bool ended() const { return state_ == State::kFailed || state_ == State::kExpired; }

    // Where media goes: the nominated path. Before the nomination the valid path with the highest
    // priority, where an answer (of DTLS) may go but no media; null without any.
    const Path* selected() const;

    const Credentials& credentials() const { return current_; }

    // The fragment of the generation before, where that is valid still; else empty.
    std::string_view previous_ufrag() const {
        return previous_valid_ ? previous_.ufrag_text() : std::string_view();
    }

    size_t path_count() const;

    const ArrivalCounters& arrivals() const { return arrivals_; }

    // Where the last request came from, accepted or not; none before the first.
    const Path& last_arrival() const { return last_arrival_; }

    // When a valid check came last; the time of construction before the first.
    MonoTime last_check() const { return last_check_; }

  private:
    // A path with valid checks; free when !used.
    struct Pair {
        Path path;
        uint32_t priority = 0;    // the peer's PRIORITY
        uint32_t nomination = 0;  // value of the last nomination; 0 where the peer sends none
        MonoTime last_check;
        MonoTime last_nominated;
        uint8_t generation = 0;  // of the last check
        bool used = false;
        bool nominated = false;
        bool announced = false;  // kPathAdded was polled
        bool removed = false;    // and waits for kPathRemoved
    };

    // Order of paths that are nominated, in the .cc.
    struct PathOrder;

    static constexpr int8_t kNoPair = -1;

    std::optional<uint8_t> generation_of(std::string_view local_ufrag) const;
    const Credentials& credentials_of(uint8_t generation) const;
    Reply reject(Verdict verdict,
                 uint16_t code,
                 const stun::MessageView& request,
                 std::span<uint8_t> response);
    Reply refuse(Verdict verdict,
                 uint16_t code,
                 const stun::MessageView& request,
                 ByteSpan key,
                 std::span<uint8_t> response);
    Reply accept(MonoTime now,
                 uint8_t generation,
                 const stun::MessageView& request,
                 const Path& from,
                 std::span<uint8_t> response);
    Pair& pair_for(const Path& path, uint8_t generation);
    void remove(Pair& pair);
    void nominate(MonoTime now, Pair& pair, uint32_t nomination);
    void select_nominated(MonoTime now);
    void select_after_loss();
    void select(int8_t index);
    void end(State state);
    void end_generation(const Credentials& credentials);
    void note_generation(MonoTime now, Pair& pair, uint8_t generation);
    std::optional<Event> poll_path_event();
    MonoTime deadline() const;

    AgentOptions options_;
    MonoTime started_;
    MonoTime last_check_;
    MonoTime previous_until_ = MonoTime::max();
    Credentials current_;
    Credentials previous_;
    Path last_arrival_;
    Path evicted_;                                      // of a kPathRemoved that waits
    std::array<char, kUfragCharacters> ended_ufrag_{};  // of a kGenerationEnded that waits
    ArrivalCounters arrivals_;
    std::array<Pair, kMaxPaths> pairs_{};
    int8_t selected_ = kNoPair;
    State state_ = State::kWaiting;
    uint8_t generation_ = 0;
    uint8_t rejections_left_ = kMaxRejections;
    bool current_used_ = false;  // a valid check with the current credentials came
    bool previous_valid_ = false;
    bool has_evicted_ = false;
    bool has_ended_ufrag_ = false;
    bool connected_told_ = false;
    bool selection_told_ = true;
    bool end_told_ = true;
};

// The whole of ICE for a session is to take at most 2 KiB.
static_assert(sizeof(LiteAgent) <= 1024);

// A sentence for the log of a session that never connected: what arrived, and what to check.
std::string describe_arrivals(const LiteAgent& agent);

}  // namespace weir::ice
