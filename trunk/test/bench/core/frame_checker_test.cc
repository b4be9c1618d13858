#include "bench/load/core/frame_checker.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "bench/load/core/synthetic.h"

namespace weir::load {
namespace {

Bytes video_frame(uint32_t size, bool key, Stamp* out = nullptr) {
    Stamp stamp{3, 99, 4711, 5'000'000, 0, static_cast<uint16_t>(key ? 0 : 17)};
    Bytes body;
    build_video(body, size, stamp);
    if (out != nullptr) {
        *out = stamp;
    }
    return body;
}

Bytes audio_frame(uint32_t size) {
    Stamp stamp{3, 99, 4711, 5'000'000, 0, 0};
    Bytes body;
    build_audio(body, size, stamp);
    return body;
}

FrameResult check(FillerKind kind, ByteSpan body, size_t step) {
    FrameChecker checker(kind);
    checker.begin(static_cast<uint32_t>(body.size()));
    for (size_t at = 0; at < body.size(); at += step) {
        checker.feed(body.subspan(at, std::min(step, body.size() - at)));
    }
    return checker.end();
}

TEST(FrameCheckerTest, FramesAreIntactHoweverTheyAreCut) {
    for (size_t step : {1UL, 2UL, 7UL, 100UL, 223UL, 224UL, 225UL, 1400UL, 100'000UL}) {
        for (uint32_t size : {500U, 1816U, 20'000U}) {
            FrameResult result = check(FillerKind::kVideo, video_frame(size, true), step);
            EXPECT_EQ(result.type, FrameType::kIntact) << step << ' ' << size;
            EXPECT_TRUE(result.key);
            result = check(FillerKind::kVideo, video_frame(size, false), step);
            EXPECT_EQ(result.type, FrameType::kIntact) << step << ' ' << size;
            EXPECT_FALSE(result.key);
        }
        EXPECT_EQ(check(FillerKind::kAudio, audio_frame(170), step).type, FrameType::kIntact)
            << step;
    }
}

TEST(FrameCheckerTest, EverySizeIsIntact) {
    for (uint32_t size = kMinVideoSize; size < 1200; size++) {
        ASSERT_EQ(check(FillerKind::kVideo, video_frame(size, false), size).type,
                  FrameType::kIntact)
            << size;
    }
    for (uint32_t size = kMinAudioSize; size <= kMaxAudioSize; size++) {
        ASSERT_EQ(check(FillerKind::kAudio, audio_frame(size), size).type, FrameType::kIntact)
            << size;
    }
}

TEST(FrameCheckerTest, GivesTheStampBack) {
    Stamp sent;
    Bytes body = video_frame(1000, false, &sent);
    EXPECT_EQ(check(FillerKind::kVideo, body, 1000).stamp, sent);
}

TEST(FrameCheckerTest, EveryChangedBitOfVideoIsNoticed) {
    Bytes body = video_frame(1500, false);
    for (size_t i = 0; i < body.size(); i++) {
        for (int bit = 0; bit < 8; bit++) {
            body[i] ^= static_cast<uint8_t>(1 << bit);
            FrameType type = check(FillerKind::kVideo, body, 600).type;
            EXPECT_NE(type, FrameType::kIntact) << "byte " << i << " bit " << bit;
            body[i] ^= static_cast<uint8_t>(1 << bit);
        }
    }
}

TEST(FrameCheckerTest, EveryChangedBitOfAudioIsNoticed) {
    Bytes body = audio_frame(300);
    for (size_t i = 0; i < body.size(); i++) {
        for (int bit = 0; bit < 8; bit++) {
            body[i] ^= static_cast<uint8_t>(1 << bit);
            FrameType type = check(FillerKind::kAudio, body, 100).type;
            EXPECT_NE(type, FrameType::kIntact) << "byte " << i << " bit " << bit;
            body[i] ^= static_cast<uint8_t>(1 << bit);
        }
    }
}

TEST(FrameCheckerTest, ATruncatedFrameIsNotIntact) {
    Bytes body = video_frame(1500, true);
    for (size_t size = 1; size < body.size(); size++) {
        ASSERT_NE(check(FillerKind::kVideo, ByteSpan(body).first(size), 400).type,
                  FrameType::kIntact)
            << size;
    }
    body = audio_frame(300);
    for (size_t size = 1; size < body.size(); size++) {
        ASSERT_NE(check(FillerKind::kAudio, ByteSpan(body).first(size), 400).type,
                  FrameType::kIntact)
            << size;
    }
}

TEST(FrameCheckerTest, ALongerFrameIsNotIntact) {
    Bytes body = video_frame(1500, true);
    body.push_back(0);
    EXPECT_EQ(check(FillerKind::kVideo, body, 400).type, FrameType::kDamaged);
}

TEST(FrameCheckerTest, ParameterSetsInFrontAreAccepted) {
    Bytes config = video_config();
    Bytes frame = video_frame(1500, true);
    Bytes body(frame.begin(), frame.begin() + 5);
    ByteReader reader(ByteSpan(config).subspan(11));
    ByteSpan sps = reader.take(reader.u16());
    reader.skip(1);
    ByteSpan pps = reader.take(reader.u16());
    ByteWriter writer(body);
    writer.u32(2).u16(0x09F0);
    writer.u32(static_cast<uint32_t>(sps.size())).bytes(sps);
    writer.u32(static_cast<uint32_t>(pps.size())).bytes(pps);
    writer.bytes(ByteSpan(frame).subspan(5));
    EXPECT_EQ(check(FillerKind::kVideo, body, 1400).type, FrameType::kIntact);
}

TEST(FrameCheckerTest, SequenceHeadersAreConfiguration) {
    EXPECT_EQ(check(FillerKind::kVideo, video_config(), 100).type, FrameType::kConfig);
    EXPECT_EQ(check(FillerKind::kAudio, audio_config(), 100).type, FrameType::kConfig);
}

TEST(FrameCheckerTest, OtherMediaIsForeign) {
    Bytes h264 = {0x17, 1, 0, 0, 0, 0, 0, 0, 4, 0x65, 1, 2, 3};
    EXPECT_EQ(check(FillerKind::kVideo, h264, 100).type, FrameType::kForeign);
    Bytes long_frame(3000, 0x41);
    long_frame[0] = 0x27;
    long_frame[1] = 1;
    EXPECT_EQ(check(FillerKind::kVideo, long_frame, 100).type, FrameType::kForeign);
    Bytes enhanced(300, 0x91);  // coded frames
    EXPECT_EQ(check(FillerKind::kVideo, enhanced, 100).type, FrameType::kForeign);
    Bytes mp3(300, 0x2F);
    EXPECT_EQ(check(FillerKind::kAudio, mp3, 100).type, FrameType::kForeign);
    Bytes aac(300, 0x21);
    aac[0] = 0xAF;
    aac[1] = 1;
    EXPECT_EQ(check(FillerKind::kAudio, aac, 100).type, FrameType::kForeign);
    EXPECT_EQ(check(FillerKind::kVideo, Bytes{0x17}, 100).type, FrameType::kForeign);
}

}  // namespace
}  // namespace weir::load
