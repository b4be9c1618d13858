#include "net/limits.h"

#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "io/socket_address.h"

namespace weir::net {
namespace {

// "5 pages from 203.0.113.9 are telephones; the limit" and what to do.
struct ShareWords {
    Refusal refusal;
    std::string_view what;
    std::string_view state;
    std::string_view advice = {};
};

constexpr std::string_view kUnprovenAdvice = " (max_unproven_per_ip): try again in some seconds";

const ShareWords& words_of(Share share) {
    static constexpr std::array<ShareWords, kShares> kWords{{
        {Refusal::kConnectionsPerAddress, "connections", "are open",
         ": close some, or raise max_connections_per_ip"},
        {Refusal::kUnproven, "WebRTC offers", "have not connected yet", kUnprovenAdvice},
        {Refusal::kUnproven, "calls", "are not acknowledged yet", kUnprovenAdvice},
        {Refusal::kRtspTunnels, "RTSP tunnels", "are open"},
        {Refusal::kPhonePages, "pages", "are telephones"},
        {Refusal::kPhoneLines, "telephone lines", "are in use"},
        {Refusal::kRecordings, "recordings", "are played"},
        {Refusal::kHlsSessions, "viewers", "watch by HLS"},
    }};
    return kWords[static_cast<size_t>(share)];
}

}  // namespace

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
        case Refusal::kPhoneLines: return "phone_lines_per_ip";
        case Refusal::kRecordings: return "recordings_per_ip";
        case Refusal::kHlsSessions: return "hls_sessions_per_ip";
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

void Limits::set_connections_per_address(size_t limit, size_t of_all) {
    connections_ = limit > 0 ? ShareRule{.of_one = limit}
                             : ShareRule{.of_one = (of_all + 1) / 2,
                                         .places = of_all,
                                         .spared = AddressReach::kSite};
}

Result<Limits::AddressPlace> Limits::enter(Share share,
                                           const io::SocketAddress& peer,
                                           const ShareRule& rule) {
    const NetAddress address = limited_address(peer);
    Places<NetAddress>& places = shares_[static_cast<size_t>(share)];
    const size_t here = places.count(address);
    const bool holds = rule.of_one > 0 && (rule.places == 0 || places.all() * 2 >= rule.places);
    if (holds && here >= rule.of_one && reach_of(peer.net_address()) > rule.spared) {
        const ShareWords& words = words_of(share);
        count(words.refusal);
        const std::string limit =
            rule.places == 0
                ? "the limit"
                : fmt::format("while half of all {} are taken, one address may have {}",
                              rule.places, rule.of_one);
        return make_error(ErrorCode::kFull, "{} {} from {} {}; {}{}", here, words.what, peer.host(),
                          words.state, limit, words.advice);
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
