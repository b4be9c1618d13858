#include "session/hls/dash_description.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "proto/hls/playlist.h"

namespace weir::session {
namespace {

constexpr std::string_view kVideo = "video";
constexpr std::string_view kAudio = "audio";
// A quality that is further behind than this has ended: players would wait for its next segment.
constexpr int64_t kMaxLateTargets = 2;

int64_t end_of(const dash::Quality& quality) {
    const dash::Segment& last = quality.segments.back();
    return last.start_ms + last.duration_ms;
}

// Of the segments of one period.
struct Sums {
    std::vector<uint64_t> bytes = {0, 0};  // of video, of audio and of more audio
    uint64_t frames = 0;
    int64_t duration_ms = 0;

    void add(const net::Segment& segment) {
        for (const net::SegmentPart& part : segment.parts) {
            bytes[0] += part.audio_at;
            bytes[1] += part.bytes->bytes().size() - part.audio_at;
        }
        bytes.resize(std::max(bytes.size(), 2 + segment.more_bytes.size()));
        for (size_t i = 0; i < segment.more_bytes.size(); i++) {
            bytes[2 + i] += segment.more_bytes[i];
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

int64_t listed_ms(const net::SegmentStore& store, const net::Segment& segment) {
    return segment.complete
               ? segment.duration_ms
               : std::max(segment.expected_ms, segment.duration_ms + store.options().part_ms);
}

std::vector<dash::Track> tracks_of(const net::SegmentFormat& format,
                                   const Sums& sums,
                                   std::string_view captions) {
    std::vector<dash::Track> tracks;
    if (!format.video_codecs.empty()) {
        const double seconds = static_cast<double>(sums.duration_ms) / 1000;
        tracks.push_back(
            {.name = std::string(kVideo),
             .codecs = format.video_codecs,
             .bandwidth_bps = sums.bits_per_second(0),
             .width = format.width,
             .height = format.height,
             .frame_rate = seconds > 0 ? static_cast<double>(sums.frames) / seconds : 0,
             .captions = captions});
    }
    if (!format.audio_codecs.empty()) {
        tracks.push_back({.name = std::string(kAudio),
                          .codecs = format.audio_codecs,
                          .bandwidth_bps = sums.bits_per_second(1),
                          .sample_rate = format.sample_rate,
                          .channels = format.channels,
                          .language = format.audio_language,
                          .label = format.audio_name});
    }
    for (size_t i = 0; i < format.more.size(); i++) {
        const net::SegmentAudio& more = format.more[i];
        tracks.push_back(
            {.name = hls::track_name({hls::FileTrack::kMoreAudio, more.id}),
             .codecs = more.codecs,
             .bandwidth_bps = i + 2 < sums.bytes.size() ? sums.bits_per_second(i + 2) : 0,
             .sample_rate = more.sample_rate,
             .channels = more.channels,
             .language = more.language,
             .label = more.name});
    }
    return tracks;
}

using Run = std::vector<const net::Segment*>;

// Segments of one format; at least one.
dash::Quality quality_of(const net::SegmentStore& store, const Run& run) {
    dash::Quality quality;
    Sums sums;
    for (const net::Segment* segment : run) {
        quality.segments.push_back(
            {.start_ms = segment->start_ms, .duration_ms = listed_ms(store, *segment)});
        sums.add(*segment);
    }
    const net::SegmentFormat& format = *run.back()->format;
    quality.files = format.id;
    quality.start_ms = run.front()->clock.start_ms;
    quality.part_ms = run.back()->complete ? 0 : store.part_target_ms();
    quality.independent = store.independent();
    quality.tracks = tracks_of(format, sums, captions_of(store.captions()));
    return quality;
}

// ffmpeg, up to 9.0 at least, asks for the segment behind the whole second in which its last one
// begins: of two that begin in the same second it reads the first again and again.
bool begin_in_one_second(const net::Segment& segment, const net::Segment& next) {
    constexpr int64_t kMsPerSecond = 1'000;
    return segment.start_ms / kMsPerSecond == next.start_ms / kMsPerSecond;
}

// Listed segments that a player may be given. Without the first one where the second follows so
// soon: it was cut short for the first viewer of HLS.
Run listed(const net::SegmentStore& store, bool grows) {
    Run out;
    const auto& all = store.all();
    grows = grows && can_grow(store);
    for (size_t i = store.first_listed(); i < all.size(); i++) {
        if (all[i].complete || grows) {
            out.push_back(&all[i]);
        }
    }
    if (out.size() > 1 && out[0]->format.get() == out[1]->format.get() &&
        begin_in_one_second(*out[0], *out[1])) {
        out.erase(out.begin());
    }
    return out;
}

// The first period of a stream may start before its media: nothing else is there.
int64_t early_ms(const net::SegmentStore& store, const net::SegmentClock& clock) {
    const uint64_t first =
        store.next_number() - store.segments_made() - (store.has_open() ? 1U : 0U);
    return clock.id == first ? std::clamp<int64_t>(clock.start_ms, 0, dash::kEarlyMs) : 0;
}

}  // namespace

bool can_grow(const net::SegmentStore& store) {
    return store.has_open() && store.all().back().expected_ms > 0;
}

dash::Presentation describe_segments(const net::SegmentStore& store, bool grows) {
    dash::Presentation out;
    out.target_ms = store.target_seconds() * 1000;
    out.ended = store.ended();
    Run run;
    const auto end_period = [&] {
        if (!run.empty()) {
            const net::SegmentClock& clock = run.front()->clock;
            out.periods.push_back({.id = clock.id,
                                   .wall_ms = clock.steady_ms,
                                   .early_ms = early_ms(store, clock),
                                   .qualities = {quality_of(store, run)}});
        }
        run.clear();
    };
    for (const net::Segment* segment : listed(store, grows)) {
        if (!run.empty() && (segment->format.get() != run.back()->format.get() ||
                             segment->clock.id != run.back()->clock.id)) {
            end_period();
        }
        run.push_back(segment);
    }
    end_period();
    return out;
}

void add_variant(const DashVariant& variant,
                 const net::SegmentStore& home,
                 DashLadder& ladder,
                 dash::Presentation& presentation) {
    const net::SegmentStore& store = *variant.store;
    const Run all = listed(store, true);
    for (dash::Period& period : presentation.periods) {
        const bool last = &period == &presentation.periods.back();
        const dash::Quality& stream = period.qualities.front();
        const int64_t from_ms = stream.segments.front().start_ms;
        const int64_t to_ms = end_of(stream);
        // A Representation has one header: the newest format in the period counts.
        Run run;
        int64_t offset_ms = 0;
        const net::SegmentFormat* format = nullptr;
        std::optional<int64_t> offset;
        for (const net::Segment* segment : all) {
            if (std::exchange(format, segment->format.get()) != segment->format.get()) {
                offset = ladder.offset_ms({stream.files, variant.number, format->id}, home, store,
                                          variant.lead);
            }
            const int64_t start_ms = segment->start_ms - offset.value_or(0);
            if (!offset || start_ms + listed_ms(store, *segment) <= from_ms ||
                (!last && start_ms >= to_ms)) {
                continue;
            }
            if (!run.empty() && run.back()->format.get() != segment->format.get()) {
                run.clear();
            }
            run.push_back(segment);
            offset_ms = *offset;
        }
        if (run.empty()) {
            continue;
        }
        dash::Quality quality = quality_of(store, run);
        std::erase_if(quality.tracks, [](const dash::Track& each) { return each.name != kVideo; });
        const bool late =
            end_of(quality) - offset_ms + kMaxLateTargets * presentation.target_ms < to_ms;
        if (quality.tracks.empty() || (last && late)) {
            continue;
        }
        quality.variant = variant.number;
        quality.start_ms = stream.start_ms + offset_ms;
        period.qualities.push_back(std::move(quality));
    }
    if (!presentation.periods.empty()) {
        ladder.forget_before(presentation.periods.front().qualities.front().files);
    }
}

void keep_audio(dash::Presentation& presentation,
                std::optional<std::vector<std::string>>& offered) {
    const auto is_audio = [](const dash::Track& each) { return each.name.starts_with(kAudio); };
    if (presentation.periods.empty()) {
        return;
    }
    if (!offered) {
        offered.emplace();
        for (const dash::Track& each : presentation.periods.back().qualities.front().tracks) {
            if (is_audio(each)) {
                offered->push_back(each.name);
            }
        }
    }
    for (dash::Period& period : presentation.periods) {
        std::vector<dash::Track>& tracks = period.qualities.front().tracks;
        const auto main = std::ranges::find(tracks, kAudio, &dash::Track::name);
        if (main == tracks.end()) {
            continue;
        }
        std::vector<dash::Track> kept;
        std::ranges::remove_copy_if(tracks, std::back_inserter(kept), is_audio);
        // Of a stream that had no audio at first, its main one.
        if (std::ranges::count(*offered, kAudio) == 0) {
            kept.push_back(*main);
        }
        for (const std::string& name : *offered) {
            const auto found = std::ranges::find(tracks, name, &dash::Track::name);
            kept.push_back(found != tracks.end() ? *found : *main);
            kept.back().name = name;
        }
        tracks = std::move(kept);
    }
}

int64_t begin_of(const dash::Presentation& presentation) {
    if (presentation.periods.empty()) {
        return 0;
    }
    const dash::Period& first = presentation.periods.front();
    const dash::Quality& stream = first.qualities.front();
    return first.wall_ms + stream.segments.front().start_ms - stream.start_ms;
}

}  // namespace weir::session
