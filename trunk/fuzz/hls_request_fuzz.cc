// What players of HLS ask for: names of files, written and read again, and the queries of blocking
// reloads. The first line is the name, the rest the query.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "proto/hls/playlist.h"
#include "proto/hls/reload.h"
#include "proto/http/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    namespace hls = weir::hls;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const size_t end = text.find('\n');
    const std::string_view name = text.substr(0, end);
    const hls::FileName file = hls::parse_file_name(name);
    // Files of one track are named by the templates of DASH (proto/dash/mpd.cc).
    const bool all = file.track == hls::FileTrack::kAll;
    switch (file.kind) {
        case hls::FileKind::kHeader:
            WEIR_CHECK(!all || hls::header_name(file.number) == name);
            break;
        case hls::FileKind::kSegment:
            WEIR_CHECK(!all || hls::segment_name(file.number, file.mp4) == name);
            break;
        case hls::FileKind::kPart:
            WEIR_CHECK(hls::part_name(file.number, file.part, file.mp4) == name);
            break;
        case hls::FileKind::kPlaylist: WEIR_CHECK(name == hls::kMediaPlaylistName); break;
        case hls::FileKind::kUnknown: break;
    }
    const hls::TrackName track = hls::parse_track_name(name);
    WEIR_CHECK(track.track == hls::FileTrack::kAll || hls::track_name(track) == name);
    if (end == std::string_view::npos) {
        return 0;
    }
    const auto target = weir::http::parse_target("/x?" + std::string(text.substr(end + 1)));
    const auto reload = target ? hls::Reload::parse(target->query) : hls::Reload();
    WEIR_CHECK(!reload.ok() || !reload->part || reload->number);
    return 0;
}
