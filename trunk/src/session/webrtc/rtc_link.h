// Ways to WebRTC peers. Each has a number, ice::Path::link: a UDP socket with one of its addresses,
// or a TCP connection (rtc_tcp.h).
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/net_address.h"
#include "io/coroutine.h"
#include "io/socket_address.h"
#include "io/udp.h"

namespace weir::session {

class RtcLink {
  public:
    RtcLink() = default;
    RtcLink(const RtcLink&) = delete;
    RtcLink& operator=(const RtcLink&) = delete;
    virtual ~RtcLink() = default;

    // One datagram, or packets of `segment_bytes` each, end to end, of which the last may be
    // shorter. False: nothing of it was taken; the link says when it takes something again. What
    // cannot be sent for another reason is lost on the way, which is true.
    virtual bool send(const NetAddress& remote, ByteSpan data, size_t segment_bytes) = 0;

    // Whether it would take a burst. True may turn out to be wrong, false not.
    virtual bool takes_burst() const = 0;

    // For the API: "udp", "tcp"; and our address that the peer's packets come to.
    virtual std::string_view transport() const = 0;
    virtual NetAddress local() const = 0;
};

class RtcUdpLink final : public RtcLink {
  public:
    // `local`: none where the socket is bound to one address.
    RtcUdpLink(io::UdpSocket& socket, const NetAddress& local) : socket_(socket), local_(local) {}

    bool is(const io::UdpSocket& socket, const NetAddress& local) const {
        return &socket_ == &socket && local_ == local;
    }

    bool uses(const io::UdpSocket& socket) const { return &socket_ == &socket; }

    const io::UdpSocket& socket() const { return socket_; }

    // As of io::UdpPath.
    const NetAddress& local_ip() const { return local_; }

    NetAddress bound() const {
        const io::SocketAddress address = socket_.local();
        return address.net_address();
    }

    bool send(const NetAddress& remote, ByteSpan data, size_t segment_bytes) override {
        return socket_.send({remote, local_}, data, segment_bytes).status !=
               io::IoStatus::kWouldBlock;
    }

    bool takes_burst() const override { return true; }

    std::string_view transport() const override { return "udp"; }

    NetAddress local() const override {
        const io::SocketAddress bound = socket_.local();
        return local_.empty() ? bound.net_address() : local_.with_port(bound.port());
    }

  private:
    io::UdpSocket& socket_;
    NetAddress local_;
};

// A UDP socket of the server, and the coroutine that reads it.
struct RtcUdpPort {
    std::unique_ptr<io::UdpSocket> socket;
    io::Coroutine reader;
    std::optional<MonoTime> retired;  // since when
};

}  // namespace weir::session
