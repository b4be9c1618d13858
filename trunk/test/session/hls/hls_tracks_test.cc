// Streams with several audio tracks: what playlists say of them, and what is behind the addresses.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/session/hls/hls_service_fixture.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using testing::Not;

class HlsTracksTest : public HlsServiceTest {
  protected:
    void publish_tracks(std::vector<media::AudioTrack> said = {{0, "en"}, {1, "de"}}) {
        publish();
        media::Description description;
        description.audio_tracks = std::move(said);
        stream_->describe(*this, std::move(description));
        send(tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")), TrackKind::kAudio);
        send(test::aac_multitrack(1, true, 0), TrackKind::kAudio);
    }

    // 25 of each a second.
    void frames(int count, bool second = true) {
        for (int i = 0; i < count; i++) {
            send(tag_body(Codec::kAac, BodyKind::kFrame, Bytes{0x21, 0x10, 0x04}),
                 TrackKind::kAudio);
            if (second) {
                send(test::aac_multitrack(1, false, 1), TrackKind::kAudio);
            }
            pictures(1);
        }
    }

    std::string multivariant() { return get("/app/stream.m3u8").body; }

    // The query of the viewer that `text` is for, with its '?'.
    static std::string session_of(const std::string& text) {
        return find(text, "(\\?session=[a-z0-9]{20})");
    }
};

TEST_F(HlsTracksTest, EachTrackHasAPlaylistHeaderSegmentsAndParts) {
    publish_tracks();
    frames(60);
    const std::string text = multivariant();
    EXPECT_THAT(text, HasSubstr("TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"English\",LANGUAGE=\"en\","
                                "DEFAULT=YES,AUTOSELECT=YES,CHANNELS=\"2\","
                                "URI=\"stream.hls/audio/index.m3u8?session="));
    EXPECT_THAT(text, HasSubstr("NAME=\"German\",LANGUAGE=\"de\",DEFAULT=NO,AUTOSELECT=YES,"
                                "CHANNELS=\"2\",URI=\"stream.hls/audio1/index.m3u8?session="));
    EXPECT_THAT(text, HasSubstr("mp4a.40.2\""));
    EXPECT_THAT(
        text,
        HasSubstr("AUDIO=\"audio\",CLOSED-CAPTIONS=NONE\nstream.hls/video/index.m3u8?session="));
    const std::string query = session_of(text);
    for (const auto& [track, kind] :
         {std::pair("video", "vide"), std::pair("audio", "soun"), std::pair("audio1", "soun")}) {
        const std::string folder = "/app/stream.hls/" + std::string(track) + "/";
        const std::string list = get(folder + "index.m3u8" + query).body;
        EXPECT_THAT(list, HasSubstr("#EXT-X-RENDITION-REPORT:URI=\"../audio"));
        EXPECT_THAT(list, Not(HasSubstr("URI=\"../" + std::string(track) + "/")));
        const std::string header = get(folder + find(list, "URI=\"(init-[^\"]+)\"")).body;
        EXPECT_THAT(header, HasSubstr(kind)) << track;
        EXPECT_EQ(header.find("trak"), header.rfind("trak")) << "one track: " << track;
        for (const char* what :
             {"\n([0-9]+\\.m4s[^\n]*)", "PART:DURATION=[0-9.]+,URI=\"([^\"]+)\""}) {
            const TestAnswer media = get(folder + find(list, what));
            EXPECT_EQ(media.status, 200) << track;
            EXPECT_THAT(media.body, HasSubstr("moof")) << track;
        }
    }
    EXPECT_EQ(clients_.size(), 1U) << "one viewer, whatever it reads";
}

TEST_F(HlsTracksTest, APlayerOfTheWholeGetsTheDefaultTrack) {
    publish_tracks();
    frames(60);
    const std::string query = session_of(multivariant());
    const std::string list = get("/app/stream.hls/index.m3u8" + query).body;
    const std::string header = get("/app/stream.hls/" + find(list, "URI=\"(init-[^\"]+)\"")).body;
    size_t tracks = 0;
    for (size_t at = header.find("trak"); at != std::string::npos;
         at = header.find("trak", at + 1)) {
        tracks++;
    }
    EXPECT_EQ(tracks, 2U);
}

TEST_F(HlsTracksTest, TheDefaultTrackStandsInForOneThatHasGone) {
    publish_tracks();
    frames(60);
    const std::string query = session_of(multivariant());
    frames(25 * 6, false);
    EXPECT_THAT(multivariant(), Not(HasSubstr("TYPE=AUDIO")));
    const std::string list = get("/app/stream.hls/audio1/index.m3u8" + query).body;
    const std::string segment = list.substr(list.rfind("#EXTINF"));
    const std::string file = find(segment, "\n([0-9]+\\.m4s[^\n]*)");
    EXPECT_EQ(get("/app/stream.hls/audio1/" + file).body,
              get("/app/stream.hls/audio/" + file).body);
    EXPECT_EQ(get("/app/stream.hls/audio9/" + file).status, 200) << "nor does one that never was";
}

TEST_F(HlsTracksTest, DashHasAnAdaptationSetOfEach) {
    publish_tracks();
    frames(60);
    const std::string text = describe().body;
    EXPECT_THAT(text, HasSubstr(" lang=\"en\">\n    <Label>English</Label>"));
    EXPECT_THAT(text, HasSubstr(" lang=\"de\">\n    <Label>German</Label>"));
    frames(60);  // the segment that grew is whole
    const std::string query = "?" + find(text, "(session=[a-z0-9]{20})");
    const std::string id = find(text, "init-([0-9]+)\\.audio1\\.mp4");
    const std::string time = find(text, "<S t=\"([0-9]+)\"");
    const std::string header = get("/app/stream.hls/init-" + id + ".audio1.mp4" + query).body;
    EXPECT_EQ(header.find("trak"), header.rfind("trak"));
    const std::string segment = "/app/stream.hls/" + id + "." + time;
    const TestAnswer second = get(segment + ".audio1.m4s" + query);
    EXPECT_EQ(second.status, 200);
    EXPECT_THAT(second.body, HasSubstr("moof"));
    EXPECT_NE(second.body, get(segment + ".audio.m4s" + query).body);
    EXPECT_EQ(clients_.size(), 1U);
}

TEST_F(HlsTracksTest, OneTrackHasNoGroup) {
    publish_tracks({});
    frames(60, false);
    const std::string text = multivariant();
    EXPECT_THAT(text, Not(HasSubstr("AUDIO")));
    EXPECT_THAT(text, HasSubstr("\nstream.hls/index.m3u8?session="));
}

TEST_F(HlsTracksTest, OtherContainersHaveTheDefaultTrackAlone) {
    options_.container = net::SegmentContainer::kTs;
    publish_tracks();
    frames(60);
    const std::string text = multivariant();
    EXPECT_THAT(text, Not(HasSubstr("TYPE=AUDIO")));
    EXPECT_EQ(get("/app/stream.hls/audio/index.m3u8" + session_of(text)).status, 404);
}

TEST_F(HlsTracksTest, EncryptedSegmentsHaveTheDefaultTrackAlone) {
    options_.segments.segments_per_key = 2;
    publish_tracks();
    frames(60);
    const std::string text = multivariant();
    EXPECT_THAT(text, Not(HasSubstr("TYPE=AUDIO")));
    const std::string query = session_of(text);
    const std::string list = get("/app/stream.hls/index.m3u8" + query).body;
    const std::string file = find(list, "\n([0-9]+\\.m4s[^\n]*)");
    EXPECT_EQ(get("/app/stream.hls/audio/" + file).status, 404) << "no plain text";
}

TEST_F(HlsTracksTest, QualitiesHaveTheirTracksToo) {
    options_.variants = {{"", "app", "low"}};
    publish_tracks();
    frames(60);
    OtherStream low(registry_, "low", 60, true);
    const std::string text = multivariant();
    EXPECT_THAT(text, HasSubstr("\nstream.hls/1/video/index.m3u8?session="));
    for (const char* track : {"NAME=\"English\",LANGUAGE=\"en\",DEFAULT=YES,AUTOSELECT=YES,"
                              "CHANNELS=\"2\",URI=\"stream.hls/1/audio/",
                              "NAME=\"German\",LANGUAGE=\"de\",DEFAULT=NO,AUTOSELECT=YES,"
                              "CHANNELS=\"2\",URI=\"stream.hls/1/audio1/"}) {
        EXPECT_THAT(text, HasSubstr("GROUP-ID=\"audio-1\"," + std::string(track)))
            << "each group has the same members";
    }
    const std::string list = get("/app/stream.hls/1/video/index.m3u8" + session_of(text)).body;
    EXPECT_THAT(list, HasSubstr("#EXT-X-RENDITION-REPORT:URI=\"../../audio1/index.m3u8"));
    EXPECT_EQ(get("/app/stream.hls/1/video/" + find(list, "\n([0-9]+\\.m4s[^\n]*)")).status, 200);
}

TEST_F(HlsTracksTest, QualitiesThatCannotHaveTheTracksAreLeftOut) {
    options_.variants = {{"", "app", "silent"}};
    publish_tracks();
    frames(60);
    OtherStream silent(registry_, "silent", 60);
    EXPECT_THAT(multivariant(), Not(HasSubstr("stream.hls/1/")));
}

TEST_F(HlsTracksTest, AQualityInAnotherContainerIsLeftOut) {
    options_.variants = {{"", "app", "low"}};
    container_of_others_ = net::SegmentContainer::kTs;
    publish_tracks();
    frames(60);
    OtherStream low(registry_, "low", 60, true);
    EXPECT_THAT(multivariant(), Not(HasSubstr("stream.hls/1/")));
}

TEST_F(HlsTracksTest, WithoutSoundTheFolderOfATrackHasGaps) {
    publish_tracks();
    frames(60);
    const std::string query = session_of(multivariant());
    unpublish();
    publish();  // the next one has no audio
    pictures(100);
    const std::string list = get("/app/stream.hls/audio/index.m3u8" + query).body;
    const std::string gap = find(list, "#EXT-X-GAP\n#EXTINF:[^\n]*\n([0-9]+\\.m4s[^\n]*)");
    ASSERT_NE(gap, "") << list;
    EXPECT_EQ(list.find("EXT-X-MAP"), list.rfind("EXT-X-MAP")) << "none for what has no header";
    EXPECT_EQ(get("/app/stream.hls/audio/" + gap).status, 404);
    EXPECT_THAT(get("/app/stream.hls/video/index.m3u8" + query).body, Not(HasSubstr("GAP")));
    EXPECT_EQ(get("/app/stream.hls/video/" + gap).status, 200);
}

TEST_F(HlsTracksTest, WhoeverHasNoSessionOfDashKeepsItsTracksToo) {
    options_.sessions = false;
    publish_tracks();
    frames(120);
    EXPECT_THAT(describe().body, HasSubstr(".audio1.m4s"));
    frames(25 * 6, false);
    const std::string text = describe().body;
    const std::string last = text.substr(text.rfind("<Period "));
    EXPECT_THAT(last, HasSubstr(".audio1.m4s")) << "the default one stands in";
}

TEST_F(HlsTracksTest, WhatIsNotOfOneTrackIsNotInItsFolder) {
    publish_tracks();
    frames(60);
    const std::string query = session_of(multivariant());
    for (const char* file : {"time", "1.key", "1.2.audio.m4s", "audio/index.m3u8"}) {
        EXPECT_EQ(get("/app/stream.hls/audio/" + std::string(file) + query).status, 404) << file;
    }
}

}  // namespace
}  // namespace weir::session
