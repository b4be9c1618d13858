#include "proto/rtp/clock_mapper.h"

#include <array>
#include <cstdlib>

#include <gtest/gtest.h>

#include "test/proto/rtp/packets.h"

namespace weir::rtp {
namespace {

using test::kStart;

constexpr int64_t kUnixUs = 1'700'000'000'000'000;  // the publisher's wall clock at kStart

// A track of a publisher: its RTP clock starts anywhere, and its packets take a while to arrive.
struct Source {
    uint32_t clock_hz;
    uint32_t rtp_start;
    Micros delay;      // from capture to arrival
    double drift = 0;  // of the RTP clock against the publisher's wall clock

    uint32_t rtp(Micros captured) const {
        const double us = static_cast<double>(captured.count()) * (1 + drift);
        return rtp_start + static_cast<uint32_t>(static_cast<int64_t>(us * clock_hz / 1e6));
    }
};

class ClockMapperTest : public testing::Test {
  protected:
    Micros map(size_t track, const Source& source, Micros captured) {
        return mapper_.map(track, source.rtp(captured), kStart + captured + source.delay);
    }

    void report(size_t track, const Source& source, Micros at) {
        mapper_.on_sender_report(track, rtcp::ntp_from_unix_us(kUnixUs + at.count()),
                                 source.rtp(at));
    }

    // Runs both tracks from..to. What the video is ahead of the sound at the end.
    Micros run(Micros from, Micros to, bool reports) {
        Micros audio_at{};
        Micros video_at{};
        for (Micros at = from; at < to; at += Millis(20)) {
            if (reports && at.count() % 1'000'000 == 0) {
                report(audio_, sound_, at);
                report(video_, picture_, at);
            }
            const Micros audio = map(audio_, sound_, at);
            EXPECT_GT(audio, last_audio_);
            last_audio_ = audio;
            const Micros video = map(video_, picture_, at);
            EXPECT_GT(video, last_video_);  // no step back, ever
            if (last_video_ > Micros(0)) {
                const Micros step = video - last_video_;
                EXPECT_LE(std::abs((step - Millis(20)).count()), 2'600);  // an eighth, no jump
            }
            last_video_ = video;
            audio_at = audio;
            video_at = video;
        }
        return video_at - audio_at;
    }

    ClockMapper mapper_;
    size_t audio_ = mapper_.add_track(48'000, true);
    size_t video_ = mapper_.add_track(90'000, false);
    Source sound_{48'000, 0xFFFF'0000, Millis(60)};  // wraps soon
    Source picture_{90'000, 0x1234'5678, Millis(260)};
    Micros last_audio_{};
    Micros last_video_{};
};

TEST_F(ClockMapperTest, BeginsAtTheOriginAndFollowsTheRtpClock) {
    EXPECT_EQ(map(audio_, sound_, Micros(0)), ClockMapper::kOrigin);
    EXPECT_EQ(map(audio_, sound_, Millis(20)), ClockMapper::kOrigin + Millis(20));
    EXPECT_EQ(map(audio_, sound_, Seconds(4)), ClockMapper::kOrigin + Seconds(4));
}

TEST_F(ClockMapperTest, GuessesByArrivalUntilReportsCome) {
    // The picture takes 200 ms longer to get here: that is what its guess is wrong by.
    EXPECT_EQ(run(Micros(0), Seconds(2), false), Millis(200));
    EXPECT_FALSE(mapper_.error(video_));
}

TEST_F(ClockMapperTest, ReportsBringSoundAndPictureTogetherWithoutAJump) {
    EXPECT_EQ(run(Micros(0), Millis(1980), false), Millis(200));
    EXPECT_LE(std::abs(run(Millis(1980), Seconds(10), true).count()), 20);
    EXPECT_LE(std::abs(mapper_.error(video_)->count()), 20);
    EXPECT_EQ(mapper_.error(audio_), Micros(0));
    // The sound was the anchor: it never left its clock.
    EXPECT_EQ(last_audio_, ClockMapper::kOrigin + Millis(9'980));
}

TEST_F(ClockMapperTest, ReportsBeforeTheFirstPacketPlaceTheTrackAtOnce) {
    map(audio_, sound_, Micros(0));
    report(audio_, sound_, Micros(0));
    report(video_, picture_, Micros(0));
    const Micros video = map(video_, picture_, Millis(100));
    EXPECT_LE(std::abs((video - ClockMapper::kOrigin - Millis(100)).count()), 20);
}

TEST_F(ClockMapperTest, AReportBeforeThePacketOverAWrapIsUnderstood) {
    picture_.rtp_start = 0xFFFF'FFF0;
    report(video_, picture_, Micros(0));
    map(audio_, sound_, Micros(0));
    report(audio_, sound_, Micros(0));
    const Micros video = map(video_, picture_, Millis(100));
    EXPECT_LE(std::abs((video - ClockMapper::kOrigin - Millis(100)).count()), 20);
}

TEST_F(ClockMapperTest, FollowsTheDriftBetweenTheClocksForHours) {
    sound_.drift = 100e-6;  // 360 ms in an hour
    run(Micros(0), Seconds(3600), true);
    // Frames of the same moment are a few milliseconds apart at most, at the end as in between.
    EXPECT_LE(std::abs((last_video_ - last_audio_).count()), 3'000);
}

TEST_F(ClockMapperTest, WithoutSoundThePictureStaysOnItsClock) {
    map(video_, picture_, Micros(0));
    for (int s = 0; s < 10; s++) {
        report(video_, picture_, Seconds(s));
        EXPECT_EQ(map(video_, picture_, Seconds(s) + Millis(500)),
                  ClockMapper::kOrigin + Seconds(s) + Millis(500));
    }
}

TEST_F(ClockMapperTest, ReportsOfOneTrackOnlyMoveNothing) {
    map(audio_, sound_, Micros(0));
    map(video_, picture_, Micros(0));
    report(video_, picture_, Millis(10));
    EXPECT_EQ(map(video_, picture_, Seconds(1)), ClockMapper::kOrigin + Millis(1'200));
}

TEST_F(ClockMapperTest, LayersOfSimulcastMeetExactly) {
    const size_t low = mapper_.add_track(90'000, false);
    const Source small{90'000, 0x8000'0000, Millis(90)};
    for (Micros at{}; at < Seconds(8); at += Millis(40)) {
        if (at.count() % 1'000'000 == 0) {
            report(video_, picture_, at);
            report(low, small, at);
        }
        const Micros a = map(video_, picture_, at);
        const Micros b = map(low, small, at);
        if (at > Seconds(5)) {
            EXPECT_LE(std::abs((a - b).count()), 30);
        }
    }
}

TEST_F(ClockMapperTest, IgnoresReportsThatCannotBe) {
    map(audio_, sound_, Micros(0));
    map(video_, picture_, Micros(0));
    mapper_.on_sender_report(audio_, 0, 1234);
    EXPECT_EQ(mapper_.ignored_reports(), 1u);
    report(audio_, sound_, Micros(0));
    // The two tracks come from machines of which one was never set.
    mapper_.on_sender_report(video_, rtcp::ntp_from_unix_us(5'000'000), picture_.rtp(Micros(0)));
    EXPECT_EQ(mapper_.ignored_reports(), 2u);
    EXPECT_EQ(map(video_, picture_, Seconds(1)), ClockMapper::kOrigin + Millis(1'200));
}

TEST_F(ClockMapperTest, AJumpOfTheRtpClockGoesOnByArrival) {
    map(audio_, sound_, Micros(0));
    Micros before = map(audio_, sound_, Seconds(1));
    Micros at = Seconds(1);
    for (const uint32_t start : {sound_.rtp_start + 0x6000'0000, sound_.rtp_start - 0x3000'0000}) {
        Source jumped = sound_;
        jumped.rtp_start = start;
        at += Millis(20);
        const Micros after = map(audio_, jumped, at);
        EXPECT_GT(after, before);
        EXPECT_LE(after, before + Millis(25));
        before = after;
    }
    EXPECT_EQ(mapper_.jumps(), 2u);
}

TEST_F(ClockMapperTest, APeerThatOnlyJumpsGetsNowhere) {
    Micros last = map(audio_, sound_, Micros(0));
    uint32_t rtp_time = 0;
    for (int i = 1; i < 20'000; i++) {
        rtp_time += 0x7FFF'FFFF;
        const Micros time = mapper_.map(audio_, rtp_time, kStart + Millis(20 * i));
        ASSERT_GT(time, last);
        ASSERT_LE(time, ClockMapper::kOrigin + Millis(20 * i) + Millis(20));
        last = time;
    }
}

TEST_F(ClockMapperTest, APauseOfASourceIsNoJump) {
    map(audio_, sound_, Micros(0));
    EXPECT_EQ(map(audio_, sound_, Seconds(3600)), ClockMapper::kOrigin + Seconds(3600));
    EXPECT_EQ(mapper_.jumps(), 0u);
}

// I P b b b P b b b, 40 ms a picture, in the order of decoding.
TEST_F(ClockMapperTest, PicturesThatComeInTheOrderOfDecodingAreNoSteps) {
    const size_t track = mapper_.add_track(90'000, false, true);
    constexpr std::array<int, 4> kShown = {4, 1, 2, 3};
    for (int i = 0; i < 100; i++) {
        const Millis shown(40 * (i / 4 * 4 + kShown[static_cast<size_t>(i % 4)]));
        const Micros time =
            mapper_.map(track, picture_.rtp(shown), kStart + Seconds(1) + Millis(40 * i));
        EXPECT_EQ(time - ClockMapper::kOrigin, shown - Millis(160)) << i;
    }
    EXPECT_EQ(mapper_.jumps(), 0u);
}

TEST_F(ClockMapperTest, AStallOfTheNetworkIsNoJump) {
    map(audio_, sound_, Micros(0));
    for (int ms = 20; ms < 8'000; ms += 20) {  // all of it arrives at once
        EXPECT_EQ(mapper_.map(audio_, sound_.rtp(Millis(ms)), kStart + Seconds(8)),
                  ClockMapper::kOrigin + Millis(ms));
    }
    EXPECT_EQ(mapper_.jumps(), 0u);
}

// A camera whose clock is set while it sends.
class ClockMapperStepTest : public ClockMapperTest, public testing::WithParamInterface<int> {};

TEST_P(ClockMapperStepTest, BothTracksGoOnAtTheirPaceAndInStep) {
    run(Micros(0), Seconds(3), true);
    const Micros apart = last_video_ - last_audio_;
    sound_.rtp_start += static_cast<uint32_t>(GetParam() * int64_t{sound_.clock_hz} / 1000);
    picture_.rtp_start += static_cast<uint32_t>(GetParam() * int64_t{picture_.clock_hz} / 1000);
    run(Seconds(3), Seconds(6), false);
    EXPECT_EQ(mapper_.jumps(), 2u);
    EXPECT_NEAR(static_cast<double>((last_video_ - last_audio_ - apart).count()), 0, 1'000);
}

INSTANTIATE_TEST_SUITE_P(Steps,
                         ClockMapperStepTest,
                         testing::Values(-200, -800, -2'500, -4'900, -3'600'000, 2'500, 3'600'000));

TEST_F(ClockMapperTest, KnowsThePublishersWallClockFromTheFirstPacketWithAReport) {
    EXPECT_FALSE(mapper_.wall_offset());
    report(audio_, sound_, Micros(0));
    EXPECT_FALSE(mapper_.wall_offset()) << "no packet says where the report is in the stream";
    run(Micros(0), Seconds(3), true);
    const Micros audio = map(audio_, sound_, Seconds(3));
    ASSERT_TRUE(mapper_.wall_offset());
    EXPECT_NEAR(static_cast<double>((audio + *mapper_.wall_offset()).count() - kUnixUs), 3'000'000,
                1'000);
}

TEST_F(ClockMapperTest, ARestartedSourceGoesOnWhereItWas) {
    run(Micros(0), Seconds(3), true);
    mapper_.restart(video_);
    picture_.rtp_start = 77;
    const Micros video = map(video_, picture_, Seconds(3));
    EXPECT_GT(video, last_video_);
    EXPECT_LE(video, last_video_ + Millis(230));
    EXPECT_EQ(map(video_, picture_, Seconds(3) + Millis(20)), video + Millis(20));
}

}  // namespace
}  // namespace weir::rtp
