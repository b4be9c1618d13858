// RtcSharedPort: WebRTC where all processes of a machine have one port (`single_port`). The kernel
// knows nothing of sessions and gives a new peer to any process, so
//
//   - the user name of a session names its process, and what comes elsewhere is passed on
//     (rtc_passing.h), and checked there as if it had come there;
//   - as soon as a session has a path that is nominated and proven, it has a socket of the same
//     port that is connected to the peer. From then on the kernel gives it all that the peer sends.
//
// A peer that comes from another address begins anew with the first. Everything is sent by the
// shared socket, as the port is the same. Where there is no socket for a peer (of descriptors,
// say), its datagrams go on being passed on.
//
// Of RtcTransport, which calls it. Nothing here yields.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "base/object_count.h"
#include "io/udp.h"
#include "net/process_datagrams.h"
#include "proto/stun/message.h"
#include "session/webrtc/rtc_passing.h"
#include "session/webrtc/rtc_session.h"

namespace weir::session {

class RtcTransport;

class RtcSharedPort final : private net::ProcessDatagrams::Taker {
  public:
    static constexpr size_t kBatchesPerTurn = 4;  // of one peer; then others have their turn

    // Both must outlive this.
    RtcSharedPort(RtcTransport& transport, net::ProcessDatagrams& others);
    ~RtcSharedPort();
    RtcSharedPort(const RtcSharedPort&) = delete;
    RtcSharedPort& operator=(const RtcSharedPort&) = delete;

    // What the user names of sessions here begin with.
    uint8_t mark() const { return static_cast<uint8_t>(others_.own()); }

    // The process that the user name of this datagram names, where it is another one.
    std::optional<uint32_t> elsewhere(const stun::MessageView& message) const;

    // Of nobody here. False: of nobody in another process either.
    bool pass_stun(MonoTime now,
                   const stun::MessageView& message,
                   ByteSpan datagram,
                   const ice::Path& from);
    bool pass(MonoTime now, ByteSpan datagram, const ice::Path& from);

    // What was passed since goes out.
    void flush() { others_.flush(); }

    // The session's path may be another one now.
    void follow(RtcSession& session);

    // It has ended.
    void forget(const RtcSession& session);

    // Sockets that nobody needs any more are closed. Not while one is read.
    void bury() { gone_.clear(); }

    // Sockets that had more than one turn takes.
    bool has_more() const { return !more_.empty(); }

    void read_more();

    size_t peer_sockets() const { return open_sockets_; }

    uint64_t lost() const { return others_.lost(); }

    // Of the sockets of peers that are open.
    template <typename Visit>
    void visit_stats(Visit&& visit) const {
        for (const auto& [session, peer] : peers_) {
            if (peer->socket) {
                visit(peer->socket->stats());
            }
        }
    }

  private:
    // A session's way to its peer.
    struct Peer final : io::EventHandler, Counted<Peer> {
        static constexpr ObjectName kObjectName{"rtc_peer_socket", "webrtc"};

        Peer(RtcSharedPort& owner, RtcSession& of, const ice::Path& to)
            : port(owner), session(of), path(to) {}

        void on_ready(uint8_t) override { port.read(*this); }

        RtcSharedPort& port;
        RtcSession& session;
        ice::Path path;
        std::unique_ptr<io::UdpSocket> socket;  // null: it could not be had
    };

    net::ProcessPath path_of(const ice::Path& path) const;
    Error open(Peer& peer);
    void read(Peer& peer);
    void close(const RtcSession& session);

    // net::ProcessDatagrams::Taker
    void on_passed(const net::ProcessPath& path, std::span<uint8_t> datagram) override;
    void on_claimed(const net::ProcessPath& path, uint32_t process) override;
    void on_passed_end() override;

    RtcTransport& transport_;
    net::ProcessDatagrams& others_;
    RtcPassing passing_;
    std::unordered_map<const RtcSession*, std::unique_ptr<Peer>> peers_;
    std::vector<std::unique_ptr<Peer>> gone_;
    std::vector<const RtcSession*> more_;
    size_t open_sockets_ = 0;
    log::Throttle failures_{Millis(10'000)};
};

}  // namespace weir::session
