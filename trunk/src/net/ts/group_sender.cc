#include "net/ts/group_sender.h"

#include <utility>

#include <sys/socket.h>

#include "base/random.h"
#include "io/socket_address.h"
#include "proto/rtp/header.h"

namespace weir::net {
namespace {

constexpr int64_t kRtpTicksPerMs = 90;

}  // namespace

GroupSender::GroupSender(std::unique_ptr<io::UdpSocket> socket, const NetAddress& to, bool rtp)
    : socket_(std::move(socket)),
      to_(to),
      rtp_(rtp),
      sequence_(static_cast<uint16_t>(random_u32(system_random()))),
      ssrc_(random_u32(system_random())) {}

Result<std::unique_ptr<GroupSender>> GroupSender::open(const GroupAddress& address, bool rtp) {
    WEIR_TRY_ASSIGN(const uint32_t interface, io::find_interface(address.interface));
    const NetAddress any =
        address.to.is_v4() ? NetAddress::from_v4({}, 0) : NetAddress::from_v6({}, 0);
    io::UdpOptions options;
    options.send_buffer_bytes = kSendBuffer;
    WEIR_TRY_ASSIGN(std::unique_ptr<io::UdpSocket> socket,
                    io::UdpSocket::bind(io::SocketAddress::of(any), options));
    WEIR_TRY(socket->send_multicast_on(interface, address.ttl));
    return std::unique_ptr<GroupSender>(new GroupSender(std::move(socket), address.to, rtp));
}

void GroupSender::send(MonoTime now, ByteSpan packets) {
    ByteSpan bytes = packets;
    if (rtp_) {
        rtp::Header header;
        header.payload_type = kPayloadType;
        header.sequence = sequence_++;
        header.ssrc = ssrc_;
        header.timestamp =
            static_cast<uint32_t>(now.time_since_epoch().count() * kRtpTicksPerMs / 1000);
        datagram_.resize(rtp::kFixedHeaderSize);
        rtp::write_header(header, datagram_.data());
        datagram_.insert(datagram_.end(), packets.begin(), packets.end());
        bytes = datagram_;
    }
    (void)socket_->send({to_, {}}, bytes);
}

}  // namespace weir::net
