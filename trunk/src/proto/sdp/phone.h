// Descriptions of telephone calls: RTP over UDP, plain or encrypted (phone_secure.h), one audio and
// one video section at most in use, offers and answers both ways (RFC 3264). Pure.
//
// The peer's description is read once (read_phone_description) and does not change; what is agreed
// is a value. Sections that are not in use keep their place in an answer with port 0.
//
// Not done: BUNDLE, capability negotiation (RFC 5939).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/net_address.h"
#include "media/codec.h"
#include "proto/sdp/attributes.h"
#include "proto/sdp/codec.h"
#include "proto/sdp/description.h"
#include "proto/sdp/phone_secure.h"

namespace weir::sdp {

// Milliseconds of audio in a packet.
inline constexpr uint32_t kUsualPtime = 20;
inline constexpr uint32_t kMaxPtime = 60;

// A section of the peer's description.
struct PhoneMedia {
    media::TrackKind kind = media::TrackKind::kData;  // kData: neither audio nor video
    std::string kind_name;                            // as written: "image"
    std::string protocol;
    std::vector<std::string> format_names;  // as written, for the section of an answer
    std::string mid;
    NetAddress to;       // where it wants RTP; empty: on hold in the old way (0.0.0.0), or a name
    NetAddress rtcp_to;  // and RTCP (RFC 3605)
    Direction direction = Direction::kSendRecv;
    bool rejected = false;  // port 0
    bool feedback = false;  // AVPF
    bool rtcp_mux = false;
    std::vector<PayloadFormat> formats;  // telephone-event and CN too, by their names
    PhoneTransport transport;
    uint32_t ptime = kUsualPtime;
};

struct PhoneDescription {
    std::vector<PhoneMedia> media;

    // The first section of a kind that is not rejected and has an address; null: none.
    const PhoneMedia* find(media::TrackKind kind) const;
};

// kMalformed, kLimit: with the number of the line.
Result<PhoneDescription> read_phone_description(std::string_view text);

// ---- this side ----

// A codec that this side takes in a call.
struct PhoneCodec {
    media::Codec codec = media::Codec::kUnknown;
    uint32_t clock_hz = 8000;  // of RTP: 8,000 for G.722, 48,000 for Opus
    uint8_t payload_type = 0;  // in offers; answers have the peer's

    bool operator==(const PhoneCodec&) const = default;
};

struct PhoneTrackOptions {
    std::vector<PhoneCodec> codecs;  // in order of preference; empty: none of the kind
    uint16_t port = 0;               // of RTP; RTCP is one above
    Direction direction = Direction::kSendRecv;
    bool telephone_events = true;  // of audio
    PhoneSecurity security;
};

struct PhoneOptions {
    NetAddress address;  // of c= and o=, without port
    uint64_t session_id = 1;
    uint64_t version = 1;
    std::string name = "weir";
    bool own_order = false;  // answers: the preference of `codecs` goes before that of the offer
    PhoneTrackOptions audio;
    PhoneTrackOptions video;
};

// The offer that these make.
std::string write_phone_offer(const PhoneOptions& options);

// What both sides agreed about a track.
struct PhoneTrack {
    bool in_use = false;
    media::Codec codec = media::Codec::kUnknown;
    uint32_t clock_hz = 8000;
    uint8_t channels = 1;
    uint8_t payload_type = 0;                    // that is sent
    uint8_t own_payload_type = 0;                // that is received
    std::optional<uint8_t> event_type;           // telephone-event, sent and received
    std::optional<uint8_t> comfort_noise;        // 13, of clocks of 8,000
    Direction direction = Direction::kInactive;  // ours
    NetAddress to;
    NetAddress rtcp_to;
    bool rtcp_mux = false;
    Feedback feedback;
    std::string fmtp;  // of the peer
    uint32_t ptime = kUsualPtime;
    PhoneSecured secured;

    bool operator==(const PhoneTrack&) const = default;
};

struct PhoneAgreement {
    PhoneTrack audio;
    PhoneTrack video;
    std::string answer;  // of answer_phone() only

    bool has_media() const { return audio.in_use || video.in_use; }
};

// The answer to the peer's offer. kUnsupported: nothing that both sides can; the message says what
// was offered (488 in SIP).
Result<PhoneAgreement> answer_phone(const PhoneDescription& offer, const PhoneOptions& options);

// What the peer's answer to the offer of `options` means. kUnsupported: it takes nothing.
Result<PhoneAgreement> accept_phone(const PhoneDescription& answer, const PhoneOptions& options);

}  // namespace weir::sdp
