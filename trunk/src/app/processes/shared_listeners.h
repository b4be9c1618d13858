// SharedListeners: the TCP listeners of all processes of a machine, and the UDP ports that all of
// them have. Each process has a socket of its own for each address, and the kernel spreads
// connections and new peers over them (SO_REUSEPORT). The supervisor keeps the listeners open: a
// process that ends loses none of those who wait in its queue. Its UDP sockets are closed, as
// nobody answers what waits there: the others get the peers.
//
// An address of UDP has "udp/" in front: "udp/[::]:8000".
//
// Blocks for an instant; of the supervisor.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/error.h"
#include "io/own_fd.h"

namespace weir::io {
class SocketAddress;
}

namespace weir::app {

class SharedListeners {
  public:
    // Addresses at a time, of all processes.
    static constexpr size_t kMaxSockets = 4096;
    static constexpr std::string_view kUdp = "udp/";

    // `owner`: the user of the processes, where that is another one. A process opens more sockets
    // of a UDP port, and all of one port have to be of one user.
    explicit SharedListeners(std::optional<uid_t> owner = std::nullopt) : owner_(owner) {}

    // The socket of that process for that address, as SocketAddress::parse() takes it; opened when
    // there is none. With port 0 all get the port that the first one got. It stays of
    // this object. kMalformed, kBusy, kDenied, kLimit, kSystem.
    Result<int> socket_for(uint32_t process, const std::string& address);

    // The process listens at these addresses alone, as it had written them.
    void keep(uint32_t process, const std::vector<std::string>& addresses);

    // The process has ended.
    void close_udp(uint32_t process);

    // Closes all.
    void clear() { sockets_.clear(); }

  private:
    bool has_port(bool udp, uint16_t port) const;
    Result<io::OwnFd> open(bool udp, const io::SocketAddress& address);

    std::optional<uid_t> owner_;
    std::set<uint16_t> own_udp_;  // ports that were opened here: processes may still have them
    std::map<std::pair<std::string, uint32_t>, io::OwnFd> sockets_;
};

}  // namespace weir::app
