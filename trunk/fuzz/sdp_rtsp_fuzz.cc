// Descriptions of RTSP: bounds hold, and what is written of the tracks that were read reads back
// with the same codecs and configurations.
#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "proto/sdp/rtsp_track.h"
#include "proto/sdp/rtsp_writer.h"

namespace sdp = weir::sdp;
using weir::media::Codec;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

static void check_bounds(const sdp::RtspTrack& track) {
    WEIR_CHECK(track.parameter_sets.size() <= 3 * sdp::kMaxNamedParameterSets);
    WEIR_CHECK(track.control.size() <= sdp::kMaxControlBytes);
    WEIR_CHECK(track.config.size() <= sdp::kMaxNamedConfigBytes);
    WEIR_CHECK(track.crypto.size() <= sdp::kMaxCryptoLines);
    WEIR_CHECK(!track.is_supported() || track.clock_hz > 0);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const weir::ByteSpan input(data, size);
    const auto description = sdp::RtspDescription::parse(weir::as_text(input));
    if (!description.ok()) {
        // The same bytes as a codec's configuration.
        for (const Codec codec : {Codec::kH264, Codec::kHevc, Codec::kAv1, Codec::kVp9}) {
            static_cast<void>(sdp::write_rtsp_fmtp(codec, input, 0));
        }
        return 0;
    }
    sdp::RtspOffer offer;
    offer.name = description->name;
    for (const sdp::RtspTrack& track : description->tracks) {
        check_bounds(track);
        if (track.is_supported() && !track.transport_stream) {
            offer.tracks.push_back({track.codec, track.payload_type, track.clock_hz, track.channels,
                                    track.config, "t", track.port, track.crypto});
        }
    }
    const auto again = sdp::RtspDescription::parse(sdp::write_rtsp_description(offer));
    WEIR_CHECK(again.ok() && again->tracks.size() == offer.tracks.size());
    for (size_t i = 0; i < offer.tracks.size(); i++) {
        WEIR_CHECK(again->tracks[i].codec == offer.tracks[i].codec);
        WEIR_CHECK(offer.tracks[i].config.empty() ||
                   again->tracks[i].config == offer.tracks[i].config);
    }
    return 0;
}
