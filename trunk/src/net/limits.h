// Limits that hold over all protocols: places per address and per stream, and the count of every
// refusal by its reason. One object per server; never yields.
//
// A place is taken when somebody comes and given back by its destructor. Everybody is counted, also
// while there is no limit, so that one that a reload brings holds at once. Memory: one entry for
// each address and stream that has anybody, so max_connections bounds it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/address_reach.h"
#include "base/error.h"
#include "base/net_address.h"
#include "net/places.h"
#include "stream/stream_key.h"

namespace weir::io {
class SocketAddress;
}

namespace weir::net {

// Why somebody was refused or ended; labels of /metrics.
enum class Refusal : uint8_t {
    kConnectionsPerAddress,
    kVhostDisabled,
    kAddress,     // a rule of `security`
    kKeyMissing,  // none was shown
    kKeyWrong,
    kToken,        // a JWT that does not hold
    kLogin,        // user and password of a publisher
    kOrigin,       // a page of another site that wanted to publish
    kPlayers,      // max_players
    kUnproven,     // max_unproven_per_ip: WebRTC offers of one address, or its SIP calls
    kRtspTunnels,  // the share of one address, as of the next ones
    kPhonePages,
    kPhoneLines,
    kRecordings,
    kHlsSessions,
    kPublishBitrate,  // max_publish_bitrate
    kApiNoLogin,
    kApiWrongLogin,
    kApiRole,
    kApiThrottled,  // too many wrong logins
    kApiRate,
    kApiHost,
    kApiOrigin,
};

inline constexpr size_t kRefusals = static_cast<size_t>(Refusal::kApiOrigin) + 1;

// "key_wrong", "max_players" ...
std::string_view to_string(Refusal refusal);

// What counts as one address for limits: an IPv4 address, or the /64 that an IPv6 host has to
// itself. Without port.
NetAddress limited_address(const io::SocketAddress& peer);

// What one address must not fill. Each is counted by itself.
enum class Share : uint8_t {
    kConnections,  // and WebRTC sessions
    kOffers,       // of WebRTC, that have not connected yet
    kCalls,        // of SIP over UDP, that are not acknowledged
    kRtspTunnels,
    kPhonePages,
    kPhoneLines,
    kRecordings,  // that are played by RTMP and RTSP
    kHlsSessions,
};

inline constexpr size_t kShares = static_cast<size_t>(Share::kHlsSessions) + 1;

struct ShareRule {
    size_t of_one = 0;  // places of one address; 0: any number
    // Of all, where there is a fixed number: then `of_one` holds once half of them are taken. Until
    // then an address may have any number, as many people can be behind one. That all are taken is
    // the caller's business. 0: `of_one` always holds.
    size_t places = 0;
    // Addresses so near are counted and never refused: a proxy there speaks for many.
    AddressReach spared = AddressReach::kHost;
};

class Limits {
  public:
    using AddressPlace = net::AddressPlace;
    using PlayerPlace = net::PlayerPlace;

    Limits() = default;
    Limits(const Limits&) = delete;
    Limits& operator=(const Limits&) = delete;

    // Connections and WebRTC sessions of one address at the same time, for those who come from now
    // on. 0: half of `of_all`, so that the other half is for others, and any number from addresses
    // that are not public; `of_all` 0: any number.
    void set_connections_per_address(size_t limit, size_t of_all = 0);

    // A place among those of the address. kFull, with a sentence for the peer.
    Result<AddressPlace> enter(Share share, const io::SocketAddress& peer, const ShareRule& rule);

    // The same of a connection.
    Result<AddressPlace> enter(const io::SocketAddress& peer) {
        return enter(Share::kConnections, peer, connections_);
    }

    // A place among the players of the stream; `limit` 0: any number. kFull.
    Result<PlayerPlace> enter_player(const stream::StreamKey& key, size_t limit);

    size_t players(const stream::StreamKey& key) const { return players_.count(key); }

    size_t connections_of(const io::SocketAddress& peer) const {
        return places(Share::kConnections).count(limited_address(peer));
    }

    size_t addresses() const { return places(Share::kConnections).keys(); }

    void count(Refusal refusal) {
        if (counts_) {
            refusals_[static_cast<size_t>(refusal)]++;
        }
    }

    // While it lives nothing is counted: somebody asks what would happen. Must not live across a
    // yield.
    class Uncounted {
      public:
        explicit Uncounted(Limits& limits)
            : limits_(limits), before_(std::exchange(limits.counts_, false)) {}

        Uncounted(const Uncounted&) = delete;
        Uncounted& operator=(const Uncounted&) = delete;

        ~Uncounted() { limits_.counts_ = before_; }

      private:
        Limits& limits_;
        bool before_;
    };

    uint64_t refused(Refusal refusal) const { return refusals_[static_cast<size_t>(refusal)]; }

  private:
    const Places<NetAddress>& places(Share share) const {
        return shares_[static_cast<size_t>(share)];
    }

    ShareRule connections_;
    bool counts_ = true;
    std::array<Places<NetAddress>, kShares> shares_;
    Places<stream::StreamKey, StreamKeyHash> players_;
    std::array<uint64_t, kRefusals> refusals_{};
};

}  // namespace weir::net
