// The ICE agent of one session of a lite server (RFC 8445 §2.5, one component): answers the checks
// of the peer, knows the path that the peer nominated, and whether the peer still consents to
// getting media (RFC 7675). Sans-IO.
//
//   reply = agent.handle_packet(now, datagram, path, buffer);   // or handle_message()
//   if (reply.response_bytes > 0) send them back on `path`;
//   while ((event = agent.poll_event())) ...;          // after each handle_*, restart, forget_*,
//   while ((path = agent.poll_check(now, buffer, n))) ...;  // prove, distrust: send n bytes there
//   arm a timer for agent.next_timeout(); when it fires: agent.handle_timeout(now), and poll both
//
// No keep-alives: answers to the peer's checks are enough. The answer comes back in the caller's
// buffer, and no copy is queued here.
//
// Which address is proven (path_proof.h): the peer's checks say where it claims to be, and media
// goes there only when something shows that the peer receives there. Each new path is therefore
// checked once by us; the peer is a full agent and answers. A path whose owner knows better (a TCP
// connection, a DTLS handshake that went over it alone) is proven by prove(). Until then
// media_path() stays what it was, and take() bounds what the path may be sent.
// Deviation: RFC 8445 §2.5 has no checks by lite agents. These nominate nothing and choose nothing.
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
#include "base/random.h"
#include "proto/ice/agent_types.h"
#include "proto/ice/credentials.h"
#include "proto/ice/path_proof.h"
#include "proto/stun/message.h"

// Peers: stun
namespace weir::ice {

class LiteAgent final : private Counted<LiteAgent> {
  public:
    static constexpr ObjectName kObjectName{"ice_agent", "ice"};

    // `random` must outlive this.
    LiteAgent(MonoTime now,
              const AgentOptions& options,
              const Credentials& local,
              RemoteCredentials remote,
              RandomSource& random);

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

    // The path of the check of ours that is to be sent now, written to `out` (room for
    // kMaxCheckBytes) in `bytes`; null: none is due.
    const Path* poll_check(MonoTime now, std::span<uint8_t> out, size_t& bytes);

    // New credentials of both, after the peer asked for an ICE restart. The old generation stays
    // valid as said above; one before it ends now (unless the peer has not used the one in
    // between).
    void restart(const Credentials& local, RemoteCredentials remote);

    // All paths through a link that is gone (a closed TCP connection).
    void forget_link(uint32_t link);

    // ---- what a path may be sent ----

    // A datagram that was no STUN came from `path`. `authentic`: its keys opened it. Authentic
    // media on a proven path while the selected one is silent means that the peer sends from there
    // now (its NAT has given it another port, which no nomination tells).
    void note_received(MonoTime now, const Path& path, size_t bytes, bool authentic);

    // Whether `bytes` may be sent to `path`; if so, they are counted. Not for media, which only
    // goes to media_path().
    bool take(const Path& path, size_t bytes);

    // The owner has seen that the peer receives there.
    void prove(MonoTime now, const Path& path);

    // Another session has proven to be there (the ports of a NAT are used again). The path stays
    // known, and has to be proven again before media goes there.
    void distrust(MonoTime now, const Path& path);

    // Whether the peer was proven to be on that path, and was heard there within kPathHeld.
    bool holds(MonoTime now, const Path& path) const;

    // Whether the peer was proven to be on that path.
    bool is_proven(const Path& path) const;

    // Whether it ever was, on any.
    bool was_proven() const { return was_proven_; }

    // Where media goes: the selected path if it is proven; null: nowhere at the moment.
    const Path* media_path() const;

    State state() const { return state_; }

    bool ended() const { return state_ == State::kFailed || state_ == State::kExpired; }

    // The nominated path; before the nomination the valid path with the highest priority. A proven
    // one comes before all that are not. Where DTLS goes, as far as take() lets it; null: none.
    const Path* selected() const;

    const Credentials& credentials() const { return current_; }

    const RemoteCredentials& remote() const { return remote_; }

    // Heap that it holds besides itself.
    size_t heap_bytes() const;

    // The fragment of the generation before, where that is valid still; else empty.
    std::string_view previous_ufrag() const {
        return previous_valid_ ? previous_.ufrag_text() : std::string_view();
    }

    size_t path_count() const;

    // Every path that the owner may have been told of, those on the way out too.
    template <typename Visit>
    void visit_paths(Visit&& visit) const {
        for (const Pair& pair : pairs_) {
            if (pair.used) {
                visit(pair.path);
            }
        }
        if (has_evicted_) {
            visit(evicted_);
        }
    }

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
        MonoTime last_heard;      // of the last valid check, or authentic packet
        MonoTime last_check;
        MonoTime last_nominated;
        PathProof proof;
        uint8_t generation = 0;  // of the last check
        bool used = false;
        bool nominated = false;
        bool announced = false;   // kPathAdded was polled
        bool removed = false;     // and waits for kPathRemoved
        bool revived = false;     // the removal is not told yet, and the path is back
        bool proof_told = false;  // kPathProven was polled
    };

    // Order of paths that are nominated, in the .cc.
    struct PathOrder;

    static constexpr int8_t kNoPair = -1;

    std::optional<uint8_t> generation_of(std::string_view local_ufrag) const;
    const Credentials& credentials_of(uint8_t generation) const;
    const RemoteCredentials& remote_of(uint8_t generation) const;
    Pair* find(const Path& path);
    const Pair* find(const Path& path) const;
    Reply take_answer(MonoTime now, const stun::MessageView& message, const Path& from);
    void prove(MonoTime now, Pair& pair);
    size_t write_check(const Pair& pair, std::span<uint8_t> out) const;
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
    int8_t best_valid() const;
    void select(int8_t index);
    void end(State state);
    void end_generation(const Credentials& credentials);
    void note_generation(MonoTime now, Pair& pair, uint8_t generation);
    std::optional<Event> poll_path_event();
    MonoTime deadline() const;

    // There was a nomination, and the peer was shown to be somewhere.
    bool is_settled() const { return state_ == State::kConnected && was_proven_; }

    RandomSource& random_;
    AgentOptions options_;
    MonoTime waiting_since_;  // for the first nomination, then for the first proof
    MonoTime last_check_;
    MonoTime previous_until_ = MonoTime::max();
    Credentials current_;
    Credentials previous_;
    RemoteCredentials remote_;
    RemoteCredentials previous_remote_;
    Path last_arrival_;
    Path evicted_;                                      // of a kPathRemoved that waits
    std::array<char, kUfragCharacters> ended_ufrag_{};  // of a kGenerationEnded that waits
    ArrivalCounters arrivals_;
    std::array<Pair, kMaxPaths> pairs_{};
    int8_t selected_ = kNoPair;
    State state_ = State::kWaiting;
    uint8_t generation_ = 0;
    uint8_t rejections_left_ = kMaxRejections;
    bool was_proven_ = false;
    bool current_used_ = false;  // a valid check with the current credentials came
    bool previous_valid_ = false;
    bool has_evicted_ = false;
    bool has_ended_ufrag_ = false;
    bool connected_told_ = false;
    bool selection_told_ = true;
    bool end_told_ = true;
};

// The whole of ICE for a session is to take at most 2 KiB.
static_assert(sizeof(LiteAgent) <= 1536);

// A sentence for the log of a session that never connected: what arrived, and what to check.
std::string describe_arrivals(const LiteAgent& agent);

}  // namespace weir::ice
