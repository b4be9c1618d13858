#include "bench/load/core/hls_totals.h"

namespace weir::load {

void HlsTotals::begin_window() {
    HlsTotals fresh;
    fresh.used = used;
    *this = std::move(fresh);
}

void HlsTotals::merge(const HlsTotals& other) {
    used = used || other.used;
    playlists += other.playlists;
    blocked += other.blocked;
    segments += other.segments;
    parts += other.parts;
    headers += other.headers;
    stalls += other.stalls;
    stall_us += other.stall_us;
    playlist.merge(other.playlist);
    media.merge(other.media);
    behind.merge(other.behind);
}

void HlsTotals::add_to(Report& report, double window_s) const {
    if (!used) {
        return;
    }
    ReportSection& section = report.section("hls", "hls");
    section.count("playlists", "playlists", playlists);
    section.count("blocked", "of these waited for", blocked);
    section.count("segments", "segments", segments);
    section.count("parts", "parts", parts);
    section.count("headers", "headers", headers);
    section.number("requests_per_second", "requests per second",
                   window_s > 0 ? static_cast<double>(requests()) / window_s : 0, "/s", 0);
    section.distribution("playlist_ms", "a playlist came in", playlist);
    section.distribution("media_ms", "a segment or part came in", media);
    section.distribution("behind_ms", "what viewers see is old", behind);
    section.count("viewer_stalls", "viewers' buffers ran dry", stalls);
    section.number("viewer_stall_s", "for", static_cast<double>(stall_us) / 1e6, "s", 2);
}

}  // namespace weir::load
