// Exact texts of playlists: what RFC 8216 and its successor's draft say of each tag.
#include "proto/hls/playlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "proto/hls/reload.h"
#include "proto/http/target.h"

namespace weir::hls {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kWall = 1'700'000'000'123;  // 2023-11-14T22:13:20.123Z

MediaPlaylist usual() {
    MediaPlaylist playlist;
    playlist.target_s = 2;
    playlist.part_target_ms = 205;
    playlist.independent = true;
    playlist.next_number = 12;
    for (uint64_t number = 10; number < 12; number++) {
        playlist.segments.push_back({.number = number,
                                     .header = 7,
                                     .duration_ms = 2'000,
                                     .wall_ms = kWall + static_cast<int64_t>(number - 10) * 2'000});
    }
    playlist.segments.back().complete = false;
    playlist.segments.back().duration_ms = 400;
    playlist.segments.back().parts = {{200, true}, {200, false}};
    return playlist;
}

TEST(HlsPlaylistTest, HasTheTagsOfLowLatency) {
    EXPECT_EQ(with_query(write_media_playlist(usual()), "session=x&key=k"),
              "#EXTM3U\n"
              "#EXT-X-VERSION:6\n"
              "#EXT-X-TARGETDURATION:2\n"
              "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=12.0,"
              "PART-HOLD-BACK=0.615\n"
              "#EXT-X-PART-INF:PART-TARGET=0.205\n"
              "#EXT-X-INDEPENDENT-SEGMENTS\n"
              "#EXT-X-MEDIA-SEQUENCE:10\n"
              "#EXT-X-MAP:URI=\"init-7.mp4?session=x&key=k\"\n"
              "#EXT-X-PROGRAM-DATE-TIME:2023-11-14T22:13:20.123Z\n"
              "#EXTINF:2.000,\n"
              "10.m4s?session=x&key=k\n"
              "#EXT-X-PROGRAM-DATE-TIME:2023-11-14T22:13:22.123Z\n"
              "#EXT-X-PART:DURATION=0.200,URI=\"11.0.m4s?session=x&key=k\",INDEPENDENT=YES\n"
              "#EXT-X-PART:DURATION=0.200,URI=\"11.1.m4s?session=x&key=k\"\n"
              "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"11.2.m4s?session=x&key=k\"\n");
}

TEST(HlsPlaylistTest, OfTransportStreamsHasNoHeaderAndNoParts) {
    MediaPlaylist playlist = usual();
    playlist.mp4 = false;
    playlist.part_target_ms = 0;
    playlist.independent = false;
    playlist.segments.pop_back();
    EXPECT_EQ(with_query(write_media_playlist(playlist), ""),
              "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:10\n"
              "#EXT-X-PROGRAM-DATE-TIME:2023-11-14T22:13:20.123Z\n#EXTINF:2.000,\n10.ts\n");
}

TEST(HlsPlaylistTest, TheHintIsTheNextSegmentsFirstPartWhenNoneIsOpen) {
    MediaPlaylist playlist = usual();
    playlist.segments.back().complete = true;
    EXPECT_THAT(with_query(write_media_playlist(playlist), ""),
                HasSubstr("TYPE=PART,URI=\"12.0.m4s\"\n"));
}

TEST(HlsPlaylistTest, AnEndedOneSaysSoAndHintsNothing) {
    MediaPlaylist playlist = usual();
    playlist.ended = true;
    playlist.segments.back().complete = true;
    const std::string text = write_media_playlist(playlist);
    EXPECT_TRUE(text.ends_with("#EXT-X-ENDLIST\n"));
    EXPECT_THAT(text, Not(HasSubstr("PRELOAD")));
}

TEST(HlsPlaylistTest, ADiscontinuityBringsItsHeader) {
    MediaPlaylist playlist = usual();
    playlist.discontinuity_sequence = 3;
    playlist.segments[1].discontinuity = true;
    playlist.segments[1].header = 11;
    const std::string text = with_query(write_media_playlist(playlist), "");
    EXPECT_THAT(text, HasSubstr("#EXT-X-DISCONTINUITY-SEQUENCE:3\n"));
    EXPECT_THAT(text, HasSubstr("10.m4s\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"init-11.mp4\"\n"));
}

TEST(HlsPlaylistTest, AGapHasNoHeaderAndIsNamedInItsParts) {
    MediaPlaylist playlist = usual();
    playlist.segments[0].header = 5;
    playlist.segments[0].gap = true;
    playlist.segments[0].parts = {{.duration_ms = 200}};
    const std::string text = with_query(write_media_playlist(playlist), "");
    EXPECT_THAT(text, Not(HasSubstr("init-5.mp4")));
    EXPECT_THAT(text, HasSubstr("URI=\"10.0.m4s\",GAP=YES\n#EXT-X-GAP\n#EXTINF:2.000,\n10.m4s\n"
                                "#EXT-X-MAP:URI=\"init-7.mp4\"\n"));
    EXPECT_THAT(text, HasSubstr("URI=\"11.0.m4s\",INDEPENDENT=YES\n"));
    playlist.segments[1].gap = true;
    EXPECT_THAT(write_media_playlist(playlist), Not(HasSubstr("PRELOAD-HINT")));
}

TEST(HlsPlaylistTest, ADeltaLeavesOutWhatIsSixTargetsOld) {
    MediaPlaylist playlist = usual();
    playlist.skip = true;
    playlist.segments.clear();
    for (uint64_t number = 0; number < 20; number++) {
        playlist.segments.push_back(
            {.number = number, .header = 0, .duration_ms = 2'000, .wall_ms = kWall});
    }
    playlist.next_number = 20;
    const std::string text = with_query(write_media_playlist(playlist), "");
    EXPECT_THAT(text, HasSubstr("#EXT-X-VERSION:9\n"));
    EXPECT_THAT(text, HasSubstr("#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-SKIP:SKIPPED-SEGMENTS=14\n"));
    EXPECT_THAT(text, Not(HasSubstr("\n13.m4s")));
    EXPECT_THAT(text, HasSubstr("\n14.m4s"));
    EXPECT_THAT(text, Not(HasSubstr("EXT-X-MAP")));  // it was in what is left out
}

TEST(HlsPlaylistTest, AShortDeltaIsWhole) {
    MediaPlaylist playlist = usual();
    const std::string whole = write_media_playlist(playlist);
    playlist.skip = true;
    EXPECT_EQ(write_media_playlist(playlist), whole);
}

TEST(HlsPlaylistTest, TheMultivariantSaysWhatThereIs) {
    const Variant variant{.uri = "x.hls/index.m3u8",
                          .codecs = "avc1.64001F,mp4a.40.2",
                          .bandwidth_bps = 800'000,
                          .average_bps = 700'000,
                          .width = 640,
                          .height = 360,
                          .frame_rate = 25};
    EXPECT_EQ(with_query(write_multivariant(std::span(&variant, 1)), "session=s"),
              "#EXTM3U\n#EXT-X-VERSION:6\n"
              "#EXT-X-STREAM-INF:BANDWIDTH=800000,AVERAGE-BANDWIDTH=700000,"
              "CODECS=\"avc1.64001F,mp4a.40.2\",RESOLUTION=640x360,FRAME-RATE=25.000,"
              "CLOSED-CAPTIONS=NONE\n"
              "x.hls/index.m3u8?session=s\n");
    Variant bare;
    bare.uri = "a/index.m3u8";
    EXPECT_EQ(with_query(write_multivariant(std::span(&bare, 1)), ""),
              "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-STREAM-INF:BANDWIDTH=1,CLOSED-CAPTIONS=NONE\n"
              "a/index.m3u8\n");
}

TEST(HlsPlaylistTest, AudioTracksAreAGroupOfTheirVariant) {
    std::vector<Variant> variants(2);
    variants[0] = {.uri = "x.hls/video/index.m3u8",
                   .codecs = "avc1.64001F,mp4a.40.2",
                   .bandwidth_bps = 800'000};
    variants[0].audio = {{"x.hls/audio/index.m3u8", "English", "en", 2},
                         {"x.hls/audio1/index.m3u8", "Audio 2", "", 6}};
    variants[1] = {.uri = "x.hls/1/video/index.m3u8", .bandwidth_bps = 400'000};
    variants[1].audio = {{"x.hls/1/audio/index.m3u8", "English", "en", 0}};
    EXPECT_EQ(with_query(write_multivariant(variants), "s=1"),
              "#EXTM3U\n#EXT-X-VERSION:6\n"
              "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"English\",LANGUAGE=\"en\","
              "DEFAULT=YES,AUTOSELECT=YES,CHANNELS=\"2\",URI=\"x.hls/audio/index.m3u8?s=1\"\n"
              "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"Audio 2\",DEFAULT=NO,"
              "AUTOSELECT=NO,CHANNELS=\"6\",URI=\"x.hls/audio1/index.m3u8?s=1\"\n"
              "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio-1\",NAME=\"English\",LANGUAGE=\"en\","
              "DEFAULT=YES,AUTOSELECT=YES,URI=\"x.hls/1/audio/index.m3u8?s=1\"\n"
              "#EXT-X-STREAM-INF:BANDWIDTH=800000,CODECS=\"avc1.64001F,mp4a.40.2\",AUDIO=\"audio\","
              "CLOSED-CAPTIONS=NONE\n"
              "x.hls/video/index.m3u8?s=1\n"
              "#EXT-X-STREAM-INF:BANDWIDTH=400000,AUDIO=\"audio-1\",CLOSED-CAPTIONS=NONE\n"
              "x.hls/1/video/index.m3u8?s=1\n");
}

TEST(HlsFileNameTest, ReadsTheNamesOfTracks) {
    for (const TrackName& track :
         {TrackName{FileTrack::kVideo, 0}, TrackName{FileTrack::kAudio, 0},
          TrackName{FileTrack::kMoreAudio, 0}, TrackName{FileTrack::kMoreAudio, 255}}) {
        EXPECT_EQ(parse_track_name(track_name(track)), track) << track_name(track);
    }
    for (const char* name :
         {"", "audi", "audio256", "audio01", "audio-1", "audiox", "video1", "1"}) {
        EXPECT_EQ(parse_track_name(name), TrackName()) << name;
    }
}

TEST(HlsFileNameTest, ReadsWhatItWrites) {
    EXPECT_EQ(parse_file_name("index.m3u8").kind, FileKind::kPlaylist);
    EXPECT_EQ(parse_file_name(header_name(7)), (FileName{FileKind::kHeader, 7, 0, true}));
    EXPECT_EQ(parse_file_name(key_name(7)), (FileName{FileKind::kKey, 7, 0, true}));
    for (const bool mp4 : {true, false}) {
        EXPECT_EQ(parse_file_name(segment_name(1'764'000'000, mp4)),
                  (FileName{FileKind::kSegment, 1'764'000'000, 0, mp4}));
        EXPECT_EQ(parse_file_name(part_name(12, 3, mp4)), (FileName{FileKind::kPart, 12, 3, mp4}));
    }
}

TEST(HlsPlaylistTest, AHeaderIsNeverBehindAKey) {
    MediaPlaylist playlist{.next_number = 6};
    for (uint64_t number = 1; number <= 5; number++) {
        playlist.segments.push_back({.number = number,
                                     .header = number < 4 ? 1U : 4U,
                                     .duration_ms = 2'000,
                                     .key = number < 3 ? 1U : 3U});
    }
    const std::string text = with_query(write_media_playlist(playlist), "");
    std::string order;
    for (const std::string_view line : split(text, '\n', 100)) {
        if (line.starts_with("#EXT-X-MAP") || line.starts_with("#EXT-X-KEY") ||
            line.ends_with("m4s")) {
            order += std::string(line) + "\n";
        }
    }
    EXPECT_EQ(order,
              "#EXT-X-KEY:METHOD=NONE\n"
              "#EXT-X-MAP:URI=\"init-1.mp4\"\n"
              "#EXT-X-KEY:METHOD=AES-128,URI=\"1.key\"\n1.m4s\n"
              "#EXT-X-KEY:METHOD=AES-128,URI=\"1.key\"\n2.m4s\n"
              "#EXT-X-KEY:METHOD=AES-128,URI=\"3.key\"\n3.m4s\n"
              "#EXT-X-KEY:METHOD=NONE\n"
              "#EXT-X-MAP:URI=\"init-4.mp4\"\n"
              "#EXT-X-KEY:METHOD=AES-128,URI=\"3.key\"\n4.m4s\n"
              "#EXT-X-KEY:METHOD=AES-128,URI=\"3.key\"\n5.m4s\n");
}

TEST(HlsPlaylistTest, CaptionsAreAGroupOfTheVariantsThatHaveThem) {
    const std::vector<Variant> variants = {
        {.uri = "a", .bandwidth_bps = 2, .captions = {"CC1", "SERVICE1"}},
        {.uri = "b", .bandwidth_bps = 1, .captions = {"CC1"}},
        {.uri = "c", .bandwidth_bps = 1}};
    EXPECT_EQ(with_query(write_multivariant(variants), ""),
              "#EXTM3U\n#EXT-X-VERSION:6\n"
              "#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID=\"cc\",NAME=\"CC1\",INSTREAM-ID=\"CC1\","
              "AUTOSELECT=YES\n"
              "#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID=\"cc\",NAME=\"SERVICE1\","
              "INSTREAM-ID=\"SERVICE1\",AUTOSELECT=YES\n"
              "#EXT-X-STREAM-INF:BANDWIDTH=2,CLOSED-CAPTIONS=\"cc\"\na\n"
              "#EXT-X-STREAM-INF:BANDWIDTH=1,CLOSED-CAPTIONS=\"cc\"\nb\n"
              "#EXT-X-STREAM-INF:BANDWIDTH=1\nc\n");
}

TEST(HlsFileNameTest, ReadsThoseOfDash) {
    EXPECT_EQ(parse_file_name("time").kind, FileKind::kClock);
    EXPECT_EQ(parse_file_name("init-7.video.mp4"),
              (FileName{FileKind::kHeader, 7, 0, true, FileTrack::kVideo}));
    EXPECT_EQ(parse_file_name("7.16000.audio.m4s"),
              (FileName{FileKind::kSegment, 7, 16'000, true, FileTrack::kAudio}));
    EXPECT_EQ(parse_file_name("7.16000.audio3.m4s"),
              (FileName{FileKind::kSegment, 7, 16'000, true, FileTrack::kMoreAudio, 3}));
    EXPECT_EQ(parse_file_name("init-7.audio255.mp4"),
              (FileName{FileKind::kHeader, 7, 0, true, FileTrack::kMoreAudio, 255}));
    for (const char* name :
         {"7.audio.m4s", "7.1.2.audio.m4s", "7.16000.audio.ts", ".audio.m4s", "7.16000.text.m4s",
          "init-7.1.video.mp4", "init-.video.mp4", "7.16000.video.audio.m4s", "7.x.video.m4s",
          "index.mpd", "7.16000.audio256.m4s", "7.16000.audio01.m4s"}) {
        EXPECT_EQ(parse_file_name(name).kind, FileKind::kUnknown) << name;
    }
}

TEST(HlsFileNameTest, RefusesAllElse) {
    for (const char* name : {"",
                             ".m4s",
                             "1",
                             "1.",
                             "x.m4s",
                             "-1.m4s",
                             "+1.m4s",
                             "01.m4s",
                             "1.2.3.m4s",
                             "1..m4s",
                             "1.x.m4s",
                             "1.m4s.m4s",
                             "init-.mp4",
                             "init-x.mp4",
                             "init-1.m4s",
                             "x.key",
                             ".key",
                             "1.mp4",
                             "index.m3u",
                             "1.m4s/",
                             "1.m4s ",
                             "9999999999999999999.m4s",
                             "18446744073709551616.m4s"}) {
        EXPECT_EQ(parse_file_name(name).kind, FileKind::kUnknown) << name;
    }
}

Result<Reload> reload(std::string_view query) {
    const auto target = http::parse_target("/x?" + std::string(query));
    return target ? Reload::parse(target->query)
                  : Result<Reload>(make_error(ErrorCode::kMalformed, "no target"));
}

TEST(HlsReloadTest, ReadsItsParameters) {
    EXPECT_FALSE(reload("key=x")->number);
    EXPECT_EQ(reload("_HLS_msn=5")->number, 5U);
    EXPECT_EQ(reload("_HLS_msn=5&_HLS_part=2")->part, 2U);
    EXPECT_TRUE(reload("_HLS_skip=YES")->skip);
    EXPECT_TRUE(reload("_HLS_skip=v2")->skip);
    EXPECT_FALSE(reload("_HLS_skip=no")->skip);
}

TEST(HlsReloadTest, RefusesWhatIsNoNumber) {
    for (const char* query :
         {"_HLS_msn=", "_HLS_msn=x", "_HLS_msn=-1", "_HLS_msn=1.5", "_HLS_msn=99999999999999999999",
          "_HLS_part=1", "_HLS_msn=1&_HLS_part=x", "_HLS_msn=1%20"}) {
        EXPECT_FALSE(reload(query).ok()) << query;
    }
}

}  // namespace
}  // namespace weir::hls
