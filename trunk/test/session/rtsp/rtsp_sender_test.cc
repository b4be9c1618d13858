#include "session/rtsp/rtsp_sender.h"

#include <algorithm>
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

// Video alone; the clock goes in steps of 5 ms, as the pump's does.
class RtspSenderTest : public MuxerFixture {
  protected:
    RtspSenderTest() {
        stream_.attach(writer_);
        send(TrackKind::kVideo, 0,
             test::tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
    }

    ~RtspSenderTest() override { stream_.detach(writer_); }

    void frame() {
        const bool key = frames_++ % kGop == 0;
        const uint8_t type = key ? 0x65 : 0x41;
        send(TrackKind::kVideo, clock_,
             test::tag_body(Codec::kH264, key ? BodyKind::kKeyFrame : BodyKind::kFrame,
                            test::nal_frame({test::counted({type}, 400)})));
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
            lost_ += next_ && *next_ != packet->sequence() ? 1U : 0U;
            next_ = static_cast<uint16_t>(packet->sequence() + 1);
        }
        sent_ms_ = run.time_ms;
    }

    RtspLogWriter writer_;
    int frames_ = 0;
    bool blocked_ = false;
    std::optional<uint16_t> next_;
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
