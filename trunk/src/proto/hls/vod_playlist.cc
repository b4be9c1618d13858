#include "proto/hls/vod_playlist.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "proto/hls/playlist_text.h"

namespace weir::hls {

std::string write_vod_playlist(std::span<const VodFile> files, VodKind kind) {
    int64_t longest_ms = 0;
    for (const VodFile& file : files) {
        for (const VodSegment& segment : file.segments) {
            longest_ms = std::max(longest_ms, segment.duration_ms);
        }
    }
    constexpr int64_t kSecond = 1'000;
    std::string out = fmt::format(
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{}\n#EXT-X-PLAYLIST-TYPE:{}\n"
        "#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MEDIA-SEQUENCE:0\n",
        std::max<int64_t>((longest_ms + kSecond - 1) / kSecond, kind == VodKind::kWhole ? 1 : 2),
        kind == VodKind::kWhole ? "VOD" : "EVENT");
    bool first = true;
    for (const VodFile& file : files) {
        out += first ? "" : "#EXT-X-DISCONTINUITY\n";
        first = false;
        out += file.header_uri.empty() ? fmt::format("#EXT-X-MAP:URI=\"{}\",BYTERANGE=\"{}@0\"\n",
                                                     file.uri, file.header_bytes)
                                       : fmt::format("#EXT-X-MAP:URI=\"{}\"\n", file.header_uri);
        out += fmt::format("#EXT-X-PROGRAM-DATE-TIME:{}\n", write_time_point(file.wall_ms));
        for (const VodSegment& segment : file.segments) {
            out +=
                fmt::format("#EXTINF:{},\n#EXT-X-BYTERANGE:{}@{}\n{}\n",
                            seconds(segment.duration_ms), segment.bytes, segment.offset, file.uri);
        }
    }
    return out + (kind == VodKind::kWhole ? "#EXT-X-ENDLIST\n" : "");
}

}  // namespace weir::hls
