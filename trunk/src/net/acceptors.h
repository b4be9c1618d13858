// Acceptors: the TCP listeners of one server, and a coroutine for each that takes what comes.
//
// Listeners come and go while the server runs: what was accepted has nothing to do with them any
// more. One may also be handed on to another server, open, so that no connection is refused
// meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

namespace weir::io {
class SocketAddress;
class TcpListener;
class TcpStream;
}  // namespace weir::io

namespace weir::net {

class Ingress;  // how the connections of a listener begin, where not with the protocol itself

class Acceptors {
  public:
    // Must not yield for long: it runs between two accepts.
    using Take =
        std::function<void(std::unique_ptr<io::TcpStream>, const std::shared_ptr<const Ingress>&)>;

    // `name`: a literal, that of the coroutines.
    Acceptors(const char* name, Take take);
    ~Acceptors();  // stop() must have been called, or nothing was served
    Acceptors(const Acceptors&) = delete;
    Acceptors& operator=(const Acceptors&) = delete;

    // Accepts from now on. kSystem when no coroutine can be had; the listener is closed then.
    Error serve(std::unique_ptr<io::TcpListener> listener,
                std::shared_ptr<const Ingress> ingress = nullptr);

    // Must not yield for long. A connection that came by another way; its protocol begins at once.
    void give(std::unique_ptr<io::TcpStream> stream);

    // Yields. Ends accepting there and gives the listener back, open; who waits in its queue is for
    // the next one that serves it. nullptr: it is not served here.
    std::unique_ptr<io::TcpListener> release(const io::TcpListener* listener);

    // Yields. Takes who waits in its queue, then closes it.
    void close(const io::TcpListener* listener);

    // Yields. Closes all.
    void stop();

    // Where they listen.
    std::vector<io::SocketAddress> locals() const;

  private:
    struct Acceptor;

    void accept_loop(const Acceptor& acceptor);
    std::unique_ptr<Acceptor> take_out(const io::TcpListener* listener);

    const char* name_;
    Take take_;
    std::vector<std::unique_ptr<Acceptor>> all_;
    log::Throttle failures_{Seconds(1)};
};

}  // namespace weir::net
