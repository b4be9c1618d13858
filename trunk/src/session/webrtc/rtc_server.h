// The WebRTC side of the server: its UDP port and its TCP port, the sessions behind them, and their
// timers. From an offer (rtc_routes.h) to media.
//
// All datagrams of all sessions come through one or a few sockets; which session one belongs to is
// said by the peer's address, and before that is known by the user name of its ICE check
// (RFC 7983). A check with a user name of nobody costs one look into a table.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/object_count.h"
#include "io/coroutine.h"
#include "io/tcp.h"
#include "io/udp.h"
#include "io/worker_pool.h"
#include "net/acceptors.h"
#include "net/datagram_ports.h"
#include "net/ingress.h"
#include "net/services.h"
#include "proto/dtls/identity.h"
#include "proto/ice/candidate.h"
#include "proto/srtp/control_cipher.h"
#include "proto/srtp/status.h"
#include "session/webrtc/rtc_guest.h"
#include "session/webrtc/rtc_link.h"
#include "session/webrtc/rtc_path_table.h"
#include "session/webrtc/rtc_pump.h"
#include "session/webrtc/rtc_server_options.h"
#include "session/webrtc/rtc_session.h"

namespace weir::session {

class RtcServer final : public net::DatagramPorts {
  public:
    RtcServer(const net::Services& services, RtcServerOptions options);
    ~RtcServer();  // stop() must have been called
    RtcServer(const RtcServer&) = delete;
    RtcServer& operator=(const RtcServer&) = delete;

    // `workers`, for sound: must outlive this; null: none. Once; again it does nothing.
    Error start(io::WorkerPool* workers);

    Error serve(std::unique_ptr<io::UdpSocket> socket) override;

    // The same by TCP, for peers that UDP does not reach. Before the first offer.
    Error serve(std::unique_ptr<io::TcpListener> listener,
                std::shared_ptr<const net::Ingress> ingress = nullptr);

    // The TCP listeners, to take one away while the connections that came through it go on.
    net::Acceptors& acceptors() { return acceptors_; }

    void retire(const io::UdpSocket& socket) override;
    io::UdpSocket* revive(const io::SocketAddress& bound) override;
    size_t retired() const override;

    void close_unused() override { close_retired(MonoClock::now()); }

    // For sessions that begin from now on.
    void reconfigure(RtcServerOptions options) { options_ = std::move(options); }

    // Whether sessions may begin.
    bool serving() const { return sockets_.size() > retired(); }

    // Ends all sessions with a goodbye. Yields.
    Error stop(io::Deadline deadline);

    // For a drain: no new session; those that are there go on.
    void stop_accepting() { draining_ = true; }

    // A line about a session's failure, which a peer can cause at will: throttled over the server.
    // `detail` is escaped.
    void log_trouble(const net::Client& client, std::string_view what, std::string_view detail);

    // ---- signalling ----

    // Whether an offer can be taken at all: there is room, and it can be read. kLimit, kMalformed,
    // kUnsupported.
    Error may_begin(std::string_view offer);

    // kBusy when somebody publishes it, and may not be taken over.
    Error is_free(const stream::StreamKey& key, stream::PublishConflict conflict) const;

    // A place among the offers of one address that have not connected yet. kFull.
    Result<net::Limits::AddressPlace> enter_unproven(const io::SocketAddress& peer);

    // `offer`: SDP of the peer. kMalformed, kUnsupported, kLimit: sdp::http_status(); kBusy:
    // somebody else publishes the stream; kNotFound: nobody publishes what is to be played.
    Result<RtcAnswer> publish(std::string_view offer,
                              const stream::StreamKey& key,
                              const net::PublishRules& rules,
                              RtcGuest guest);
    // Yields: a stream that has just begun is waited for until its codecs are known. `layer`: of
    // its simulcast, by name; empty or "auto": as the path allows.
    Result<RtcAnswer> play(std::string_view offer,
                           const stream::StreamKey& key,
                           const net::PlayRules& rules,
                           RtcGuest guest,
                           std::string_view layer = {});

    // nullptr when there is none.
    RtcSession* find(std::string_view id);

    // The answer to a fragment of trickle ICE: nothing for candidates (they are not needed), new
    // credentials for a restart. kMalformed.
    Result<std::string> patch(RtcSession& session, std::string_view fragment);

    // Fits If-Match of RFC 9725 §4.3.
    static std::string etag_of(const RtcSession& session);

    size_t sessions() const override { return sessions_.size(); }

    // One session more would be refused.
    bool is_full() const { return sessions_.size() >= options_.max_sessions; }

    // Why nobody can play it, as its WebRTC players have found out; empty when there are none, or
    // they can.
    std::string_view refusal(const stream::Stream& stream) const;

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

    RtcPathTable<RtcSession>& paths() { return paths_; }

    // Of a TCP connection, not of a UDP socket.
    static bool is_connection(const ice::Path& path) { return path.link >= kMaxUdpLinks; }

    // It is settled at the end of what goes on now.
    void touch(RtcSession& session);

    // nullptr when it is gone.
    RtcLink* link_of(const ice::Path& path) const;
    void unbind_ufrag(std::string_view ufrag, RtcSession& session);
    void count(srtp::Status status);

    // It has ended and is buried soon.
    void forget(RtcSession& session);

    // ---- for the TCP connections ----

    bool has_session(const ice::Path& path) const { return paths_.owner(path) != nullptr; }

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

    void note_refused_tcp() { stats_.tcp_refused++; }

    void note_malformed_tcp() { stats_.tcp_malformed++; }

    void note_tcp_blocked() { stats_.tcp_blocked++; }

    void note_tcp_dropped() { stats_.tcp_dropped++; }

  private:
    struct Entry {
        std::unique_ptr<RtcSession> session;
        MonoTime queued = MonoTime::max();  // its place in timers_; max: none
    };

    static constexpr size_t kMaxUdpLinks = 64;  // numbers from here on are TCP connections

    uint32_t link_for(io::UdpSocket& socket, const NetAddress& local);
    uint32_t add_link(RtcLink& link);
    void remove_link(const ice::Path& path);
    void serve_tcp(std::unique_ptr<io::TcpStream> stream,
                   const std::shared_ptr<const net::Ingress>& ingress);
    void receive(io::UdpSocket& socket);
    void on_datagram(MonoTime now, std::span<uint8_t> datagram, const ice::Path& from);
    void on_stun(MonoTime now, ByteSpan datagram, const ice::Path& from);
    RtcSession* session_of(const stun::MessageView& message) const;
    void settle_touched(MonoTime now);
    void schedule(RtcSession& session);
    void run_timers();
    bool is_used(const io::UdpSocket& socket) const;
    void close_retired(MonoTime now);
    void close(RtcUdpPort& port);
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
    std::vector<std::unique_ptr<RtcUdpPort>> sockets_;
    io::UdpStats closed_udp_;  // of sockets that are gone
    net::Acceptors acceptors_{"rtc accept", [this](auto stream, const auto& ingress) {
                                  serve_tcp(std::move(stream), ingress);
                              }};
    std::vector<std::unique_ptr<RtcUdpLink>> udp_links_;  // by number; null: free
    std::vector<RtcLink*> links_;                         // by number; null: free
    std::vector<uint32_t> free_links_;
    size_t tcp_connections_ = 0;
    std::unordered_map<std::string, Entry> sessions_;
    std::unordered_map<std::string, RtcSession*> by_ufrag_;
    std::unordered_map<uint32_t, RtcSession*> by_number_;  // what marks its ICE checks
    uint32_t last_number_;  // begins anywhere: peers need not know how many there were
    RtcPathTable<RtcSession> paths_;
    std::vector<RtcSession*> touched_;
    std::vector<std::unique_ptr<RtcSession>> ended_;
    std::set<std::pair<MonoTime, RtcSession*>> timers_;  // one a session at most
    io::Signal timer_signal_;
    io::TaskGroup tasks_;
    bool started_ = false;
    bool stopping_ = false;
    bool draining_ = false;
    log::Throttle trouble_{Millis(1000)};
    RtcServerStats stats_;
};

}  // namespace weir::session
