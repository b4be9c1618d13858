#include "base/net_address.h"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir {

namespace {

constexpr std::array<uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

// Finalizer of a 64-bit hash: each bit of the input reaches each bit of the output.
uint64_t mixed(uint64_t value) {
    value ^= value >> 32U;
    value *= 0x9E3779B97F4A7C15U;
    value ^= value >> 29U;
    value *= 0xBF58476D1CE4E5B9U;
    value ^= value >> 32U;
    return value;
}

}  // namespace

NetAddress NetAddress::from_v4(const V4& ip, uint16_t port) {
    NetAddress address;
    std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), address.ip_.begin());
    std::copy(ip.begin(), ip.end(), address.ip_.begin() + kMappedPrefix.size());
    address.port_ = port;
    return address;
}

NetAddress NetAddress::from_v6(const V6& ip, uint16_t port, uint16_t scope) {
    NetAddress address;
    address.ip_ = ip;
    address.port_ = port;
    // The kernel gives a scope for link-local addresses only; with another one it would make two
    // values of one peer.
    address.scope_ = address.is_link_local() && !address.is_v4() ? scope : uint16_t{0};
    return address;
}

std::optional<NetAddress> NetAddress::parse_ip(std::string_view ip, uint16_t port) {
    char text[INET6_ADDRSTRLEN] = {};
    if (ip.empty() || ip.size() >= sizeof text || ip.find('\0') != std::string_view::npos) {
        return std::nullopt;
    }
    std::copy(ip.begin(), ip.end(), text);
    V4 v4{};
    if (inet_pton(AF_INET, text, v4.data()) == 1) {
        return from_v4(v4, port);
    }
    V6 v6{};
    if (inet_pton(AF_INET6, text, v6.data()) == 1) {
        return from_v6(v6, port);
    }
    return std::nullopt;
}

std::optional<NetAddress> NetAddress::parse(std::string_view text) {
    size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    std::optional<uint64_t> port = parse_uint(text.substr(colon + 1), 0, 65535);
    std::string_view ip = text.substr(0, colon);
    bool bracketed = ip.size() > 2 && ip.front() == '[' && ip.back() == ']';
    if (bracketed) {
        ip = ip.substr(1, ip.size() - 2);
    }
    // Without brackets the last group of an IPv6 address would be taken for the port.
    if (!port || bracketed != (ip.find(':') != std::string_view::npos)) {
        return std::nullopt;
    }
    return parse_ip(ip, static_cast<uint16_t>(*port));
}

NetAddress NetAddress::from_sockaddr(const sockaddr& address) {
    if (address.sa_family == AF_INET) {
        sockaddr_in in{};
        std::memcpy(&in, &address, sizeof in);
        V4 ip{};
        std::memcpy(ip.data(), &in.sin_addr, ip.size());
        return from_v4(ip, ntohs(in.sin_port));
    }
    if (address.sa_family == AF_INET6) {
        sockaddr_in6 in{};
        std::memcpy(&in, &address, sizeof in);
        V6 ip{};
        std::memcpy(ip.data(), &in.sin6_addr, ip.size());
        uint32_t scope = in.sin6_scope_id;
        return from_v6(ip, ntohs(in.sin6_port),
                       scope <= UINT16_MAX ? static_cast<uint16_t>(scope) : uint16_t{0});
    }
    return {};
}

uint32_t NetAddress::to_sockaddr(sockaddr_storage& out, int socket_family) const {
    if (socket_family == AF_INET6) {
        sockaddr_in6 in{};
        in.sin6_family = AF_INET6;
        in.sin6_port = htons(port_);
        in.sin6_scope_id = scope_;
        std::memcpy(&in.sin6_addr, ip_.data(), ip_.size());
        std::memcpy(&out, &in, sizeof in);
        return sizeof in;
    }
    if (socket_family != AF_INET || !is_v4()) {
        return 0;
    }
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port_);
    std::memcpy(&in.sin_addr, ip_.data() + kMappedPrefix.size(), sizeof in.sin_addr);
    std::memcpy(&out, &in, sizeof in);
    return sizeof in;
}

bool NetAddress::is_v4() const {
    return std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), ip_.begin());
}

bool NetAddress::is_any() const {
    return std::all_of(ip_.begin() + (is_v4() ? 12 : 0), ip_.end(),
                       [](uint8_t byte) { return byte == 0; });
}

bool NetAddress::is_loopback() const {
    if (is_v4()) {
        return ip_[12] == 127;
    }
    return ip_[15] == 1 &&
           std::all_of(ip_.begin(), ip_.end() - 1, [](uint8_t byte) { return byte == 0; });
}

bool NetAddress::is_link_local() const {
    return is_v4() ? ip_[12] == 169 && ip_[13] == 254 : ip_[0] == 0xFE && (ip_[1] & 0xC0U) == 0x80;
}

NetAddress NetAddress::with_port(uint16_t port) const {
    NetAddress address = *this;
    address.port_ = port;
    return address;
}

NetAddress NetAddress::network() const {
    if (is_v4()) {
        return with_port(0);
    }
    V6 prefix = ip_;
    std::fill(prefix.begin() + 8, prefix.end(), uint8_t{0});
    return from_v6(prefix, 0);
}

std::string NetAddress::ip_text() const {
    char text[INET6_ADDRSTRLEN] = {};
    if (is_v4()) {
        inet_ntop(AF_INET, ip_.data() + kMappedPrefix.size(), text, sizeof text);
    } else {
        inet_ntop(AF_INET6, ip_.data(), text, sizeof text);
    }
    return text;
}

std::string NetAddress::to_string() const {
    if (empty()) {
        return "none";
    }
    return is_v4() ? fmt::format("{}:{}", ip_text(), port_)
                   : fmt::format("[{}]:{}", ip_text(), port_);
}

uint64_t NetAddress::hash() const {
    uint64_t high = 0;
    uint64_t low = 0;
    std::memcpy(&high, ip_.data(), sizeof high);
    std::memcpy(&low, ip_.data() + sizeof high, sizeof low);
    uint64_t rest = uint64_t{port_} << 16U | scope_;
    return mixed(mixed(high + 0x632BE59BD9B4E019U) ^ mixed(low) ^ (rest * 0xD6E8FEB86659FD93U));
}

}  // namespace weir
