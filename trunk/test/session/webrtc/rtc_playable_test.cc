#include "session/webrtc/rtc_playable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/session/webrtc/rtc_media.h"

namespace weir::session {
namespace {

using media::Codec;
using media::TrackKind;
using testing::HasSubstr;

class RtcPlayableTest : public testing::Test {
  protected:
    ~RtcPlayableTest() override { publisher_.end(); }

    RtcPlayable told(std::string_view refusal = {}) { return rtc_playable(stream_, refusal); }

    void video(Picture picture, int composition_ms = 0) {
        const Bytes frame = test::nal_frame({h264_nal(picture, ++marker_, 100)});
        Bytes body = {static_cast<uint8_t>(picture == Picture::kKey ? 0x17 : 0x27), 1};
        ByteWriter(body).u24(static_cast<uint32_t>(composition_ms));
        body.insert(body.end(), frame.begin(), frame.end());
        publisher_.send(TrackKind::kVideo, body);
        publisher_.pass(40);
    }

    void gops(std::initializer_list<std::pair<Picture, int>> frames) {
        publisher_.config(test::kAvcHighConfig);
        for (int i = 0; i < 2; i++) {
            video(Picture::kKey, 80);
            for (const auto& [picture, composition_ms] : frames) {
                video(picture, composition_ms);
            }
        }
    }

    stream::Stream stream_{{"v", "live", "a"}, {}, MonoClock::now()};
    TestPublisher publisher_{stream_};
    uint32_t marker_ = 0;
};

TEST_F(RtcPlayableTest, NothingIsKnownBeforeTheFirstFrames) {
    EXPECT_FALSE(told().playable);
    publisher_.config();
    EXPECT_FALSE(told().playable);
    video(Picture::kKey);
    EXPECT_FALSE(told().playable) << "B-frames may follow";
    EXPECT_EQ(told().why, "");
}

TEST_F(RtcPlayableTest, H264WithoutBFramesPlays) {
    gops({{Picture::kReferenced, 80}, {Picture::kReferenced, 80}});
    EXPECT_EQ(told().playable, true);
    EXPECT_EQ(told().why, "");
    EXPECT_EQ(told("as its muxer says").playable, false);
    EXPECT_EQ(told("as its muxer says").why, "as its muxer says");
}

TEST_F(RtcPlayableTest, PlainBFramesAreLeftOut) {
    gops({{Picture::kReferenced, 160}, {Picture::kB, 40}, {Picture::kB, 40}});
    EXPECT_EQ(told().playable, true);
    EXPECT_THAT(told().why, HasSubstr("B-frames are left out"));
}

TEST_F(RtcPlayableTest, APyramidIsRefused) {
    gops({{Picture::kReferenced, 200}, {Picture::kReferencedB, 80}, {Picture::kB, 0}});
    EXPECT_EQ(told().playable, false);
    EXPECT_THAT(told().why, HasSubstr("bframes=0"));
    publisher_.end();
    EXPECT_FALSE(told().playable) << "nobody publishes";
    TestPublisher next{stream_};
    next.config();
    EXPECT_FALSE(told().playable) << "another encoder may do better";
}

TEST_F(RtcPlayableTest, SoundAlonePlaysAtOnce) {
    publisher_.opus();
    EXPECT_EQ(told().playable, true);
    EXPECT_EQ(told().why, "");
}

TEST_F(RtcPlayableTest, CodecsThatRtpDoesNotCarryAreNamed) {
    publisher_.send(TrackKind::kVideo, Bytes{0x12, 0x00, 0x00, 0x84, 0x00});  // Sorenson H.263
    const RtcPlayable result = told();
    EXPECT_EQ(result.playable, false) << result.why;
    EXPECT_THAT(result.why, HasSubstr("does not carry its video codec"));
}

}  // namespace
}  // namespace weir::session
