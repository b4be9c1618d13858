// SocketAddress: what a socket is bound or connected to, in the form that the kernel takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/net_address.h"

namespace weir::io {

// An IPv4 or IPv6 address with port.
class SocketAddress {
  public:
    SocketAddress();

    // "1935", ":1935", "127.0.0.1:1935", "[::]:1935", "0.0.0.0:0". A bare port means every IPv6 and
    // IPv4 address ("[::]"). Numeric hosts and "localhost" (127.0.0.1) only: no DNS here.
    // kMalformed says what was expected.
    static Result<SocketAddress> parse(std::string_view text);

    // For a socket of its own kind: IPv4 as IPv4.
    static SocketAddress of(const NetAddress& address);

    static SocketAddress from_raw(const sockaddr* address, socklen_t size);

    const sockaddr* raw() const { return &any_; }

    socklen_t raw_size() const;

    NetAddress net_address() const;

    int family() const { return any_.sa_family; }  // AF_INET, AF_INET6; AF_UNSPEC when default-made

    uint16_t port() const;

    // Host only, "192.0.2.1" or "2001:db8::1"; an IPv4 peer of a dual-stack socket is shown as
    // IPv4.
    std::string host() const;

    // "192.0.2.1:1935" or "[2001:db8::1]:1935".
    std::string to_string() const;

    bool is_loopback() const;  // 127.0.0.0/8, ::1, and the former mapped into IPv6

    bool is_any() const;

  private:
    union {  // 28 bytes: one per connection
        sockaddr any_;
        sockaddr_in v4_;
        sockaddr_in6 v6_;
    };
};

}  // namespace weir::io
