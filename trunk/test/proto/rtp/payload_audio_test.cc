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

TEST(AudioPayloadTest, TakesPacketsOfG711AndG722OfAnyDuration) {
    for (const media::Codec codec :
         {media::Codec::kG711A, media::Codec::kG711U, media::Codec::kG722}) {
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

TEST(AudioPayloadTest, KnowsHowLongPayloadsAre) {
    const Bytes bytes(160, 0xFF);
    for (const media::Codec codec :
         {media::Codec::kG711A, media::Codec::kG711U, media::Codec::kG722}) {
        EXPECT_EQ(audio_ticks(codec, 8000, bytes), 160U);
    }
    const Bytes silent = {0x06};  // a frame of mode 0
    EXPECT_EQ(audio_ticks(media::Codec::kSpeex, 8000, silent), 160U);
    EXPECT_EQ(audio_ticks(media::Codec::kSpeex, 16'000, silent), 320U);
    EXPECT_EQ(audio_ticks(media::Codec::kSpeex, 16'000, bytes), 0U);
    EXPECT_EQ(audio_ticks(media::Codec::kOpus, 48'000, Bytes{0xFC, 1}), 960U);
    EXPECT_EQ(audio_ticks(media::Codec::kAac, 48'000, bytes), 0U);
}

TEST(PayloadFormatsTest, ExistForWhatIsCarried) {
    for (media::Codec codec :
         {media::Codec::kH264, media::Codec::kHevc, media::Codec::kAv1, media::Codec::kVp8,
          media::Codec::kVp9, media::Codec::kOpus, media::Codec::kG711A, media::Codec::kG711U,
          media::Codec::kG722, media::Codec::kSpeex, media::Codec::kAac, media::Codec::kMp3}) {
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
