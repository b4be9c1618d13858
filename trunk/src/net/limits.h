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
    kToken,           // a JWT that does not hold
    kLogin,           // user and password of a publisher
    kOrigin,          // a page of another site that wanted to publish
    kPlayers,         // max_players
    kUnproven,        // max_unproven_per_ip: WebRTC offers of one address, or its SIP calls
    kRtspTunnels,     // the share of one address, SharedTable
    kPhonePages,      // the same
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

// What an address can have that has proven nothing yet. Each is counted by itself.
enum class Unproven : uint8_t {
    kOffer,  // of WebRTC
    kCall,   // of SIP, over UDP
};

// What counts as one address for limits: an IPv4 address, or the /64 that an IPv6 host has to
// itself. Without port.
NetAddress limited_address(const io::SocketAddress& peer);

// Tables with a fixed number of places, of which one address gets a share.
enum class SharedTable : uint8_t { kRtspTunnels, kPhonePages };

// Of such a table.
struct TableShares {
    size_t places = 0;  // of all
    size_t of_one = 0;  // once half of them are taken
};

inline constexpr size_t kSharedTables = static_cast<size_t>(SharedTable::kPhonePages) + 1;

class Limits {
  public:
    using AddressPlace = net::AddressPlace;
    using PlayerPlace = net::PlayerPlace;

    Limits() = default;
    Limits(const Limits&) = delete;
    Limits& operator=(const Limits&) = delete;

    // Connections and WebRTC sessions of one address at the same time, for those who come from now
    // on; 0: any number.
    void set_connections_per_address(size_t limit) { per_address_ = limit; }

    // kFull, with a sentence for the peer. Loopback is counted but never refused: a proxy on this
    // machine speaks for many.
    Result<AddressPlace> enter(const io::SocketAddress& peer);

    // A place among those of one address that have not come to anything yet; `limit` 0: any number.
    // kFull. Loopback too: an offer is proven within moments, so a proxy needs few.
    Result<AddressPlace> enter_unproven(Unproven what, const io::SocketAddress& peer, size_t limit);

    // A place of the address in that table. kFull: it has its share, and half of all places are
    // taken. Until then it may have any number, as many people can be behind one address. Loopback
    // is counted but never refused. That all places are taken is the caller's business.
    Result<AddressPlace> enter_table(SharedTable table,
                                     const io::SocketAddress& peer,
                                     const TableShares& shares);

    // A place among the players of the stream; `limit` 0: any number. kFull.
    Result<PlayerPlace> enter_player(const stream::StreamKey& key, size_t limit);

    size_t players(const stream::StreamKey& key) const { return players_.count(key); }

    size_t connections_of(const io::SocketAddress& peer) const {
        return addresses_.count(limited_address(peer));
    }

    size_t addresses() const { return addresses_.keys(); }

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
    size_t per_address_ = 0;
    bool counts_ = true;
    Places<NetAddress> addresses_;
    std::array<Places<NetAddress>, 2> unproven_;  // by Unproven
    std::array<Places<NetAddress>, kSharedTables> tables_;
    Places<stream::StreamKey, StreamKeyHash> players_;
    std::array<uint64_t, kRefusals> refusals_{};
};

}  // namespace weir::net
