// Answers to the offers of our WebRTC client: what is taken was offered, is bounded, and has what a
// client needs to connect. The first byte says what was offered.
#include <string>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"
#include "proto/sdp/client_offer.h"
#include "proto/sdp/media_offer.h"
#include "proto/webrtc/client_transport.h"

namespace sdp = weir::sdp;
using weir::media::Codec;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) {
        return 0;
    }
    sdp::ClientOffer offer;
    offer.sends = (data[0] & 1U) != 0;
    offer.nack = (data[0] & 2U) == 0;
    offer.transport_cc = (data[0] & 4U) == 0;
    offer.mid = (data[0] & 8U) != 0;
    offer.video = sdp::ClientTrack{Codec::kH264, "", 1, 2};
    const auto answer = sdp::read_answer(weir::as_text({data + 1, size - 1}), offer);
    if (!answer.ok()) {
        WEIR_CHECK(!answer.error().message().empty());
        return 0;
    }
    WEIR_CHECK(!answer->media.empty() && answer->media.size() <= sdp::kMaxAnsweredFormats);
    WEIR_CHECK(answer->remote.candidates.size() <= sdp::kMaxCandidates);
    WEIR_CHECK(sdp::is_ice_ufrag(answer->remote.ice_ufrag));
    WEIR_CHECK(sdp::is_ice_password(answer->remote.ice_pwd));
    const std::string offered = offer.write();
    for (const sdp::NegotiatedMedia& media : answer->media) {
        WEIR_CHECK(media.in_use() && media.codec != Codec::kUnknown && media.clock_hz > 0);
        WEIR_CHECK(offered.find(fmt::format("a=rtpmap:{} ", media.payload_type)) !=
                   std::string::npos);
        WEIR_CHECK(!media.rtx_payload_type || offer.nack);
        WEIR_CHECK(media.remote_ssrcs.size() <= sdp::kMaxSsrcs);
    }
    const auto addresses = weir::webrtc::ClientTransport::addresses_of(answer->remote);
    WEIR_CHECK(addresses.size() <= weir::webrtc::ClientTransport::kMaxCandidates);
    return 0;
}
