// DetachedConnection: a connection that HTTP has let go of (HttpExchange::detach), with the place
// that it counts for.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "net/places.h"

namespace weir::io {
class TcpStream;
}

namespace weir::net {

// A counted place among max_connections; gives it back when destroyed.
class ConnectionPermit {
  public:
    ConnectionPermit() = default;

    explicit ConnectionPermit(std::function<void()> release) : release_(std::move(release)) {}

    ConnectionPermit(ConnectionPermit&& other) noexcept
        : release_(std::exchange(other.release_, nullptr)), place_(std::move(other.place_)) {}

    ConnectionPermit& operator=(ConnectionPermit&& other) noexcept {
        std::swap(release_, other.release_);
        std::swap(place_, other.place_);
        return *this;
    }

    ConnectionPermit(const ConnectionPermit&) = delete;
    ConnectionPermit& operator=(const ConnectionPermit&) = delete;

    ~ConnectionPermit() {
        if (release_) {
            release_();
        }
    }

    // The place of its address goes with it.
    void hold(AddressPlace place) { place_ = std::move(place); }

  private:
    std::function<void()> release_;
    AddressPlace place_;
};

// A connection that HTTP has let go of. No byte of an answer has been written.
struct DetachedConnection {
    std::unique_ptr<io::TcpStream> stream;  // in coroutine mode (no handler set)
    Bytes unread;                           // bytes the client sent after its request, already read
    ConnectionPermit permit;                // keep it as long as the stream
    bool encrypted = false;                 // here, or by the process where it came in
};

}  // namespace weir::net
