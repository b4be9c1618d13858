// ListenerService: what a protocol says of its listeners to ListenerSet.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "app/run/tls_scope.h"
#include "base/error.h"

namespace weir::config {
struct Config;
struct ListenAddress;
}  // namespace weir::config

namespace weir::io {
class TcpListener;
}

namespace weir::net {
class Acceptors;
class DatagramPorts;
}  // namespace weir::net

namespace weir::app {

// Who serves the listeners of one kind, by TCP or by UDP, and where the configuration wants them.
struct ListenerService {
    std::string_view kind;          // a literal that no other one has: "rtmp"
    std::string_view scheme;        // for the log: "rtmp"
    std::string_view path = {};     // of an address that one can click: "/live/livestream"
    std::string_view purpose = {};  // whose it is, of addresses that nobody clicks
    TlsScope tls = TlsScope::kHttp;
    // nullptr: nowhere.
    std::function<const std::vector<config::ListenAddress>*(const config::Config&)> wanted = {};
    net::Acceptors* acceptors = nullptr;
    net::DatagramPorts* datagrams = nullptr;
    // The UDP kind whose port it has where the system chooses that.
    std::string_view beside = {};
    // UDP: all processes have the same port, which OpenUdp opens.
    bool one_port = false;
    // Takes a TCP listener into service; empty: acceptors->serve(). For options of the address.
    std::function<Error(std::unique_ptr<io::TcpListener>, const config::ListenAddress&)> serve = {};
    // A change has opened UDP ports of it, or taken them back into service.
    std::function<void()> changed = {};
};

}  // namespace weir::app
