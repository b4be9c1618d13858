// ConnectionExchange: connections go from one process of a server to another: their sockets by a
// datagram socket of the abstract namespace, which only processes of this server (the same user,
// or root) are believed on. What is on its way when a process ends is lost with that process.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "app/processes/attached.h"
#include "base/log.h"
#include "io/own_fd.h"
#include "io/reactor.h"
#include "io/tcp.h"

namespace weir::app {

class ConnectionExchange final : private io::EventHandler {
  public:
    // What was read of one connection before it moved. More than that stays where it is.
    static constexpr size_t kMaxReplayBytes = 96 * 1024;

    // Must not yield for long.
    using Take = std::function<void(std::unique_ptr<io::TcpStream>)>;

    // `address_of`: where a process takes connections, good as long as this; `own`: this process.
    // kBusy: somebody has its address; kSystem.
    static Result<std::unique_ptr<ConnectionExchange>> create(AddressOf address_of, uint32_t own);

    ~ConnectionExchange() { registration_.remove(); }

    ConnectionExchange(const ConnectionExchange&) = delete;
    ConnectionExchange& operator=(const ConnectionExchange&) = delete;

    // Who takes connections of that kind. `take` must be good as long as this.
    void add(std::string kind, Take take) { takers_[std::move(kind)] = std::move(take); }

    // Nobody takes any: those that come are closed.
    void clear() { takers_.clear(); }

    // Never yields. False: that process does not take it now, and the connection is as it was.
    bool give(uint32_t process,
              std::string_view kind,
              const io::TcpStream& stream,
              const io::Replay& replay);

    uint64_t given() const { return given_; }

    uint64_t taken() const { return taken_; }

    uint64_t refused() const { return refused_; }  // gave, and were not taken

  private:
    ConnectionExchange(AddressOf address_of, io::OwnFd socket)
        : address_of_(std::move(address_of)), socket_(std::move(socket)) {}

    void on_ready(uint8_t ready) override;
    bool take_one();
    void take(std::string_view header, ByteSpan body, io::OwnFd connection);

    AddressOf address_of_;
    io::OwnFd socket_;
    io::Registration registration_;
    std::map<std::string, Take, std::less<>> takers_;
    uint64_t given_ = 0;
    uint64_t taken_ = 0;
    uint64_t refused_ = 0;
    log::Throttle strangers_{Millis(10'000)};
};

}  // namespace weir::app
