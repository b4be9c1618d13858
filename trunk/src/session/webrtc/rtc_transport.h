// RtcTransport: how WebRTC sessions reach their peers: the UDP and TCP ports, the ways to peers,
// whose datagram is whose, and the timers of all sessions. It owns the sessions; RtcServer makes
// them.
//
// All datagrams of all sessions come through one or a few sockets; which session one belongs to is
// said by the peer's address, and before that is known by the user name of its ICE check
// (RFC 7983). A check with a user name of nobody costs one look into a table.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "io/coroutine.h"
#include "io/signal.h"
#include "io/udp.h"
#include "net/acceptors.h"
#include "net/datagram_ports.h"
#include "net/ingress.h"
#include "net/services.h"
#include "proto/ice/candidate.h"
#include "proto/srtp/status.h"
#include "proto/stun/message.h"
#include "session/webrtc/rtc_link.h"
#include "session/webrtc/rtc_path_table.h"
#include "session/webrtc/rtc_server_options.h"
#include "session/webrtc/rtc_session.h"
#include "session/webrtc/rtc_shared_port.h"

namespace weir::io {
class Deadline;
class SocketAddress;
class TcpListener;
class TcpStream;
}  // namespace weir::io

namespace weir::session {

class RtcTransport final : public net::DatagramPorts {
  public:
    // All three must outlive this; what the options say holds from the next use on.
    RtcTransport(const net::Services& services,
                 const RtcServerOptions& options,
                 RtcServerStats& stats);
    ~RtcTransport();  // stop() must have been called
    RtcTransport(const RtcTransport&) = delete;
    RtcTransport& operator=(const RtcTransport&) = delete;

    // Once; again it does nothing.
    Error start();

    // Ends all sessions with a goodbye, and closes all ports. Yields.
    Error stop(io::Deadline deadline);

    // ---- ports ----

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

    void share(net::ProcessDatagrams& others) override;

    // Whether peers can reach it.
    bool serving() const { return sockets_.size() > retired(); }

    // What peers are told. `reached_at`: where one of them has found this server; may be empty.
    std::vector<ice::Candidate> candidates(const NetAddress& reached_at) const;

    // "192.0.2.1:8000/udp ...", for the log.
    std::string candidate_text() const;

    io::UdpStats udp_stats() const;

    size_t tcp_connections() const { return tcp_connections_; }

    // Where all processes have one port; nullptr: each has its own.
    const RtcSharedPort* shared_port() const { return shared_.get(); }

    // ---- sessions ----

    // Whose user name nobody has.
    ice::Credentials make_credentials() const;

    // That no session has.
    uint32_t make_number();

    void add(std::unique_ptr<RtcSession> session);

    // It has new credentials.
    void rebind(RtcSession& session);

    // nullptr when there is none.
    RtcSession* find(std::string_view id) const;

    size_t sessions() const override { return sessions_.size(); }

    // visit(const RtcSession&) for all, which must not yield.
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [id, entry] : sessions_) {
            visit(std::as_const(*entry.session));
        }
    }

    // ---- for the sessions ----

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

    const net::Services& services() const { return services_; }

    const RtcServerOptions& options() const { return options_; }

    bool has_session(const ice::Path& path) const { return paths_.owner(path) != nullptr; }

    // The process that the user name of this check names, where it is another one.
    std::optional<uint32_t> elsewhere(ByteSpan datagram) const;

    // ---- for whoever brings datagrams ----

    // settle() after the last of those that came at once.
    void on_datagram(MonoTime now, std::span<uint8_t> datagram, const ice::Path& from) {
        take(now, datagram, from, shared_ != nullptr && !is_connection(from));
    }

    // Another process has passed it on.
    void on_passed_datagram(MonoTime now, std::span<uint8_t> datagram, const ice::Path& from) {
        take(now, datagram, from, false);
    }

    void settle(MonoTime now) {
        settle_touched(now);
        bury();
    }

    // ---- for RtcSharedPort ----

    RtcServerStats& stats() { return stats_; }

    const RtcUdpLink* udp_link(const ice::Path& path) const { return udp_links_[path.link].get(); }

    // None: there is no such socket.
    std::optional<uint32_t> link_at(const NetAddress& bound, const NetAddress& local);

    // Its peer has proven to be one of a session in another process.
    void lose_path(MonoTime now, const ice::Path& path);

    void wake_timers() { timer_signal_.notify_one(); }

    void add_closed(const io::UdpStats& stats);

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
    void take(MonoTime now, std::span<uint8_t> datagram, const ice::Path& from, bool may_pass);
    void take_stun(MonoTime now, ByteSpan datagram, const ice::Path& from, bool may_pass);
    RtcSession* session_of(const stun::MessageView& message) const;
    void settle_touched(MonoTime now);
    void schedule(RtcSession& session);
    void run_timers();
    bool is_used(const io::UdpSocket& socket) const;
    void close_retired(MonoTime now);
    void close(RtcUdpPort& port);
    void bury();
    std::vector<NetAddress> addresses(std::span<const NetAddress> bound,
                                      const NetAddress& reached_at) const;
    std::vector<NetAddress> udp_addresses(const NetAddress& reached_at) const;
    std::vector<NetAddress> tcp_addresses(const NetAddress& reached_at) const;

    net::Services services_;
    const RtcServerOptions& options_;
    RtcServerStats& stats_;
    std::vector<std::unique_ptr<RtcUdpPort>> sockets_;
    io::UdpStats closed_udp_;  // of sockets that are gone
    net::Acceptors acceptors_;
    std::vector<std::unique_ptr<RtcUdpLink>> udp_links_;  // by number; null: free
    std::vector<RtcLink*> links_;                         // by number; null: free
    std::vector<uint32_t> free_links_;
    size_t tcp_connections_ = 0;
    std::unordered_map<std::string, Entry> sessions_;
    std::unordered_map<std::string, RtcSession*> by_ufrag_;
    std::unordered_map<uint32_t, RtcSession*> by_number_;  // what marks its ICE checks
    uint32_t last_number_;  // begins anywhere: peers need not know how many there were
    RtcPathTable<RtcSession> paths_;
    std::unique_ptr<RtcSharedPort> shared_;
    std::vector<RtcSession*> touched_;
    std::vector<std::unique_ptr<RtcSession>> ended_;
    std::set<std::pair<MonoTime, RtcSession*>> timers_;  // one a session at most
    io::Signal timer_signal_;
    io::TaskGroup tasks_;
    bool started_ = false;
    bool stopping_ = false;
};

}  // namespace weir::session
