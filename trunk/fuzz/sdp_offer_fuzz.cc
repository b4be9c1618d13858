// WebRTC offers: what is written reads back the same; an answer is SDP with a section for each of
// the offer and payload types that were offered.
#include <algorithm>
#include <string>

#include "base/bytes.h"
#include "base/check.h"
#include "proto/sdp/negotiate.h"

namespace sdp = weir::sdp;
using weir::media::Codec;

static void check(const sdp::Session& offer, const weir::Result<sdp::Answer>& answer) {
    if (!answer.ok()) {
        WEIR_CHECK(sdp::http_status(answer.error()) < 500);
        return;
    }
    const weir::Result<sdp::Session> text = sdp::Session::parse(answer->text);
    WEIR_CHECK(text.ok() && text->media.size() == offer.media.size());
    for (size_t i = 0; i < offer.media.size(); i++) {
        WEIR_CHECK(text->media[i].kind == offer.media[i].kind);
        WEIR_CHECK((text->media[i].port == 0) == !answer->media[i].accepted);
        for (const std::string& format : text->media[i].formats) {
            const std::vector<std::string>& offered = offer.media[i].formats;
            WEIR_CHECK(std::find_if(offered.begin(), offered.end(), [&](const std::string& other) {
                           return other.ends_with(format);  // "096" is 96
                       }) != offered.end());
        }
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > sdp::kMaxTextBytes / 2) {
        return 0;  // rejected sections repeat the offer, and the answer may be too long to read
    }
    const weir::Result<sdp::Session> offer = sdp::Session::parse(weir::as_text({data, size}));
    if (offer.ok()) {
        const weir::Result<sdp::Session> again = sdp::Session::parse(offer->write());
        WEIR_CHECK(again.ok() ? *again == *offer : again.error().code() == weir::ErrorCode::kLimit);
        const sdp::LocalTransport local{"ufrag", "password", {"sha-256", {1}}, {"c"}, "1", "cname"};
        check(*offer, sdp::answer_publisher(*offer, local, {}));
        sdp::PlayerOptions options;
        options.audio.codecs = {{Codec::kOpus}, {Codec::kG711A}};
        options.video.codecs = {{Codec::kH264, 0x640028}, {Codec::kAv1}, {Codec::kHevc}};
        check(*offer, sdp::answer_player(*offer, local, options));
    }
    return 0;
}
