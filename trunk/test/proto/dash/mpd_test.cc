#include "proto/dash/mpd.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::dash {
namespace {

using testing::HasSubstr;
using testing::Not;

Track video() {
    return {.name = "video",
            .codecs = "avc1.64001f",
            .bandwidth_bps = 1'000'000,
            .width = 1280,
            .height = 720,
            .frame_rate = 29.97};
}

Track audio() {
    return {.name = "audio",
            .codecs = "mp4a.40.2",
            .bandwidth_bps = 128'000,
            .sample_rate = 48'000,
            .channels = 2};
}

Presentation live() {
    return {
        .folder = "cam.hls/",
        .clock = "time",
        .origin_ms = 1'795'651'690'123,
        .published_ms = 1'795'651'722'690,
        .target_ms = 2'000,
        .periods = {{.id = 7,
                     .wall_ms = 1'795'651'700'123,
                     .qualities = {{.files = 7,
                                    .start_ms = 10'000,
                                    .part_ms = 205,
                                    .segments = {{20'000, 2'000}, {22'000, 2'000}, {24'000, 1'960}},
                                    .tracks = {video(), audio()}}}}}};
}

Quality& stream_of(Presentation& presentation, size_t period = 0) {
    return presentation.periods[period].qualities[0];
}

// The same pictures, smaller: its stream began 3 s later.
Quality smaller() {
    Track track = video();
    track.codecs = "avc1.64001e";
    track.width = 640;
    track.height = 360;
    track.bandwidth_bps = 400'000;
    return {.variant = 2,
            .files = 31,
            .start_ms = 7'000,
            .part_ms = 200,
            .segments = {{17'000, 2'000}, {19'000, 2'000}, {21'000, 1'960}},
            .tracks = {track}};
}

size_t count_of(const std::string& text, std::string_view what) {
    size_t count = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        count++;
    }
    return count;
}

TEST(MpdTest, EachAudioTrackIsASetWithLanguageAndLabel) {
    Presentation presentation = live();
    std::vector<Track>& tracks = stream_of(presentation).tracks;
    tracks[1].language = "en";
    tracks[1].label = "English";
    tracks.push_back(audio());
    tracks[2].name = "audio1";
    tracks[2].label = "Jane & Joe";
    const std::string text = with_query(write_mpd(presentation), "");
    EXPECT_THAT(text,
                HasSubstr("<AdaptationSet contentType=\"audio\" mimeType=\"audio/mp4\" "
                          "segmentAlignment=\"true\" startWithSAP=\"1\" id=\"0\" lang=\"en\">\n"
                          "    <Label>English</Label>\n"
                          "    <Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"main\"/>"));
    EXPECT_THAT(text, HasSubstr("startWithSAP=\"1\" id=\"1\">\n    <Label>Jane &amp; Joe</Label>\n"
                                "    <Role schemeIdUri=\"urn:mpeg:dash:role:2011\" "
                                "value=\"alternate\"/>"));
    EXPECT_THAT(text, HasSubstr("media=\"cam.hls/7.$Time$.audio1.m4s\""));
    EXPECT_THAT(text, HasSubstr("<Representation id=\"audio1\""));
    EXPECT_EQ(count_of(text, "<AdaptationSet"), 3U);
    tracks[2].label = "$Money$";
    EXPECT_THAT(write_mpd(presentation), HasSubstr("<Label>$Money$</Label>")) << "no template";
    EXPECT_EQ(count_of(with_query(write_mpd(live()), ""), "<Role"), 0U) << "there is no choice";
}

TEST(MpdTest, SaysWhereSegmentsAreAndWhen) {
    const std::string text = with_query(write_mpd(live()), "");
    EXPECT_THAT(text,
                HasSubstr("type=\"dynamic\" availabilityStartTime=\"2026-11-26T00:08:10.123Z\" "
                          "publishTime=\"2026-11-26T00:08:42.690Z\""));
    EXPECT_THAT(text, HasSubstr("<Period id=\"7\" start=\"PT10.000S\">"));
    EXPECT_THAT(text, HasSubstr("timescale=\"1000\" presentationTimeOffset=\"10000\""));
    EXPECT_THAT(text, HasSubstr("initialization=\"cam.hls/init-7.video.mp4\" "
                                "media=\"cam.hls/7.$Time$.video.m4s\""));
    EXPECT_THAT(text, HasSubstr("media=\"cam.hls/7.$Time$.audio.m4s\""));
    EXPECT_THAT(text, HasSubstr("timeShiftBufferDepth=\"PT5.960S\""));
    EXPECT_THAT(text, HasSubstr("value=\"cam.hls/time\""));
}

TEST(MpdTest, LikeSegmentsShareALine) {
    const std::string text = write_mpd(live());
    EXPECT_EQ(count_of(text, "<S t=\"20000\" d=\"2000\" r=\"1\"/>"), 2U) << "one for each track";
    EXPECT_EQ(count_of(text, "<S t=\"24000\" d=\"1960\"/>"), 2U);
    Presentation gap = live();
    stream_of(gap).segments[1].start_ms = 22'400;
    EXPECT_THAT(write_mpd(gap), Not(HasSubstr("r=\"1\"")));
}

TEST(MpdTest, TracksSayWhatADecoderNeeds) {
    const std::string text = write_mpd(live());
    EXPECT_THAT(text, HasSubstr("<Representation id=\"video\" bandwidth=\"1000000\" "
                                "codecs=\"avc1.64001f\" width=\"1280\" height=\"720\" "
                                "frameRate=\"29970/1000\"/>"));
    EXPECT_THAT(text, HasSubstr("codecs=\"mp4a.40.2\" audioSamplingRate=\"48000\""));
    EXPECT_THAT(text, HasSubstr("audio_channel_configuration:2011\" value=\"2\""));
}

TEST(MpdTest, TheSegmentThatGrowsIsThereEarly) {
    const std::string text = write_mpd(live());
    EXPECT_EQ(count_of(text, "availabilityTimeOffset=\"1.755\" availabilityTimeComplete=\"false\""),
              2U);
    EXPECT_THAT(text, HasSubstr("<Latency target=\"1500\""));
    Presentation whole = live();
    stream_of(whole).part_ms = 0;
    EXPECT_THAT(write_mpd(whole), Not(HasSubstr("availabilityTime")));
    EXPECT_THAT(write_mpd(whole), Not(HasSubstr("Latency")));
}

TEST(MpdTest, APeriodEndsWhereItsMediaEnd) {
    Presentation two = live();
    stream_of(two).part_ms = 0;
    two.periods.push_back({.id = 10,
                           .wall_ms = 1'795'651'730'000,
                           .qualities = {{.files = 7,
                                          .start_ms = 25'960,
                                          .part_ms = 205,
                                          .segments = {{25'960, 2'000}},
                                          .tracks = {audio()}}}});
    const std::string text = write_mpd(two);
    EXPECT_THAT(text, HasSubstr("<Period id=\"7\" start=\"PT10.000S\" duration=\"PT15.960S\">"));
    EXPECT_THAT(text, HasSubstr("<Period id=\"10\" start=\"PT39.877S\">"));
    EXPECT_EQ(count_of(text, "availabilityTimeComplete"), 1U) << "of the last period alone";
    // A clock that was set back: periods do not lie over each other.
    two.periods[1].wall_ms = 1'795'651'705'000;
    EXPECT_THAT(write_mpd(two), HasSubstr("duration=\"PT4.877S\""));
    two.periods[1].wall_ms = 1'795'651'600'000;
    EXPECT_THAT(write_mpd(two), HasSubstr("duration=\"PT0.000S\""));
}

// So what is listed has the same time in the presentation, wherever that begins.
TEST(MpdTest, APeriodThatHadBegunBeforeTheOriginBeginsThere) {
    Presentation late = live();
    late.origin_ms = late.periods[0].wall_ms + 3'600'000;
    stream_of(late).segments = {{3'612'000, 2'000}};
    late.periods.push_back({.id = 10,
                            .wall_ms = late.origin_ms + 4'500,
                            .qualities = {{.files = 7,
                                           .start_ms = 3'614'000,
                                           .segments = {{3'614'000, 2'000}},
                                           .tracks = {audio()}}}});
    const std::string text = write_mpd(late);
    EXPECT_THAT(text, HasSubstr("<Period id=\"7\" start=\"PT0.000S\" duration=\"PT4.000S\">"));
    EXPECT_THAT(text, HasSubstr("presentationTimeOffset=\"3610000\""));
    EXPECT_THAT(text, HasSubstr("<Period id=\"10\" start=\"PT4.500S\">"));
    EXPECT_THAT(text, HasSubstr("presentationTimeOffset=\"3614000\""));
}

TEST(MpdTest, APeriodMayStartBeforeItsMedia) {
    Presentation fresh = live();
    fresh.periods[0].early_ms = 2'000;
    std::string text = write_mpd(fresh);
    EXPECT_THAT(text, HasSubstr("<Period id=\"7\" start=\"PT8.000S\">"));
    EXPECT_EQ(count_of(text, "presentationTimeOffset=\"8000\""), 2U) << "so media have their times";
    EXPECT_EQ(count_of(text, "<S t=\"20000\" d=\"2000\" r=\"1\"/>"), 2U);
    EXPECT_THAT(text, HasSubstr("timeShiftBufferDepth=\"PT5.960S\""));
    stream_of(fresh).segments = {{10'000, 1'000}};
    EXPECT_THAT(write_mpd(fresh), HasSubstr("timeShiftBufferDepth=\"PT2.000S\""));
    fresh.filled = true;
    text = write_mpd(fresh);
    EXPECT_THAT(text, HasSubstr("<Period id=\"7\" start=\"PT10.000S\">"))
        << "GStreamer counts from the start";
    EXPECT_THAT(text, HasSubstr("timeShiftBufferDepth=\"PT1.000S\""));
}

TEST(MpdTest, NobodyIsToStayFurtherBehindThanTheOrigin) {
    Presentation begins = live();
    EXPECT_THAT(write_mpd(begins), HasSubstr("suggestedPresentationDelay=\"PT4.000S\""));
    begins.origin_ms = begins.published_ms - 1'300;
    EXPECT_THAT(write_mpd(begins), HasSubstr("suggestedPresentationDelay=\"PT1.300S\""));
    begins.origin_ms = 0;
    EXPECT_THAT(write_mpd(begins), HasSubstr("suggestedPresentationDelay=\"PT4.000S\""));
}

TEST(MpdTest, QualitiesAreOneSetEachWithItsOwnFilesAndTimes) {
    Presentation ladder = live();
    ladder.periods[0].qualities.push_back(smaller());
    const std::string text = with_query(write_mpd(ladder), "session=1");
    EXPECT_EQ(count_of(text, "<AdaptationSet contentType=\"video\""), 1U);
    EXPECT_EQ(count_of(text, "<AdaptationSet contentType=\"audio\""), 1U);
    EXPECT_EQ(count_of(text, "segmentAlignment=\"true\" startWithSAP=\"1\""), 2U);
    EXPECT_THAT(text, HasSubstr("<Representation id=\"video-2-31\" bandwidth=\"400000\" "
                                "codecs=\"avc1.64001e\" width=\"640\" height=\"360\" "
                                "frameRate=\"29970/1000\">\n"
                                "     <SegmentTemplate timescale=\"1000\" "
                                "presentationTimeOffset=\"7000\" "
                                "availabilityTimeOffset=\"1.760\" "
                                "availabilityTimeComplete=\"false\" "
                                "initialization=\"cam.hls/2/init-31.video.mp4?session=1\" "
                                "media=\"cam.hls/2/31.$Time$.video.m4s?session=1\">\n"));
    EXPECT_THAT(text, HasSubstr("<S t=\"17000\" d=\"2000\" r=\"1\"/>"));
    EXPECT_THAT(text, HasSubstr("<Representation id=\"video\" bandwidth=\"1000000\" "
                                "codecs=\"avc1.64001f\" width=\"1280\" height=\"720\" "
                                "frameRate=\"29970/1000\">\n     <SegmentTemplate"));
    EXPECT_EQ(count_of(text, "</Representation>"), 3U);
}

// The times of both keep to the same pictures when the period begins later for a player.
TEST(MpdTest, TheTimesOfAllQualitiesMoveWithTheOrigin) {
    Presentation ladder = live();
    ladder.periods[0].qualities.push_back(smaller());
    ladder.origin_ms = ladder.periods[0].wall_ms + 5'000;
    const std::string text = write_mpd(ladder);
    EXPECT_EQ(count_of(text, "presentationTimeOffset=\"15000\""), 2U) << "video and audio";
    EXPECT_EQ(count_of(text, "presentationTimeOffset=\"12000\""), 1U);
}

TEST(MpdTest, OnlySegmentsThatBeginTogetherAreAligned) {
    const auto said = [](Quality other) {
        Presentation ladder = live();
        ladder.periods[0].qualities.push_back(std::move(other));
        const std::string text = write_mpd(ladder);
        return count_of(text,
                        "contentType=\"video\" mimeType=\"video/mp4\" "
                        "segmentAlignment=\"true\"") == 1;
    };
    EXPECT_TRUE(said(smaller()));
    Quality rounded = smaller();
    rounded.segments[1].start_ms += 1;
    EXPECT_TRUE(said(rounded));
    Quality other_gops = smaller();
    other_gops.segments = {{17'000, 3'000}, {20'000, 3'000}};
    EXPECT_FALSE(said(other_gops));
    Quality half = smaller();
    half.segments = {{17'000, 1'000}, {18'000, 1'000}, {19'000, 2'000}, {21'000, 1'960}};
    EXPECT_FALSE(said(half));
    Quality later = smaller();
    later.segments = {{21'000, 1'960}};
    EXPECT_TRUE(said(later)) << "where both have segments";
}

TEST(MpdTest, AnotherCodecIsASetOfItsOwn) {
    Presentation ladder = live();
    Quality hevc = smaller();
    hevc.tracks[0].codecs = "hvc1.1.6.L93.B0";
    ladder.periods[0].qualities.push_back(hevc);
    EXPECT_EQ(count_of(write_mpd(ladder), "<AdaptationSet contentType=\"video\""), 2U);
    ladder.periods[0].qualities[1].tracks[0].codecs = "avc3.64001e";
    EXPECT_EQ(count_of(write_mpd(ladder), "<AdaptationSet contentType=\"video\""), 1U);
}

TEST(MpdTest, ASetBeginsWithKeyFramesWhereAllOfItDo) {
    Presentation ladder = live();
    ladder.periods[0].qualities.push_back(smaller());
    ladder.periods[0].qualities[1].independent = false;
    EXPECT_EQ(count_of(write_mpd(ladder), "startWithSAP"), 1U) << "of the audio";
}

TEST(MpdTest, NoSegmentOfAnyQualityIsLongerThanTheLongest) {
    Presentation ladder = live();
    ladder.periods[0].qualities.push_back(smaller());
    ladder.periods[0].qualities[1].segments = {{17'000, 5'200}};
    EXPECT_THAT(write_mpd(ladder), HasSubstr("maxSegmentDuration=\"PT5.200S\""));
}

// GStreamer finds the others by the place of the first one.
TEST(MpdTest, AFilledTimelineBeginsWithItsPeriod) {
    Presentation filled = live();
    filled.filled = true;
    const std::string text = write_mpd(filled);
    EXPECT_EQ(count_of(text, "<S t=\"10000\" d=\"10000\"/>\n"), 2U) << "one for each track";
    EXPECT_EQ(count_of(text, "<S t=\"20000\" d=\"2000\" r=\"1\"/>"), 2U);
    EXPECT_THAT(text, HasSubstr("timeShiftBufferDepth=\"PT5.960S\""));
    filled.origin_ms = filled.periods[0].wall_ms + 10'000;
    EXPECT_EQ(count_of(write_mpd(filled), "<S t="), 4U) << "nothing has gone";
}

TEST(MpdTest, AfterTheEndNobodyAsksAgain) {
    Presentation ended = live();
    ended.ended = true;
    stream_of(ended).part_ms = 0;
    const std::string text = write_mpd(ended);
    EXPECT_THAT(text, Not(HasSubstr("minimumUpdatePeriod")));
    EXPECT_THAT(text, HasSubstr("mediaPresentationDuration=\"PT25.960S\""));
}

TEST(MpdTest, NamesAndQueriesCannotBreakOut) {
    Presentation odd = live();
    odd.folder = "a\"<&$Number$.hls/";
    const std::string text = with_query(write_mpd(odd), "session=1&key=\"<$Time$>");
    EXPECT_THAT(text, HasSubstr("initialization=\"a&quot;&lt;&amp;%24Number%24.hls/"
                                "init-7.video.mp4?session=1&amp;key=&quot;&lt;%24Time%24&gt;\""));
    EXPECT_EQ(count_of(text, "$Time$"), 2U) << "those of the templates";
    EXPECT_EQ(text.find('\x01'), std::string::npos);
}

}  // namespace
}  // namespace weir::dash
