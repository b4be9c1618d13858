// What an m= section of a WebRTC offer says, read from its attributes and those of the session
// (RFC 9429 §5.8). Not which of it is taken: that is negotiate.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "proto/sdp/attributes.h"
#include "proto/sdp/codec.h"
#include "proto/sdp/description.h"

namespace weir::sdp {

inline constexpr size_t kMaxSsrcs = 32;       // of an m= section; more are not read
inline constexpr size_t kMaxCandidates = 64;  // of an m= section or fragment; more are not read
inline constexpr size_t kMaxCandidateBytes = 512;
// RFC 8839 §5.4
inline constexpr size_t kMinUfragBytes = 4;
inline constexpr size_t kMinPasswordBytes = 22;
inline constexpr size_t kMaxIceBytes = 256;

// A stream of the peer that its description names. rtx_ssrc 0: none.
struct RemoteSsrc {
    uint32_t ssrc = 0;
    uint32_t rtx_ssrc = 0;

    bool operator==(const RemoteSsrc&) const = default;
};

// An extension as it was offered.
struct OfferedExtension {
    Extension extension{};
    uint8_t id = 0;
    std::optional<Direction> direction;

    bool operator==(const OfferedExtension&) const = default;
};

struct MediaOffer {
    const Media* section = nullptr;  // of the Session, which must live as long
    std::string mid;                 // empty: none
    Direction direction = Direction::kSendRecv;
    bool rejected = false;       // port 0 (and not for the sake of bundle-only)
    bool is_secure_rtp = false;  // RTP/SAVP(F) in any transport
    bool rtcp_mux = false;
    bool reduced_size_rtcp = false;
    std::vector<PayloadFormat> formats;  // in order of preference; without rtx
    std::vector<OfferedExtension> extensions;
    std::vector<RemoteSsrc> ssrcs;  // without those of rtx and of forward error correction
    std::vector<Rid>
        rids;  // that are in a=simulcast, in its order; in the peer's sending direction
};

// The transport of an m= section; what it does not say is taken from the session.
struct TransportOffer {
    std::string ice_ufrag;
    std::string ice_pwd;
    bool ice_lite = false;
    bool trickle = false;
    bool renomination = false;
    std::vector<Fingerprint> fingerprints;
    std::optional<Setup> setup;
    std::vector<std::string> candidates;  // the text after "candidate:"
    bool end_of_candidates = false;
};

// kMalformed: a mid that is no token. What else is malformed is as if it were not there.
Result<MediaOffer> read_media(const Session& session, const Media& media);

// kMalformed: credentials, fingerprints or setup that are not of their form.
Result<TransportOffer> read_transport(const Session& session, const Media& media);

// RFC 8839 §5.4, by length, and without space and ':' (which STUN's USERNAME has between the two).
// Deviation: other characters than ice-char are taken; nothing depends on them.
bool is_ice_ufrag(std::string_view text);
bool is_ice_password(std::string_view text);

}  // namespace weir::sdp
