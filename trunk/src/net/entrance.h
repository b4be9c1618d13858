// Entrance: how an accepted connection becomes a client: its places among max_connections and
// max_connections_per_ip, the wait for its first byte (io::Lobby), its coroutine.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "net/client.h"
#include "net/services.h"

namespace weir::io {
class Deadline;
class Lobby;
class TaskGroup;
class TcpStream;
}  // namespace weir::io

namespace weir::net {

class Ingress;
class Limits;

// A connection that has said something, or was silent for too long.
struct Arrival {
    std::unique_ptr<io::TcpStream> stream;
    std::unique_ptr<Client> client;          // has the connection's places
    std::shared_ptr<const Ingress> ingress;  // what comes before its protocol; null: nothing
    MonoTime since{};                        // the accept
};

class Entrance {
  public:
    // In the connection's own coroutine.
    using Begin = std::function<void(Arrival)>;

    // `protocol`: a literal, that of the clients and the name of their coroutines, which
    // `connections` owns; it and what `services` names must outlive this.
    Entrance(const char* protocol,
             const Services& services,
             io::TaskGroup& connections,
             Begin begin);
    ~Entrance();
    Entrance(const Entrance&) = delete;
    Entrance& operator=(const Entrance&) = delete;

    // Never yields. Of Acceptors. A connection for which there is no place is closed, and the log
    // says so. The others begin with their first byte or end, at the latest after `patience`.
    void take(std::unique_ptr<io::TcpStream> stream,
              const std::shared_ptr<const Ingress>& ingress,
              Millis patience);

    // Yields. Closes those that have said nothing; from now on none begins.
    void dismiss();

  private:
    struct Waiting;

    Result<std::shared_ptr<Waiting>> take_places(const io::TcpStream& stream,
                                                 const Ingress* ingress);
    Arrival arrive(Waiting& waiting);

    const char* protocol_;
    Services services_;
    std::unique_ptr<io::Lobby> lobby_;
    Begin begin_;
    log::Throttle refused_{Millis(1000)};
};

// Yields. What comes before the protocol; the client is known then, and behind a proxy its place is
// taken. kFull: there is none; else what Ingress::begin() says. `ingress` null: nothing to do.
Error enter(const Ingress* ingress,
            io::TcpStream& stream,
            Client& client,
            Limits& limits,
            io::Deadline deadline);

}  // namespace weir::net
