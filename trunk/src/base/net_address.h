// An IPv4 or IPv6 address with port, as a plain value of 20 bytes: what protocols that speak of
// addresses (STUN, ICE, SDP) work with, key of tables by remote address. Knows no socket; the
// conversions from and to sockaddr are for io/ and net/.
//
//     0                              16     18      20
//    +-------------------------------+------+-------+
//    | IPv6, or IPv4 as ::ffff:a.b.c.d | port | scope |
//    +-------------------------------+------+-------+
//
// IPv4 is kept in its mapped form, so the same peer is the same value whether it came through an
// IPv4 or a dual-stack socket, and text shows it as IPv4. The default value is "none".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct sockaddr;
struct sockaddr_storage;

namespace weir {

class NetAddress {
  public:
    using V4 = std::array<uint8_t, 4>;
    using V6 = std::array<uint8_t, 16>;

    // Longest text of to_string(): "[" + 45 characters + "]:65535".
    static constexpr size_t kMaxText = 56;

    constexpr NetAddress() = default;

    static NetAddress from_v4(const V4& ip, uint16_t port);

    // `scope` is the interface index of a link-local address, 0 where there is none. A mapped IPv4
    // address becomes IPv4.
    static NetAddress from_v6(const V6& ip, uint16_t port, uint16_t scope = 0);

    // "192.0.2.1", "2001:db8::1"; numeric only. None for anything else.
    static std::optional<NetAddress> parse_ip(std::string_view ip, uint16_t port);

    // "192.0.2.1:8000", "[2001:db8::1]:8000"; numeric only. None for anything else.
    static std::optional<NetAddress> parse(std::string_view text);

    // The value "none" for another family than AF_INET and AF_INET6. An interface index over 65535
    // is dropped.
    static NetAddress from_sockaddr(const sockaddr& address);

    // For a socket of that family: through an AF_INET6 socket an IPv4 address goes in its mapped
    // form. Gives the size; 0 for IPv6 through AF_INET, which cannot be.
    uint32_t to_sockaddr(sockaddr_storage& out, int socket_family) const;

    bool empty() const { return *this == NetAddress(); }

    bool is_v4() const;

    bool is_any() const;       // 0.0.0.0, ::
    bool is_loopback() const;  // 127.0.0.0/8, ::1

    bool is_link_local() const;  // 169.254.0.0/16, fe80::/10

    uint16_t port() const { return port_; }

    uint16_t scope() const { return scope_; }

    V4 v4() const { return {ip_[12], ip_[13], ip_[14], ip_[15]}; }  // meaningful when is_v4()

    const V6& v6() const { return ip_; }  // IPv4 mapped

    NetAddress with_port(uint16_t port) const;

    // What counts as one address for limits: an IPv4 address, or the /64 that an IPv6 host has to
    // itself. Without port and scope.
    NetAddress network() const;

    bool same_ip(const NetAddress& other) const {
        return ip_ == other.ip_ && scope_ == other.scope_;
    }

    std::string ip_text() const;    // "192.0.2.1", "2001:db8::1"
    std::string to_string() const;  // "192.0.2.1:8000", "[2001:db8::1]:8000"; "none"

    // Well mixed in all bits. Not seeded: tables that a stranger can fill need a bound of their
    // own.
    uint64_t hash() const;

    bool operator==(const NetAddress&) const = default;

  private:
    V6 ip_{};
    uint16_t port_ = 0;
    uint16_t scope_ = 0;
};

static_assert(sizeof(NetAddress) == 20);

}  // namespace weir

template <>
struct std::hash<weir::NetAddress> {
    size_t operator()(const weir::NetAddress& address) const noexcept {
        return static_cast<size_t>(address.hash());
    }
};
