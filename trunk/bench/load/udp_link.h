// One connected UDP socket of one client, as a real peer has: thousands of them in a process share
// one receive buffer. io/udp.h is the one for a server's port, with buffers of its own.
#pragma once

#include <functional>
#include <memory>

#include "io/reactor.h"
#include "io/tcp.h"
#include "proto/webrtc/client_transport.h"

namespace weir::load {

class UdpLink final : public webrtc::ClientLink {
  public:
    static constexpr size_t kMaxDatagram = 2048;

    // Edges go to `handler`, which must outlive it. `from`: null leaves the address to the kernel.
    static Result<std::unique_ptr<UdpLink>> open(const NetAddress& server,
                                                 const io::SocketAddress* from,
                                                 io::EventHandler& handler);
    ~UdpLink();
    UdpLink(const UdpLink&) = delete;
    UdpLink& operator=(const UdpLink&) = delete;

    // To the server that it is connected to.
    void send(const NetAddress& server, ByteSpan datagrams, size_t segment_bytes) override;

    // Gives what one system call brings, one datagram or a burst that the kernel joined; each
    // begins at a multiple of 4 bytes and may be changed. False: nothing is there. `visit` returns
    // false when the link must not be touched any more.
    bool receive(const std::function<bool(std::span<uint8_t> datagram)>& visit);

  private:
    explicit UdpLink(int fd) : fd_(fd) {}

    int fd_;
    bool joined_sends_ = true;  // until the kernel refuses them
    io::Registration registration_;
};

}  // namespace weir::load
