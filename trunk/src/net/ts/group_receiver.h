// GroupReceiver: the datagrams of one group, or of one port of this host. The kernel keeps its
// membership alive as long as this lives, and leaves at its end.
//
// Nothing is woken up by a datagram: who owns this looks for them by a timer.
#pragma once

#include <functional>
#include <memory>

#include "base/bytes.h"
#include "base/error.h"
#include "io/udp.h"
#include "net/ts/group_address.h"

namespace weir::net {

class GroupReceiver {
  public:
    // Of the kernel: 100 ms of 500 Mbit/s as it counts (a datagram of 1,316 bytes takes 2,304), if
    // it gives so much (net.core.rmem_max).
    static constexpr int kReceiveBuffer = 12 * 1024 * 1024;
    static constexpr size_t kBatchesPerTurn = 8;

    // Never yields. kNotFound: no such interface; kBusy: another program has the port; kSystem.
    static Result<std::unique_ptr<GroupReceiver>> open(const GroupAddress& address);

    // Never yields. What is there, up to kBatchesPerTurn batches: false when that was all. The
    // bytes are good during the call of `visit` only.
    bool read(const std::function<void(ByteSpan)>& visit);

    // Never yields. Leaves the group and joins it, which tells routers and switches again that
    // somebody wants it. Nothing where it is no group.
    Error join_again();

    // Bytes, as the kernel gave it.
    int receive_buffer_bytes() const { return socket_->receive_buffer_bytes(); }

    const io::UdpStats& stats() const { return socket_->stats(); }

    // Datagrams of others than the source of the address.
    uint64_t strangers() const { return strangers_; }

  private:
    GroupReceiver(std::unique_ptr<io::UdpSocket> socket,
                  const GroupAddress& address,
                  uint32_t interface)
        : socket_(std::move(socket)), address_(address), interface_(interface) {}

    std::unique_ptr<io::UdpSocket> socket_;
    GroupAddress address_;
    uint32_t interface_;  // its index; 0: the system's routes say it
    uint64_t strangers_ = 0;
};

}  // namespace weir::net
