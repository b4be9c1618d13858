// SharedListeners: the TCP listeners of all processes of a machine. Each process has a socket of
// its own for each address, and the kernel spreads connections over them (SO_REUSEPORT). The
// supervisor keeps them open: a process that ends loses none of those who wait in its queue.
//
// Blocks for an instant; of the supervisor.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/own_fd.h"
#include "io/tcp.h"

namespace weir::app {

class SharedListeners {
  public:
    // Addresses at a time, of all processes.
    static constexpr size_t kMaxSockets = 4096;

    // The listening socket of that process for that address, as SocketAddress::parse() takes it;
    // opened when there is none. With port 0 all get the port that the first one got. It stays of
    // this object. kMalformed, kBusy, kDenied, kLimit, kSystem.
    Result<int> socket_for(uint32_t process, const std::string& address);

    // The process listens at these addresses alone, as it had written them.
    void keep(uint32_t process, const std::vector<std::string>& addresses);

    // Closes all.
    void clear() { sockets_.clear(); }

  private:
    bool has_port(uint16_t port) const;

    std::map<std::pair<std::string, uint32_t>, io::OwnFd> sockets_;
};

}  // namespace weir::app
