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

TEST(PayloadFormatsTest, ExistForWhatWebRtcCarries) {
    for (media::Codec codec :
         {media::Codec::kH264, media::Codec::kHevc, media::Codec::kAv1, media::Codec::kVp8,
          media::Codec::kVp9, media::Codec::kOpus, media::Codec::kG711A, media::Codec::kG711U}) {
        EXPECT_TRUE(make_packetizer(codec)) << media::to_string(codec);
        EXPECT_TRUE(make_depacketizer(codec)) << media::to_string(codec);
    }
    EXPECT_FALSE(make_packetizer(media::Codec::kAac));
    EXPECT_FALSE(make_depacketizer(media::Codec::kMp3));
}

}  // namespace
}  // namespace weir::rtp
