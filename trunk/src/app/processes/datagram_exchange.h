// DatagramExchange: datagrams that came to one process and belong to another one go there, many in
// one message, by a datagram socket of the abstract namespace, which only processes of this server
// (the same user, or root) are believed on. Nothing here waits: what the other process does not
// take now is lost and counted, as on any path.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "app/processes/attached.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"
#include "io/own_fd.h"
#include "io/reactor.h"
#include "io/udp.h"
#include "net/process_datagrams.h"

namespace weir::app {

class DatagramExchange final : public net::ProcessDatagrams, private io::EventHandler {
  public:
    // Of one message. The kernel queues 10 of them (net.unix.max_dgram_qlen), so they are large.
    static constexpr size_t kMaxMessage = 32 * 1024;

    // `address_of`: where a process takes datagrams, good as long as this; `own`: this process, of
    // `count`. kBusy: somebody has its address; kSystem.
    static Result<std::unique_ptr<DatagramExchange>> create(AddressOf address_of,
                                                            uint32_t own,
                                                            uint32_t count);

    ~DatagramExchange() { registration_.remove(); }

    DatagramExchange(const DatagramExchange&) = delete;
    DatagramExchange& operator=(const DatagramExchange&) = delete;

    uint32_t own() const override { return own_; }

    uint32_t count() const override { return static_cast<uint32_t>(waiting_.size()); }

    void set_taker(Taker* taker) override { taker_ = taker; }

    void pass(uint32_t process,
              const net::ProcessPath& path,
              std::span<const uint8_t> bytes) override;
    void claim(const net::ProcessPath& path) override;
    void flush() override;

    uint64_t lost() const override { return lost_; }

  private:
    // What waits for flush().
    struct Waiting {
        Bytes message;
        size_t datagrams = 0;
        io::OwnFd socket;  // to send by: what one process does not read takes no room of the others
    };

    DatagramExchange(AddressOf address_of, uint32_t own, uint32_t count, io::OwnFd socket)
        : address_of_(std::move(address_of)),
          own_(own),
          waiting_(count),
          socket_(std::move(socket)) {}

    void on_ready(uint8_t ready) override;
    bool take_one();
    void take(ByteSpan message);
    void add(uint32_t process, const net::ProcessPath& path, ByteSpan bytes, bool claims);
    void send(uint32_t process);

    AddressOf address_of_;
    uint32_t own_;
    std::vector<Waiting> waiting_;  // by process
    bool any_waits_ = false;
    io::OwnFd socket_;
    io::Registration registration_;
    Taker* taker_ = nullptr;
    uint64_t lost_ = 0;
    log::Throttle strangers_{Millis(10'000)};
};

}  // namespace weir::app
