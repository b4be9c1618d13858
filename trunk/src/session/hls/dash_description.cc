#include "session/hls/dash_description.h"

#include <algorithm>
#include <array>
#include <utility>

namespace weir::session {
namespace {

// Of the segments of one period.
struct Sums {
    std::array<uint64_t, 2> bytes{};  // of video and of audio
    uint64_t frames = 0;
    int64_t duration_ms = 0;

    void add(const net::Segment& segment) {
        for (const net::SegmentPart& part : segment.parts) {
            bytes[0] += part.audio_at;
            bytes[1] += part.bytes->bytes().size() - part.audio_at;
        }
        frames += segment.video_frames;
        duration_ms += segment.duration_ms;
    }

    uint64_t bits_per_second(size_t track) const {
        return duration_ms <= 0 ? 0 : bytes[track] * 8'000 / static_cast<uint64_t>(duration_ms);
    }
};

// Channels of CEA-608.
std::string_view captions_of(const media::CaptionChannels& channels) {
    return channels.first_field && channels.second_field ? "CC1;CC3"
           : channels.first_field                        ? "CC1"
           : channels.second_field                       ? "CC3"
                                                         : "";
}

void add_tracks(const net::SegmentFormat& format,
                const Sums& sums,
                std::string_view captions,
                dash::Period& period) {
    if (!format.video_codecs.empty()) {
        const double seconds = static_cast<double>(sums.duration_ms) / 1000;
        period.tracks.push_back(
            {.name = "video",
             .codecs = format.video_codecs,
             .bandwidth_bps = sums.bits_per_second(0),
             .width = format.width,
             .height = format.height,
             .frame_rate = seconds > 0 ? static_cast<double>(sums.frames) / seconds : 0,
             .captions = captions});
    }
    if (!format.audio_codecs.empty()) {
        period.tracks.push_back({.name = "audio",
                                 .codecs = format.audio_codecs,
                                 .bandwidth_bps = sums.bits_per_second(1),
                                 .sample_rate = format.sample_rate,
                                 .channels = format.channels});
    }
}

}  // namespace

bool can_grow(const net::SegmentStore& store) {
    return store.has_open() && store.all().back().expected_ms > 0;
}

dash::Presentation describe_segments(const net::SegmentStore& store, bool grows) {
    dash::Presentation out;
    out.target_ms = store.target_seconds() * 1000;
    grows = grows && can_grow(store);
    out.part_ms = grows ? store.part_target_ms() : 0;
    out.independent = store.independent();
    out.ended = store.ended();
    const auto& all = store.all();
    const net::SegmentFormat* format = nullptr;
    uint64_t clock = 0;
    Sums sums;
    const auto end_period = [&] {
        if (format != nullptr) {
            add_tracks(*format, std::exchange(sums, {}), captions_of(store.captions()),
                       out.periods.back());
        }
    };
    for (size_t i = store.first_listed(); i < all.size(); i++) {
        const net::Segment& segment = all[i];
        if (!segment.complete && !grows) {
            break;
        }
        if (segment.format.get() != format || segment.clock.id != clock) {
            end_period();
            format = segment.format.get();
            clock = segment.clock.id;
            out.periods.push_back({.id = clock,
                                   .files = format->id,
                                   .wall_ms = segment.clock.steady_ms,
                                   .start_ms = segment.clock.start_ms});
        }
        const int64_t duration_ms =
            segment.complete
                ? segment.duration_ms
                : std::max(segment.expected_ms, segment.duration_ms + store.options().part_ms);
        out.periods.back().segments.push_back(
            {.start_ms = segment.start_ms, .duration_ms = duration_ms});
        sums.add(segment);
    }
    end_period();
    return out;
}

int64_t begin_of(const dash::Presentation& presentation) {
    if (presentation.periods.empty()) {
        return 0;
    }
    const dash::Period& first = presentation.periods.front();
    return first.wall_ms + first.segments.front().start_ms - first.start_ms;
}

}  // namespace weir::session
