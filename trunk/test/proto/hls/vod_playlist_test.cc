#include "proto/hls/vod_playlist.h"

#include <gtest/gtest.h>

namespace weir::hls {
namespace {

TEST(VodPlaylistTest, OneThatGrowsHasNoEndYet) {
    const std::vector<VodFile> files = {
        {.uri = "a.mp4", .header_bytes = 900, .wall_ms = 0, .segments = {{900, 5'000, 900}}}};
    const std::string list = write_vod_playlist(files, VodKind::kGrowing);
    EXPECT_NE(list.find("#EXT-X-PLAYLIST-TYPE:EVENT\n"), std::string::npos) << list;
    EXPECT_NE(list.find("#EXT-X-TARGETDURATION:2\n"), std::string::npos) << list;
    EXPECT_EQ(list.find("ENDLIST"), std::string::npos) << list;
}

TEST(VodPlaylistTest, FilesAreOnePresentation) {
    const std::vector<VodFile> files = {
        {.uri = "../live/a.mp4?key=k",
         .header_bytes = 900,
         .wall_ms = 1'764'092'000'250,
         .segments = {{900, 5'000, 2'000}, {5'900, 100, 2'120}}},
        {.uri = "b.mp4", .header_bytes = 800, .wall_ms = 0, .segments = {{800, 10, 40}}}};
    EXPECT_EQ(write_vod_playlist(files), R"(#EXTM3U
#EXT-X-VERSION:7
#EXT-X-TARGETDURATION:3
#EXT-X-PLAYLIST-TYPE:VOD
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-MEDIA-SEQUENCE:0
#EXT-X-MAP:URI="../live/a.mp4?key=k",BYTERANGE="900@0"
#EXT-X-PROGRAM-DATE-TIME:2025-11-25T17:33:20.250Z
#EXTINF:2.000,
#EXT-X-BYTERANGE:5000@900
../live/a.mp4?key=k
#EXTINF:2.120,
#EXT-X-BYTERANGE:100@5900
../live/a.mp4?key=k
#EXT-X-DISCONTINUITY
#EXT-X-MAP:URI="b.mp4",BYTERANGE="800@0"
#EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:00:00.000Z
#EXTINF:0.040,
#EXT-X-BYTERANGE:10@800
b.mp4
#EXT-X-ENDLIST
)");
}

}  // namespace
}  // namespace weir::hls
