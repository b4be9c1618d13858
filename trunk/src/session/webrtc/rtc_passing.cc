#include "session/webrtc/rtc_passing.h"

#include <algorithm>
#include <chrono>

namespace weir::session {

void RtcPassing::begin_second(MonoTime now) {
    const auto second =
        static_cast<uint64_t>(std::chrono::duration_cast<Seconds>(now.time_since_epoch()).count());
    if (second != second_) {
        second_ = second;
        checks_ = 0;
        datagrams_ = 0;
        by_address_.fill(0);
        others_by_address_.fill(0);
    }
}

// Addresses that share a place share its limit; which ones, nobody can know. A host may have all of
// an IPv6 network.
size_t RtcPassing::bucket_of(const NetAddress& peer) const {
    NetAddress from = peer.with_port(0);
    if (!peer.is_v4()) {
        NetAddress::V6 network = peer.v6();
        std::fill(network.begin() + 8, network.end(), uint8_t{0});
        from = NetAddress::from_v6(network, 0);
    }
    uint64_t mixed = (from.hash() ^ seed_) * 0x9E3779B97F4A7C15U;
    mixed ^= mixed >> 32U;
    return mixed % kBuckets;
}

void RtcPassing::forget_old(MonoTime now) {
    while (!peers_.empty() &&
           (peers_.size() > kMaxPeers || now - peers_.front().checked > kPeerLife)) {
        index_.erase(peers_.front().address);
        peers_.pop_front();
    }
}

RtcPassing::Verdict RtcPassing::take_check(MonoTime now, const NetAddress& peer, uint32_t process) {
    begin_second(now);
    uint16_t& of_address = by_address_[bucket_of(peer)];
    if (checks_ >= kChecksPerSecond || of_address >= kChecksPerAddress) {
        return Verdict::kLimited;
    }
    checks_++;
    of_address++;
    const auto found = index_.find(peer);
    if (found == index_.end()) {
        peers_.push_back({.address = peer});
        index_[peer] = std::prev(peers_.end());
    } else {
        peers_.splice(peers_.end(), peers_, found->second);
    }
    peers_.back().process = process;
    peers_.back().checked = now;
    forget_old(now);
    return Verdict::kPass;
}

RtcPassing::Verdict RtcPassing::take_other(MonoTime now,
                                           const NetAddress& peer,
                                           uint32_t& process) {
    begin_second(now);
    forget_old(now);
    const auto found = index_.find(peer);
    if (found == index_.end()) {
        return Verdict::kUnknown;
    }
    Peer& known = *found->second;
    if (known.second != second_) {
        known.second = second_;
        known.datagrams = 0;
    }
    uint16_t& of_address = others_by_address_[bucket_of(peer)];
    if (datagrams_ >= kDatagramsPerSecond || known.datagrams >= kDatagramsPerPeer ||
        of_address >= kDatagramsPerAddress) {
        return Verdict::kLimited;
    }
    datagrams_++;
    of_address++;
    known.datagrams++;
    process = known.process;
    return Verdict::kPass;
}

void RtcPassing::correct(const NetAddress& peer, uint32_t process) {
    const auto found = index_.find(peer);
    if (found != index_.end()) {
        found->second->process = process;
    }
}

}  // namespace weir::session
