// Parameters of codecs: every parser on the same bytes; a configuration that can be built is read
// again. The first byte is left to the parsers, too.
#include <vector>

#include "base/check.h"
#include "media/av1.h"
#include "media/avc.h"
#include "media/hevc.h"
#include "media/opus.h"
#include "media/speex.h"
#include "media/vp8.h"
#include "media/vp9.h"
#include "media/vpx_config.h"
#include "proto/rtp/lead_in.h"

namespace media = weir::media;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const weir::ByteSpan input(data, size);
    const std::vector<weir::ByteSpan> one = {input};
    if (const auto sps = media::avc::parse_sps(input)) {
        WEIR_CHECK(sps->width > 0 && sps->height > 0);
        const weir::Bytes config = media::avc::build_config(one, one);
        WEIR_CHECK(config.empty() || media::avc::ConfigView::parse(config));
    }
    if (const auto sps = media::hevc::parse_sps(input)) {
        WEIR_CHECK(sps->width > 0 && sps->height > 0);
        const weir::Bytes config = media::hevc::build_config(one, one, one);
        WEIR_CHECK(config.empty() || media::hevc::ConfigView::parse(config));
    }
    (void)media::hevc::parse_slice_fields(input);
    for (const media::Codec codec : {media::Codec::kH264, media::Codec::kHevc}) {
        WEIR_CHECK(weir::rtp::make_lead_in(codec, input).size() <= 100);
    }
    size_t sum = 0;
    const auto count = [&](weir::ByteSpan nal) { sum += nal.size(); };
    if (const auto config = media::avc::ConfigView::parse(input)) {
        config->for_each_parameter_set(count);
        sum += config->sps().size();
    }
    if (const auto config = media::hevc::ConfigView::parse(input)) {
        config->for_each_parameter_set(count);
        sum += config->sps().size();
    }
    WEIR_CHECK(sum <= 2 * size);
    for (size_t length_size : {1U, 2U, 4U}) {
        WEIR_CHECK(media::avc::inspect_frame(input, length_size).whole ==
                   media::hevc::inspect_frame(input, length_size).whole);
    }
    media::avc::parse_pps_ids(input);
    media::avc::parse_slice(input);
    media::av1::inspect_frame(input);
    media::av1::parse_sequence_header(input);
    media::av1::build_config(media::av1::find_sequence_header(input));
    media::av1::parse_config(input);
    media::vp8::parse_frame(input);
    if (const auto frame = media::vp9::parse_frame(input)) {
        media::vpx_config_of(*frame);
    }
    size_t frames = 0;
    const media::vp9::SuperframeView superframe(input);
    for (weir::ByteSpan frame : superframe.frames()) {
        frames += frame.size();
    }
    WEIR_CHECK(frames <= size);
    media::parse_vpx_config(input);
    // Speex cut into single frames is as many packets of one frame each, of the same band at most.
    const size_t speex_frames = media::speex::count_frames(input);
    const std::vector<weir::Bytes> single = media::speex::split(input, 1);
    WEIR_CHECK(single.size() == speex_frames);
    for (const weir::Bytes& packet : single) {
        WEIR_CHECK(media::speex::count_frames(packet) == 1);
        WEIR_CHECK(media::speex::sample_rate(packet) <= media::speex::sample_rate(input));
    }
    media::opus::packet_samples(input);
    media::opus::head_channels(input);
    return 0;
}
