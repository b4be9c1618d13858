// Protects and opens SRTCP packets (RFC 3711 §3.4, RFC 7714 §9) of any number of sessions.
//
// RTCP is rare (a few packets per second and session), so all sessions share one pair of AES
// contexts that gets a key for each packet (0.1 to 0.2 us): a session then costs about 100 bytes
// instead of two contexts of 1.2 KB. One object per media thread; it must outlive the Protectors
// and RtcpUnprotectors that were made with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/object_count.h"
#include "proto/srtp/aes.h"
#include "proto/srtp/keys.h"

namespace weir::srtp {

// SSRC of an RTCP packet stands behind 4 bytes; both stay in the clear.
inline constexpr size_t kRtcpClearBytes = 8;

// One direction of SRTCP of one session.
struct ControlKey {
    ControlKey(Profile of, const SessionKeys& keys)
        : profile(of), key(keys.key), salt(keys.salt), mac(keys.auth) {}

    Profile profile;
    std::array<uint8_t, kKeySize> key;
    std::array<uint8_t, kMaxSaltSize> salt;
    HmacSha1 mac;
};

class ControlCipher final : private Counted<ControlCipher> {
  public:
    static constexpr ObjectName kObjectName{"srtp_control_cipher", "srtp"};
    static constexpr size_t kHeldBytes = 2 * Aes::kHeapBytes;

    ControlCipher();
    ControlCipher(const ControlCipher&) = delete;
    ControlCipher& operator=(const ControlCipher&) = delete;
    ~ControlCipher() = default;

    // In place: the packet is the first `size` bytes (at least kRtcpClearBytes), rtcp_overhead()
    // more are there to be written. `index` has 31 bits and must never be used twice for a key and
    // SSRC.
    size_t seal(const ControlKey& key, std::span<uint8_t> buffer, size_t size, uint32_t index);

    // In place; the size of the plain packet, 0 when it is not authentic (the bytes are then
    // anything). `packet` has at least kRtcpClearBytes + rtcp_overhead().
    size_t open(const ControlKey& key, std::span<uint8_t> packet);

  private:
    size_t seal_gcm(const ControlKey& key, std::span<uint8_t> buffer, size_t size, uint32_t index);
    size_t open_gcm(const ControlKey& key, std::span<uint8_t> packet);
    void crypt_counter(const ControlKey& key, std::span<uint8_t> plain, uint32_t index);

    Aes gcm_{Aes::Mode::kGcm};
    Aes counter_{Aes::Mode::kCounter};
};

// The E bit and index at the end of a protected packet; 0 when it is too short. RFC 3711 §3.4.
uint32_t trailer_of(Profile profile, ByteSpan packet);

inline constexpr uint32_t kEncryptedBit = 0x8000'0000;

}  // namespace weir::srtp
