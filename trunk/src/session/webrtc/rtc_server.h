// The WebRTC side of the server: its UDP port and its TCP port, the sessions behind them, and their
// timers. From an offer (rtc_routes.h) to media.
//
// All datagrams of all sessions come through one or a few sockets; which session one belongs to is
// said by the peer's address, and before that is known by the user name of its ICE check
// (RFC 7983). A check with a user name of nobody costs one look into a table.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/object_count.h"
#include "io/coroutine.h"
#include "io/tcp.h"
#include "io/udp.h"
#include "io/worker_pool.h"
#include "net/services.h"
#include "proto/dtls/identity.h"
#include "proto/ice/candidate.h"
#include "proto/srtp/control_cipher.h"
#include "proto/srtp/status.h"
#include "session/webrtc/rtc_link.h"
#include "session/webrtc/rtc_pump.h"
#include "session/webrtc/rtc_session.h"

namespace weir::session {

struct RtcServerOptions {
    // Addresses at which peers reach the server, without port; empty: those of the interfaces.
    std::vector<NetAddress> candidates;
    int receive_buffer_bytes = 4 << 20;
    int send_buffer_bytes = 4 << 20;
    size_t max_sessions = 10'000;
    size_t max_tcp_connections = 10'000;  // and those of all protocols: Services::connections
    Millis tcp_proof_timeout{10'000};     // for a TCP connection to bring a valid check
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

// What the peer is answered.
struct RtcAnswer {
    std::string session_id;
    std::string sdp;
    std::string etag;  // of the ICE session, for PATCH
};

class RtcServer {
  public:
    RtcServer(const net::Services& services, RtcServerOptions options);
    ~RtcServer();  // stop() must have been called
    RtcServer(const RtcServer&) = delete;
    RtcServer& operator=(const RtcServer&) = delete;

    // `workers`, for sound: must outlive this; null: none.
    Error start(io::WorkerPool* workers);

    // Receives on it from now on. Before the first offer.
    Error serve(std::unique_ptr<io::UdpSocket> socket);

    // The same by TCP, for peers that UDP does not reach. Before the first offer.
    Error serve(std::unique_ptr<io::TcpListener> listener);

    bool serving() const { return !sockets_.empty(); }

    // Ends all sessions with a goodbye. Yields.
    Error stop(io::Deadline deadline);

    // ---- signalling ----

    // `offer`: SDP of the peer. `reached_at`: our address that the peer used for signalling, one
    // more candidate. kMalformed, kUnsupported, kLimit: sdp::http_status(); kBusy: somebody else
    // publishes the stream; kNotFound: nobody publishes what is to be played.
    Result<RtcAnswer> publish(std::string_view offer,
                              const stream::StreamKey& key,
                              const net::PublishRules& rules,
                              const io::SocketAddress& peer,
                              const NetAddress& reached_at);
    // Yields: a stream that has just begun is waited for until its codecs are known. `layer`: of
    // its simulcast, by name; empty or "auto": as the path allows.
    Result<RtcAnswer> play(std::string_view offer,
                           const stream::StreamKey& key,
                           const net::PlayRules& rules,
                           const io::SocketAddress& peer,
                           const NetAddress& reached_at,
                           std::string_view layer = {});

    // nullptr when there is none.
    RtcSession* find(std::string_view id);

    // The answer to a fragment of trickle ICE: nothing for candidates (they are not needed), new
    // credentials for a restart. kMalformed.
    Result<std::string> patch(RtcSession& session, std::string_view fragment);

    // Fits If-Match of RFC 9725 §4.3.
    static std::string etag_of(const RtcSession& session);

    size_t sessions() const { return sessions_.size(); }

    // One session more would be refused.
    bool is_full() const { return sessions_.size() >= options_.max_sessions; }

    size_t players(const stream::Stream& stream) const;

    // Of streams that have WebRTC players: payloads kept for them and for retransmission.
    uint64_t history_bytes() const;

    // How many sessions there are of each kind, and their live bytes. Walks all of them.
    struct Kinds {
        struct Kind {
            size_t sessions = 0;
            RtcSessionMemory memory;
        };

        Kind connecting;  // no media yet
        Kind publishers;
        Kind players;
    };

    Kinds kinds() const;

    const RtcServerStats& stats() const { return stats_; }

    io::UdpStats udp_stats() const;

    size_t tcp_connections() const { return tcp_connections_; }

    // "192.0.2.1:8000/udp ...", for the log.
    std::string candidate_text() const;

    // ---- for the sessions ----

    const net::Services& services() const { return services_; }

    const dtls::Identity& identity() const { return *identity_; }

    srtp::ControlCipher& control_cipher() { return control_cipher_; }

    const RtcServerOptions& options() const { return options_; }

    io::WorkerPool* workers() const { return workers_; }

    // What MonoTime 0 is in microseconds since 1970, negated: now - unix_epoch() is wall time.
    MonoTime unix_epoch() const { return unix_epoch_; }

    bool transmit(const ice::Path& path, ByteSpan data, size_t segment_bytes);
    bool takes_burst(const ice::Path& path) const;
    void bind_path(const ice::Path& path, RtcSession& session);
    void unbind_path(const ice::Path& path, RtcSession& session);
    // nullptr when it is gone.
    RtcLink* link_of(const ice::Path& path) const;
    void unbind_ufrag(std::string_view ufrag, RtcSession& session);
    void count(srtp::Status status);

    // It has ended and is buried soon.
    void forget(RtcSession& session);

    // ---- for the TCP connections ----

    bool has_session(const ice::Path& path) const { return by_path_.contains(path); }

    // settle_tcp() after the last of those that came at once.
    void on_tcp_frame(MonoTime now, std::span<uint8_t> datagram, const ice::Path& from) {
        on_datagram(now, datagram, from);
    }

    void settle_tcp(MonoTime now) {
        settle_touched(now);
        bury();
    }

    // After it refused a burst.
    void on_tcp_writable(const ice::Path& path);

    void note_unproven_tcp() { stats_.tcp_unproven++; }

    void note_malformed_tcp() { stats_.tcp_malformed++; }

    void note_tcp_blocked() { stats_.tcp_blocked++; }

    void note_tcp_dropped() { stats_.tcp_dropped++; }

  private:
    struct PathHash {
        size_t operator()(const ice::Path& path) const {
            return std::hash<NetAddress>()(path.remote) ^ path.link;
        }
    };

    struct Entry {
        std::unique_ptr<RtcSession> session;
        MonoTime queued = MonoTime::max();  // its place in timers_; max: none
        std::vector<ice::Path> paths;       // of by_path_; some may be of another session by now
    };

    static constexpr size_t kMaxUdpLinks = 64;  // numbers from here on are TCP connections

    uint32_t link_for(io::UdpSocket& socket, const NetAddress& local);
    uint32_t add_link(RtcLink& link);
    void remove_link(const ice::Path& path);
    void accept(io::TcpListener& listener);
    void serve_tcp(std::unique_ptr<io::TcpStream> stream);
    void receive(io::UdpSocket& socket);
    void on_datagram(MonoTime now, std::span<uint8_t> datagram, const ice::Path& from);
    void on_stun(MonoTime now, ByteSpan datagram, const ice::Path& from);
    void touch(RtcSession& session);
    void settle_touched(MonoTime now);
    void schedule(RtcSession& session);
    void run_timers();
    void bury();
    Result<RtcPump*> pump_for(const stream::StreamKey& key, const net::PlayRules& rules);
    sdp::LocalTransport local_transport(const ice::Credentials& credentials,
                                        const NetAddress& reached_at) const;
    std::vector<NetAddress> addresses(std::span<const NetAddress> bound,
                                      const NetAddress& reached_at) const;
    std::vector<NetAddress> udp_addresses(const NetAddress& reached_at) const;
    std::vector<NetAddress> tcp_addresses(const NetAddress& reached_at) const;
    ice::Credentials make_credentials();
    Result<RtcAnswer> add(RtcSessionSetup setup, MonoTime now);
    Error room() const;
    Error make_identity();

    net::Services services_;
    RtcServerOptions options_;
    io::WorkerPool* workers_ = nullptr;
    std::unique_ptr<dtls::Identity> identity_;
    srtp::ControlCipher control_cipher_;
    MonoTime unix_epoch_{};
    std::vector<std::unique_ptr<io::UdpSocket>> sockets_;
    std::vector<std::unique_ptr<io::TcpListener>> listeners_;
    std::vector<std::unique_ptr<RtcUdpLink>> udp_links_;  // by number
    std::vector<RtcLink*> links_;                         // by number; null: free
    std::vector<uint32_t> free_links_;
    size_t tcp_connections_ = 0;
    std::unordered_map<std::string, Entry> sessions_;
    std::unordered_map<std::string, RtcSession*> by_ufrag_;
    std::unordered_map<ice::Path, RtcSession*, PathHash> by_path_;
    std::unordered_map<const stream::Stream*, std::unique_ptr<RtcPump>> pumps_;
    std::vector<RtcSession*> touched_;
    std::vector<std::unique_ptr<RtcSession>> ended_;
    std::set<std::pair<MonoTime, RtcSession*>> timers_;  // one a session at most
    io::Signal timer_signal_;
    io::TaskGroup tasks_;
    bool stopping_ = false;
    RtcServerStats stats_;
};

}  // namespace weir::session
