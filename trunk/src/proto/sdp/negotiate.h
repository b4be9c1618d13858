// From a WebRTC offer to our answer (RFC 3264, RFC 9429), as WHIP (RFC 9725 §4.2: the peer
// publishes) and WHEP (draft-ietf-wish-whep: the peer plays) restrict it. Pure functions.
//
// This side always answers, is ICE lite, bundles everything on one transport, and needs rtcp-mux,
// DTLS with a SHA-256 fingerprint, and RTP/SAVPF. The answer has one codec per m= section, so that
// no codec changes under way. At most one audio and one video section are in use; others keep
// their place with port 0 (rejected) or as inactive.
//
// An offer that cannot be answered is an error: kMalformed (no SDP, or attributes that break their
// grammar), kLimit, or kUnsupported (well-formed, but nothing both sides can); http_status() has
// their codes. The message is a sentence for the person who runs the other side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "media/codec.h"
#include "proto/sdp/attributes.h"
#include "proto/sdp/codec.h"
#include "proto/sdp/description.h"
#include "proto/sdp/media_offer.h"

namespace weir::sdp {

// What is true of this side in every answer.
struct LocalTransport {
    std::string ice_ufrag;
    std::string ice_pwd;
    Fingerprint fingerprint;              // of our certificate
    std::vector<std::string> candidates;  // the text after "candidate:"; all that there will be
    std::string session_id;               // digits, RFC 8866 §5.2: random
    std::string cname;                    // RFC 7022, of the streams that we send
};

// What to take from a publisher.
struct PublisherOptions {
    // In order of preference, which goes before the order of the offer. The default puts first what
    // players of every other protocol take.
    std::vector<media::Codec> video = {media::Codec::kH264, media::Codec::kHevc, media::Codec::kVp8,
                                       media::Codec::kVp9, media::Codec::kAv1};
    std::vector<media::Codec> audio = {media::Codec::kOpus, media::Codec::kG711U,
                                       media::Codec::kG711A};
    bool offer_order = false;  // the publisher's order of codecs goes before ours
    bool rtx = true;
    bool transport_cc = true;
    bool remb = true;             // where transport-cc is not to be had
    size_t simulcast_layers = 3;  // the first so many are taken; 0: no simulcast
};

// One kind of media that a stream has for a player.
struct SendTrack {
    std::vector<SendCodec>
        codecs;             // in order of preference; empty: the stream has none of the kind
    uint32_t ssrc = 0;      // random, of this session
    uint32_t rtx_ssrc = 0;  // used where RTX is negotiated
};

struct PlayerOptions {
    SendTrack audio;
    SendTrack video;
    std::string stream_id = "weir";  // of a=msid: both tracks are in one MediaStream
    // A profile that does not cover the stream's is better than none: most decoders play more than
    // they name.
    bool lenient_profiles = true;
    bool rtx = true;
    bool transport_cc = true;
    bool remb = true;
};

// One m= section of the answer, in the order of the offer.
struct NegotiatedMedia {
    std::string mid;
    media::TrackKind kind = media::TrackKind::kData;
    bool accepted = false;                       // false: answered with port 0
    Direction direction = Direction::kInactive;  // ours
    std::string refusal;  // why it is rejected or inactive, for logs; empty when it is in use

    // The chosen format, when accepted.
    media::Codec codec = media::Codec::kUnknown;
    uint8_t payload_type = 0;
    std::optional<uint8_t> rtx_payload_type;
    uint32_t clock_hz = 0;
    uint8_t channels = 1;
    std::string remote_fmtp;
    std::string local_fmtp;
    Feedback feedback;
    ExtensionIds extensions;
    bool reduced_size_rtcp = false;

    // Receiving: what the peer says it sends. Without SSRCs, streams are known by mid and rid.
    std::vector<RemoteSsrc> remote_ssrcs;
    std::vector<std::string> rids;  // simulcast layers, in the peer's order; empty: no simulcast

    // Sending.
    size_t send_codec = 0;  // index in SendTrack::codecs
    Fit fit = Fit::kNone;
    uint32_t ssrc = 0;
    uint32_t rtx_ssrc = 0;  // 0: no RTX

    bool in_use() const { return direction != Direction::kInactive; }
};

// The peer's side of the one transport.
struct RemoteTransport {
    std::string ice_ufrag;
    std::string ice_pwd;
    std::array<uint8_t, 32> fingerprint_sha256{};
    bool dtls_client = false;  // this side sends the ClientHello: the peer insists on passive
    bool trickle = false;
    bool renomination = false;
    std::vector<std::string> candidates;  // the text after "candidate:"
    bool end_of_candidates = false;
};

struct Answer {
    std::string text;
    RemoteTransport remote;
    std::vector<NegotiatedMedia> media;

    // The section in use of that kind; null without one.
    const NegotiatedMedia* find(media::TrackKind kind) const;
};

// WHIP. A section that the peer sends on and that has no codec in common is an error, not a section
// less: a publisher must not lose its video silently.
Result<Answer> answer_publisher(const Session& offer,
                                const LocalTransport& local,
                                const PublisherOptions& options);

// WHEP. A kind that the stream does not have becomes inactive. A kind that it has and the peer asks
// for, with no codec in common, is an error.
Result<Answer> answer_player(const Session& offer,
                             const LocalTransport& local,
                             const PlayerOptions& options);

// 400 malformed, 413 limit, 422 unsupported (RFC 9725 §4.2); 500 for what these functions do not
// give.
int http_status(const Error& error);

}  // namespace weir::sdp
