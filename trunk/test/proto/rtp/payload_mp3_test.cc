#include "proto/rtp/payload_mp3.h"

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"
#include "test/support/payloads.h"

namespace weir::rtp {
namespace {

using test::counted;
using test::from_hex;
using test::Payload;
using test::Receiver;

// 128 kbit/s, 44,100 Hz: 417 bytes, 1152 samples, 2351 ticks of 90 kHz.
Bytes frame(uint32_t seed = 1) {
    return counted(from_hex("fffb9064"), 417, seed);
}

// 320 kbit/s, 44,100 Hz: 1044 bytes.
Bytes large_frame(uint32_t seed = 1) {
    return counted(from_hex("fffbe064"), 1044, seed);
}

Bytes joined(const std::vector<Bytes>& all) {
    Bytes out;
    for (const Bytes& one : all) {
        out.insert(out.end(), one.begin(), one.end());
    }
    return out;
}

TEST(Mp3PacketizerTest, PutsFourZeroBytesBeforeAFrame) {
    Mp3Packetizer packetizer;
    EXPECT_EQ(test::packetize(packetizer, frame(), 1000),
              (std::vector<Payload>{{joined({Bytes(4), frame()}), true}}));
}

TEST(Mp3PacketizerTest, CutsALargeFrameIntoPiecesThatSayTheirPlace) {
    Mp3Packetizer packetizer;
    const std::vector<Payload> all = test::packetize(packetizer, large_frame(), 404);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_TRUE(test::are_equal_sizes(all, 404));
    EXPECT_EQ(Bytes(all[1].bytes.begin(), all[1].bytes.begin() + 4), from_hex("0000 015c"));  // 348
}

TEST(Mp3PacketizerTest, CutsSeveralFramesApartWhereTheyDoNotFit) {
    Mp3Packetizer packetizer;
    const std::vector<Payload> all =
        test::packetize(packetizer, joined({frame(1), frame(2), frame(3)}), 1000);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].bytes, joined({Bytes(4), frame(1), frame(2)}));
    EXPECT_FALSE(all[0].marker);
    EXPECT_EQ(all[1], (Payload{joined({Bytes(4), frame(3)}), true}));
}

TEST(Mp3PacketizerTest, RefusesWhatIsNoMp3) {
    Mp3Packetizer packetizer;
    EXPECT_TRUE(test::packetize(packetizer, {}, 1000).empty());
    EXPECT_TRUE(test::packetize(packetizer, from_hex("4944330400"), 1000).empty());
}

TEST(Mp3DepacketizerTest, ReadsBackWhatThePacketizerMade) {
    Mp3Packetizer packetizer;
    Mp3Depacketizer depacketizer({}, 3);
    Receiver receiver(depacketizer);
    for (size_t room : {kMinPayloadRoom, size_t{500}, size_t{1460}}) {
        receiver.frames.clear();
        receiver.frame(test::packetize(packetizer, frame(), room));
        receiver.frame(test::packetize(packetizer, large_frame(), room));
        ASSERT_EQ(receiver.frames.size(), 2U);
        EXPECT_EQ(receiver.frames[0].data, joined({Bytes(3), frame()}));
        EXPECT_EQ(receiver.frames[1].data, joined({Bytes(3), large_frame()}));
    }
}

TEST(Mp3DepacketizerTest, GivesEachFrameOfAPacketItsOwnTime) {
    Mp3Depacketizer depacketizer;
    depacketizer.feed(joined({Bytes(4), frame(1), frame(2), frame(3)}), {1000, true, false});
    std::vector<Frame> frames;
    for (Frame one; depacketizer.next(one);) {
        frames.push_back(std::move(one));
    }
    ASSERT_EQ(frames.size(), 3U);
    EXPECT_EQ(frames[1].data, frame(2));
    EXPECT_EQ(frames[1].rtp_time, 1000U + 2351U);
    EXPECT_EQ(frames[2].rtp_time, 1000U + 2 * 2351U);
}

TEST(Mp3DepacketizerTest, NeverGluesPiecesOfWhichOneIsMissing) {
    Mp3Packetizer packetizer;
    const std::vector<Payload> pieces = test::packetize(packetizer, large_frame(), 300);
    ASSERT_EQ(pieces.size(), 4U);
    for (size_t lost = 0; lost < pieces.size(); lost++) {
        Mp3Depacketizer depacketizer;
        Receiver receiver(depacketizer);
        receiver.frame(pieces, {lost});
        receiver.frame(test::packetize(packetizer, frame(), 1000));
        receiver.frame(pieces);
        ASSERT_EQ(receiver.frames.size(), 2U) << lost;
        EXPECT_EQ(receiver.frames[0].data, frame());
        EXPECT_TRUE(receiver.frames[0].after_loss);
        EXPECT_EQ(receiver.frames[1].data, large_frame());
        EXPECT_FALSE(receiver.frames[1].after_loss);
    }
}

TEST(Mp3DepacketizerTest, RefusesPiecesThatDoNotFit) {
    Mp3Packetizer packetizer;
    const std::vector<Payload> pieces = test::packetize(packetizer, large_frame(), 404);
    Mp3Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.one(pieces[0].bytes, false);
    EXPECT_EQ(receiver.one(pieces[2].bytes, true), FeedStatus::kLost);  // not the next one
    receiver.one(pieces[0].bytes, false);
    receiver.next_time();
    EXPECT_EQ(receiver.one(pieces[1].bytes, false), FeedStatus::kLost);  // of another time
    receiver.one(pieces[0].bytes, false);
    Bytes too_long = pieces[1].bytes;
    too_long.resize(4 + 697);
    EXPECT_EQ(receiver.one(too_long, false), FeedStatus::kMalformed);
    EXPECT_TRUE(receiver.frames.empty());
}

TEST(Mp3DepacketizerTest, RefusesBrokenPayloads) {
    Bytes cut = joined({Bytes(4), frame(1), frame(2)});
    cut.resize(4 + 417 + 9);
    for (const Bytes& payload : {Bytes{0}, Bytes(4), joined({Bytes(4), from_hex("fffd9064")}), cut,
                                 joined({Bytes(4), frame(1), Bytes{0}})}) {
        Mp3Depacketizer depacketizer;
        Receiver receiver(depacketizer);
        EXPECT_EQ(receiver.one(payload, true), FeedStatus::kMalformed);
        EXPECT_LE(receiver.frames.size(), 1U);
    }
}

}  // namespace
}  // namespace weir::rtp
