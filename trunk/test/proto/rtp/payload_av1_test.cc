#include "proto/rtp/payload_av1.h"

#include <array>
#include <utility>

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"
#include "test/support/payloads.h"

namespace weir::rtp {
namespace {

using test::counted;
using test::from_hex;
using test::Payload;
using test::Receiver;

Bytes join(const std::vector<Bytes>& parts) {
    Bytes all;
    for (const Bytes& part : parts) {
        ByteWriter(all).bytes(part);
    }
    return all;
}

// An OBU with its size: first bytes of a payload, filled up.
Bytes obu(uint8_t header, Bytes payload_head, size_t payload_size) {
    const Bytes payload = counted(std::move(payload_head), payload_size);
    Bytes bytes = {header};
    std::array<uint8_t, 8> size{};
    const size_t size_size = media::av1::write_leb128(payload.size(), size.data());
    ByteWriter(bytes).bytes(ByteSpan(size).first(size_size)).bytes(payload);
    return bytes;
}

const Bytes kDelimiter = {0x12, 0x00};

Bytes key_frame(size_t size) {
    return obu(0x32, from_hex("100081e0"), size);
}

Bytes inter_frame(size_t size) {
    return obu(0x32, from_hex("30038080"), size);
}

Bytes key_unit(size_t size) {
    return join({test::kAv1SequenceHeader, key_frame(size)});
}

std::vector<Payload> packets(const Bytes& unit, size_t room = 1000) {
    Av1Packetizer packetizer;
    return test::packetize(packetizer, unit, room);
}

TEST(Av1PacketizerTest, SendsASmallUnitInOnePacketWithoutSizeFields) {
    // W 1; the header of the OBU has lost its size flag.
    EXPECT_EQ(packets(join({kDelimiter, from_hex("3203 300102")})),
              (std::vector<Payload>{{from_hex("10 30 300102"), true}}));
    // W 2 and N: the sequence header with a size in front, then the frame.
    EXPECT_EQ(
        packets(join({test::kAv1SequenceHeader, from_hex("3203 100102")})),
        (std::vector<Payload>{{from_hex("28 0c 08 000000043d06c4daf90040 30 100102"), true}}));
}

TEST(Av1PacketizerTest, CutsALargeUnitIntoEqualPackets) {
    for (size_t size : {1001U, 1999U, 5000U, 60'000U}) {
        const std::vector<Payload> inter = packets(join({kDelimiter, inter_frame(size)}));
        EXPECT_TRUE(test::are_equal_sizes(inter, 1000)) << size;
        EXPECT_EQ(inter.front().bytes[0], 0x50);  // Y, W 1
        EXPECT_EQ(inter.back().bytes[0], 0x90);   // Z, W 1
        const std::vector<Payload> key = packets(key_unit(size));
        EXPECT_TRUE(test::are_equal_sizes(key, 1000)) << size;
        EXPECT_EQ(key.front().bytes[0], 0x68);  // Y, W 2, N
    }
}

TEST(Av1PacketizerTest, PutsTheSequenceHeaderBeforeAKeyFrameWithoutOne) {
    Av1Packetizer packetizer;
    EXPECT_TRUE(packetizer.set_config(test::kAv1Config));
    EXPECT_EQ(test::packetize(packetizer, key_frame(3000), 1000), packets(key_unit(3000)));
    EXPECT_EQ(test::packetize(packetizer, inter_frame(300), 1000), packets(inter_frame(300)));
    EXPECT_EQ(test::packetize(packetizer, key_unit(300), 1000), packets(key_unit(300)));
    EXPECT_FALSE(packetizer.set_config(from_hex("00")));
    EXPECT_FALSE(packetizer.set_config(from_hex("81000c00 0aff")));
}

TEST(Av1PacketizerTest, KeepsTheExtensionOfAnObu) {
    EXPECT_EQ(packets(from_hex("36 48 03 300102")),
              (std::vector<Payload>{{from_hex("10 34 48 300102"), true}}));
}

TEST(Av1PacketizerTest, RefusesUnitsThatAreNotWhole) {
    const Bytes unit = key_unit(100);
    for (size_t size = 0; size < unit.size(); size++) {
        if (size != test::kAv1SequenceHeader.size()) {
            const Bytes cut(unit.begin(), unit.begin() + static_cast<std::ptrdiff_t>(size));
            EXPECT_TRUE(packets(cut).empty()) << size;
        }
    }
    EXPECT_TRUE(packets(kDelimiter).empty());
}

TEST(Av1DepacketizerTest, ReadsBackWhatThePacketizerMade) {
    Av1Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    for (size_t room : {kMinPayloadRoom, size_t{100}, size_t{1200}}) {
        for (uint32_t seed = 1; seed < 60; seed++) {
            std::vector<Bytes> obus = {inter_frame(4 + seed * 7 % (2 * room))};
            for (uint32_t i = 0; i < seed % 8; i++) {
                // Tile groups, every other one with an extension.
                obus.push_back(i % 2 == 0 ? obu(0x22, {1}, 1 + (seed * 31 + i * 57) % (3 * room))
                                          : from_hex("26 08 03 010203"));
            }
            const std::vector<Payload> all = packets(join(obus), room);
            for (const Payload& payload : all) {
                EXPECT_LE(payload.bytes.size(), room);
                EXPECT_EQ(payload.marker, &payload == &all.back());
            }
            receiver.frames.clear();
            receiver.frame(all);
            ASSERT_EQ(receiver.frames.size(), 1U) << room << " " << seed;
            EXPECT_EQ(receiver.frames[0].data, join(obus)) << room << " " << seed;
        }
    }
}

TEST(Av1DepacketizerTest, GivesTheSequenceHeaderAsTheConfiguration) {
    Av1Depacketizer depacketizer(5);
    Receiver receiver(depacketizer);
    receiver.frame(packets(key_unit(3000)));
    receiver.frame(packets(inter_frame(100)));
    receiver.frame(packets(key_unit(3000)));
    ASSERT_EQ(receiver.frames.size(), 3U);
    EXPECT_TRUE(receiver.frames[0].key);
    EXPECT_EQ(receiver.frames[0].config, test::kAv1Config);
    EXPECT_EQ(receiver.frames[0].width, test::kSampleWidth);
    EXPECT_EQ(Bytes(receiver.frames[0].data.begin() + 5, receiver.frames[0].data.end()),
              key_unit(3000));
    EXPECT_FALSE(receiver.frames[1].key);
    EXPECT_TRUE(receiver.frames[2].key && receiver.frames[2].config.empty());
}

TEST(Av1DepacketizerTest, TakesElementsThatAllHaveSizesAndObusThatKeptTheirs) {
    Av1Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.next_time();
    // W 0: a temporal delimiter (left out), a frame with its own size field, one without, an empty
    // element.
    EXPECT_EQ(receiver.one(from_hex("00 01 10 05 32 03 300102 03 20 0102 00"), true),
              FeedStatus::kTaken);
    ASSERT_EQ(receiver.frames.size(), 1U);
    EXPECT_EQ(receiver.frames[0].data, from_hex("3203 300102 2202 0102"));
}

TEST(Av1DepacketizerTest, NeverGivesAUnitOutThatLostAPacket) {
    const std::vector<Payload> key = packets(key_unit(4000));
    for (size_t lost = 0; lost < key.size(); lost++) {
        Av1Depacketizer depacketizer;
        Receiver receiver(depacketizer);
        receiver.frame(key);
        receiver.frame(key, {lost});
        receiver.frame(packets(inter_frame(2000)));
        ASSERT_EQ(receiver.frames.size(), 2U) << lost;
        EXPECT_FALSE(receiver.frames[1].key);
        EXPECT_TRUE(receiver.frames[1].after_loss);
    }
}

TEST(Av1DepacketizerTest, RefusesBrokenPayloads) {
    for (const char* hex :
         {"10", "90 30", "30 01 30", "20 7f 30", "20 ff", "10 b0 00", "10 32 05 00", "00 02 30"}) {
        Av1Depacketizer depacketizer;
        Receiver receiver(depacketizer);
        receiver.frame(packets(inter_frame(50)));
        receiver.next_time();
        EXPECT_EQ(receiver.one(from_hex(hex), true), FeedStatus::kMalformed) << hex;
        EXPECT_EQ(receiver.frames.size(), 1U) << hex;
    }
}

TEST(Av1DepacketizerTest, RefusesAnObuWithoutItsEnd) {
    Av1Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.frame(packets(inter_frame(50)));
    receiver.next_time();
    EXPECT_EQ(receiver.one(from_hex("50 30 300102"), true), FeedStatus::kTaken);
    receiver.next_time();  // its end is missing: it might have come in spite of the marker
    EXPECT_EQ(receiver.one(from_hex("50 30 300102"), false), FeedStatus::kLost);
    EXPECT_EQ(receiver.one(from_hex("10 30 300102"), true), FeedStatus::kMalformed);
    EXPECT_EQ(receiver.frames.size(), 1U);
}

TEST(Av1DepacketizerTest, AMarkerOnEachPacketDoesNotEndAFrame) {
    Av1Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    std::vector<Payload> all = packets(inter_frame(3000));
    ASSERT_GT(all.size(), 2U);
    for (Payload& payload : all) {
        payload.marker = true;
    }
    for (int i = 0; i < 4; i++) {
        receiver.frame(all);
    }
    EXPECT_FALSE(depacketizer.trusts_markers());
    EXPECT_EQ(depacketizer.dropped_frames(), 0U);
    ASSERT_EQ(receiver.frames.size(), 3U) << "the last one waits for the next";
    EXPECT_EQ(receiver.frames[2].data, receiver.frames[0].data);
}

}  // namespace
}  // namespace weir::rtp
