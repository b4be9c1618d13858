#include "proto/srtp/rtcp_unprotector.h"

#include "base/bytes.h"

namespace weir::srtp {

RtcpUnprotector::RtcpUnprotector(Profile profile, const MasterKey& remote, ControlCipher& control)
    : control_(control), key_(profile, derive_session_keys(profile, remote, Kind::kRtcp)) {}

Unprotected RtcpUnprotector::unprotect(std::span<uint8_t> packet) {
    // RFC 3711 §3.4 lets a sender leave RTCP in the clear; DTLS-SRTP does not negotiate that.
    const uint32_t trailer = trailer_of(key_.profile, packet);
    if ((trailer & kEncryptedBit) == 0) {
        return {Status::kMalformed, 0};
    }
    const uint32_t index = trailer & ~kEncryptedBit;
    const uint32_t ssrc = ByteReader(packet.subspan(4)).u32();
    Source* source = find(ssrc);
    if (source == nullptr && source_count_ == kMaxSources) {
        return {Status::kTooManySources, 0};
    }
    if (source != nullptr && !source->window.check(index)) {
        return {Status::kReplayed, 0};
    }
    const size_t size = control_.open(key_, packet);
    if (size == 0) {
        return {Status::kUnauthentic, 0};
    }
    if (source == nullptr) {
        source = &sources_[source_count_++];
        source->ssrc = ssrc;
    }
    source->window.add(index);
    return {Status::kOk, size};
}

RtcpUnprotector::Source* RtcpUnprotector::find(uint32_t ssrc) {
    for (size_t i = 0; i < source_count_; i++) {
        if (sources_[i].ssrc == ssrc) {
            return &sources_[i];
        }
    }
    return nullptr;
}

}  // namespace weir::srtp
