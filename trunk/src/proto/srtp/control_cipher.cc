#include "proto/srtp/control_cipher.h"

#include <algorithm>

#include "base/check.h"

namespace weir::srtp {

namespace {

constexpr size_t kTrailerBytes = 4;

// RFC 7714 §9.1: 0, SSRC, 0, index; 12 bytes, XOR the salt.
Aes::Nonce nonce_of(const ControlKey& key, ByteSpan packet, uint32_t index) {
    Aes::Nonce nonce{};
    std::copy_n(packet.begin() + 4, 4, nonce.begin() + 2);
    store_u32(nonce.data() + 8, index);
    for (size_t i = 0; i < nonce.size(); i++) {
        nonce[i] ^= key.salt[i];
    }
    return nonce;
}

// RFC 3711 §4.1.1: salt * 2^16 XOR SSRC * 2^64 XOR index * 2^16.
Aes::Block counter_of(const ControlKey& key, ByteSpan packet, uint32_t index) {
    Aes::Block counter{};
    std::copy_n(packet.begin() + 4, 4, counter.begin() + 4);
    store_u32(counter.data() + 10, index);
    for (size_t i = 0; i < key.salt.size(); i++) {
        counter[i] ^= key.salt[i];
    }
    return counter;
}

uint32_t load_u32(const uint8_t* at) {
    return ByteReader({at, 4}).u32();
}

}  // namespace

// GCM: text, tag, trailer. Counter mode: text, trailer, tag.
uint32_t trailer_of(Profile profile, ByteSpan packet) {
    if (packet.size() < kRtcpClearBytes + rtcp_overhead(profile)) {
        return 0;
    }
    const size_t behind = profile == Profile::kAeadAes128Gcm ? 0 : rtcp_tag_size(profile);
    return load_u32(packet.data() + packet.size() - behind - kTrailerBytes);
}

ControlCipher::ControlCipher() = default;

size_t ControlCipher::seal(const ControlKey& key,
                           std::span<uint8_t> buffer,
                           size_t size,
                           uint32_t index) {
    WEIR_DCHECK(size >= kRtcpClearBytes && buffer.size() >= size + rtcp_overhead(key.profile));
    if (key.profile == Profile::kAeadAes128Gcm) {
        return seal_gcm(key, buffer, size, index);
    }
    crypt_counter(key, buffer.first(size), index);
    store_u32(buffer.data() + size, kEncryptedBit | index);
    size += kTrailerBytes;
    const HmacSha1::Digest digest = key.mac.digest(buffer.first(size));
    std::copy_n(digest.begin(), rtcp_tag_size(key.profile), buffer.data() + size);
    return size + rtcp_tag_size(key.profile);
}

size_t ControlCipher::open(const ControlKey& key, std::span<uint8_t> packet) {
    WEIR_DCHECK(packet.size() >= kRtcpClearBytes + rtcp_overhead(key.profile));
    if (key.profile == Profile::kAeadAes128Gcm) {
        return open_gcm(key, packet);
    }
    const size_t tag_bytes = rtcp_tag_size(key.profile);
    const size_t authentic = packet.size() - tag_bytes;
    const HmacSha1::Digest digest = key.mac.digest(packet.first(authentic));
    if (!equal_constant_time(packet.subspan(authentic), ByteSpan(digest).first(tag_bytes))) {
        return 0;
    }
    const size_t size = authentic - kTrailerBytes;
    crypt_counter(key, packet.first(size), load_u32(packet.data() + size) & ~kEncryptedBit);
    return size;
}

// RFC 7714 §9.2: the clear bytes and the trailer are the additional data.
size_t ControlCipher::seal_gcm(const ControlKey& key,
                               std::span<uint8_t> buffer,
                               size_t size,
                               uint32_t index) {
    uint8_t* const tag = buffer.data() + size;
    uint8_t* const trailer = tag + rtcp_tag_size(key.profile);
    store_u32(trailer, kEncryptedBit | index);
    gcm_.set_key(key.key);
    gcm_.start_seal(nonce_of(key, buffer, index));
    gcm_.add_data(buffer.first(kRtcpClearBytes));
    gcm_.add_data({trailer, kTrailerBytes});
    gcm_.crypt(buffer.subspan(kRtcpClearBytes, size - kRtcpClearBytes),
               buffer.data() + kRtcpClearBytes);
    gcm_.finish_seal(tag);
    return size + rtcp_overhead(key.profile);
}

size_t ControlCipher::open_gcm(const ControlKey& key, std::span<uint8_t> packet) {
    const size_t size = packet.size() - rtcp_overhead(key.profile);
    const ByteSpan trailer = packet.last(kTrailerBytes);
    Aes::Tag tag;
    std::copy_n(packet.data() + size, tag.size(), tag.begin());
    gcm_.set_key(key.key);
    gcm_.start_open(nonce_of(key, packet, load_u32(trailer.data()) & ~kEncryptedBit));
    gcm_.add_data(packet.first(kRtcpClearBytes));
    gcm_.add_data(trailer);
    gcm_.crypt(packet.subspan(kRtcpClearBytes, size - kRtcpClearBytes),
               packet.data() + kRtcpClearBytes);
    return gcm_.finish_open(tag) ? size : 0;
}

void ControlCipher::crypt_counter(const ControlKey& key, std::span<uint8_t> plain, uint32_t index) {
    counter_.set_key(key.key);
    counter_.start_counter(counter_of(key, plain, index));
    counter_.crypt_counter(plain.subspan(kRtcpClearBytes), plain.data() + kRtcpClearBytes);
}

}  // namespace weir::srtp
