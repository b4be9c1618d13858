// Units in PES packets: how they lie in them, and what is said of them.
#include "proto/mpegts/framer.h"

#include <gtest/gtest.h>

#include "media/adts.h"
#include "media/avc.h"
#include "proto/mpegts/audio_framer.h"
#include "proto/mpegts/video_framer.h"

#include "test/support/bit_writer.h"
#include "test/support/codec_samples.h"
#include "test/support/transport_stream.h"

namespace weir::mpegts {
namespace {

using test::annex_b;
using test::counted;
using test::from_hex;

struct Got {
    int64_t pts = 0;
    int64_t dts = 0;
    bool key = false;
    std::vector<Bytes> nals;
    Bytes data;
};

class FramerTest : public testing::Test {
  protected:
    void use(Content content, uint8_t channels = 0) {
        StreamInfo info;
        info.content = content;
        info.channels = channels;
        framer_ = Framer::create(info);
        ASSERT_TRUE(framer_);
    }

    void pes(std::optional<int64_t> pts, ByteSpan bytes, ByteSpan next = {}, size_t step = 184) {
        framer_->begin({pts, pts}, false);
        for (; !bytes.empty(); bytes = bytes.subspan(std::min(step, bytes.size()))) {
            framer_->append(bytes.first(std::min(step, bytes.size())));
        }
        framer_->end(next);
        take();
    }

    void take() {
        for (Unit unit; framer_->next(unit);) {
            Got got{unit.pts, unit.dts, unit.key, {}, {unit.data.begin(), unit.data.end()}};
            for (const ByteSpan nal : unit.nals) {
                got.nals.emplace_back(nal.begin(), nal.end());
            }
            units_.push_back(std::move(got));
        }
    }

    std::unique_ptr<Framer> framer_;
    std::vector<Got> units_;
};

Bytes joined(const std::vector<Bytes>& parts) {
    Bytes out;
    for (const Bytes& part : parts) {
        out.insert(out.end(), part.begin(), part.end());
    }
    return out;
}

const Bytes kDelimiter = {0x09, 0xF0};

Bytes slice(uint32_t marker, size_t size = 300) {
    return counted({0x41, 0x9A}, size, marker);
}

using VideoFramerTest = FramerTest;

TEST_F(VideoFramerTest, CutsStartCodesOfBothLengthsAndTrailingZeros) {
    use(Content::kH264);
    Bytes bytes = from_hex("00000001 09f0 0000");
    ByteWriter(bytes).u24(1).bytes(slice(1)).u32(0);
    pes(5, bytes);
    ASSERT_EQ(units_.size(), 1U);
    EXPECT_EQ(units_[0].nals, (std::vector<Bytes>{kDelimiter, slice(1)}));
    EXPECT_EQ(units_[0].pts, 5);
}

TEST_F(VideoFramerTest, SeveralFramesInOnePacketAreApart) {
    use(Content::kH264);
    pes(0, joined({annex_b({kDelimiter, slice(1)}), annex_b({kDelimiter, slice(2)}),
                   annex_b({slice(3)})}));
    ASSERT_EQ(units_.size(), 3U);
    EXPECT_EQ(units_[1].nals, (std::vector<Bytes>{kDelimiter, slice(2)}));
    EXPECT_EQ(units_[2].nals, (std::vector<Bytes>{slice(3)}));
}

TEST_F(VideoFramerTest, SlicesOfOnePictureStayTogether) {
    use(Content::kH264);
    const Bytes second = counted({0x41, 0x1A}, 200);  // first_mb_in_slice is not 0
    pes(0, annex_b({kDelimiter, slice(1), second}));
    ASSERT_EQ(units_.size(), 1U);
    EXPECT_EQ(units_[0].nals.size(), 3U);
}

TEST_F(VideoFramerTest, AFrameInTwoPacketsHasTheTimeOfItsBeginning) {
    use(Content::kH264);
    const Bytes first = annex_b({kDelimiter, slice(1, 1000)});
    const Bytes second = annex_b({kDelimiter, slice(2, 1000)});
    const Bytes third = annex_b({kDelimiter, slice(3, 1000)});
    const Bytes all = joined({first, second, third});
    for (size_t cut = 14; cut < all.size() - 1; cut += 13) {
        SCOPED_TRACE(cut);
        units_.clear();
        use(Content::kH264);
        const ByteSpan rest = ByteSpan(all).subspan(cut);
        pes(100, ByteSpan(all).first(cut), rest.first(std::min<size_t>(rest.size(), 150)));
        pes(200, rest, annex_b({kDelimiter}));
        ASSERT_EQ(units_.size(), 3U);
        EXPECT_EQ(units_[0].pts, 100);
        EXPECT_EQ(units_[2].nals, (std::vector<Bytes>{kDelimiter, slice(3, 1000)}));
        // The first unit that begins in the second packet has its time.
        const size_t begun = cut <= first.size() ? 1 : cut <= first.size() + second.size() ? 2 : 3;
        if (begun < 3) {
            EXPECT_EQ(units_[begun].pts, 200);
        }
    }
}

TEST_F(VideoFramerTest, WhatBeginsInTheMiddleIsLeftOut) {
    use(Content::kH264);
    pes(0, annex_b({counted({0x41, 0x1A}, 200), kDelimiter, slice(1)}), annex_b({kDelimiter}));
    ASSERT_EQ(units_.size(), 1U);
    EXPECT_EQ(units_[0].nals[0], kDelimiter);
}

TEST_F(VideoFramerTest, TwoFieldsInOnePacketAreOneUnit) {
    use(Content::kH264);
    // frame_mbs_only_flag 0: Main profile, 16 x 32.
    test::BitWriter bits;
    bits.bits(8, 77).bits(8, 0).bits(8, 30).ue(0).ue(0).ue(2).ue(1).flag(false).ue(0).ue(0);
    bits.flag(false).flag(false).flag(true).flag(false).flag(false);
    const Bytes sps = bits.nal({0x67});
    ASSERT_TRUE(media::avc::parse_sps(sps) && media::avc::parse_sps(sps)->interlaced);
    pes(0, annex_b({kDelimiter, sps, test::kAvcHighPps, counted({0x65, 0x88}, 200)}));
    pes(3600, annex_b({kDelimiter, slice(1), kDelimiter, slice(2)}));
    pes(7200, annex_b({kDelimiter, slice(3)}));
    ASSERT_EQ(units_.size(), 3U);
    EXPECT_EQ(units_[1].nals.size(), 4U);
    EXPECT_EQ(units_[2].nals.size(), 2U);
}

TEST_F(VideoFramerTest, ARecoveryPointIsAKeyAndOneToWaitForIsNot) {
    use(Content::kH264);
    // SEI: recovery_point, size 1: recovery_frame_cnt ue(0) is the bit 1.
    pes(0, annex_b({kDelimiter, from_hex("06 06 01 84 80"), slice(1)}));
    pes(1, annex_b({kDelimiter, from_hex("06 05 02 aabb 06 01 24 80"), slice(2)}));
    pes(2, annex_b({kDelimiter, from_hex("06 05 02 aabb 06 01 c4 80"), slice(3)}));
    ASSERT_EQ(units_.size(), 3U);
    EXPECT_TRUE(units_[0].key);
    EXPECT_FALSE(units_[1].key);
    EXPECT_TRUE(units_[2].key);
}

TEST_F(VideoFramerTest, HevcUnitsAndKeys) {
    use(Content::kHevc);
    const Bytes delimiter = from_hex("460150");
    const Bytes idr = counted({0x26, 0x01, 0xAF}, 300);
    const Bytes more = counted({0x26, 0x01, 0x2F}, 300);  // another slice segment
    const Bytes trail = counted({0x02, 0x01, 0xD0}, 300);
    pes(0, joined({annex_b({delimiter, test::kHevcVps, test::kHevcSps, test::kHevcPps, idr, more}),
                   annex_b({trail}), annex_b({delimiter, trail})}));
    ASSERT_EQ(units_.size(), 3U);
    EXPECT_TRUE(units_[0].key);
    EXPECT_EQ(units_[0].nals.size(), 6U);
    EXPECT_FALSE(units_[1].key);
}

TEST_F(VideoFramerTest, MoreNalUnitsThanTheLimitAreLeftOut) {
    use(Content::kH264);
    Bytes bytes = annex_b({kDelimiter, slice(1)});
    for (size_t i = 0; i < kMaxNals + 10; i++) {
        ByteWriter(bytes).u24(1).u8(0x41).u8(0x1A);
    }
    pes(0, bytes);
    ASSERT_EQ(units_.size(), 1U);
    EXPECT_EQ(units_[0].nals.size(), kMaxNals);
    EXPECT_EQ(framer_->malformed(), 12U);
}

// Each packet of the unit is looked at once only.
TEST_F(VideoFramerTest, AUnitOfThousandsOfPacketsIsNotScannedAgainAndAgain) {
    use(Content::kH264);
    pes(0, joined({annex_b({kDelimiter, slice(1)}), annex_b({kDelimiter, slice(2)})}),
        from_hex("aaaaaaaa"));
    EXPECT_EQ(units_.size(), 1U);
    const Bytes piece = counted({0x55}, 170);
    for (size_t i = 0; i < 20'000; i++) {  // seconds, if each began from the front
        pes({}, piece, from_hex("55555555"));
    }
    pes({}, annex_b({kDelimiter, slice(3)}), annex_b({kDelimiter}));
    EXPECT_EQ(units_.size(), 3U);
}

using AudioFramerTest = FramerTest;

Bytes adts_frame(uint32_t marker, size_t size = 200) {
    media::adts::Header header;
    header.rate_index = 3;  // 48,000 Hz
    header.channel_config = 2;
    header.frame_size = size;
    Bytes out(media::adts::kHeaderSize);
    header.write(out.data());
    return counted(std::move(out), size, marker);
}

constexpr int64_t kAac = 1024 * 90 / 48;

TEST_F(AudioFramerTest, FramesOfAacLieAnyhowInPackets) {
    Bytes all;
    for (uint32_t i = 0; i < 12; i++) {
        const Bytes frame = adts_frame(i, 150 + i * 10);
        all.insert(all.end(), frame.begin(), frame.end());
    }
    for (const size_t size : {1U, 5U, 100U, 151U, 500U, 3000U}) {
        SCOPED_TRACE(size);
        use(Content::kAac);
        units_.clear();
        size_t at = 0;
        for (int i = 0; at < all.size(); i++) {
            const size_t now = std::min<size_t>(size, all.size() - at);
            pes(at == 0 ? std::optional<int64_t>(1000) : std::nullopt,
                ByteSpan(all).subspan(at, now));
            at += now;
        }
        ASSERT_EQ(units_.size(), 12U);
        for (uint32_t i = 0; i < units_.size(); i++) {
            EXPECT_EQ(units_[i].data, adts_frame(i, 150 + i * 10));
            EXPECT_EQ(units_[i].pts, 1000 + i * kAac);
        }
    }
}

TEST_F(AudioFramerTest, GarbageBeforeAFrameIsLeftOutAndCounted) {
    use(Content::kAac);
    Bytes bytes = joined({adts_frame(0), adts_frame(1)});
    bytes.push_back(0xFF);
    bytes.push_back(0xF1);  // looks like one
    bytes.insert(bytes.end(), 20, 0x00);
    const Bytes second = adts_frame(2);
    bytes.insert(bytes.end(), second.begin(), second.end());
    pes(0, bytes);
    ASSERT_EQ(units_.size(), 3U);
    EXPECT_EQ(units_[2].data, second);
    EXPECT_EQ(framer_->malformed(), 1U);
}

TEST_F(AudioFramerTest, AHeaderThatNothingFitsBehindIsNone) {
    use(Content::kAac);
    Bytes bytes = adts_frame(9);
    bytes.resize(60);  // cut off: what follows is not where it says
    for (uint32_t i = 0; i < 3; i++) {
        const Bytes frame = adts_frame(i);
        bytes.insert(bytes.end(), frame.begin(), frame.end());
    }
    pes(0, bytes);
    ASSERT_EQ(units_.size(), 3U);
    EXPECT_EQ(units_[0].data, adts_frame(0));
}

TEST_F(AudioFramerTest, OpusPacketsHaveControlHeaders) {
    use(Content::kOpus, 2);
    const Bytes small = counted({0xFC}, 100);  // 20 ms
    const Bytes large = counted({0xFC}, 600, 2);
    Bytes bytes = from_hex("7fe0 64");
    bytes.insert(bytes.end(), small.begin(), small.end());
    ByteWriter(bytes).u16(0x7FFC).u8(255).u8(255).u8(90).u16(0).u16(0).u8(2).u16(0xABCD);
    bytes.insert(bytes.end(), large.begin(), large.end());
    pes(90'000, bytes);
    ASSERT_EQ(units_.size(), 2U);
    EXPECT_EQ(units_[0].data, small);
    EXPECT_EQ(units_[1].data, large);
    EXPECT_EQ(units_[1].pts, 90'000 + 1'800);
}

TEST_F(AudioFramerTest, DependentSubstreamsBelongToTheFrameBefore) {
    use(Content::kEac3);
    // strmtyp, substreamid, frmsiz | fscod, numblkscod | bsid 16
    const Bytes main = counted({0x0B, 0x77, 0x00, 0x3F, 0x30, 0x80}, 128);
    const Bytes dependent = counted({0x0B, 0x77, 0x40, 0x1F, 0x30, 0x80}, 64);
    pes(0, joined({main, dependent, main}));
    ASSERT_EQ(units_.size(), 2U);
    EXPECT_EQ(units_[0].data, joined({main, dependent}));
    EXPECT_EQ(units_[1].pts, 1536 * 90 / 48);
}

TEST_F(AudioFramerTest, MpegAudioOfLayerTwoIsCutAsWell) {
    use(Content::kMpegAudio);
    const Bytes frame = counted({0xFF, 0xFD, 0xA4, 0x00}, 576);  // 192 kbit/s, 48,000 Hz
    pes(0, joined({frame, frame}));
    ASSERT_EQ(units_.size(), 2U);
    EXPECT_EQ(units_[1].pts, 1152 * 90 / 48);
}

// An element with the StreamMuxConfig 0x1190 (48,000 Hz, stereo) or with the same as before.
Bytes loas(bool config, uint32_t marker) {
    const Bytes frame = counted({0x21}, 100, marker);
    test::BitWriter bits;
    bits.flag(!config);
    if (config) {
        bits.flag(false).flag(true).bits(6, 0).bits(4, 0).bits(3, 0);
        bits.bits(16, 0x1190).bits(3, 0).bits(8, 0xFF).flag(false).flag(false);
    }
    bits.bits(8, frame.size());
    for (const uint8_t byte : frame) {
        bits.bits(8, byte);
    }
    const Bytes element = bits.bytes();
    Bytes out;
    ByteWriter(out).u24(static_cast<uint32_t>(0x56E000 | element.size())).bytes(element);
    return out;
}

TEST_F(AudioFramerTest, LoasGivesElements) {
    use(Content::kAacLatm);
    pes(0, joined({loas(true, 1), loas(false, 2), loas(false, 3)}));
    ASSERT_EQ(units_.size(), 3U);
    const Bytes second = loas(false, 2);
    EXPECT_EQ(units_[1].data, Bytes(second.begin() + 3, second.end()));
    EXPECT_EQ(units_[2].pts, 2 * kAac);
}

TEST_F(AudioFramerTest, APacketPastTheLimitIsDropped) {
    use(Content::kAac);
    pes(0, Bytes(kMaxAudioPesBytes + 184, 0x11));
    EXPECT_EQ(framer_->malformed(), 1U);
    pes(0, adts_frame(1));
    EXPECT_EQ(units_.size(), 1U);
}

}  // namespace
}  // namespace weir::mpegts
