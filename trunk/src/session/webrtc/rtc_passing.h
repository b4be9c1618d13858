// RtcPassing: what of the datagrams of strangers goes to which other process, where all have one
// port: an ICE check says it by its user name, and what comes from the same peer soon after goes to
// the same process. Anybody can send checks, so both are bounded: in all, for each address, and for
// each peer. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "base/clock.h"
#include "base/net_address.h"

namespace weir::session {

class RtcPassing {
  public:
    // Peers whose process is known. With more the one that has sent no check for longest is
    // forgotten.
    static constexpr size_t kMaxPeers = 8192;
    static constexpr Millis kPeerLife{30'000};  // since its last check: as long as it may be silent
    static constexpr uint32_t kChecksPerSecond = 10'000;
    static constexpr uint32_t kChecksPerAddress =
        1'000;  // a second; whoever is behind a NAT shares it
    static constexpr uint32_t kDatagramsPerSecond = 50'000;
    static constexpr uint32_t kDatagramsPerPeer = 5'000;  // a second: a publisher's
    static constexpr uint32_t kDatagramsPerAddress = 10'000;

    enum class Verdict : uint8_t { kPass, kUnknown, kLimited };

    // `seed`: nobody knows it.
    explicit RtcPassing(uint64_t seed) : seed_(seed) {}

    // A check that names that process came from `peer`. kPass, kLimited.
    Verdict take_check(MonoTime now, const NetAddress& peer, uint32_t process);

    // Another datagram came from `peer`. kPass: it is for `process`.
    Verdict take_other(MonoTime now, const NetAddress& peer, uint32_t& process);

    // The peer has proven to be one of that process; nothing where it is not known here.
    void correct(const NetAddress& peer, uint32_t process);

    size_t peers() const { return peers_.size(); }

  private:
    static constexpr size_t kBuckets = 1024;

    struct Peer {
        NetAddress address;
        uint32_t process = 0;
        uint32_t datagrams = 0;  // of this second
        uint64_t second = 0;
        MonoTime checked{};
    };

    void begin_second(MonoTime now);
    size_t bucket_of(const NetAddress& peer) const;
    void forget_old(MonoTime now);

    uint64_t seed_;
    uint64_t second_ = 0;
    uint32_t checks_ = 0;  // of this second
    uint32_t datagrams_ = 0;
    std::array<uint16_t, kBuckets> by_address_{};  // checks of this second
    std::array<uint16_t, kBuckets> others_by_address_{};
    std::list<Peer> peers_;  // the newest check last
    std::unordered_map<NetAddress, std::list<Peer>::iterator> index_;
};

}  // namespace weir::session
