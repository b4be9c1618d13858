// One address of a `listen` directive.
#pragma once

#include <cstdint>
#include <string>

namespace weir::config {

struct ListenAddress {
    // "[::]:1935", "127.0.0.1:1985": the host is always there and numeric, for
    // io::SocketAddress::parse. "[::]" takes IPv4 too.
    std::string address;
    // For messages: "listen in conf/weir.conf:3", "listen (default)", "http_api listen (default)".
    std::string origin;
    // Where it stands; line 0 for a default and for the environment.
    std::string file;
    uint32_t line = 0;
    uint32_t column = 0;
    bool ssl = false;             // connections begin with a TLS handshake
    bool proxy_protocol = false;  // and before that, with the header of a proxy

    // By what is listened for: where a line stands is no difference.
    bool operator==(const ListenAddress& other) const {
        return address == other.address && ssl == other.ssl &&
               proxy_protocol == other.proxy_protocol;
    }
};

}  // namespace weir::config
