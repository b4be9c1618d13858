#include "proto/rtp/payload_vp9.h"

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"
#include "test/support/payloads.h"

namespace weir::rtp {
namespace {

using test::counted;
using test::from_hex;
using test::Payload;
using test::Receiver;

Bytes key(size_t size) {
    return counted(test::kVp9Key, size);
}

Bytes inter(size_t size) {
    return counted(test::kVp9Inter, size);
}

Bytes with(const char* head, const Bytes& rest) {
    Bytes bytes = from_hex(head);
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    return bytes;
}

TEST(Vp9DescriptorTest, ReadsFlexibleMode) {
    // RFC 9628 §4.2, figure 2: I P L F B E; 15-bit picture id, layers, two references.
    const Bytes bytes = from_hex("fc 9234 46 03 04 ff");
    auto descriptor = Vp9Descriptor::parse(bytes);
    ASSERT_TRUE(descriptor);
    EXPECT_TRUE(descriptor->inter_predicted && descriptor->start && descriptor->end);
    EXPECT_EQ(descriptor->picture_id, 0x1234);
    EXPECT_EQ(descriptor->temporal_id, 2);
    EXPECT_EQ(descriptor->spatial_id, 3);
    EXPECT_FALSE(descriptor->tl0_picture_index);
    EXPECT_EQ(descriptor->size, 6U);
    for (size_t size = 0; size < 6; size++) {
        EXPECT_FALSE(Vp9Descriptor::parse(ByteSpan(bytes).first(size))) << size;
    }
}

TEST(Vp9DescriptorTest, ReadsNonFlexibleModeWithAStructure) {
    // I L B V: 7-bit picture id, layers, TL0PICIDX; one spatial layer 320x180, two pictures.
    const Bytes bytes = from_hex("aa 11 00 09 18 0140 00b4 02 10 3a 01 02 00 ff");
    auto descriptor = Vp9Descriptor::parse(bytes);
    ASSERT_TRUE(descriptor);
    EXPECT_EQ(descriptor->picture_id, 0x11);
    EXPECT_EQ(descriptor->tl0_picture_index, 9);
    EXPECT_EQ(descriptor->size, 14U);
    for (size_t size = 0; size < 14; size++) {
        EXPECT_FALSE(Vp9Descriptor::parse(ByteSpan(bytes).first(size))) << size;
    }
}

TEST(Vp9DescriptorTest, RefusesMoreThanThreeReferences) {
    EXPECT_TRUE(Vp9Descriptor::parse(from_hex("58 03 03 02")));
    EXPECT_FALSE(Vp9Descriptor::parse(from_hex("58 03 03 03 02")));
}

TEST(Vp9PacketizerTest, CutsAFrameIntoEqualParts) {
    Vp9Packetizer packetizer(0x7FFF);
    const std::vector<Payload> first = test::packetize(packetizer, key(5000), 1000);
    EXPECT_TRUE(test::are_equal_sizes(first, 1000));
    // The structure: one layer of 322x178, a group of one picture.
    const Bytes head = from_hex("8a ffff 18 0142 00b2 01 04 01");
    EXPECT_EQ(Bytes(first[0].bytes.begin(), first[0].bytes.begin() + 11), head);
    EXPECT_EQ(Bytes(first[1].bytes.begin(), first[1].bytes.begin() + 3), from_hex("80 ffff"));
    EXPECT_EQ(first.back().bytes[0], 0x84);
    const std::vector<Payload> second = test::packetize(packetizer, inter(50), 1000);
    EXPECT_EQ(second, (std::vector<Payload>{{with("cc 8000", inter(50)), true}}));
    EXPECT_TRUE(test::packetize(packetizer, {}, 1000).empty());
    EXPECT_TRUE(test::packetize(packetizer, from_hex("0011"), 1000).empty());
}

TEST(Vp9DepacketizerTest, ReadsBackWhatThePacketizerMade) {
    Vp9Packetizer packetizer;
    Vp9Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.frame(test::packetize(packetizer, key(5000), 1000));
    receiver.frame(test::packetize(packetizer, inter(3000), 1000));
    receiver.frame(test::packetize(packetizer, key(100), 1000));
    ASSERT_EQ(receiver.frames.size(), 3U);
    EXPECT_TRUE(receiver.frames[0].key);
    EXPECT_EQ(receiver.frames[0].data, key(5000));
    EXPECT_EQ(receiver.frames[0].width, test::kSampleWidth);
    EXPECT_EQ(receiver.frames[0].config, from_hex("00 0b 82 02 02 02 0000"));
    EXPECT_FALSE(receiver.frames[1].key);
    EXPECT_EQ(receiver.frames[1].data, inter(3000));
    EXPECT_TRUE(receiver.frames[2].config.empty());
}

TEST(Vp9DepacketizerTest, MakesASuperframeOfSpatialLayers) {
    Vp9Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.next_time();
    Bytes top = key(60);  // twice the size, as the highest layer of a key picture
    top[5] = 0x28;        // the 16 bits of the width begin in the middle of a byte
    receiver.one(with("ac 01 00 01", key(100)), false);
    receiver.one(with("a8 01 02 01", top), false);
    receiver.one(with("a4 01 02 01", Bytes(10, 7)), true);
    ASSERT_EQ(receiver.frames.size(), 1U);
    const media::vp9::SuperframeView view{ByteSpan(receiver.frames[0].data)};
    ASSERT_EQ(view.frames().size(), 2U);
    EXPECT_EQ(view.frames()[0].size(), 100U);
    EXPECT_EQ(view.frames()[1].size(), 70U);
    EXPECT_TRUE(receiver.frames[0].key);
    EXPECT_EQ(receiver.frames[0].width, media::vp9::parse_frame(top)->width);
}

TEST(Vp9DepacketizerTest, NeverGivesAFrameOutThatLostAPacket) {
    Vp9Packetizer packetizer;
    const std::vector<Payload> frame = test::packetize(packetizer, inter(4000), 1000);
    for (size_t lost = 0; lost < frame.size(); lost++) {
        Vp9Depacketizer depacketizer;
        Receiver receiver(depacketizer);
        receiver.frame(frame, {lost});
        receiver.frame(frame);
        ASSERT_EQ(receiver.frames.size(), 1U) << lost;
        EXPECT_TRUE(receiver.frames[0].after_loss);
    }
}

TEST(Vp9DepacketizerTest, DoesNotStartAtAnUpperLayer) {
    Vp9Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.lose();
    receiver.next_time();
    EXPECT_EQ(receiver.one(with("ac 01 02 01", key(60)), true), FeedStatus::kLost);
    EXPECT_TRUE(receiver.frames.empty());
}

TEST(Vp9DepacketizerTest, RefusesBrokenPayloads) {
    Vp9Packetizer packetizer;
    Vp9Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.frame(test::packetize(packetizer, inter(50), 1000));
    for (const char* hex : {"80", "9080", "0411", "0c"}) {
        receiver.next_time();
        EXPECT_EQ(receiver.one(from_hex(hex), true), FeedStatus::kMalformed) << hex;
    }
    receiver.next_time();
    for (int i = 0; i < 8; i++) {
        EXPECT_EQ(receiver.one(from_hex("0c 82"), false), FeedStatus::kTaken);
    }
    EXPECT_EQ(receiver.one(from_hex("0c 82"), false), FeedStatus::kMalformed);  // a ninth layer
    EXPECT_EQ(receiver.frames.size(), 1U);
}

}  // namespace
}  // namespace weir::rtp
