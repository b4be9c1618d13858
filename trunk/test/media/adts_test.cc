#include "media/adts.h"

#include <array>

#include <gtest/gtest.h>

#include "media/aac.h"

#include "test/support/codec_samples.h"

namespace weir::media::adts {
namespace {

using test::from_hex;

// Of ffmpeg 5.1: LC, 44,100 Hz, stereo, a frame of 23 bytes.
const Bytes kHeader = from_hex("fff15080 02fffc");

TEST(AdtsTest, ReadsAndWritesTheHeaderOfFfmpeg) {
    const auto header = Header::parse(kHeader);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->profile, 1);
    EXPECT_EQ(header->sample_rate(), 44'100U);
    EXPECT_EQ(header->channel_config, 2);
    EXPECT_EQ(header->frame_size, 23U);
    EXPECT_EQ(header->size(), kHeaderSize);
    EXPECT_EQ(header->config(), from_hex("1210"));
    std::array<uint8_t, kHeaderSize> out;
    header->write(out.data());
    EXPECT_EQ(Bytes(out.begin(), out.end()), kHeader);
}

TEST(AdtsTest, EveryRateChannelsAndSizeComeBack) {
    for (uint8_t rate = 0; rate < 13; rate++) {
        for (uint8_t channels = 0; channels < 8; channels++) {
            Header header;
            header.rate_index = rate;
            header.channel_config = channels;
            header.frame_size = 8 + rate * 600U + channels;
            std::array<uint8_t, kHeaderSize> out;
            header.write(out.data());
            EXPECT_EQ(Header::parse(out), header);
        }
    }
}

TEST(AdtsTest, SeesTheCrcAndSeveralBlocks) {
    const auto header = Header::parse(from_hex("fff05080 02fffe"));
    ASSERT_TRUE(header);
    EXPECT_TRUE(header->has_crc);
    EXPECT_EQ(header->size(), 9U);
    EXPECT_EQ(header->blocks, 3);
}

TEST(AdtsTest, RefusesWhatIsNoHeader) {
    for (size_t size = 0; size < kHeaderSize; size++) {
        EXPECT_FALSE(Header::parse(ByteSpan(kHeader).first(size)));
    }
    EXPECT_FALSE(Header::parse(from_hex("ffe15080 02fffc")));
    EXPECT_FALSE(Header::parse(from_hex("fff35080 02fffc")));  // a layer
    EXPECT_FALSE(Header::parse(from_hex("fff17480 02fffc")));  // rate 13
    EXPECT_FALSE(Header::parse(from_hex("fff15080 00fffc")));  // a frame of 7 bytes
}

TEST(AdtsTest, IsMadeOfConfigurations) {
    const auto lc = Header::from_config(from_hex("1190"));
    ASSERT_TRUE(lc);
    EXPECT_EQ(lc->rate_index, 3);
    EXPECT_EQ(lc->channel_config, 2);
    // HE-AAC, 24,000 Hz and twice that: the core is LC.
    const auto he = Header::from_config(from_hex("2b118800"));
    ASSERT_TRUE(he);
    EXPECT_EQ(he->profile, 1);
    EXPECT_EQ(he->rate_index, 6);
    EXPECT_FALSE(Header::from_config(from_hex("")));
    EXPECT_FALSE(Header::from_config(from_hex("1180")));        // channels are said elsewhere
    EXPECT_FALSE(Header::from_config(from_hex("b990")));        // error resilient
    EXPECT_FALSE(Header::from_config(from_hex("1780bb8010")));  // a rate in 24 bits
}

}  // namespace
}  // namespace weir::media::adts
