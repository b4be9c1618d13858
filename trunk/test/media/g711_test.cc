#include "media/g711.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

namespace weir::media::g711 {
namespace {

constexpr Law kLaws[] = {Law::kA, Law::kMu};

// ITU-T G.711, tables 1a to 2b: decision and output values at the ends of segments, in 16 bits.
TEST(G711Test, DecodesTheTablesOfTheStandard) {
    EXPECT_EQ(decode(Law::kA, 0xD5), 8);
    EXPECT_EQ(decode(Law::kA, 0x55), -8);
    EXPECT_EQ(decode(Law::kA, 0xAA), 32'256);
    EXPECT_EQ(decode(Law::kA, 0x2A), -32'256);
    EXPECT_EQ(decode(Law::kA, 0xC5), 264);  // the first of the second segment
    EXPECT_EQ(decode(Law::kMu, 0xFF), 0);
    EXPECT_EQ(decode(Law::kMu, 0x7F), 0);
    EXPECT_EQ(decode(Law::kMu, 0x80), 32'124);
    EXPECT_EQ(decode(Law::kMu, 0x00), -32'124);
    EXPECT_EQ(decode(Law::kMu, 0xFE), 8);
    EXPECT_EQ(decode(Law::kMu, 0xEF), 132);
}

TEST(G711Test, EncodesSilenceAndTheEnds) {
    EXPECT_EQ(encode(Law::kA, 0), kSilenceA);
    EXPECT_EQ(encode(Law::kA, -1), 0x55);
    EXPECT_EQ(encode(Law::kA, 32'767), 0xAA);
    EXPECT_EQ(encode(Law::kA, -32'768), 0x2A);
    EXPECT_EQ(encode(Law::kMu, 0), kSilenceMu);
    EXPECT_EQ(encode(Law::kMu, 32'767), 0x80);
    EXPECT_EQ(encode(Law::kMu, -32'768), 0x00);
}

TEST(G711Test, EachCodeComesBack) {
    for (const Law law : kLaws) {
        for (int code = 0; code < 256; code++) {
            const auto byte = static_cast<uint8_t>(code);
            // The mu-law has two codes of 0.
            const uint8_t expected = law == Law::kMu && byte == 0x7F ? uint8_t{0xFF} : byte;
            EXPECT_EQ(encode(law, decode(law, byte)), expected) << code;
        }
    }
}

TEST(G711Test, CodesRiseWithTheSample) {
    for (const Law law : kLaws) {
        int16_t last = decode(law, encode(law, -32'768));
        for (int sample = -32'768; sample <= 32'767; sample++) {
            const int16_t value = decode(law, encode(law, static_cast<int16_t>(sample)));
            ASSERT_GE(value, last) << sample;
            last = value;
        }
    }
}

// Half a step of the segment that the sample lies in: a step is a sixteenth of the segment, which
// is as long as the distance of its beginning from 0.
TEST(G711Test, TheErrorIsAtMostHalfAStep) {
    for (int sample = -32'768; sample <= 32'767; sample++) {
        const auto value = static_cast<int16_t>(sample);
        const int magnitude = std::abs(sample);
        ASSERT_LE(std::abs(decode(Law::kA, encode(Law::kA, value)) - sample), magnitude / 32 + 8);
        ASSERT_LE(std::abs(decode(Law::kMu, encode(Law::kMu, value)) - sample),
                  (magnitude + 132) / 32 + 4);
    }
}

TEST(G711Test, SpansAreAsSingleSamples) {
    std::vector<int16_t> samples;
    for (int i = -200; i < 200; i++) {
        samples.push_back(static_cast<int16_t>(i * 160 + 7));
    }
    for (const Law law : kLaws) {
        std::vector<uint8_t> codes(samples.size());
        encode(law, samples, codes);
        std::vector<int16_t> decoded(samples.size());
        decode(law, codes, decoded);
        std::vector<uint8_t> converted(codes.size());
        convert(law, codes, converted);
        const Law other = law == Law::kA ? Law::kMu : Law::kA;
        for (size_t i = 0; i < samples.size(); i++) {
            EXPECT_EQ(codes[i], encode(law, samples[i]));
            EXPECT_EQ(decoded[i], decode(law, codes[i]));
            EXPECT_EQ(converted[i], encode(other, decoded[i]));
        }
    }
}

TEST(G711Test, ConversionBetweenTheLawsKeepsSilence) {
    uint8_t out = 0;
    convert(Law::kMu, Bytes{kSilenceMu}, {&out, 1});
    EXPECT_EQ(out, kSilenceA);
}

}  // namespace
}  // namespace weir::media::g711
