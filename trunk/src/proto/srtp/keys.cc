#include "proto/srtp/keys.h"

#include <algorithm>
#include <span>

#include "proto/srtp/aes.h"

namespace weir::srtp {

namespace {

// RFC 3711 §4.3.1: labels of the encryption key, the authentication key and the salt. RTCP's are 3
// higher.
constexpr uint8_t kEncryptionLabel = 0;
constexpr uint8_t kAuthLabel = 1;
constexpr uint8_t kSaltLabel = 2;
constexpr uint8_t kRtcpLabels = 3;

// RFC 3711 §4.3.3: the key stream of AES-CM from (label * 2^48 XOR salt) * 2^16. The 12 byte salt
// of GCM is extended by zeros on the right (RFC 7714 §11).
void derive(
    Aes& aes, Profile profile, const MasterKey& master, uint8_t label, std::span<uint8_t> out) {
    Aes::Block counter{};
    std::copy_n(master.salt.begin(), salt_size(profile), counter.begin());
    counter[7] ^= label;
    std::fill(out.begin(), out.end(), uint8_t{0});
    aes.start_counter(counter);
    aes.crypt_counter(out, out.data());
}

}  // namespace

std::string_view to_string(Profile profile) {
    switch (profile) {
        case Profile::kAeadAes128Gcm: return "SRTP_AEAD_AES_128_GCM";
        case Profile::kAes128CmSha1_32: return "SRTP_AES128_CM_HMAC_SHA1_32";
        case Profile::kAes128CmSha1_80: break;
    }
    return "SRTP_AES128_CM_HMAC_SHA1_80";
}

SessionKeys derive_session_keys(Profile profile, const MasterKey& master, Kind kind) {
    const uint8_t first = kind == Kind::kRtcp ? kRtcpLabels : 0;
    Aes aes(Aes::Mode::kCounter);
    aes.set_key(master.key);
    SessionKeys keys;
    derive(aes, profile, master, first + kEncryptionLabel, keys.key);
    derive(aes, profile, master, first + kSaltLabel,
           std::span(keys.salt).first(salt_size(profile)));
    if (profile != Profile::kAeadAes128Gcm) {
        derive(aes, profile, master, first + kAuthLabel, keys.auth);
    }
    return keys;
}

}  // namespace weir::srtp
