#include "media/frame_order.h"

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"
#include "test/support/payloads.h"

namespace weir::media {
namespace {

// Slices of x264 and x265 in the order of decoding.
const Bytes kIdr = {0x65, 0x88, 0x84, 0x00, 0x4f};
const Bytes kP = {0x41, 0x9a, 0x24, 0x6c, 0x4f};
const Bytes kReferencedB = {0x41, 0x9e, 0x42, 0x78, 0x8a};
const Bytes kB = {0x01, 0x9e, 0x61, 0x74, 0x46};

class FrameOrderTest : public testing::Test {
  protected:
    void frame(const Bytes& nal, int composition_ms, Codec codec = Codec::kH264, bool key = false) {
        PacketInfo info;
        info.kind = TrackKind::kVideo;
        info.codec = codec;
        info.key = key;
        info.composition_ms = composition_ms;
        order_.on_frame(MediaPacket(info, time_ms_, test::nal_frame({nal})), nullptr);
        time_ms_ += 40;
    }

    int64_t time_ms_ = 10'000;
    FrameOrder order_;
};

TEST_F(FrameOrderTest, FramesInOrderHaveNoBFrames) {
    frame(kIdr, 0, Codec::kH264, true);
    for (int i = 0; i < 10; i++) {
        frame(kP, 0);
    }
    EXPECT_FALSE(order_.reordered());
    EXPECT_FALSE(order_.referenced());
}

TEST_F(FrameOrderTest, ADelayOfAllFramesIsNoOtherOrder) {
    frame(kIdr, 80, Codec::kH264, true);
    for (int i = 0; i < 10; i++) {
        frame(kP, 80);
    }
    frame(kP, 39);  // and a time that is off by a millisecond neither
    EXPECT_FALSE(order_.reordered());
}

TEST_F(FrameOrderTest, KnowsBFramesThatNothingRefersTo) {
    frame(kIdr, 40, Codec::kH264, true);
    frame(kP, 120);
    frame(kB, 0);
    frame(kB, 0);
    EXPECT_TRUE(order_.reordered());
    EXPECT_FALSE(order_.referenced());
}

TEST_F(FrameOrderTest, KnowsAPyramid) {
    frame(kIdr, 80, Codec::kH264, true);
    frame(kP, 200);
    frame(kReferencedB, 80);
    frame(kB, 0);
    frame(kB, 40);
    EXPECT_TRUE(order_.reordered());
    EXPECT_TRUE(order_.referenced());
    order_.clear();
    EXPECT_FALSE(order_.reordered());
    EXPECT_FALSE(order_.referenced());
}

TEST_F(FrameOrderTest, KnowsThemOfHevc) {
    const Bytes trail_r = {0x02, 0x01, 0xd0};  // type 1, referred to
    const Bytes trail_n = {0x00, 0x01, 0xe0};  // type 0, not
    frame({0x26, 0x01, 0xaf}, 80, Codec::kHevc, true);
    frame(trail_r, 160, Codec::kHevc);
    EXPECT_FALSE(order_.reordered());
    frame(trail_n, 0, Codec::kHevc);
    EXPECT_TRUE(order_.reordered());
    EXPECT_FALSE(order_.referenced());
    frame(trail_r, 0, Codec::kHevc);
    EXPECT_TRUE(order_.referenced());
}

TEST_F(FrameOrderTest, AKeyFrameBeginsAnew) {
    frame(kIdr, 200, Codec::kH264, true);
    frame(kIdr, 0, Codec::kH264, true);
    frame(kP, 0);
    EXPECT_FALSE(order_.reordered());
}

TEST_F(FrameOrderTest, TakesBrokenFrames) {
    frame(kIdr, 200, Codec::kH264, true);
    frame({}, 0);
    frame({0x01}, 0);
    frame({0x41, 0x9e}, 0, Codec::kHevc);
    EXPECT_FALSE(order_.referenced());
}

TEST_F(FrameOrderTest, TheConfigurationSaysHowLongLengthsAre) {
    PacketInfo info;
    info.kind = TrackKind::kVideo;
    info.codec = Codec::kH264;
    const MediaPacket config(info, 0, test::from_hex("0164001f fd e0 00"));  // two bytes
    const auto take = [&](const Bytes& nal, int composition_ms) {
        Bytes body;
        ByteWriter(body).u16(static_cast<uint16_t>(nal.size())).bytes(nal);
        info.composition_ms = composition_ms;
        order_.on_frame(MediaPacket(info, time_ms_, std::move(body)), &config);
        time_ms_ += 40;
    };
    take(kP, 160);
    take(kB, 0);
    EXPECT_TRUE(order_.reordered());
    EXPECT_FALSE(order_.referenced());
    take(kReferencedB, 0);
    EXPECT_TRUE(order_.referenced());
}

TEST_F(FrameOrderTest, WhatWasFoundStaysUntilAnotherEncoderComes) {
    frame(kIdr, 80, Codec::kH264, true);
    frame(kP, 160);
    frame(kReferencedB, 0);
    frame(kIdr, 80, Codec::kH264, true);
    frame(kP, 160);
    frame(kB, 0);
    EXPECT_TRUE(order_.reordered() && order_.referenced());
    order_.clear();
    EXPECT_FALSE(order_.reordered() || order_.referenced());
    time_ms_ = 0;  // earlier than all before: not behind
    frame(kB, 0);
    EXPECT_FALSE(order_.reordered());
}

TEST_F(FrameOrderTest, CodecsWithoutBFramesAreNotReordered) {
    for (Codec codec : {Codec::kAv1, Codec::kVp8, Codec::kVp9}) {
        frame(kP, 200, codec);
        frame(kB, 0, codec);
        EXPECT_FALSE(order_.reordered()) << to_string(codec);
    }
}

}  // namespace
}  // namespace weir::media
