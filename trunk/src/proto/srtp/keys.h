// Keys of SRTP (RFC 3711) as DTLS-SRTP (RFC 5764) or a description (RFC 4568) hands them out, and
// what is derived from them.
//
// Plain values; nothing here is ever printed. The profile numbers are those of the use_srtp
// extension.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::srtp {

enum class Profile : uint16_t {
    kAes128CmSha1_80 = 0x0001,  // AES counter mode, HMAC-SHA1 cut to 80 bits (RFC 5764 §4.1.2)
    kAes128CmSha1_32 = 0x0002,  // the same cut to 32 bits; RTCP as above
    kAeadAes128Gcm = 0x0007,    // RFC 7714 §14.2
};

// The name of RFC 5764 §4.1.2 and RFC 7714 §14.2, for logs.
std::string_view to_string(Profile profile);

inline constexpr size_t kKeySize = 16;
inline constexpr size_t kMaxSaltSize = 14;
inline constexpr size_t kAuthKeySize = 20;

constexpr size_t salt_size(Profile profile) {
    return profile == Profile::kAeadAes128Gcm ? 12 : 14;
}

// Bytes that protecting adds behind the payload of an RTP packet.
constexpr size_t rtp_overhead(Profile profile) {
    return profile == Profile::kAeadAes128Gcm ? 16 : profile == Profile::kAes128CmSha1_32 ? 4 : 10;
}

constexpr size_t rtcp_tag_size(Profile profile) {
    return profile == Profile::kAeadAes128Gcm ? 16 : 10;
}

// The same for RTCP: the tag, and 4 bytes with the E bit and the index.
constexpr size_t rtcp_overhead(Profile profile) {
    return rtcp_tag_size(profile) + 4;
}

inline constexpr size_t kMaxOverhead = 20;

// One direction. Only the first salt_size() bytes of the salt count.
struct MasterKey {
    std::array<uint8_t, kKeySize> key{};
    std::array<uint8_t, kMaxSaltSize> salt{};

    bool operator==(const MasterKey&) const = default;
};

// Both directions of a session: `local` protects what we send, `remote` what the peer sends.
struct Keys {
    Profile profile = Profile::kAeadAes128Gcm;
    MasterKey local;
    MasterKey remote;
};

// What one kind of packets of one direction uses.
struct SessionKeys {
    std::array<uint8_t, kKeySize> key{};
    std::array<uint8_t, kMaxSaltSize> salt{};  // the first salt_size() bytes
    std::array<uint8_t, kAuthKeySize> auth{};  // zeros with GCM
};

enum class Kind : uint8_t { kRtp, kRtcp };

// RFC 3711 §4.3 with a key derivation rate of 0, the only one that DTLS-SRTP has; RFC 7714 §11.
SessionKeys derive_session_keys(Profile profile, const MasterKey& master, Kind kind);

}  // namespace weir::srtp
