#include "proto/rtp/payload_audio.h"

#include <gtest/gtest.h>

#include "test/support/payloads.h"

namespace weir::rtp {
namespace {

using test::Payload;
using test::Receiver;

TEST(AudioPayloadTest, SendsAFrameAsItIs) {
    AudioPacketizer packetizer;
    const Bytes frame = {0xFC, 1, 2, 3};
    EXPECT_EQ(test::packetize(packetizer, frame, 100), (std::vector<Payload>{{frame, true}}));
    EXPECT_TRUE(test::packetize(packetizer, {}, 100).empty());
    EXPECT_TRUE(test::packetize(packetizer, Bytes(101), 100).empty());
    EXPECT_EQ(test::packetize(packetizer, Bytes(100), 100).size(), 1U);
}

TEST(AudioPayloadTest, GivesEachPacketAsAFrameWhateverTheMarkerSays) {
    AudioDepacketizer depacketizer(2);
    Receiver receiver(depacketizer);
    for (bool marker : {true, false, false}) {
        receiver.next_time();
        EXPECT_EQ(receiver.one(Bytes{0xFC, 9}, marker), FeedStatus::kTaken);
    }
    ASSERT_EQ(receiver.frames.size(), 3U);
    EXPECT_EQ(receiver.frames[2].data, (Bytes{0, 0, 0xFC, 9}));
    EXPECT_TRUE(receiver.frames[2].key);
}

TEST(AudioPayloadTest, SaysAfterWhichFrameSoundIsMissing) {
    AudioDepacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.next_time();
    receiver.one(Bytes{1}, false);
    receiver.lose();
    receiver.next_time();
    EXPECT_EQ(receiver.one(Bytes{2}, false), FeedStatus::kLost);
    receiver.next_time();
    receiver.one(Bytes{3}, false);
    ASSERT_EQ(receiver.frames.size(), 3U);
    EXPECT_FALSE(receiver.frames[0].after_loss);
    EXPECT_TRUE(receiver.frames[1].after_loss);
    EXPECT_FALSE(receiver.frames[2].after_loss);
}

TEST(AudioPayloadTest, TakesPacketsOfG711OfAnyDuration) {
    for (const media::Codec codec : {media::Codec::kG711A, media::Codec::kG711U}) {
        const auto depacketizer = make_depacketizer(codec);
        Receiver receiver(*depacketizer);
        for (size_t ms : {10U, 20U, 40U, 60U, 100U}) {
            receiver.next_time();
            EXPECT_EQ(receiver.one(test::counted({}, ms * 8), ms == 10), FeedStatus::kTaken);
            ASSERT_FALSE(receiver.frames.empty());
            EXPECT_EQ(receiver.frames.back().data, test::counted({}, ms * 8));
        }
        EXPECT_EQ(receiver.frames.size(), 5U);
    }
}

TEST(PayloadFormatsTest, ExistForWhatWebRtcAndRtspCarry) {
    for (media::Codec codec :
         {media::Codec::kH264, media::Codec::kHevc, media::Codec::kAv1, media::Codec::kVp8,
          media::Codec::kVp9, media::Codec::kOpus, media::Codec::kG711A, media::Codec::kG711U,
          media::Codec::kAac, media::Codec::kMp3}) {
        EXPECT_TRUE(make_packetizer(codec)) << media::to_string(codec);
        EXPECT_TRUE(make_depacketizer(codec)) << media::to_string(codec);
    }
    EXPECT_FALSE(make_packetizer(media::Codec::kFlac));
    EXPECT_FALSE(make_depacketizer(media::Codec::kAc3));
    PayloadParameters latm;
    latm.audio = AudioFraming::kLatm;
    EXPECT_TRUE(make_depacketizer(media::Codec::kAac, 0, latm));
}

}  // namespace
}  // namespace weir::rtp
