#include "proto/rtp/payload_aac.h"

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"
#include "test/support/payloads.h"

namespace weir::rtp {
namespace {

using test::counted;
using test::from_hex;
using test::Payload;
using test::Receiver;

Bytes unit(size_t size, uint32_t seed = 1) {
    return counted({0x21}, size, seed);
}

// AU headers of AAC-hbr (RFC 3640 §3.3.6) and the units behind them.
Bytes hbr(const std::vector<Bytes>& units, size_t said_size = 0) {
    Bytes payload;
    ByteWriter out(payload);
    out.u16(static_cast<uint16_t>(16 * units.size()));
    for (const Bytes& one : units) {
        out.u16(static_cast<uint16_t>((said_size == 0 ? one.size() : said_size) << 3U));
    }
    for (const Bytes& one : units) {
        out.bytes(one);
    }
    return payload;
}

TEST(AacPacketizerTest, PutsOneAuHeaderBeforeAFrame) {
    AacPacketizer packetizer;
    const Bytes frame = unit(100);
    Bytes expected = from_hex("0010 0320");  // 16 bits of headers; 100 << 3
    ByteWriter(expected).bytes(frame);
    EXPECT_EQ(test::packetize(packetizer, frame, 1000), (std::vector<Payload>{{expected, true}}));
}

TEST(AacPacketizerTest, CutsALargeFrameIntoEqualPiecesThatSayItsWholeSize) {
    AacPacketizer packetizer;
    const Bytes frame = unit(2500);
    const std::vector<Payload> all = test::packetize(packetizer, frame, 1000);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_TRUE(test::are_equal_sizes(all, 1000));
    for (const Payload& payload : all) {
        EXPECT_EQ(Bytes(payload.bytes.begin(), payload.bytes.begin() + 4), from_hex("0010 4e20"));
    }
}

TEST(AacPacketizerTest, RefusesWhatItsHeaderCannotSay) {
    AacPacketizer packetizer;
    EXPECT_TRUE(test::packetize(packetizer, {}, 1000).empty());
    EXPECT_TRUE(test::packetize(packetizer, unit(8192), 1000).empty());
    EXPECT_EQ(test::packetize(packetizer, unit(8191), 1000).size(), 9U);
}

TEST(AacDepacketizerTest, ReadsBackWhatThePacketizerMade) {
    AacPacketizer packetizer;
    AacDepacketizer depacketizer({}, 2);
    Receiver receiver(depacketizer);
    for (size_t size : {1U, 60U, 61U, 500U, 996U, 997U, 8191U}) {
        for (size_t room : {kMinPayloadRoom, size_t{1000}, size_t{1460}}) {
            receiver.frames.clear();
            receiver.frame(test::packetize(packetizer, unit(size), room));
            ASSERT_EQ(receiver.frames.size(), 1U) << size;
            Bytes expected(2);
            ByteWriter(expected).bytes(unit(size));
            EXPECT_EQ(receiver.frames[0].data, expected);
            EXPECT_TRUE(receiver.frames[0].key);
            EXPECT_FALSE(receiver.frames[0].after_loss);
        }
    }
}

TEST(AacDepacketizerTest, GivesEachUnitOfAPacketItsOwnTime) {
    PayloadParameters parameters;
    parameters.unit_ticks = 2048;
    AacDepacketizer depacketizer(parameters);
    depacketizer.feed(hbr({unit(100, 1), unit(200, 2), unit(1, 3)}), {0xFFFF'FF00, true, false});
    std::vector<Frame> frames;
    for (Frame frame; depacketizer.next(frame);) {
        frames.push_back(std::move(frame));
    }
    ASSERT_EQ(frames.size(), 3U);
    EXPECT_EQ(frames[0].data, unit(100, 1));
    EXPECT_EQ(frames[1].data, unit(200, 2));
    EXPECT_EQ(frames[2].data, unit(1, 3));
    EXPECT_EQ(frames[1].rtp_time, 0xFFFF'FF00U + 2048U);
    EXPECT_EQ(frames[2].rtp_time, 0xFFFF'FF00U + 4096U);  // behind the wrap
}

TEST(AacDepacketizerTest, ReadsTheLowBitrateMode) {
    // RFC 3640 §3.3.5: sizes of 6 bits, indices of 2; two units of 5 and 7 bytes.
    PayloadParameters parameters;
    parameters.au_header = {.size = 6, .index = 2, .index_delta = 2};
    AacDepacketizer depacketizer(parameters);
    Receiver receiver(depacketizer);
    EXPECT_EQ(receiver.one(from_hex("0010 141c 0102030405 11121314151617"), true),
              FeedStatus::kTaken);
    ASSERT_EQ(receiver.frames.size(), 2U);
    EXPECT_EQ(receiver.frames[0].data, from_hex("0102030405"));
    EXPECT_EQ(receiver.frames[1].data, from_hex("11121314151617"));
}

TEST(AacDepacketizerTest, ReadsFieldsThatItHasNoUseFor) {
    // size 8, index 3, CTS flag and 4 bits, DTS flag and 4 bits, RAP flag, stream state 2; and an
    // auxiliary section of 3 bits behind a size of 8 bits.
    PayloadParameters parameters;
    parameters.au_header = {.size = 8,
                            .index = 3,
                            .index_delta = 3,
                            .cts_delta = 4,
                            .dts_delta = 4,
                            .stream_state = 2,
                            .auxiliary_size = 8,
                            .random_access = true};
    AacDepacketizer depacketizer(parameters);
    Receiver receiver(depacketizer);
    // 00000010 000 1 1010 0 1 11 = 20 bits; filled up to 24.
    EXPECT_EQ(receiver.one(from_hex("0014 021a70 03e0 aabb"), true), FeedStatus::kTaken);
    ASSERT_EQ(receiver.frames.size(), 1U);
    EXPECT_EQ(receiver.frames[0].data, from_hex("aabb"));
}

TEST(AacDepacketizerTest, CutsUnitsOfAConstantSize) {
    PayloadParameters parameters;
    parameters.au_header = {.size = 0, .index = 0, .index_delta = 0, .constant_size_bytes = 3};
    AacDepacketizer depacketizer(parameters);
    Receiver receiver(depacketizer);
    EXPECT_EQ(receiver.one(from_hex("010203 111213"), true), FeedStatus::kTaken);
    ASSERT_EQ(receiver.frames.size(), 2U);
    EXPECT_EQ(receiver.frames[1].data, from_hex("111213"));
    EXPECT_EQ(receiver.one(from_hex("01020311"), true), FeedStatus::kMalformed);
    receiver.next_time();
    receiver.one(from_hex("01"), false);  // pieces
    receiver.one(from_hex("0203"), true);
    ASSERT_EQ(receiver.frames.size(), 3U);
    EXPECT_EQ(receiver.frames[2].data, from_hex("010203"));
}

TEST(AacDepacketizerTest, TakesAPacketAsAUnitWhereNothingSaysASize) {
    PayloadParameters parameters;
    parameters.au_header = {.size = 0, .index = 0, .index_delta = 0};
    AacDepacketizer depacketizer(parameters);
    Receiver receiver(depacketizer);
    EXPECT_EQ(receiver.one(unit(50), true), FeedStatus::kTaken);
    EXPECT_EQ(receiver.one(unit(50), false), FeedStatus::kMalformed);
    ASSERT_EQ(receiver.frames.size(), 1U);
    EXPECT_EQ(receiver.frames[0].data, unit(50));
}

TEST(AacDepacketizerTest, NeverGluesPiecesOfWhichOneIsMissing) {
    AacPacketizer packetizer;
    const std::vector<Payload> pieces = test::packetize(packetizer, unit(3500), 1000);
    ASSERT_EQ(pieces.size(), 4U);
    for (size_t lost = 0; lost < pieces.size(); lost++) {
        AacDepacketizer depacketizer;
        Receiver receiver(depacketizer);
        receiver.frame(pieces);
        receiver.frame(pieces, {lost});
        receiver.frame(test::packetize(packetizer, unit(100), 1000));
        receiver.frame(pieces);
        ASSERT_EQ(receiver.frames.size(), 3U) << lost;
        EXPECT_EQ(receiver.frames[1].data, unit(100));
        EXPECT_TRUE(receiver.frames[1].after_loss);
        EXPECT_EQ(receiver.frames[2].data, unit(3500));
        EXPECT_FALSE(receiver.frames[2].after_loss);
        EXPECT_GE(depacketizer.dropped_frames(), 1U);
    }
}

TEST(AacDepacketizerTest, APieceOfAnotherTimeOrSizeBeginsAnotherUnit) {
    AacDepacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.one(hbr({unit(60)}, 100), false);
    receiver.next_time();
    EXPECT_EQ(receiver.one(hbr({unit(60)}, 100), false), FeedStatus::kLost);
    EXPECT_EQ(receiver.one(hbr({unit(50)}, 100), true), FeedStatus::kMalformed);  // too much
    EXPECT_EQ(receiver.one(hbr({unit(40)}, 100), true), FeedStatus::kLost);  // and then too little
    EXPECT_TRUE(receiver.frames.empty());
}

TEST(AacDepacketizerTest, RefusesInterleavedUnits) {
    AacDepacketizer depacketizer;
    Receiver receiver(depacketizer);
    // The second AU-Index-delta is 1.
    EXPECT_EQ(receiver.one(from_hex("0020 0010 0011 01020304"), true), FeedStatus::kMalformed);
    EXPECT_TRUE(receiver.frames.empty());
}

TEST(AacDepacketizerTest, RefusesHeadersThatLie) {
    for (const char* hex : {
             "00", "0010", "0010 00", "0010 0008",        // cut off, or nothing behind
             "0000 01", "0008 08 01", "0011 0008 00 01",  // no header, half of one, one bit over
             "0020 0010 0010 010203", "ffff 0008 01",     // units and headers longer than they are
             "0030 0000 0000 0050 01",                    // the third one is not whole
         }) {
        AacDepacketizer depacketizer;
        Receiver receiver(depacketizer);
        EXPECT_EQ(receiver.one(from_hex(hex), true), FeedStatus::kMalformed) << hex;
        EXPECT_TRUE(receiver.frames.empty()) << hex;
        EXPECT_EQ(receiver.one(hbr({unit(9)}), true), FeedStatus::kTaken);
        ASSERT_EQ(receiver.frames.size(), 1U);
        EXPECT_TRUE(receiver.frames[0].after_loss);
    }
}

TEST(AacDepacketizerTest, BoundsTheUnitsOfAPacket) {
    AacDepacketizer depacketizer;
    Receiver receiver(depacketizer);
    EXPECT_EQ(receiver.one(hbr(std::vector<Bytes>(kMaxAudioUnits, unit(2))), true),
              FeedStatus::kTaken);
    EXPECT_EQ(receiver.frames.size(), kMaxAudioUnits);
    EXPECT_EQ(receiver.one(hbr(std::vector<Bytes>(kMaxAudioUnits + 1, unit(2))), true),
              FeedStatus::kMalformed);
    // Headers of no bits at all but for the first one's.
    PayloadParameters parameters;
    parameters.au_header = {.size = 0, .index = 3, .index_delta = 0, .constant_size_bytes = 1};
    AacDepacketizer endless(parameters);
    EXPECT_EQ(endless.feed(from_hex("ffff 0000000001"), {1, true, false}), FeedStatus::kMalformed);
}

TEST(AacDepacketizerTest, KeepsABoundedNumberOfFramesThatNobodyTakes) {
    AacDepacketizer depacketizer;
    const Bytes packet = hbr(std::vector<Bytes>(kMaxAudioUnits, unit(2)));
    for (uint32_t i = 0; i < 5; i++) {
        depacketizer.feed(packet, {i, true, false});
    }
    size_t count = 0;
    for (Frame frame; depacketizer.next(frame);) {
        count++;
    }
    EXPECT_EQ(count, kMaxReadyFrames);
    EXPECT_EQ(depacketizer.dropped_frames(), 5 * kMaxAudioUnits - kMaxReadyFrames);
}

TEST(AacDepacketizerTest, AProbeMeansNothing) {
    AacDepacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.one(hbr({unit(60)}, 100), false);
    EXPECT_EQ(receiver.one({}, false), FeedStatus::kTaken);
    EXPECT_EQ(receiver.one(hbr({unit(40)}, 100), true), FeedStatus::kTaken);
    EXPECT_EQ(receiver.frames.size(), 1U);
}

}  // namespace
}  // namespace weir::rtp
