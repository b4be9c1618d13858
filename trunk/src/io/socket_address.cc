#include <charconv>
#include <cstring>

#include <arpa/inet.h>

#include "io/tcp.h"

namespace weir::io {
namespace {

constexpr uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0,    0,
                                       0, 0, 0, 0, 0xff, 0xff};  // RFC 4291 §2.5.5.2

bool is_mapped(const in6_addr& address) {
    return std::memcmp(address.s6_addr, kMappedPrefix, sizeof kMappedPrefix) == 0;
}

Error malformed(std::string_view text, std::string_view why) {
    return make_error(ErrorCode::kMalformed,
                      "address \"{}\": {}; expected PORT, IPV4:PORT or [IPV6]:PORT",
                      text.substr(0, 100), why);
}

}  // namespace

SocketAddress::SocketAddress() : v6_{} {}

Result<SocketAddress> SocketAddress::parse(std::string_view text) {
    size_t colon = text.rfind(':');
    std::string host(colon == std::string_view::npos ? std::string_view() : text.substr(0, colon));
    std::string_view port_text = colon == std::string_view::npos ? text : text.substr(colon + 1);
    uint16_t port = 0;
    auto [end, failure] =
        std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    if (failure != std::errc() || end != port_text.data() + port_text.size()) {
        return malformed(text, "the port is not a number from 0 to 65535");
    }
    SocketAddress address;
    if (host.empty() || (host.size() > 2 && host.front() == '[' && host.back() == ']')) {
        std::string inner = host.empty() ? "::" : host.substr(1, host.size() - 2);
        address.v6_.sin6_family = AF_INET6;
        address.v6_.sin6_port = htons(port);
        if (inet_pton(AF_INET6, inner.c_str(), &address.v6_.sin6_addr) != 1) {
            return malformed(text, "no IPv6 address in the brackets");
        }
        return address;
    }
    if (host == "localhost") {
        host = "127.0.0.1";
    }
    address.v4_.sin_family = AF_INET;
    address.v4_.sin_port = htons(port);
    if (inet_pton(AF_INET, host.c_str(), &address.v4_.sin_addr) != 1) {
        return malformed(text, host.find(':') != std::string::npos
                                   ? "an IPv6 address needs brackets"
                                   : "the host is not a numeric address");
    }
    return address;
}

SocketAddress SocketAddress::of(const NetAddress& address) {
    sockaddr_storage raw{};
    const socklen_t size = address.to_sockaddr(raw, address.is_v4() ? AF_INET : AF_INET6);
    return from_raw(reinterpret_cast<const sockaddr*>(&raw), size);
}

SocketAddress SocketAddress::from_raw(const sockaddr* address, socklen_t size) {
    SocketAddress result;
    if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
        std::memcpy(&result.v4_, address, sizeof(sockaddr_in));
    } else if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
        std::memcpy(&result.v6_, address, sizeof(sockaddr_in6));
    }
    return result;
}

NetAddress SocketAddress::net_address() const {
    return NetAddress::from_sockaddr(any_);
}

socklen_t SocketAddress::raw_size() const {
    switch (family()) {
        case AF_INET: return sizeof(sockaddr_in);
        case AF_INET6: return sizeof(sockaddr_in6);
        default: return 0;
    }
}

uint16_t SocketAddress::port() const {
    switch (family()) {
        case AF_INET: return ntohs(v4_.sin_port);
        case AF_INET6: return ntohs(v6_.sin6_port);
        default: return 0;
    }
}

std::string SocketAddress::host() const {
    char text[INET6_ADDRSTRLEN] = "";
    if (family() == AF_INET) {
        inet_ntop(AF_INET, &v4_.sin_addr, text, sizeof text);
    } else if (family() == AF_INET6 && is_mapped(v6_.sin6_addr)) {
        inet_ntop(AF_INET, v6_.sin6_addr.s6_addr + sizeof kMappedPrefix, text, sizeof text);
    } else if (family() == AF_INET6) {
        inet_ntop(AF_INET6, &v6_.sin6_addr, text, sizeof text);
    }
    return text;
}

std::string SocketAddress::to_string() const {
    std::string name = host();
    bool brackets = name.find(':') != std::string::npos;
    return fmt::format("{}{}{}:{}", brackets ? "[" : "", name, brackets ? "]" : "", port());
}

bool SocketAddress::is_loopback() const {
    constexpr uint8_t kLoopbackNet = 127;
    if (family() == AF_INET) {
        return ntohl(v4_.sin_addr.s_addr) >> 24 == kLoopbackNet;
    }
    if (family() != AF_INET6) {
        return false;
    }
    const uint8_t* bytes = v6_.sin6_addr.s6_addr;
    return is_mapped(v6_.sin6_addr) ? bytes[12] == kLoopbackNet
                                    : IN6_IS_ADDR_LOOPBACK(&v6_.sin6_addr) != 0;
}

bool SocketAddress::is_any() const {
    if (family() == AF_INET) {
        return v4_.sin_addr.s_addr == INADDR_ANY;
    }
    return family() == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&v6_.sin6_addr) != 0;
}

}  // namespace weir::io
