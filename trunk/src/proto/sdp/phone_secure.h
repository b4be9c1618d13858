// What descriptions of telephones say about encryption and about ICE: keys in the description
// (SDES, RFC 4568), DTLS-SRTP (RFC 5763), either of them as best effort (RFC 8643), and ICE
// (RFC 8839) of a peer to this side, which is lite. Pure.
//
//     RTP/AVP(F)              plain; with a=crypto or a=fingerprint: encrypted where both sides can
//     RTP/SAVP(F)             a=crypto; without it a=fingerprint
//     UDP/TLS/RTP/SAVP(F)     a=fingerprint
//
// Not done: master key identifiers (lines with one are passed over), AES-256, key derivation rates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/net_address.h"
#include "proto/sdp/attributes.h"
#include "proto/sdp/description.h"
#include "proto/sdp/sdes.h"

namespace weir::sdp {

// What an operator wants of calls. kRequired: plain calls are refused.
enum class PhoneSrtp : uint8_t { kOptional, kRequired, kOff };

// Who makes the keys of a track.
enum class PhoneKeys : uint8_t { kNone, kSdes, kDtls };

std::string_view to_string(PhoneKeys keys);  // "none", "sdes", "dtls"

// Of a section of the peer's description. What is malformed is as if it were not there.
struct PhoneTransport {
    bool secure_profile = false;  // SAVP: plain RTP is no answer
    bool dtls_profile = false;    // UDP/TLS/RTP/SAVP
    std::vector<CryptoLine> crypto;
    std::optional<Fingerprint> fingerprint;  // of SHA-256, the only one that is taken
    std::optional<Setup> setup;
    std::string ice_ufrag;  // empty: no ICE, or one that is no use here (lite, mismatch)
    std::string ice_pwd;
    bool ice_mismatch = false;  // RFC 8839 §4.2.5: the address of the section is no candidate
};

// The profiles of calls: whether a section with that protocol is read.
bool is_phone_profile(std::string_view protocol);

// `to`: the address of the section's m= and c= lines.
PhoneTransport read_phone_transport(const Session& session,
                                    const Media& media,
                                    const NetAddress& to);

// What this side says of a track.
struct PhoneSecurity {
    PhoneSrtp srtp = PhoneSrtp::kOff;
    // A key of its own for each suite that may be agreed; empty: no SDES. Tags are set here.
    std::vector<CryptoLine> keys;
    std::optional<Fingerprint> fingerprint;  // of this side's certificate; none: no DTLS
    // The role that was agreed: it stays, whatever an offer leaves open (RFC 8842 §5.5).
    std::optional<bool> dtls_client;
    // Offers only: what holds already, or is insisted on. kNone: RTP/AVP, with the keys as best
    // effort.
    PhoneKeys offer_profile = PhoneKeys::kNone;
    std::string ice_ufrag;  // empty: no ICE
    std::string ice_pwd;
};

// What both sides agreed.
struct PhoneSecured {
    PhoneKeys keys = PhoneKeys::kNone;
    std::optional<CryptoLine> local_key;  // of SDES
    std::optional<CryptoLine> remote_key;
    std::optional<Fingerprint> remote_fingerprint;  // of DTLS
    bool dtls_client = false;                       // this side sends the ClientHello
    std::string ice_ufrag;                          // the peer's; empty: no ICE
    std::string ice_pwd;
    std::string local_ice_ufrag;
    std::string local_ice_pwd;

    bool has_ice() const { return !ice_ufrag.empty(); }

    bool operator==(const PhoneSecured&) const = default;
};

// The first line of the peer's whose suite is one of `own`; null: none.
const CryptoLine* choose_crypto(const PhoneTransport& theirs, const PhoneSecurity& own);

// None: the section is rejected.
std::optional<PhoneSecured> agree_security(const PhoneTransport& theirs, const PhoneSecurity& own);

// The protocol of an offered section.
std::string_view offered_profile(const PhoneSecurity& own);

// The lines of a section for an offer, and for an answer. `rtp`: this side's address and port;
// `rtcp_mux`: RTCP goes there too, and has no candidate of its own.
void add_offered_security(Media& media, const PhoneSecurity& own);
void add_answered_security(Media& media,
                           const PhoneTransport& theirs,
                           const PhoneSecured& agreed,
                           const PhoneSecurity& own);
void add_ice(Media& media, const PhoneSecurity& own, const NetAddress& rtp, bool rtcp_mux);

}  // namespace weir::sdp
