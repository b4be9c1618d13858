#include "proto/dash/mpd.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/rfc3339.h"

namespace weir::dash {
namespace {

constexpr int64_t kMaxUpdateMs = 2'000;

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
            // Of a template it would be the beginning of an identifier (§5.3.9.4.4).
            case '$': out += "%24"; break;
            default: out += c;
        }
    }
}

void put_timeline(const Period& period, std::string& out) {
    out += "     <SegmentTimeline>\n";
    for (size_t i = 0; i < period.segments.size();) {
        const Segment& first = period.segments[i];
        size_t count = 1;
        const auto follows = [&](const Segment& next) {
            return next.duration_ms == first.duration_ms &&
                   next.start_ms ==
                       first.start_ms + static_cast<int64_t>(count) * first.duration_ms;
        };
        while (i + count < period.segments.size() && follows(period.segments[i + count])) {
            count++;
        }
        const std::string again = count > 1 ? fmt::format(" r=\"{}\"", count - 1) : "";
        out += fmt::format("      <S t=\"{}\" d=\"{}\"{}/>\n", first.start_ms, first.duration_ms,
                           again);
        i += count;
    }
    out += "     </SegmentTimeline>\n";
}

// Where a period is in the presentation. One that had begun before the origin begins there.
struct Place {
    int64_t start_ms = 0;
    int64_t offset_ms = 0;  // the stream's time at its start
};

Place place_of(const Presentation& presentation, const Period& period) {
    const int64_t start_ms = std::max<int64_t>(period.wall_ms - presentation.origin_ms, 0);
    return {start_ms, period.start_ms + presentation.origin_ms + start_ms - period.wall_ms};
}

void put_template(const Presentation& presentation,
                  const Period& period,
                  std::string_view track,
                  bool grows,
                  std::string& out) {
    out += fmt::format("    <SegmentTemplate timescale=\"1000\" presentationTimeOffset=\"{}\"",
                       place_of(presentation, period).offset_ms);
    if (grows) {
        const int64_t early = period.segments.back().duration_ms - presentation.part_ms;
        out +=
            fmt::format(" availabilityTimeOffset=\"{}.{:03}\" availabilityTimeComplete=\"false\"",
                        std::max<int64_t>(early, 0) / 1000, std::max<int64_t>(early, 0) % 1000);
    }
    out += " initialization=\"";
    put_escaped(presentation.folder, out);
    out += fmt::format("init-{}.{}.mp4{}\" media=\"", period.files, track, kQueryMark);
    put_escaped(presentation.folder, out);
    out += fmt::format("{}.$Time$.{}.m4s{}\">\n", period.files, track, kQueryMark);
    put_timeline(period, out);
    out += "    </SegmentTemplate>\n";
}

void put_track(const Presentation& presentation,
               const Period& period,
               const Track& track,
               bool grows,
               std::string& out) {
    out += fmt::format(
        "   <AdaptationSet contentType=\"{0}\" mimeType=\"{0}/mp4\" "
        "segmentAlignment=\"true\"{1}>\n",
        track.name, presentation.independent ? " startWithSAP=\"1\"" : "");
    if (!track.captions.empty()) {
        out += fmt::format(
            "    <Accessibility schemeIdUri=\"urn:scte:dash:cc:cea-608:2015\" value=\"{}\"/>\n",
            track.captions);
    }
    put_template(presentation, period, track.name, grows, out);
    out += fmt::format("    <Representation id=\"{}\" bandwidth=\"{}\" codecs=\"", track.name,
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
    if (track.channels == 0) {
        out += "/>\n";
    } else {
        out += fmt::format(
            ">\n     <AudioChannelConfiguration "
            "schemeIdUri=\"urn:mpeg:dash:23003:3:audio_channel_configuration:2011\" "
            "value=\"{}\"/>\n    </Representation>\n",
            track.channels);
    }
    out += "   </AdaptationSet>\n";
}

int64_t length_of(const Presentation& presentation, const Period& period) {
    const Segment& last = period.segments.back();
    const int64_t end_ms = last.start_ms + last.duration_ms;
    return std::max<int64_t>(end_ms - place_of(presentation, period).offset_ms, 0);
}

void put_period(const Presentation& presentation, size_t at, std::string& out) {
    const Period& period = presentation.periods[at];
    const bool last = at + 1 == presentation.periods.size();
    const int64_t start_ms = place_of(presentation, period).start_ms;
    out += fmt::format("  <Period id=\"{}\" start=\"{}\"", period.id, duration(start_ms));
    if (!last) {
        // Never beyond the next one, where a clock was set back.
        const int64_t room =
            place_of(presentation, presentation.periods[at + 1]).start_ms - start_ms;
        const int64_t length_ms = std::min(length_of(presentation, period), room);
        out += fmt::format(" duration=\"{}\"", duration(std::max<int64_t>(length_ms, 0)));
    }
    out += ">\n";
    for (const Track& track : period.tracks) {
        put_track(presentation, period, track, last && presentation.part_ms > 0, out);
    }
    out += "  </Period>\n";
}

}  // namespace

// Times of the presentation are those of the wall clock since the origin, so that they go on over
// discontinuities. With the epoch as the origin nothing has to be remembered.
std::string write_mpd(const Presentation& presentation) {
    int64_t depth_ms = 0;
    for (const Period& period : presentation.periods) {
        for (const Segment& segment : period.segments) {
            depth_ms += segment.duration_ms;
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
        duration(depth_ms), duration(presentation.target_ms), duration(presentation.target_ms),
        duration(std::clamp<int64_t>(presentation.published_ms - presentation.origin_ms, 0,
                                     2 * presentation.target_ms)));
    if (live) {
        out += fmt::format(" minimumUpdatePeriod=\"{}\"",
                           duration(std::min(presentation.target_ms / 2, kMaxUpdateMs)));
    } else if (!presentation.periods.empty()) {
        const Period& last = presentation.periods.back();
        out += fmt::format(
            " mediaPresentationDuration=\"{}\"",
            duration(place_of(presentation, last).start_ms + length_of(presentation, last)));
    }
    out += ">\n";
    if (live && !presentation.location.empty()) {
        out += "  <Location>";
        put_escaped(presentation.location, out);
        out += fmt::format("{}</Location>\n", kQueryMark);
    }
    if (live && presentation.part_ms > 0) {
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
        put_escaped(presentation.folder, out);
        out += fmt::format("{}{}\"/>\n", presentation.clock, kQueryMark);
    }
    out += "</MPD>\n";
    return out;
}

std::string with_query(std::string_view mpd, std::string_view query) {
    std::string escaped;
    if (!query.empty()) {
        escaped += '?';
        put_escaped(query, escaped);
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
