#include "transcode/pcm_codec.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "media/g711.h"
#include "media/mixer.h"
#include "media/tone.h"

namespace weir::transcode {
namespace {

using media::Codec;
using Samples = std::vector<int16_t>;

struct Spoken {
    Codec codec;
    uint32_t rate;
};

constexpr Spoken kSpoken[] = {{Codec::kG711A, 8'000},  {Codec::kG711U, 8'000},
                              {Codec::kG722, 16'000},  {Codec::kSpeex, 8'000},
                              {Codec::kSpeex, 16'000}, {Codec::kOpus, 48'000}};

AudioOptions options(const Spoken& spoken) {
    AudioOptions out;
    out.from = spoken.codec;
    out.from_rate = spoken.rate;
    out.to = spoken.codec;
    out.to_rate = spoken.rate;
    out.to_channels = 1;
    out.bits_per_second = 32'000;
    return out;
}

std::unique_ptr<PcmDecoder> decoder(const Spoken& spoken, uint32_t rate) {
    auto made = PcmDecoder::create(options(spoken), rate);
    WEIR_CHECK(made.ok());
    return std::move(*made);
}

std::unique_ptr<PcmEncoder> encoder(const Spoken& spoken, uint32_t rate) {
    auto made = PcmEncoder::create(options(spoken), rate);
    WEIR_CHECK(made.ok());
    return std::move(*made);
}

// What comes of ten seconds of a tone in 20 ms frames.
Samples hear(const Spoken& spoken, uint32_t rate) {
    const auto to = encoder(spoken, rate);
    const auto from = decoder(spoken, rate);
    media::ToneGenerator tone(440, rate);
    Samples heard;
    Samples frame(rate / 50);
    for (int i = 0; i < 500; i++) {
        tone.fill(frame);
        to->encode(frame, [&](ByteSpan bytes) { from->decode(bytes, false, heard); });
    }
    EXPECT_EQ(from->malformed(), 0U);
    return heard;
}

TEST(PcmCodecTest, AToneComesBackWithoutGaps) {
    for (const Spoken& spoken : kSpoken) {
        for (const uint32_t rate : {8'000U, 16'000U, 48'000U}) {
            const Samples heard = hear(spoken, rate);
            EXPECT_GT(heard.size(), size_t{rate} * 980 / 100)
                << to_string(spoken.codec) << " " << rate;
            for (size_t second = 1; (second + 1) * rate <= heard.size(); second++) {
                EXPECT_GT(
                    media::tone_share(std::span(heard).subspan(second * rate, rate), 440, rate),
                    0.95)
                    << to_string(spoken.codec) << " " << rate << " " << second;
            }
        }
    }
}

TEST(PcmCodecTest, FramesOfAnyLengthAreEncoded) {
    const auto to = encoder(kSpoken[0], 8'000);
    size_t frames = 0;
    for (const size_t size : {80U, 80U, 100U, 60U, 480U, 159U, 1U}) {
        to->encode(Samples(size), [&](ByteSpan bytes) {
            EXPECT_EQ(bytes.size(), 160U);
            frames++;
        });
    }
    EXPECT_EQ(frames, 6U);
    to->encode({}, [](ByteSpan) { FAIL(); });
}

TEST(PcmCodecTest, WhatCannotBeDecodedIsCounted) {
    const auto from = decoder({Codec::kSpeex, 16'000}, 16'000);
    Samples samples;
    from->decode(Bytes(10, 0xFF), false, samples);
    from->decode({}, false, samples);
    EXPECT_EQ(from->malformed(), 2U);
    EXPECT_TRUE(samples.empty());
}

TEST(PcmCodecTest, ARestartLeavesNothingOfWhatWasBefore) {
    const auto from = decoder(kSpoken[0], 8'000);
    Samples samples;
    Bytes loud(75, 0x2A);
    from->decode(loud, false, samples);
    EXPECT_TRUE(samples.empty());
    from->decode(Bytes(80, media::g711::kSilenceA), true, samples);
    EXPECT_EQ(samples, Samples(80, 8));
}

TEST(PcmCodecTest, WhatDoesNotExistIsRefused) {
    EXPECT_FALSE(PcmDecoder::create(options({Codec::kAc3, 48'000}), 8'000).ok());
    EXPECT_FALSE(PcmEncoder::create(options({Codec::kAc3, 48'000}), 8'000).ok());
}

// Three telephones with codecs of their own in one conference at 16 kHz.
TEST(PcmCodecTest, AConferenceOfThreeCodecs) {
    constexpr uint32_t kRate = 16'000;
    const Spoken codecs[] = {
        {Codec::kG711A, 8'000}, {Codec::kG722, 16'000}, {Codec::kOpus, 48'000}};
    const double hertz[] = {400, 700, 1'100};

    struct Party {
        std::unique_ptr<PcmEncoder> phone_out;
        std::unique_ptr<PcmDecoder> in;
        std::unique_ptr<PcmEncoder> out;
        std::unique_ptr<PcmDecoder> phone_in;
        media::ToneGenerator tone;
        Samples said;
        Samples heard;
    };

    std::vector<Party> parties;
    for (size_t i = 0; i < 3; i++) {
        parties.push_back({encoder(codecs[i], kRate),
                           decoder(codecs[i], kRate),
                           encoder(codecs[i], kRate),
                           decoder(codecs[i], kRate),
                           media::ToneGenerator(hertz[i], kRate, 5'000),
                           {},
                           {}});
    }
    Samples frame(kRate / 50);
    Samples mixed(kRate / 50);
    media::Mixer mixer;
    for (int tick = 0; tick < 200; tick++) {
        mixer.begin(frame.size());
        for (Party& party : parties) {
            party.tone.fill(frame);
            party.phone_out->encode(
                frame, [&](ByteSpan bytes) { party.in->decode(bytes, false, party.said); });
            if (party.said.size() < frame.size()) {
                party.said.insert(party.said.begin(), frame.size() - party.said.size(), 0);
            }
            mixer.add(std::span(party.said).first(frame.size()));
        }
        for (Party& party : parties) {
            mixer.mix_without(std::span(party.said).first(frame.size()), mixed);
            party.said.erase(party.said.begin(),
                             party.said.begin() + static_cast<std::ptrdiff_t>(frame.size()));
            party.out->encode(
                mixed, [&](ByteSpan bytes) { party.phone_in->decode(bytes, false, party.heard); });
        }
    }
    for (size_t i = 0; i < 3; i++) {
        ASSERT_GT(parties[i].heard.size(), size_t{2 * kRate});
        const auto last = std::span(parties[i].heard).last(kRate);
        for (size_t other = 0; other < 3; other++) {
            const double share = media::tone_share(last, hertz[other], kRate);
            if (i == other) {
                EXPECT_LT(share, 0.02) << i;
            } else {
                EXPECT_GT(share, 0.35) << i << " hears " << other;
            }
        }
    }
}

}  // namespace
}  // namespace weir::transcode
