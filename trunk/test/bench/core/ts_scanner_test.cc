#include "bench/load/core/ts_scanner.h"

#include <gtest/gtest.h>

#include "proto/flv/tag.h"
#include "proto/mpegts/es_writer.h"
#include "proto/mpegts/writer.h"

#include "bench/load/core/synthetic.h"

namespace weir::load {
namespace {

// A synthetic stream as a server writes it.
class TsScannerTest : public testing::Test {
  protected:
    TsScannerTest() {
        EXPECT_TRUE(video_.set_config(ByteSpan(video_config()).subspan(5)));
        EXPECT_TRUE(audio_.set_config(ByteSpan(audio_config()).subspan(2)));
        const std::vector<std::optional<mpegts::StreamInfo>> streams = {video_.stream(),
                                                                        audio_.stream()};
        writer_.set_streams(streams);
        totals_.quarter = 1;
        check_.joined(1);
    }

    void send(int frames) {
        for (int i = 0; i < frames; i++) {
            Stamp stamp;
            stamp.sequence = sequence_;
            stamp.place = static_cast<uint16_t>(sequence_ % 10);
            stamp.send_ns = 5;
            Bytes body;
            build_video(body, stamp.place == 0 ? kMinKeySize + 2'000 : 1'000 + sequence_, stamp);
            write(0, ByteSpan(body).subspan(5), stamp.place == 0);
            Stamp sound;
            sound.sequence = sequence_++;
            build_audio(body, kMinAudioSize + 100, sound);
            write(1, ByteSpan(body).subspan(2), false);
        }
    }

    void write(size_t stream, ByteSpan frame, bool key) {
        const int64_t time = 900'000 + int64_t{sequence_} * 3'000;
        writer_.write({stream, time, time, key, (stream == 0 ? video_ : audio_).write(frame, key)},
                      out_);
    }

    mpegts::EsWriter video_{media::Codec::kH264};
    mpegts::EsWriter audio_{media::Codec::kAac};
    mpegts::Writer writer_;
    uint32_t sequence_ = 0;
    Bytes out_;
    RunTotals totals_;
    PlayerCheck check_{totals_, 0};
    TsScanner scanner_;
};

TEST_F(TsScannerTest, EveryFrameIsIntactHoweverItIsFed) {
    send(30);
    for (size_t at = 0; at < out_.size(); at += 777) {
        check_.received(1, 10 + at);
        ASSERT_TRUE(scanner_.feed(
            ByteSpan(out_).subspan(at, std::min<size_t>(777, out_.size() - at)), check_));
    }
    EXPECT_EQ(check_.counts().video_frames, 30U);
    EXPECT_EQ(check_.counts().audio_frames, 30U);
    EXPECT_EQ(check_.counts().corrupted, 0U);
    EXPECT_EQ(check_.counts().unstamped, 0U);
    EXPECT_EQ(check_.counts().time_steps_back, 0U);
    EXPECT_EQ(check_.lost(), 0U);
    EXPECT_FALSE(check_.counts().began_without_key);
    EXPECT_EQ(scanner_.faults(), 0U);
}

TEST_F(TsScannerTest, EachFileMayBeginItsCountersAnew) {
    send(10);
    check_.received(1, 10);
    ASSERT_TRUE(scanner_.feed(out_, check_));
    ASSERT_TRUE(scanner_.end_file(check_));
    EXPECT_EQ(check_.counts().video_frames, 10U) << "the last frame is whole where its file ends";
    out_.clear();
    writer_ = mpegts::Writer();
    writer_.set_streams(std::vector{video_.stream(), audio_.stream()});
    send(10);
    ASSERT_TRUE(scanner_.feed(out_, check_));
    ASSERT_TRUE(scanner_.end_file(check_));
    EXPECT_EQ(scanner_.faults(), 0U);
    EXPECT_EQ(check_.counts().video_frames, 20U);
    EXPECT_EQ(check_.lost(), 0U);
}

TEST_F(TsScannerTest, FaultsOfEarlierFilesAreKept) {
    send(5);
    const auto at = out_.begin() + 20 * mpegts::kPacketSize;
    out_.erase(at, at + mpegts::kPacketSize);
    check_.received(1, 10);
    scanner_.feed(out_, check_);
    scanner_.end_file(check_);
    EXPECT_GT(scanner_.faults(), 0U);
}

TEST_F(TsScannerTest, AByteThatDiffersIsSeen) {
    send(5);
    out_[out_.size() / 2] ^= 0x10;
    check_.received(1, 10);
    scanner_.feed(out_, check_);
    EXPECT_GT(check_.counts().corrupted + check_.counts().unstamped + scanner_.faults(), 0U);
}

TEST_F(TsScannerTest, AMissingPacketIsAFault) {
    send(5);
    const auto at = out_.begin() + 20 * mpegts::kPacketSize;
    out_.erase(at, at + mpegts::kPacketSize);
    check_.received(1, 10);
    scanner_.feed(out_, check_);
    EXPECT_GT(scanner_.faults(), 0U);
}

TEST_F(TsScannerTest, WhatIsNoTransportStreamIsRefused) {
    Bytes other;
    for (int i = 0; i < 8; i++) {
        other.push_back(0x47);
        other.insert(other.end(), 203, 0);
    }
    EXPECT_FALSE(scanner_.feed(other, check_));
    EXPECT_NE(scanner_.error().find("204"), std::string::npos);
}

}  // namespace
}  // namespace weir::load
