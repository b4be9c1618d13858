// What a WebRTC client of the load test says and understands while it connects: its offer, the
// server's answer, and the HTTP around them (WHIP, RFC 9725, and WHEP). Pure.
//
// The server must be ICE lite with one UDP candidate, as WHIP servers are: nothing else is looked
// at.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/net_address.h"
#include "media/codec.h"
#include "proto/dtls/fingerprint.h"

namespace weir::load {

// Of the client's own offer. The header extension for transport-wide numbers, in all sections.
constexpr uint8_t kRtcTransportCcId = 3;

// What the client sends, of one kind of media.
struct RtcSendTrack {
    media::Codec codec = media::Codec::kUnknown;
    std::string fmtp;  // of the codec; empty: none
    uint32_t ssrc = 0;
    uint32_t rtx_ssrc = 0;  // 0: no RTX
};

struct RtcOffer {
    std::string ice_ufrag;
    std::string ice_pwd;
    dtls::Fingerprint fingerprint;
    bool sends = false;  // otherwise it receives
    bool nack = true;    // and RTX
    bool transport_cc = true;
    std::optional<RtcSendTrack> audio;  // of a client that sends; one that receives takes anything
    std::optional<RtcSendTrack> video;

    std::string to_sdp() const;
};

struct RtcTrack {
    media::TrackKind kind = media::TrackKind::kData;
    media::Codec codec = media::Codec::kUnknown;
    uint8_t payload_type = 0;
    uint32_t clock_hz = 0;
    std::optional<uint8_t> rtx_payload_type;
    bool nack = false;
    bool transport_cc = false;
    uint8_t transport_cc_id = 0;  // 0: none
    uint32_t ssrc = 0;            // that the server sends; 0: it names none
    uint32_t rtx_ssrc = 0;
};

struct RtcAnswer {
    std::string ice_ufrag;
    std::string ice_pwd;
    dtls::Fingerprint fingerprint;
    bool dtls_server = true;       // the server waits for our ClientHello
    NetAddress address;            // its first UDP candidate
    std::vector<RtcTrack> tracks;  // in use, one of a kind

    const RtcTrack* find(media::TrackKind kind) const;

    // kMalformed, kUnsupported: without what the client needs. `receives`: tracks must name an
    // SSRC.
    static Result<RtcAnswer> parse(std::string_view sdp, bool receives);
};

// A whole request, to be sent as it is; the server closes after the answer.
std::string rtc_post_request(std::string_view authority,
                             std::string_view path,
                             std::string_view bearer,
                             std::string_view offer);
std::string rtc_delete_request(std::string_view authority, std::string_view path);

struct HttpAnswer {
    int status = 0;
    std::string location;
    std::string body;

    // The whole answer. kMalformed.
    static Result<HttpAnswer> parse(std::string_view text);
};

// "status 404: no such stream", for a failure; cut.
std::string describe(const HttpAnswer& answer);

}  // namespace weir::load
