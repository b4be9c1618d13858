#include "session/rtsp/rtsp_sender.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "io/io_result.h"
#include "proto/rtp/header.h"

#include "test/session/muxer_fixture.h"
#include "test/support/codec_samples.h"
#include "test/support/payloads.h"

namespace weir::session {
namespace {

using media::Codec;
using media::TrackKind;
using test::BodyKind;

constexpr int kGop = 50;  // frames, of 40 ms

// Video, with audio where a test says so; the clock goes in steps of 5 ms, as the pump's does.
class RtspSenderTest : public MuxerFixture {
  protected:
    RtspSenderTest() {
        stream_.attach(writer_);
        config();
    }

    ~RtspSenderTest() override { stream_.detach(writer_); }

    void config() {
        send(TrackKind::kVideo, clock_,
             test::tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
    }

    void frame() {
        if (audio_after_ms_) {
            send(TrackKind::kAudio, static_cast<uint32_t>(clock_ + *audio_after_ms_),
                 test::tag_body(Codec::kOpus, BodyKind::kFrame, test::counted({0xFC}, 80)));
        }
        const bool key = frames_++ % kGop == 0;
        const uint8_t type = key ? 0x65 : 0x41;
        send(TrackKind::kVideo, clock_,
             test::tag_body(Codec::kH264, key ? BodyKind::kKeyFrame : BodyKind::kFrame,
                            test::nal_frame({test::counted({type, 0x88}, 400)})));
    }

    void frames(int count) {
        for (int i = 0; i < count; i++) {
            frame();
            pass(40);
        }
    }

    net::RtpFlush flush(RtspSender& sender) {
        net::RtpFlush result = net::RtpFlush::kMore;
        while (result == net::RtpFlush::kMore) {
            result = sender.flush(now_, 8,
                                  [&](const stream::RtpRun& run) -> std::optional<io::IoStatus> {
                                      if (blocked_) {
                                          return io::IoStatus::kWouldBlock;
                                      }
                                      take(run);
                                      return io::IoStatus::kDone;
                                  });
        }
        return result;
    }

    // The stream goes on, and what the sender may is sent.
    void live(RtspSender& sender, Millis span) {
        for (const MonoTime end = now_ + span; now_ < end; pass(5)) {
            if (clock_ % 40 == 0) {
                frame();
            }
            flush(sender);
        }
    }

    void take(const stream::RtpRun& run) {
        for (size_t i = 0; i < run.packets; i++) {
            const auto packet = rtp::PacketView::parse(run.packet(i));
            ASSERT_TRUE(packet);
            std::optional<uint16_t>& next = next_[run.track];
            lost_ += next && *next != packet->sequence() ? 1U : 0U;
            next = static_cast<uint16_t>(packet->sequence() + 1);
        }
        sent_ms_ = run.time_ms;
        sent_at_[run.track] = now_;
    }

    RtspLogWriter writer_;
    int frames_ = 0;
    std::optional<int64_t> audio_after_ms_;  // on the timeline; negative: behind the video
    std::array<MonoTime, 2> sent_at_{};      // by track
    bool blocked_ = false;
    std::array<std::optional<uint16_t>, 2> next_;  // by track
    size_t lost_ = 0;
    int64_t sent_ms_ = -1;
};

TEST_F(RtspSenderTest, MissesNothingWhenTheNextKeyFrameComesSoonAfterTheStart) {
    frames(kGop - 1);
    RtspSender sender(writer_);
    live(sender, Seconds(12));
    EXPECT_EQ(lost_, 0U);
    EXPECT_EQ(sender.resyncs(), 0U);
    EXPECT_EQ(sender.lag_ms(), 0) << "it has caught up";
}

// What GStreamer's jitter buffer follows without a break: see the header.
TEST_F(RtspSenderTest, SendsTheFirstFrameAtOnceAndTheOthersALittleFasterThanTheyWereMade) {
    frames(kGop - 1);
    RtspSender sender(writer_);
    const MonoTime began = now_;
    EXPECT_EQ(flush(sender), net::RtpFlush::kPaced);
    const int64_t first_ms = sent_ms_;
    EXPECT_GE(first_ms, 0);
    while (sender.lag_ms() > 0) {
        live(sender, Millis(5));
        const Millis sent(sent_ms_ - first_ms);
        EXPECT_LE(sent, RtspSender::kFirstBurst + (now_ - began) * RtspSender::kFarPercent / 100);
        ASSERT_LT(now_ - began, Seconds(12));
    }
}

TEST_F(RtspSenderTest, GoesOnWithTheNewestKeyFrameWhenItFallsBehindLater) {
    frames(1);
    RtspSender sender(writer_);
    live(sender, Seconds(1));
    ASSERT_EQ(sender.lag_ms(), 0);
    blocked_ = true;
    live(sender, Millis(3500));
    blocked_ = false;
    live(sender, Seconds(4));
    EXPECT_EQ(sender.resyncs(), 1U);
    EXPECT_GT(sender.skipped_runs(), 0U);
    EXPECT_EQ(sender.lag_ms(), 0);
}

TEST_F(RtspSenderTest, TracksThatAreApartOnTheTimelineMakeNobodyJumpOrWait) {
    for (const int64_t after_ms : {-1'500, 1'500}) {
        SCOPED_TRACE(after_ms);
        publish_again(10'000);
        config();
        frames_ = 0;
        audio_after_ms_ = after_ms;
        frames(kGop + 2);
        RtspSender sender(writer_);
        next_ = {};
        for (int i = 0; i < 12; i++) {
            live(sender, Seconds(1));
            EXPECT_LE(now_ - sent_at_[net::kRtpAudioTrack], Millis(100));
            EXPECT_LE(now_ - sent_at_[net::kRtpVideoTrack], Millis(100));
        }
        EXPECT_EQ(sender.lag_ms(), 0);
        EXPECT_EQ(lost_, 0U);
        EXPECT_EQ(sender.resyncs(), 0U);
    }
}

TEST_F(RtspSenderTest, AudioThatBeginsWhileAPlayerCatchesUpDoesNotHoldItsVideoBack) {
    frames(kGop - 1);
    RtspSender sender(writer_);
    live(sender, Seconds(1));
    ASSERT_GT(sender.lag_ms(), 0);
    audio_after_ms_ = 0;
    for (int i = 0; i < 30; i++) {
        live(sender, Millis(100));
        EXPECT_LE(now_ - sent_at_[net::kRtpVideoTrack], Millis(200));
    }
}

TEST_F(RtspSenderTest, LetsTheLogForgetWhenNobodyIsOnTheWay) {
    frames(kGop);
    RtspSender sender(writer_);
    flush(sender);
    frames(kGop + 1);
    EXPECT_EQ(writer_.log().oldest(), 0U) << "kept for the one that begins";
    sender.leave();
    frames(1);
    EXPECT_GT(writer_.log().oldest(), 0U);
}

}  // namespace
}  // namespace weir::session
