#include "stream/rtp_log.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir::stream {
namespace {

constexpr uint8_t kAudio = 0;
constexpr uint8_t kVideo = 1;

class RtpLogTest : public testing::Test {
  protected:
    // A frame of packets of these sizes, filled with their index.
    void frame(int64_t time_ms,
               std::vector<size_t> sizes,
               bool start = false,
               uint8_t track = kVideo) {
        RtpLog::Frame frame;
        frame.track = track;
        frame.start = start;
        frame.time_ms = time_ms;
        frame.rtp_time = static_cast<uint32_t>(time_ms * 90);
        log_.begin_frame(frame);
        for (size_t i = 0; i < sizes.size(); i++) {
            const Bytes head{0x7c};
            const Bytes body(sizes[i] - 1, static_cast<uint8_t>(i));
            log_.add_packet(head, body);
        }
        log_.end_frame();
    }

    const RtpRun& run(uint64_t number) {
        const RtpRun* found = log_.run(number);
        EXPECT_NE(found, nullptr);
        return *found;
    }

    RtpLog log_;
};

TEST_F(RtpLogTest, PacketsOfOneSizeAreOneRunWithAShorterLast) {
    frame(0, {1000, 1000, 1000, 400}, true);
    ASSERT_EQ(log_.head(), 1u);
    EXPECT_EQ(run(0).packets, 4u);
    EXPECT_EQ(run(0).packet_bytes, 1000u);
    EXPECT_EQ(run(0).size_bytes, 3400u);
    EXPECT_TRUE(run(0).marker);
    EXPECT_TRUE(run(0).start);
    EXPECT_EQ(run(0).packet(3).size(), 400u);
    EXPECT_EQ(run(0).packet(2)[0], 0x7c);
    EXPECT_EQ(run(0).packet(2)[1], 2);
}

TEST_F(RtpLogTest, AnotherSizeBeginsARunWithoutEndingTheFrame) {
    frame(0, {60, 1000, 1000, 300, 300, 900}, true);
    ASSERT_EQ(log_.head(), 4u);
    EXPECT_EQ(run(0).packets, 1u);
    EXPECT_EQ(run(1).packets, 3u);
    EXPECT_EQ(run(2).packets, 1u);
    EXPECT_EQ(run(3).packets, 1u);
    EXPECT_FALSE(run(2).marker);
    EXPECT_TRUE(run(3).marker);
    EXPECT_TRUE(run(0).frame_start);
    EXPECT_FALSE(run(1).frame_start);
    EXPECT_TRUE(run(0).start);
    EXPECT_FALSE(run(1).start) << "only the first run is where a player begins";
    EXPECT_EQ(log_.start(), 0u);
    EXPECT_EQ(run(3).first_packet, 5u);
}

TEST_F(RtpLogTest, ALongFrameIsSeveralBursts) {
    frame(0, std::vector<size_t>(RtpRun::kMaxPackets + 1, 1200), true);
    ASSERT_EQ(log_.head(), 2u);
    EXPECT_EQ(run(0).packets, RtpRun::kMaxPackets);
    EXPECT_FALSE(run(0).marker);
    EXPECT_EQ(run(1).packets, 1u);
    EXPECT_TRUE(run(1).marker);
}

TEST_F(RtpLogTest, ABurstOfLargePacketsFitsADatagram) {
    frame(0, std::vector<size_t>(100, 1432), true);
    size_t packets = 0;
    for (uint64_t number = 0; number < log_.head(); number++) {
        EXPECT_LE(run(number).size_bytes, 65'507u) << "what UDP over IPv4 takes at once";
        EXPECT_EQ(run(number).size_bytes, run(number).packets * 1432u);
        packets += run(number).packets;
    }
    EXPECT_EQ(packets, 100u);
}

TEST_F(RtpLogTest, KeepsALongerHistoryWhenAsked) {
    log_.set_history_ms(5'000);
    frame(0, {100}, true);
    frame(4'000, {100}, true);
    EXPECT_EQ(log_.oldest(), 0u);
    log_.set_history_ms(RtpLog::kHistoryMs);
    frame(4'040, {100});
    EXPECT_EQ(log_.oldest(), 1u);
}

// A multiplex has its audio behind its video on the timeline.
TEST_F(RtpLogTest, AFrameIsOldByWhatItIsBehindItsOwnTrack) {
    frame(5'000, {100}, true);
    frame(3'500, {80}, false, kAudio);
    EXPECT_EQ(log_.lag_ms(run(1)), 0);
    frame(3'540, {80}, false, kAudio);
    EXPECT_EQ(log_.lag_ms(run(1)), 40);
    EXPECT_EQ(log_.lag_ms(run(0)), 0);
    log_.note_coming(kAudio, 3'600);
    EXPECT_EQ(log_.lag_ms(run(2)), 60) << "newer audio is on its way";
}

TEST_F(RtpLogTest, ATrackThatHasEndedGrowsOld) {
    frame(1'000, {80}, true, kAudio);
    frame(1'000 + RtpLog::kMaxTrackLagMs, {100});
    EXPECT_EQ(log_.lag_ms(run(0)), 0);
    frame(1'500 + RtpLog::kMaxTrackLagMs, {100});
    EXPECT_EQ(log_.lag_ms(run(0)), 500);
    frame(2'001 + RtpLog::kMaxTrackLagMs, {100}, true);
    EXPECT_GT(log_.oldest(), 0U) << "it does not hold back what is behind it";
}

TEST_F(RtpLogTest, KeepsTheHistoryOfATrackThatIsBehind) {
    frame(2'000, {80}, true, kAudio);
    frame(0, {100});
    frame(2'040, {80}, true, kAudio);
    frame(40, {100});
    EXPECT_EQ(log_.oldest(), 0U);
}

TEST_F(RtpLogTest, TracksAreNumberedApart) {
    frame(0, {1000, 500}, true);
    frame(5, {80}, false, kAudio);
    frame(33, {700});
    EXPECT_EQ(run(1).first_packet, 0u);
    EXPECT_EQ(run(2).first_packet, 2u);
    EXPECT_EQ(log_.packets(kVideo), 3u);
    EXPECT_EQ(log_.packets(kAudio), 1u);
    EXPECT_EQ(log_.find(kVideo, 1), 0u);
    EXPECT_EQ(log_.find(kVideo, 2), 2u);
    EXPECT_EQ(log_.find(kAudio, 0), 1u);
    EXPECT_EQ(log_.find(kVideo, 3), std::nullopt) << "not written yet";
}

TEST_F(RtpLogTest, KeepsTheGopAndASecondBeforeIt) {
    frame(0, {100}, true);
    for (int64_t time = 40; time < 2000; time += 40) {
        frame(time, {100});
    }
    EXPECT_EQ(log_.oldest(), 0u) << "all of it is the GOP";
    frame(2000, {100}, true);
    EXPECT_EQ(run(log_.start()).time_ms, 2000);
    EXPECT_EQ(run(log_.oldest()).time_ms, 1000);
    EXPECT_EQ(log_.find(kVideo, run(log_.oldest()).first_packet - 1), std::nullopt);
    frame(2040, {100});
    EXPECT_EQ(run(log_.oldest()).time_ms, 1040);
    EXPECT_EQ(log_.run(0), nullptr);
}

TEST_F(RtpLogTest, WithoutAStartOnlyHistoryIsKept) {
    frame(0, {100}, true);
    frame(500, {100});
    frame(3000, {100});
    log_.forget_start();
    EXPECT_FALSE(log_.has_start());
    EXPECT_EQ(run(log_.oldest()).time_ms, 3000);
    frame(3100, {100}, true);
    EXPECT_TRUE(log_.has_start());
    EXPECT_EQ(log_.start(), log_.head() - 1);
}

TEST_F(RtpLogTest, AGopThatIsTooLargeIsNotKept) {
    frame(0, {1000}, true);
    for (int i = 0; log_.has_start() && i < 1'000; i++) {
        frame(i, std::vector<size_t>(RtpRun::kMaxPackets, 1200));
    }
    EXPECT_FALSE(log_.has_start());
    EXPECT_LE(log_.bytes(), RtpLog::kMaxBytes);
    frame(2000, {1000}, true);
    EXPECT_TRUE(log_.has_start());
}

TEST_F(RtpLogTest, ItsBytesAreCountedAndGivenBack) {
    const uint64_t before = find_object_class("rtp_log")->bytes();
    {
        RtpLog log;
        RtpLog::Frame frame;
        frame.start = true;
        log.begin_frame(frame);
        log.add_packet({}, Bytes(1000, 1));
        log.end_frame();
        EXPECT_GE(find_object_class("rtp_log")->bytes(), before + 1000);
    }
    EXPECT_EQ(find_object_class("rtp_log")->bytes(), before);
}

}  // namespace
}  // namespace weir::stream
