#include "net/limits.h"

#include <fmt/format.h>

#include "base/check.h"
#include "io/socket_address.h"

namespace weir::net {

std::string_view to_string(Refusal refusal) {
    switch (refusal) {
        case Refusal::kConnectionsPerAddress: return "max_connections_per_ip";
        case Refusal::kVhostDisabled: return "vhost_disabled";
        case Refusal::kAddress: return "address";
        case Refusal::kKeyMissing: return "key_missing";
        case Refusal::kKeyWrong: return "key_wrong";
        case Refusal::kToken: return "token";
        case Refusal::kLogin: return "login";
        case Refusal::kOrigin: return "origin";
        case Refusal::kPlayers: return "max_players";
        case Refusal::kUnproven: return "max_unproven_per_ip";
        case Refusal::kRtspTunnels: return "rtsp_tunnels_per_ip";
        case Refusal::kPhonePages: return "phone_pages_per_ip";
        case Refusal::kPublishBitrate: return "max_publish_bitrate";
        case Refusal::kApiNoLogin: return "api_no_login";
        case Refusal::kApiWrongLogin: return "api_wrong_login";
        case Refusal::kApiRole: return "api_role";
        case Refusal::kApiThrottled: return "api_throttled";
        case Refusal::kApiRate: return "api_rate";
        case Refusal::kApiHost: return "api_host";
        case Refusal::kApiOrigin: return "api_origin";
    }
    return "unknown";
}

size_t StreamKeyHash::operator()(const stream::StreamKey& key) const noexcept {
    constexpr size_t kMix = 0x9E3779B97F4A7C15U;
    const std::hash<std::string> hash;
    return (hash(key.vhost) * kMix + hash(key.app)) * kMix + hash(key.name);
}

NetAddress limited_address(const io::SocketAddress& peer) {
    return peer.net_address().network();
}

Result<Limits::AddressPlace> Limits::enter(const io::SocketAddress& peer) {
    const NetAddress address = limited_address(peer);
    if (per_address_ > 0 && !peer.is_loopback() && addresses_.count(address) >= per_address_) {
        count(Refusal::kConnectionsPerAddress);
        return make_error(ErrorCode::kFull,
                          "{} connections from {} are open, the limit: close some, or raise "
                          "max_connections_per_ip",
                          per_address_, peer.host());
    }
    return addresses_.take(address);
}

Result<Limits::AddressPlace> Limits::enter_unproven(Unproven what,
                                                    const io::SocketAddress& peer,
                                                    size_t limit) {
    const NetAddress address = limited_address(peer);
    Places<NetAddress>& places = unproven_[static_cast<size_t>(what)];
    if (limit > 0 && places.count(address) >= limit) {
        count(Refusal::kUnproven);
        return make_error(ErrorCode::kFull,
                          "{} {} yet, the limit (max_unproven_per_ip): try again in some seconds",
                          limit,
                          what == Unproven::kOffer
                              ? fmt::format("WebRTC offers from {} have not connected", peer.host())
                              : fmt::format("calls from {} are not acknowledged", peer.host()));
    }
    return places.take(address);
}

Result<Limits::AddressPlace> Limits::enter_table(SharedTable table,
                                                 const io::SocketAddress& peer,
                                                 const TableShares& shares) {
    const NetAddress address = limited_address(peer);
    Places<NetAddress>& places = tables_[static_cast<size_t>(table)];
    const size_t here = places.count(address);
    if (!peer.is_loopback() && here >= shares.of_one && places.all() * 2 >= shares.places) {
        const bool tunnels = table == SharedTable::kRtspTunnels;
        count(tunnels ? Refusal::kRtspTunnels : Refusal::kPhonePages);
        return make_error(ErrorCode::kFull,
                          "{} has {} {}; while half of all {} are in use, one address may have {}",
                          peer.host(), here, tunnels ? "RTSP tunnels" : "pages that are telephones",
                          shares.places, shares.of_one);
    }
    return places.take(address);
}

Result<Limits::PlayerPlace> Limits::enter_player(const stream::StreamKey& key, size_t limit) {
    if (limit > 0 && players_.count(key) >= limit) {
        count(Refusal::kPlayers);
        return make_error(ErrorCode::kFull,
                          "the stream has {} players, the limit (max_players): try again later",
                          limit);
    }
    return players_.take(key);
}

}  // namespace weir::net
