#include "bench/load/core/mcast_check.h"

#include <algorithm>

namespace weir::load {
namespace {

constexpr uint8_t kSync = 0x47;
constexpr uint16_t kNullPid = 0x1FFF;

}  // namespace

void McastCounts::add(const McastCounts& other) {
    bytes += other.bytes;
    packets += other.packets;
    stamped += other.stamped;
    lost += other.lost;
    repeated += other.repeated;
    foreign += other.foreign;
    restarts += other.restarts;
    jumps += other.jumps;
    no_packets += other.no_packets;
}

McastCheck::McastCheck(uint32_t group, Histogram& delays)
    : group_(group % McastStamp::kGroups), delays_(delays), continuity_(kPids, kUnseen) {}

void McastCheck::feed(ByteSpan bytes, uint64_t now_ns) {
    counts_.bytes += bytes.size();
    while (!bytes.empty()) {
        if (held_ == 0 && bytes[0] != kSync) {
            counts_.no_packets++;
            const auto found = std::find(bytes.begin(), bytes.end(), kSync);
            bytes = bytes.subspan(static_cast<size_t>(found - bytes.begin()));
            continue;
        }
        if (held_ == 0 && bytes.size() >= kTsPacketBytes) {
            take(bytes.first(kTsPacketBytes), now_ns);
            bytes = bytes.subspan(kTsPacketBytes);
            continue;
        }
        const size_t size = std::min(kTsPacketBytes - held_, bytes.size());
        std::copy_n(bytes.begin(), size, part_.begin() + static_cast<std::ptrdiff_t>(held_));
        held_ += size;
        bytes = bytes.subspan(size);
        if (held_ == kTsPacketBytes) {
            held_ = 0;
            take(part_, now_ns);
        }
    }
}

void McastCheck::take(ByteSpan packet, uint64_t now_ns) {
    counts_.packets++;
    const auto pid = static_cast<uint16_t>((packet[1] & 0x1FU) << 8 | packet[2]);
    if (pid == kNullPid) {
        return;
    }
    if (const auto stamp = McastStamp::of(packet)) {
        check_stamp(*stamp, pid == 0 || pid == McastStream::kPmtPid, now_ns);
    }
    check_continuity(packet, pid);
}

// ISO/IEC 13818-1 §2.4.3.3: counts packets with payload; may stay once for a repeated one, and is
// free to jump where a discontinuity is said.
void McastCheck::check_continuity(ByteSpan packet, uint16_t pid) {
    const auto counter = static_cast<uint8_t>(packet[3] & 0x0FU);
    const bool has_payload = (packet[3] & 0x10U) != 0;
    const bool has_field = (packet[3] & 0x20U) != 0 && packet[4] > 0;
    const bool told = has_field && (packet[5] & 0x80U) != 0;
    uint8_t& last = continuity_[pid];
    if (last != kUnseen && !told) {
        const auto expected = static_cast<uint8_t>(has_payload ? (last + 1) & 0x0F : last);
        counts_.jumps += counter != expected && counter != last ? 1 : 0;
    }
    last = counter;
}

void McastCheck::check_stamp(const McastStamp& stamp, bool table, uint64_t now_ns) {
    if (stamp.group != group_) {
        counts_.foreign++;
        return;
    }
    if (began_ && stamp.session != session_) {
        counts_.restarts++;
        began_ = false;
        std::ranges::fill(continuity_, kUnseen);
    }
    if (!began_) {
        if (table) {
            return;
        }
        began_ = true;
        session_ = stamp.session;
        next_ = stamp.sequence;
    }
    counts_.stamped++;
    if (stamp.sequence < next_) {
        counts_.repeated++;
        return;
    }
    counts_.lost += stamp.sequence - next_;
    next_ = stamp.sequence + 1;
    if (measuring_ && stamp.sent_ns >= joined_ns_) {
        delays_.add((now_ns - std::min(now_ns, stamp.sent_ns)) / 1000);
    }
}

}  // namespace weir::load
