// RTSP through HTTP, for clients behind proxies: the answers and the media come in the body of a
// GET, the requests go as base64 in the body of a POST with the same x-sessioncookie (QuickTime's
// scheme).
//
// Between them and the conversation is a pair of local sockets, so that everything behind it is as
// on a connection of TCP: one copy more, for the few who need this.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/net_address.h"
#include "io/socket_address.h"

namespace weir::io {
class TcpStream;
}

namespace weir::session {

class RtspTunnels {
  public:
    static constexpr size_t kMaxTunnels = 1'000;
    static constexpr size_t kMaxTunnelsOfOne = 100;  // of one address, once half are taken
    static constexpr size_t kMaxCookie = 256;
    static constexpr Millis kWriteTimeout{20'000};  // for either side to take what comes
    static constexpr Millis kLook{5'000};  // so often it is looked whether the other side is there

    // A GET whose conversation has begun; the POST is found by the cookie.
    struct Tunnel {
        std::unique_ptr<io::TcpStream> outer;  // our end of the pair
        NetAddress host;                       // of the GET
    };

    // The other end of the pair is for the conversation. kDenied: the cookie is in use, kLimit.
    struct Opened {
        std::shared_ptr<Tunnel> tunnel;
        std::unique_ptr<io::TcpStream> inner;
    };

    Result<Opened> open(std::string_view cookie, const io::SocketAddress& peer);

    // Yields. Of the GET: brings what the conversation says to `get`, until either ends.
    void bring_down(std::string_view cookie, Tunnel& tunnel, io::TcpStream& get);

    // Yields. Of the POST: answers it, then brings what comes on `post` to the conversation, `body`
    // first, until either ends. kNotFound: there is no such GET of that host; kMalformed.
    Error bring_up(std::string_view cookie, io::TcpStream& post, ByteSpan body);

    size_t size() const { return by_cookie_.size(); }

  private:
    std::unordered_map<std::string, std::shared_ptr<Tunnel>> by_cookie_;
};

}  // namespace weir::session
