// GroupSender: sends datagrams of a transport stream to a multicast group or an address, plain or
// in RTP (RFC 2250 §2: payload type 33, 90 kHz).
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "io/udp.h"
#include "net/ts/group_address.h"

namespace weir::net {

class GroupSender {
  public:
    static constexpr int kSendBuffer = 1024 * 1024;
    static constexpr uint8_t kPayloadType = 33;

    // Never yields. `address`: its interface and ttl count. kNotFound: no such interface; kSystem.
    static Result<std::unique_ptr<GroupSender>> open(const GroupAddress& address, bool rtp);

    // Never yields. Whole packets of the stream, one datagram; what the socket does not take is
    // lost, and counted.
    void send(MonoTime now, ByteSpan packets);

    const io::UdpStats& stats() const { return socket_->stats(); }

  private:
    GroupSender(std::unique_ptr<io::UdpSocket> socket, const NetAddress& to, bool rtp);

    std::unique_ptr<io::UdpSocket> socket_;
    NetAddress to_;
    bool rtp_;
    uint16_t sequence_;
    uint32_t ssrc_;
    Bytes datagram_;
};

}  // namespace weir::net
