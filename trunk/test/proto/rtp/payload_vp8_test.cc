#include "proto/rtp/payload_vp8.h"

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
    return counted(test::kVp8Key, size);
}

Bytes inter(size_t size) {
    return counted(test::kVp8Inter, size);
}

TEST(Vp8DescriptorTest, ReadsTheExamplesOfTheRfc) {
    // RFC 7741 §4.2: every field; a 15-bit picture id, TL0PICIDX, TID and KEYIDX.
    const Bytes all = from_hex("90 f0 9234 05 9f 11");
    auto descriptor = Vp8Descriptor::parse(all);
    ASSERT_TRUE(descriptor);
    EXPECT_TRUE(descriptor->start);
    EXPECT_TRUE(descriptor->referenced);
    EXPECT_EQ(descriptor->picture_id, 0x1234);
    EXPECT_EQ(descriptor->tl0_picture_index, 5);
    EXPECT_EQ(descriptor->temporal_id, 2);
    EXPECT_EQ(descriptor->size, 6U);
    for (size_t size = 0; size < 6; size++) {
        EXPECT_FALSE(Vp8Descriptor::parse(ByteSpan(all).first(size))) << size;
    }
}

TEST(Vp8DescriptorTest, ReadsShortForms) {
    auto least = Vp8Descriptor::parse(from_hex("10"));
    EXPECT_TRUE(least && least->start && !least->picture_id && least->size == 1);
    auto short_id = Vp8Descriptor::parse(from_hex("b0 80 7f"));
    EXPECT_EQ(short_id->picture_id, 0x7F);
    EXPECT_FALSE(short_id->referenced);
    EXPECT_FALSE(Vp8Descriptor::parse(from_hex("11"))->start);              // a later partition
    EXPECT_EQ(Vp8Descriptor::parse(from_hex("80 10 ff"))->temporal_id, 0);  // KEYIDX only
}

TEST(Vp8PacketizerTest, CutsAFrameIntoEqualPartsWithItsPictureId) {
    Vp8Packetizer packetizer(0x7FFE);
    for (const char* head : {"90 80 fffe", "90 80 ffff", "90 80 8000"}) {
        const std::vector<Payload> all = test::packetize(packetizer, key(5000), 1000);
        EXPECT_TRUE(test::are_equal_sizes(all, 1000));
        Bytes expected = from_hex(head);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), all[0].bytes.begin())) << head;
        expected[0] = 0x80;
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), all[1].bytes.begin())) << head;
    }
    EXPECT_TRUE(test::packetize(packetizer, {}, 1000).empty());
}

TEST(Vp8DepacketizerTest, ReadsBackWhatThePacketizerMade) {
    Vp8Packetizer packetizer;
    Vp8Depacketizer depacketizer(3);
    Receiver receiver(depacketizer);
    receiver.frame(test::packetize(packetizer, key(5000), 1000));
    receiver.frame(test::packetize(packetizer, inter(100), 1000));
    receiver.frame(test::packetize(packetizer, key(70), 1000));
    ASSERT_EQ(receiver.frames.size(), 3U);
    EXPECT_TRUE(receiver.frames[0].key);
    EXPECT_EQ(Bytes(receiver.frames[0].data.begin() + 3, receiver.frames[0].data.end()), key(5000));
    EXPECT_EQ(receiver.frames[0].width, test::kSampleWidth);
    EXPECT_EQ(receiver.frames[0].height, test::kSampleHeight);
    EXPECT_EQ(receiver.frames[0].config.size(), media::kVpxConfigSize);
    EXPECT_FALSE(receiver.frames[1].key);
    EXPECT_TRUE(receiver.frames[2].config.empty());
}

TEST(Vp8DepacketizerTest, GivesAConfigurationWhenTheSizeChanges) {
    Vp8Packetizer packetizer;
    Vp8Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.frame(test::packetize(packetizer, key(100), 1000));
    Bytes smaller = key(100);
    smaller[6] = 0x80;
    smaller[7] = 0x00;
    receiver.frame(test::packetize(packetizer, smaller, 1000));
    ASSERT_EQ(receiver.frames.size(), 2U);
    EXPECT_EQ(receiver.frames[1].width, 128U);
    EXPECT_FALSE(receiver.frames[1].config.empty());
}

TEST(Vp8DepacketizerTest, KnowsFramesThatNothingRefersToAndTemporalLayers) {
    Vp8Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    Bytes payload = from_hex("b0 e0 01 02 80");
    const Bytes frame = inter(50);
    payload.insert(payload.end(), frame.begin(), frame.end());
    receiver.next_time();
    receiver.one(payload, true);
    ASSERT_EQ(receiver.frames.size(), 1U);
    EXPECT_TRUE(receiver.frames[0].discardable);
    EXPECT_EQ(receiver.frames[0].temporal_id, 2);
}

TEST(Vp8DepacketizerTest, NeverGivesAFrameOutThatLostAPacket) {
    Vp8Packetizer packetizer;
    const std::vector<Payload> frame = test::packetize(packetizer, inter(4000), 1000);
    for (size_t lost = 0; lost < frame.size(); lost++) {
        Vp8Depacketizer depacketizer;
        Receiver receiver(depacketizer);
        receiver.frame(frame, {lost});
        receiver.frame(frame);
        ASSERT_EQ(receiver.frames.size(), 1U) << lost;
        EXPECT_TRUE(receiver.frames[0].after_loss);
    }
}

TEST(Vp8DepacketizerTest, RefusesBrokenPayloads) {
    Vp8Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    Vp8Packetizer packetizer;
    receiver.frame(test::packetize(packetizer, inter(50), 1000));
    for (const char* hex : {"80", "9080", "00ff"}) {
        receiver.next_time();
        EXPECT_EQ(receiver.one(from_hex(hex), true), FeedStatus::kMalformed) << hex;
    }
    receiver.next_time();
    EXPECT_EQ(receiver.one(from_hex("10 50"), true), FeedStatus::kLost);  // no whole frame header
    EXPECT_EQ(receiver.frames.size(), 1U);
}

}  // namespace
}  // namespace weir::rtp
