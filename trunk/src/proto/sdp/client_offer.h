// The offer of a client that asks a server by HTTP (WHIP, RFC 9725, and WHEP), and the server's
// answer to it (RFC 3264, RFC 9429). The other side of both is negotiate.h. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "media/codec.h"
#include "proto/sdp/attributes.h"
#include "proto/sdp/negotiate.h"

namespace weir::sdp {

// Of the header extensions, in all sections of an offer.
inline constexpr uint8_t kOfferedMidId = 1;
inline constexpr uint8_t kOfferedTransportCcId = 3;

// Payload formats of an answer; more are not read.
inline constexpr size_t kMaxAnsweredFormats = 16;

// What the client sends, of one kind of media.
struct ClientTrack {
    media::Codec codec = media::Codec::kUnknown;
    std::string fmtp;  // of the codec; empty: the usual one
    uint32_t ssrc = 0;
    uint32_t rtx_ssrc = 0;  // 0: no RTX
};

struct ClientOffer {
    std::string ice_ufrag;
    std::string ice_pwd;
    Fingerprint fingerprint;              // of the client's certificate
    std::vector<std::string> candidates;  // the text after "candidate:"; all that there will be
    std::string session_id = "1";         // digits, RFC 8866 §5.2
    std::string cname = "weir";           // of what is sent
    bool sends = false;                   // otherwise it receives: any codec that is understood
    bool nack = true;                     // and RTX
    bool transport_cc = true;
    bool mid = false;                  // as a header extension, for servers that tell media by it
    std::optional<ClientTrack> audio;  // of a client that sends
    std::optional<ClientTrack> video;

    // Both roles of DTLS are offered (actpass), and one transport for all (BUNDLE).
    std::string write() const;
};

// Reads the answer: `remote` is the server's transport, with the candidates of all sections, and
// `media` what is in use; `text` is empty. Where the server may send one of several formats, each
// has an entry of its own, the preferred one first. kMalformed, kLimit: it is no SDP, or breaks the
// grammar; kUnsupported: without what the client needs. The message is a sentence for the operator
// of the client.
Result<Answer> read_answer(std::string_view text, const ClientOffer& offer);

}  // namespace weir::sdp
