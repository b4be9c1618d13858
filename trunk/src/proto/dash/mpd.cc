#include "proto/dash/mpd.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/rfc3339.h"

namespace weir::dash {
namespace {

constexpr int64_t kMaxUpdateMs = 2'000;
constexpr std::string_view kMainAudio = "audio";
// Segments begin together that begin no further apart: times are whole milliseconds, and less than
// a frame.
constexpr int64_t kAlignedMs = 5;

// xs:duration.
std::string duration(int64_t ms) {
    return fmt::format("PT{}.{:03}S", ms / 1000, ms % 1000);
}

void put_escaped(std::string_view text, std::string& out) {
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            default: out += c;
        }
    }
}

// Of an address: in a template '$' would be the beginning of an identifier (§5.3.9.4.4).
void put_address(std::string_view text, std::string& out) {
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find('$', at), text.size());
        put_escaped(text.substr(at, end - at), out);
        out += end < text.size() ? "%24" : "";
        at = end + 1;
    }
}

// `from_ms`: where it is to begin at the latest, in the time of the quality.
void put_timeline(const Quality& quality,
                  int64_t from_ms,
                  std::string_view indent,
                  std::string& out) {
    out += fmt::format("{} <SegmentTimeline>\n", indent);
    const int64_t listed_ms = quality.segments.front().start_ms;
    if (from_ms < listed_ms) {
        out += fmt::format("{}  <S t=\"{}\" d=\"{}\"/>\n", indent, from_ms, listed_ms - from_ms);
    }
    for (size_t i = 0; i < quality.segments.size();) {
        const Segment& first = quality.segments[i];
        size_t count = 1;
        const auto follows = [&](const Segment& next) {
            return next.duration_ms == first.duration_ms &&
                   next.start_ms ==
                       first.start_ms + static_cast<int64_t>(count) * first.duration_ms;
        };
        while (i + count < quality.segments.size() && follows(quality.segments[i + count])) {
            count++;
        }
        const std::string again = count > 1 ? fmt::format(" r=\"{}\"", count - 1) : "";
        out += fmt::format("{}  <S t=\"{}\" d=\"{}\"{}/>\n", indent, first.start_ms,
                           first.duration_ms, again);
        i += count;
    }
    out += fmt::format("{} </SegmentTimeline>\n", indent);
}

// Where a period begins in the presentation. One that had begun before the origin begins there.
int64_t start_of(const Presentation& presentation, const Period& period) {
    const int64_t early_ms = presentation.filled ? 0 : period.early_ms;
    return std::max<int64_t>(period.wall_ms - early_ms - presentation.origin_ms, 0);
}

// How far players may be behind. No less than they are to be: dash.js keeps to both.
int64_t depth_of(const Presentation& presentation) {
    int64_t depth_ms = 0;
    for (const Period& period : presentation.periods) {
        for (const Segment& segment : period.qualities.front().segments) {
            depth_ms += segment.duration_ms;
        }
    }
    const bool early = !presentation.filled && !presentation.periods.empty();
    return std::max(depth_ms, early ? presentation.periods.front().early_ms : 0);
}

// The time of a quality's stream at the start of the period.
int64_t offset_of(const Presentation& presentation, const Period& period, const Quality& quality) {
    return quality.start_ms + presentation.origin_ms + start_of(presentation, period) -
           period.wall_ms;
}

// What is said of one track of one quality.
struct Choice {
    const Quality* quality = nullptr;
    const Track* track = nullptr;
};

void put_template(const Presentation& presentation,
                  const Period& period,
                  const Choice& choice,
                  std::string_view indent,
                  std::string& out) {
    const Quality& quality = *choice.quality;
    const int64_t offset_ms = offset_of(presentation, period, quality);
    out += fmt::format("{}<SegmentTemplate timescale=\"1000\" presentationTimeOffset=\"{}\"",
                       indent, offset_ms);
    if (quality.part_ms > 0) {
        const int64_t early =
            std::max<int64_t>(quality.segments.back().duration_ms - quality.part_ms, 0);
        out +=
            fmt::format(" availabilityTimeOffset=\"{}.{:03}\" availabilityTimeComplete=\"false\"",
                        early / 1000, early % 1000);
    }
    const std::string folder = quality.variant > 0 ? fmt::format("{}/", quality.variant) : "";
    out += " initialization=\"";
    put_address(presentation.folder, out);
    out += fmt::format("{}init-{}.{}.mp4{}\" media=\"", folder, quality.files, choice.track->name,
                       kQueryMark);
    put_address(presentation.folder, out);
    out += fmt::format("{}{}.$Time$.{}.m4s{}\">\n", folder, quality.files, choice.track->name,
                       kQueryMark);
    put_timeline(quality, presentation.filled ? offset_ms : INT64_MAX, indent, out);
    out += fmt::format("{}</SegmentTemplate>\n", indent);
}

std::string id_of(const Choice& choice) {
    return choice.quality->variant == 0
               ? std::string(choice.track->name)
               : fmt::format("{}-{}-{}", choice.track->name, choice.quality->variant,
                             choice.quality->files);
}

// `segments`: its template, where that is not the same for the whole set; may be empty.
void put_representation(const Choice& choice, std::string_view segments, std::string& out) {
    const Track& track = *choice.track;
    out += fmt::format("    <Representation id=\"{}\" bandwidth=\"{}\" codecs=\"", id_of(choice),
                       std::max<uint64_t>(track.bandwidth_bps, 1));
    put_escaped(track.codecs, out);
    out += '"';
    if (track.width > 0 && track.height > 0) {
        out += fmt::format(" width=\"{}\" height=\"{}\"", track.width, track.height);
    }
    if (track.frame_rate > 0) {
        out += fmt::format(" frameRate=\"{}/1000\"",
                           static_cast<int64_t>(track.frame_rate * 1000 + 0.5));
    }
    if (track.sample_rate > 0) {
        out += fmt::format(" audioSamplingRate=\"{}\"", track.sample_rate);
    }
    if (track.channels == 0 && segments.empty()) {
        out += "/>\n";
        return;
    }
    out += ">\n";
    if (track.channels > 0) {
        out += fmt::format(
            "     <AudioChannelConfiguration "
            "schemeIdUri=\"urn:mpeg:dash:23003:3:audio_channel_configuration:2011\" "
            "value=\"{}\"/>\n",
            track.channels);
    }
    out += segments;
    out += "    </Representation>\n";
}

// A player switches within a kind and a codec, not between H.264 and HEVC.
bool switches(const Choice& a, const Choice& b) {
    const auto family = [](std::string_view codecs) {
        const std::string_view name = codecs.substr(0, codecs.find('.'));
        // Where parameter sets stand in the stream makes no other decoder (ISO/IEC 14496-15).
        return name == "avc3" ? "avc1" : name == "hev1" ? "hvc1" : name;
    };
    return a.track->name == b.track->name && family(a.track->codecs) == family(b.track->codecs);
}

// In the order of the qualities.
std::vector<std::vector<Choice>> sets_of(const Period& period) {
    std::vector<std::vector<Choice>> sets;
    for (const Quality& quality : period.qualities) {
        for (const Track& track : quality.tracks) {
            const Choice choice{&quality, &track};
            const auto found = std::ranges::find_if(
                sets, [&](const auto& set) { return switches(set.front(), choice); });
            if (found != sets.end()) {
                found->push_back(choice);
            } else {
                sets.push_back({choice});
            }
        }
    }
    return sets;
}

// Where both have segments, each begins with one of the other (@segmentAlignment, §5.3.3.2).
bool are_aligned(const Quality& a, const Quality& b) {
    const auto begins_alike = [](const Quality& one, const Quality& other) {
        const int64_t shift_ms = other.start_ms - one.start_ms;
        const Segment& last = other.segments.back();
        return std::ranges::all_of(one.segments, [&](const Segment& segment) {
            const int64_t begin_ms = segment.start_ms + shift_ms;
            const bool beside = begin_ms > other.segments.front().start_ms + kAlignedMs &&
                                begin_ms < last.start_ms + last.duration_ms - kAlignedMs;
            return !beside || std::ranges::any_of(other.segments, [&](const Segment& same) {
                return std::abs(same.start_ms - begin_ms) <= kAlignedMs;
            });
        });
    };
    return begins_alike(a, b) && begins_alike(b, a);
}

// The number of one of several audio tracks, the same in all periods: 0 of "audio", 1 of "audio1".
std::string_view number_of(const Track& track) {
    const std::string_view name = track.name;
    return name == kMainAudio ? "0" : name.substr(kMainAudio.size());
}

// The rest of the AdaptationSet's tag, and what helps to choose (§5.8.5.5: Role).
void put_language(const Track& track, std::string& out) {
    // dash.js, 5.2 at least, takes sets that differ in nothing else (one language and role) for
    // one. Only where there are several: stand-ins may have no label.
    const bool more = track.name.starts_with(kMainAudio) && track.name != kMainAudio;
    if (more || !track.label.empty()) {
        out += fmt::format(" id=\"{}\"", number_of(track));
    }
    if (!track.language.empty()) {
        out += " lang=\"";
        put_escaped(track.language, out);
        out += '"';
    }
    out += ">\n";
    if (!track.label.empty()) {
        out += "    <Label>";
        put_escaped(track.label, out);
        out += fmt::format(
            "</Label>\n    <Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"{}\"/>\n",
            track.name == kMainAudio ? "main" : "alternate");
    }
}

void put_set(const Presentation& presentation,
             const Period& period,
             const std::vector<Choice>& set,
             std::string& out) {
    const Choice& first = set.front();
    const bool aligned = std::ranges::all_of(
        set, [&](const Choice& each) { return are_aligned(*first.quality, *each.quality); });
    const bool independent =
        std::ranges::all_of(set, [](const Choice& each) { return each.quality->independent; });
    out += fmt::format(
        "   <AdaptationSet contentType=\"{0}\" mimeType=\"{0}/mp4\" "
        "segmentAlignment=\"{1}\"{2}",
        first.track->name.starts_with(kMainAudio) ? kMainAudio : first.track->name, aligned,
        independent ? " startWithSAP=\"1\"" : "");
    put_language(*first.track, out);
    if (!first.track->captions.empty()) {
        out += fmt::format(
            "    <Accessibility schemeIdUri=\"urn:scte:dash:cc:cea-608:2015\" value=\"{}\"/>\n",
            first.track->captions);
    }
    if (set.size() == 1) {
        put_template(presentation, period, first, "    ", out);
        put_representation(first, "", out);
    } else {
        for (const Choice& each : set) {
            std::string segments;
            put_template(presentation, period, each, "     ", segments);
            put_representation(each, segments, out);
        }
    }
    out += "   </AdaptationSet>\n";
}

int64_t length_of(const Presentation& presentation, const Period& period) {
    const Quality& stream = period.qualities.front();
    const Segment& last = stream.segments.back();
    const int64_t end_ms = last.start_ms + last.duration_ms;
    return std::max<int64_t>(end_ms - offset_of(presentation, period, stream), 0);
}

void put_period(const Presentation& presentation, size_t at, std::string& out) {
    const Period& period = presentation.periods[at];
    const bool last = at + 1 == presentation.periods.size();
    const int64_t start_ms = start_of(presentation, period);
    out += fmt::format("  <Period id=\"{}\" start=\"{}\"", period.id, duration(start_ms));
    if (!last) {
        // Never beyond the next one, where a clock was set back.
        const int64_t room = start_of(presentation, presentation.periods[at + 1]) - start_ms;
        const int64_t length_ms = std::min(length_of(presentation, period), room);
        out += fmt::format(" duration=\"{}\"", duration(std::max<int64_t>(length_ms, 0)));
    }
    out += ">\n";
    for (const auto& set : sets_of(period)) {
        put_set(presentation, period, set, out);
    }
    out += "  </Period>\n";
}

}  // namespace

// Times of the presentation are those of the wall clock since the origin, so that they go on over
// discontinuities. With the epoch as the origin nothing has to be remembered.
std::string write_mpd(const Presentation& presentation) {
    int64_t longest_ms = presentation.target_ms;
    for (const Period& period : presentation.periods) {
        for (const Quality& quality : period.qualities) {
            for (const Segment& segment : quality.segments) {
                longest_ms = std::max(longest_ms, segment.duration_ms);
            }
        }
    }
    const bool live = !presentation.ended;
    std::string out = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
        "profiles=\"urn:mpeg:dash:profile:isoff-live:2011\" type=\"dynamic\" "
        "availabilityStartTime=\"{}\" publishTime=\"{}\" "
        "timeShiftBufferDepth=\"{}\" maxSegmentDuration=\"{}\" minBufferTime=\"{}\" "
        "suggestedPresentationDelay=\"{}\"",
        write_time_point(presentation.origin_ms), write_time_point(presentation.published_ms),
        duration(depth_of(presentation)), duration(longest_ms), duration(presentation.target_ms),
        duration(std::clamp<int64_t>(presentation.published_ms - presentation.origin_ms, 0,
                                     2 * presentation.target_ms)));
    if (live) {
        out += fmt::format(" minimumUpdatePeriod=\"{}\"",
                           duration(std::min(presentation.target_ms / 2, kMaxUpdateMs)));
    } else if (!presentation.periods.empty()) {
        const Period& last = presentation.periods.back();
        out += fmt::format(" mediaPresentationDuration=\"{}\"",
                           duration(start_of(presentation, last) + length_of(presentation, last)));
    }
    out += ">\n";
    const bool grows =
        !presentation.periods.empty() && presentation.periods.back().qualities[0].part_ms > 0;
    if (live && grows) {
        out += fmt::format(
            "  <ServiceDescription id=\"0\">\n   <Latency target=\"{}\" referenceId=\"0\"/>\n"
            "  </ServiceDescription>\n",
            kLatencyTargetMs);
    }
    for (size_t i = 0; i < presentation.periods.size(); i++) {
        put_period(presentation, i, out);
    }
    if (live) {
        out += "  <UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:http-iso:2014\" value=\"";
        put_address(presentation.folder, out);
        out += fmt::format("{}{}\"/>\n", presentation.clock, kQueryMark);
    }
    out += "</MPD>\n";
    return out;
}

std::string with_query(std::string_view mpd, std::string_view query) {
    std::string escaped;
    if (!query.empty()) {
        escaped += '?';
        put_address(query, escaped);
    }
    std::string out;
    const auto marks = static_cast<size_t>(std::ranges::count(mpd, kQueryMark));
    out.reserve(mpd.size() + marks * escaped.size());
    for (const char c : mpd) {
        if (c == kQueryMark) {
            out += escaped;
        } else {
            out += c;
        }
    }
    return out;
}

}  // namespace weir::dash
