#include "media/frame_order.h"

#include "media/avc.h"
#include "media/hevc.h"

namespace weir::media {
namespace {

constexpr size_t kUsualLengthSize = 4;

struct Bidirectional {
    bool is = false;
    bool referenced = false;
};

// Of a frame that is behind. The times of an encoder may be off by a little: a slice of H.264 says
// what it is. One of HEVC does not.
Bidirectional look_into(const MediaPacket& frame, const MediaPacket* config) {
    const ByteSpan record = config != nullptr ? config->payload() : ByteSpan();
    if (frame.info().codec == Codec::kH264) {
        const auto view = avc::ConfigView::parse(record);
        const avc::FrameInfo info =
            avc::inspect_frame(frame.payload(), view ? view->length_size() : kUsualLengthSize);
        return {info.bidirectional, info.is_reference_b()};
    }
    if (frame.info().codec == Codec::kHevc) {
        const auto view = hevc::ConfigView::parse(record);
        const hevc::FrameInfo info =
            hevc::inspect_frame(frame.payload(), view ? view->length_size() : kUsualLengthSize);
        return {true, info.referenced};
    }
    return {};
}

}  // namespace

void FrameOrder::on_frame(const MediaPacket& frame, const MediaPacket* config) {
    const int64_t shown_ms = frame.time_ms() + frame.info().composition_ms;
    if (frame.info().key || shown_ms >= highest_shown_ms_) {
        highest_shown_ms_ = shown_ms;
        return;
    }
    if (!referenced_) {
        const Bidirectional found = look_into(frame, config);
        reordered_ = reordered_ || found.is;
        referenced_ = found.referenced;
    }
}

}  // namespace weir::media
