// GroupReceiver: the datagrams of one group, or of one port of this host. The kernel keeps its
// membership alive as long as this lives, and leaves at its end.
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
    // Of the kernel: 100 ms of 300 Mbit/s, if it gives so much (net.core.rmem_max).
    static constexpr int kReceiveBuffer = 4 * 1024 * 1024;
    static constexpr size_t kBatchesPerTurn = 8;

    // Never yields. kNotFound: no such interface; kBusy: another program has the port; kSystem.
    static Result<std::unique_ptr<GroupReceiver>> open(const GroupAddress& address);

    // Yields. Until a datagram may be there: kTimeout, kInterrupted.
    Error wait(io::Deadline deadline) { return socket_->wait_readable(deadline); }

    // Never yields. What is there, up to kBatchesPerTurn batches: false when that was all. The
    // bytes are good during the call of `visit` only.
    bool read(const std::function<void(ByteSpan)>& visit);

    const io::UdpStats& stats() const { return socket_->stats(); }

    // Datagrams of others than the source of the address.
    uint64_t strangers() const { return strangers_; }

  private:
    GroupReceiver(std::unique_ptr<io::UdpSocket> socket, const NetAddress& source)
        : socket_(std::move(socket)), source_(source) {}

    std::unique_ptr<io::UdpSocket> socket_;
    NetAddress source_;  // without port; none: everybody
    uint64_t strangers_ = 0;
};

}  // namespace weir::net
