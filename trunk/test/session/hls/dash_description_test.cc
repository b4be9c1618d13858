// Which segments of which streams a player of DASH is told, and how their times go together.
#include "session/hls/dash_description.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::session {
namespace {

constexpr int64_t kNow = 1'795'651'700'000;
constexpr int64_t kGop = 2'000;

// A stream as its segmenter leaves it: a key frame each two seconds.
class Segments {
  public:
    // `begin_ms`: stream time of the first key frame, which arrives at `arrival_ms`.
    Segments(uint64_t first_number,
             int64_t begin_ms,
             int64_t arrival_ms,
             int32_t composition_ms = 0)
        : store_({}, first_number),
          time_ms_(begin_ms),
          lag_ms_(arrival_ms - begin_ms),
          composition_ms_(composition_ms) {
        begin("avc1.64001f");
    }

    // Another header from now on.
    void begin(const char* video, const char* audio = "mp4a.40.2") {
        auto format = make_ref<net::SegmentFormat>();
        format->id = store_.next_number();
        format->video_codecs = video;
        format->audio_codecs = audio;
        format->width = video[0] == '\0' ? 0 : 640;
        format->height = video[0] == '\0' ? 0 : 360;
        format_ = format;
        clock_ = {format->id, time_ms_, time_ms_ + lag_ms_};
    }

    // The same with more audio tracks.
    void begin_with(std::vector<uint8_t> ids) {
        begin("avc1.64001f");
        auto format = make_ref<net::SegmentFormat>();
        format->id = store_.next_number();
        format->video_codecs = "avc1.64001f";
        format->audio_codecs = "mp4a.40.2";
        format->audio_name = ids.empty() ? "" : "English";
        for (const uint8_t id : ids) {
            net::SegmentAudio& more = format->more.emplace_back();
            more.id = id;
            more.codecs = "mp4a.40.2";
            more.name = fmt::format("Audio {}", id);
        }
        format_ = format;
    }

    void add(int count, int64_t length_ms = kGop) {
        for (int i = 0; i < count; i++) {
            open(length_ms, length_ms);
            store_.close();
            time_ms_ += length_ms;
        }
    }

    // One that grows, and will be two seconds long.
    void open(int64_t part_ms = 200, int64_t expected_ms = kGop) {
        store_.open(format_, time_ms_, time_ms_ + lag_ms_, false, expected_ms, clock_);
        store_.add_part({.bytes = Bytes(1'000),
                         .audio_at = 800,
                         .duration_ms = part_ms,
                         .independent = true,
                         .composition_ms = composition_ms_,
                         .video_frames = 5});
    }

    void skip(int64_t ms) { time_ms_ += ms; }

    // From stream time to when it arrives.
    int64_t lag_ms() const { return lag_ms_; }

    net::SegmentStore& store() { return store_; }

  private:
    net::SegmentStore store_;
    Ref<const net::SegmentFormat> format_;
    net::SegmentClock clock_;
    int64_t time_ms_;
    int64_t lag_ms_;
    int32_t composition_ms_;
};

// The qualities that the last period has beside the stream's own.
struct Offered {
    dash::Presentation presentation;
    DashLadder ladder;

    Offered(Segments& home, Segments& other) { describe(home, other); }

    void describe(Segments& home, Segments& other) {
        presentation = describe_segments(home.store(), true);
        // A frame that arrives now: of each stream another one.
        const LadderLead lead{home.lag_ms() - other.lag_ms()};
        add_variant({2, &other.store(), lead}, home.store(), ladder, presentation);
    }

    size_t qualities(size_t period) const { return presentation.periods[period].qualities.size(); }

    const dash::Quality& other(size_t period = 0) const {
        return presentation.periods[period].qualities.at(1);
    }

    // Stream time of the other quality less that of the stream, of the same picture.
    int64_t shift_ms() const {
        return other().start_ms - presentation.periods[0].qualities[0].start_ms;
    }
};

TEST(DashDescriptionTest, AStreamAloneHasItsTracksAndTheSegmentThatGrows) {
    Segments home(7, 10'000, kNow);
    home.add(2);
    home.open();
    const dash::Presentation presentation = describe_segments(home.store(), true);
    ASSERT_EQ(presentation.periods.size(), 1U);
    const dash::Quality& stream = presentation.periods[0].qualities.at(0);
    EXPECT_EQ(presentation.periods[0].wall_ms, kNow);
    EXPECT_EQ(stream.start_ms, 10'000);
    EXPECT_EQ(stream.files, 7U);
    ASSERT_EQ(stream.segments.size(), 3U);
    EXPECT_EQ(stream.segments[2].start_ms, 14'000);
    EXPECT_EQ(stream.segments[2].duration_ms, kGop);
    EXPECT_GT(stream.part_ms, 0);
    ASSERT_EQ(stream.tracks.size(), 2U);
    EXPECT_EQ(stream.tracks[0].bandwidth_bps, 800U * 3 * 8'000 / 4'200);
    const dash::Presentation whole = describe_segments(home.store(), false);
    EXPECT_EQ(whole.periods[0].qualities[0].segments.size(), 2U);
    EXPECT_EQ(whole.periods[0].qualities[0].part_ms, 0);
}

// ffmpeg would read it again and again.
TEST(DashDescriptionTest, TheSegmentThatWasCutForTheFirstViewerOfHlsIsLeftOut) {
    Segments home(7, 10'000, kNow);
    home.add(1, 200);
    EXPECT_EQ(describe_segments(home.store(), true).periods.at(0).qualities[0].segments.size(), 1U)
        << "there is no other";
    home.open(200, 1'800);
    const dash::Presentation presentation = describe_segments(home.store(), true);
    ASSERT_EQ(presentation.periods.size(), 1U);
    EXPECT_EQ(presentation.periods[0].wall_ms, kNow);
    const dash::Quality& stream = presentation.periods[0].qualities.at(0);
    EXPECT_EQ(stream.start_ms, 10'000);
    ASSERT_EQ(stream.segments.size(), 1U);
    EXPECT_EQ(stream.segments[0].start_ms, 10'200);
    EXPECT_EQ(begin_of(presentation), kNow + 200);
}

TEST(DashDescriptionTest, AShortSegmentIsListedWhereTheNextBeginsInAnotherSecond) {
    Segments home(7, 10'900, kNow);
    home.add(1, 200);
    home.open(200, 1'800);
    EXPECT_EQ(describe_segments(home.store(), true).periods.at(0).qualities[0].segments.size(), 2U);
}

TEST(DashDescriptionTest, TheFirstPeriodOfAStreamStartsEarly) {
    Segments stream(100, 20'000, kNow);
    stream.open();
    EXPECT_EQ(describe_segments(stream.store(), true).periods.front().early_ms, dash::kEarlyMs);
    Segments young(100, 700, kNow);
    young.open();
    EXPECT_EQ(describe_segments(young.store(), true).periods.front().early_ms, 700)
        << "no time is below 0";
    stream.store().close();
    stream.skip(kGop);
    stream.begin("avc1.64001e");
    stream.add(1);
    const dash::Presentation two = describe_segments(stream.store(), true);
    ASSERT_EQ(two.periods.size(), 2U);
    EXPECT_EQ(two.periods[0].early_ms, dash::kEarlyMs) << "it does not change";
    EXPECT_EQ(two.periods[1].early_ms, 0) << "the media of the one before are there";
}

TEST(DashDescriptionTest, AVariantIsVideoAlone) {
    Segments home(7, 10'000, kNow);
    Segments other(30, 10'000, kNow + 300);
    home.add(3);
    other.add(2);
    other.open();
    const Offered offered(home, other);
    ASSERT_EQ(offered.qualities(0), 2U);
    EXPECT_EQ(offered.other().variant, 2U);
    EXPECT_EQ(offered.other().files, 30U);
    EXPECT_EQ(offered.other().segments.size(), 3U);
    EXPECT_GT(offered.other().part_ms, 0);
    ASSERT_EQ(offered.other().tracks.size(), 1U);
    EXPECT_EQ(offered.other().tracks[0].name, "video");
    EXPECT_EQ(offered.shift_ms(), 0) << "equal stream times, although it arrives later";
}

// Its program began later than the stream, and takes 0.7 s to encode.
TEST(DashDescriptionTest, KeyFramesSayWhichPicturesAreTheSame) {
    Segments home(7, 50'000, kNow);
    Segments other(30, 10'000, kNow + kGop + 700);  // the second key frame of home
    home.add(3);
    other.add(2);
    EXPECT_EQ(Offered(home, other).shift_ms(), 10'000 - 52'000);
}

TEST(DashDescriptionTest, ItIsThePresentationThatAgrees) {
    Segments home(7, 10'000, kNow);
    Segments other(30, 10'000, kNow + 300, 80);  // it has B-frames
    home.add(3);
    other.add(3);
    EXPECT_EQ(Offered(home, other).shift_ms(), 80);
}

TEST(DashDescriptionTest, WhatPlayersWereToldStays) {
    Segments home(7, 10'000, kNow);
    Segments other(30, 10'000, kNow + 300);
    home.add(3);
    other.add(3);
    Offered offered(home, other);
    const int64_t before = offered.shift_ms();
    other.skip(400);  // it would be found elsewhere now
    home.add(6);
    other.add(6);
    offered.describe(home, other);
    EXPECT_EQ(offered.shift_ms(), before);
    EXPECT_EQ(offered.ladder.size(), 1U);
}

TEST(DashDescriptionTest, OneThatDoesNotGoOnIsLeftOut) {
    Segments home(7, 10'000, kNow);
    Segments other(30, 10'000, kNow + 300);
    home.add(3);
    other.add(3);
    Offered offered(home, other);
    EXPECT_EQ(offered.qualities(0), 2U);
    home.add(2);
    offered.describe(home, other);
    EXPECT_EQ(offered.qualities(0), 2U) << "it may come yet";
    home.add(1);
    offered.describe(home, other);
    EXPECT_EQ(offered.qualities(0), 1U);
    Segments empty(40, 10'000, kNow);
    offered.describe(home, empty);
    EXPECT_EQ(offered.qualities(0), 1U);
}

TEST(DashDescriptionTest, EachPeriodHasTheSegmentsThatBelongThere) {
    Segments home(7, 10'000, kNow);
    Segments other(30, 10'000, kNow + 300);
    home.add(2);
    home.begin("avc1.640028");  // from 14,000 on
    home.add(1);
    other.add(3);
    const Offered offered(home, other);
    ASSERT_EQ(offered.presentation.periods.size(), 2U);
    ASSERT_EQ(offered.qualities(0), 2U);
    ASSERT_EQ(offered.qualities(1), 2U);
    EXPECT_EQ(offered.other(0).segments.size(), 2U);
    ASSERT_EQ(offered.other(1).segments.size(), 1U);
    EXPECT_EQ(offered.other(1).segments[0].start_ms, 14'000);
    EXPECT_EQ(offered.other(1).start_ms, 14'000);
}

TEST(DashDescriptionTest, ANewHeaderOfAVariantIsAnotherRepresentation) {
    Segments home(7, 10'000, kNow);
    Segments other(30, 10'000, kNow + 300);
    home.add(4);
    other.add(2);
    other.begin("avc1.640028");
    other.add(2);
    const Offered offered(home, other);
    ASSERT_EQ(offered.qualities(0), 2U);
    EXPECT_EQ(offered.other().files, 32U);
    EXPECT_EQ(offered.other().segments.size(), 2U) << "those of the header";
}

TEST(DashDescriptionTest, AudioOfOthersIsNotOffered) {
    Segments home(7, 10'000, kNow);
    Segments other(30, 10'000, kNow);
    home.add(3);
    other.begin("");
    other.add(3);
    EXPECT_EQ(Offered(home, other).qualities(0), 1U);
}

TEST(DashLadderTest, OfKeyFramesThatAreCloseTheEqualTimesAreMeant) {
    // A key frame each second, and 1.2 s to encode.
    const LadderKeys home = {10'000, 11'000, 12'000, 13'000};
    EXPECT_EQ(ladder_offset_ms(home, {10'000, 11'000, 12'000}, {-1'200}), 0);
}

std::vector<std::string> names_of(const dash::Period& period) {
    std::vector<std::string> names;
    for (const dash::Track& track : period.qualities.front().tracks) {
        names.push_back(track.name);
    }
    return names;
}

TEST(DashAudioTest, APlayerKeepsTheTracksOfItsFirstDescription) {
    Segments made(7, 10'000, kNow);
    made.begin_with({1});
    made.add(2);
    std::optional<std::vector<std::string>> offered;
    dash::Presentation first = describe_segments(made.store(), false);
    keep_audio(first, offered);
    EXPECT_EQ(offered, (std::vector<std::string>{"audio", "audio1"}));
    EXPECT_EQ(names_of(first.periods.back()),
              (std::vector<std::string>{"video", "audio", "audio1"}));
    EXPECT_EQ(first.periods.back().qualities.front().tracks[2].label, "Audio 1");
    made.begin_with({2});
    made.add(2);
    dash::Presentation second = describe_segments(made.store(), false);
    keep_audio(second, offered);
    ASSERT_EQ(second.periods.size(), 2U);
    EXPECT_EQ(names_of(second.periods.back()),
              (std::vector<std::string>{"video", "audio", "audio1"}));
    EXPECT_EQ(second.periods.back().qualities.front().tracks[2].label, "English")
        << "the main one stands in";
    std::optional<std::vector<std::string>> of_another;
    dash::Presentation third = describe_segments(made.store(), false);
    keep_audio(third, of_another);
    EXPECT_EQ(of_another, (std::vector<std::string>{"audio", "audio2"}));
}

TEST(DashAudioTest, TracksKeepTheirPlaces) {
    Segments made(7, 10'000, kNow);
    made.begin_with({2});
    made.add(2);
    std::optional<std::vector<std::string>> offered = {{"audio", "audio1", "audio2"}};
    dash::Presentation now = describe_segments(made.store(), false);
    keep_audio(now, offered);
    EXPECT_EQ(names_of(now.periods.back()),
              (std::vector<std::string>{"video", "audio", "audio1", "audio2"}));
    EXPECT_EQ(now.periods.back().qualities.front().tracks[3].label, "Audio 2");
}

TEST(DashAudioTest, OfAStreamThatWasSilentAtFirstTheMainTrackComes) {
    Segments made(7, 10'000, kNow);
    made.begin_with({1});
    made.add(2);
    std::optional<std::vector<std::string>> offered{std::in_place};
    dash::Presentation now = describe_segments(made.store(), false);
    keep_audio(now, offered);
    EXPECT_EQ(names_of(now.periods.back()), (std::vector<std::string>{"video", "audio"}));
}

TEST(DashLadderTest, OneThatBeganAGopLaterHasOtherTimes) {
    // Relays that began on both sides of a key frame: their times begin with different pictures.
    EXPECT_EQ(ladder_offset_ms({10'000, 12'000, 14'000}, {10'000, 12'000}, {-2'010}), -2'000);
}

TEST(DashLadderTest, WithoutCommonKeyFramesTimesOfArrivalDecide) {
    const LadderLead lead{-45'130};
    EXPECT_EQ(ladder_offset_ms({50'000}, {11'000, 13'000, 15'000}, lead), std::nullopt)
        << "they may come yet";
    EXPECT_EQ(ladder_offset_ms({50'000, 52'000, 54'000}, {11'000, 13'000, 15'000}, lead), -45'130);
}

TEST(DashLadderTest, WithoutKeyFramesEqualTimesAreMeantWhereTheyMayBe) {
    EXPECT_EQ(ladder_offset_ms({}, {}, {-1'400}), 0);
    EXPECT_EQ(ladder_offset_ms({}, {}, {-1'600}), std::nullopt);
}

// An encoder that has looked at the stream for seconds sends these at once, and is late until then.
TEST(DashLadderTest, OfAStreamThatHasJustBegunOnlyEqualTimesAreKnown) {
    EXPECT_EQ(ladder_offset_ms({10'000, 12'000}, {10'000}, {-300, false}), 0);
    EXPECT_EQ(ladder_offset_ms({50'000, 52'000}, {10'000}, {-42'700, false}), std::nullopt);
    EXPECT_EQ(ladder_offset_ms({50'000, 52'000}, {10'000}, {-42'700, true}), -42'000);
}

}  // namespace
}  // namespace weir::session
