// Writes the SDP text of an answer from what was negotiated. Used by negotiate.cc only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/sdp/description.h"
#include "proto/sdp/media_offer.h"
#include "proto/sdp/negotiate.h"

namespace weir::sdp {

// What the answer's lines need beside NegotiatedMedia.
struct AnswerContext {
    const Session& offer;
    const std::vector<MediaOffer>& offers;  // one per m= section
    const LocalTransport& local;
    std::string_view stream_id;  // of a=msid; for what we send
    bool bundled = false;        // the offer has a BUNDLE group
};

std::string write_answer(const AnswerContext& context, const Answer& answer);

}  // namespace weir::sdp
