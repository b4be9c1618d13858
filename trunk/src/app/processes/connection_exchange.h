// ConnectionExchange: connections go from one process of a server to another: their sockets by a
// datagram socket of the abstract namespace, which only processes of this server (the same user,
// or root) are believed on. The kernel queues a few (net.unix.max_dgram_qlen); what comes at once
// beyond that waits here. What is on its way when a process ends is lost with that process.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "app/processes/attached.h"
#include "base/bytes.h"
#include "base/log.h"
#include "io/own_fd.h"
#include "io/reactor.h"

namespace weir::io {
class SocketAddress;
class TcpStream;
struct Replay;
}  // namespace weir::io

namespace weir::app {

struct ProcessMessage;

class ConnectionExchange final : private io::EventHandler {
  public:
    // What was read of one connection before it moved. More than that stays where it is.
    static constexpr size_t kMaxReplayBytes = 96 * 1024;
    // For one process, when the kernel takes no more. Further ones stay where they are.
    static constexpr size_t kMaxWaiting = 1'024;
    static constexpr size_t kMaxWaitingBytes = size_t{4} << 20;

    // Must not yield for long.
    using Take = std::function<void(std::unique_ptr<io::TcpStream>)>;
    // The same of what is inside of a connection; `local`: where the client connected to.
    using TakeInside =
        std::function<void(std::unique_ptr<io::TcpStream>, const io::SocketAddress& local)>;

    // `address_of`: where a process takes connections, good as long as this; `own`: this process.
    // kBusy: somebody has its address; kSystem.
    static Result<std::unique_ptr<ConnectionExchange>> create(AddressOf address_of, uint32_t own);

    ~ConnectionExchange();

    ConnectionExchange(const ConnectionExchange&) = delete;
    ConnectionExchange& operator=(const ConnectionExchange&) = delete;

    // Who takes connections of that kind. `take` must be good as long as this.
    void add(std::string kind, Take take) { takers_[std::move(kind)] = std::move(take); }

    void add_inside(std::string kind, TakeInside take) {
        inside_takers_[std::move(kind)] = std::move(take);
    }

    // Nobody takes any: those that come are closed.
    void clear() {
        takers_.clear();
        inside_takers_.clear();
    }

    // Never yields. False: that process does not take it now, and the connection is as it was.
    bool give(uint32_t process,
              std::string_view kind,
              const io::TcpStream& stream,
              const io::Replay& replay);

    // The same for one end of a local pair: what is inside of an encrypted connection.
    bool give_inside(uint32_t process,
                     std::string_view kind,
                     const io::TcpStream& inside,
                     const io::SocketAddress& local,
                     const io::Replay& replay);

    // That process is not there, or says nothing: what waits for it is closed, and its clients come
    // again.
    void give_up(uint32_t process);

    struct Stats {
        uint64_t given = 0;  // without what is inside of encrypted ones (HttpServerStats::bridged)
        uint64_t taken = 0;
        uint64_t waited = 0;   // given, when the kernel's queue was full
        uint64_t refused = 0;  // stayed where they were
        uint64_t lost = 0;     // waited for a process that ended
    };

    const Stats& stats() const { return stats_; }

  private:
    // The way to one process.
    class Way;

    ConnectionExchange(AddressOf address_of, io::OwnFd socket);

    void on_ready(uint8_t ready) override;
    bool send(uint32_t process,
              const ProcessMessage& message,
              const io::TcpStream& stream,
              const io::Replay& replay);
    bool take_one();
    void take(std::string_view header, ByteSpan body, io::OwnFd connection);

    AddressOf address_of_;
    io::OwnFd socket_;
    io::Registration registration_;
    std::map<std::string, Take, std::less<>> takers_;
    std::map<std::string, TakeInside, std::less<>> inside_takers_;
    Stats stats_;  // outlives the ways, which count
    std::map<uint32_t, std::unique_ptr<Way>> ways_;
    log::Throttle strangers_{Millis(10'000)};
};

}  // namespace weir::app
