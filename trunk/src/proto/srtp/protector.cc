#include "proto/srtp/protector.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace weir::srtp {

namespace {

constexpr size_t kFixedHeader = 12;
constexpr uint32_t kMaxRtcpIndex = 0x7FFF'FFFF;

// Bytes 2..7 of RFC 7714 §8.1's nonce and 4..7 of RFC 3711 §4.1.1's counter block are the SSRC,
// followed by the 48 bit index.
void mix_in(uint8_t* at, const uint8_t* header, uint64_t index) {
    for (size_t i = 0; i < 4; i++) {
        at[i] ^= header[8 + i];
    }
    for (size_t i = 0; i < 6; i++) {
        at[4 + i] ^= static_cast<uint8_t>(index >> (40 - 8 * i));
    }
}

}  // namespace

size_t rtp_header_size(ByteSpan packet) {
    if (packet.size() < kFixedHeader || packet[0] >> 6 != 2) {
        return 0;
    }
    size_t size = kFixedHeader + 4 * size_t{packet[0] & 0x0Fu};
    if ((packet[0] & 0x10) != 0) {
        if (packet.size() < size + 4) {
            return 0;
        }
        size += 4 + 4 * (size_t{packet[size + 2]} << 8 | packet[size + 3]);
    }
    return size <= packet.size() ? size : 0;
}

Protector::Protector(Profile profile, const MasterKey& local, ControlCipher& control)
    : control_(control),
      rtcp_(profile, derive_session_keys(profile, local, Kind::kRtcp)),
      master_(local),
      mac_({}) {}

Protector::~Protector() {
    object_class().remove_bytes(aes_ ? Aes::kHeapBytes : 0);
}

void Protector::start_rtp() {
    const SessionKeys keys = derive_session_keys(profile(), master_, Kind::kRtp);
    aes_.emplace(profile() == Profile::kAeadAes128Gcm ? Aes::Mode::kGcm : Aes::Mode::kCounter);
    aes_->set_key(keys.key);
    salt_ = keys.salt;
    mac_ = HmacSha1(keys.auth);
    object_class().add_bytes(Aes::kHeapBytes);
}

size_t Protector::protect_rtp(const RtpPieces& pieces, uint64_t index, std::span<uint8_t> out) {
    const size_t size = pieces.header.size() + pieces.prefix.size() + pieces.payload.size();
    if (rtp_header_size(pieces.header) != pieces.header.size() || pieces.header.empty() ||
        out.size() < size + rtp_overhead(profile()) || index >> 48 != 0 ||
        (size_t{pieces.header[2]} << 8 | pieces.header[3]) != (index & 0xFFFF)) {
        return 0;
    }
    if (!aes_) {
        start_rtp();
    }
    if (out.data() != pieces.header.data()) {
        std::memcpy(out.data(), pieces.header.data(), pieces.header.size());
    }
    if (profile() == Profile::kAeadAes128Gcm) {
        seal_gcm(pieces, index, out.data());
    } else {
        seal_counter(pieces, index, out.data());
    }
    return size + rtp_overhead(profile());
}

size_t Protector::protect_rtp(std::span<uint8_t> buffer, size_t size, uint64_t index) {
    if (size > buffer.size()) {
        return 0;
    }
    const ByteSpan packet = buffer.first(size);
    const size_t header = rtp_header_size(packet);
    return protect_rtp({packet.first(header), {}, packet.subspan(header)}, index, buffer);
}

size_t Protector::protect_rtcp(std::span<uint8_t> buffer, size_t size) {
    if (size < kRtcpClearBytes || buffer.size() < size + rtcp_overhead(profile()) ||
        next_rtcp_index_ > kMaxRtcpIndex) {
        return 0;
    }
    return control_.seal(rtcp_, buffer, size, next_rtcp_index_++);
}

// RFC 7714 §8: the header is the additional data, the tag stands behind the text.
void Protector::seal_gcm(const RtpPieces& pieces, uint64_t index, uint8_t* out) {
    Aes::Nonce nonce;
    std::copy_n(salt_.begin(), nonce.size(), nonce.begin());
    mix_in(nonce.data() + 2, pieces.header.data(), index);
    aes_->start_seal(nonce);
    aes_->add_data(pieces.header);
    uint8_t* const text = out + pieces.header.size();
    aes_->crypt(pieces.prefix, text);
    aes_->crypt(pieces.payload, text + pieces.prefix.size());
    aes_->finish_seal(text + pieces.prefix.size() + pieces.payload.size());
}

// RFC 3711 §3.1, §4.2: the tag is over the packet and the roll-over counter.
void Protector::seal_counter(const RtpPieces& pieces, uint64_t index, uint8_t* out) {
    Aes::Block counter{};
    std::copy(salt_.begin(), salt_.end(), counter.begin());
    mix_in(counter.data() + 4, pieces.header.data(), index);
    aes_->start_counter(counter);
    uint8_t* const text = out + pieces.header.size();
    aes_->crypt_counter(pieces.prefix, text);
    aes_->crypt_counter(pieces.payload, text + pieces.prefix.size());
    uint8_t* const tag = text + pieces.prefix.size() + pieces.payload.size();
    uint8_t roll_over[4];
    store_u32(roll_over, static_cast<uint32_t>(index >> 16));
    const HmacSha1::Digest digest = mac_.digest({out, tag}, roll_over);
    std::copy_n(digest.begin(), rtp_overhead(profile()), tag);
}

}  // namespace weir::srtp
