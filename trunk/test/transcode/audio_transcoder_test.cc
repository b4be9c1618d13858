// From codec to codec with the libraries of this machine; a tone of G.711 is where it begins.
#include "transcode/audio_transcoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numbers>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"

#include "test/support/netem.h"

namespace weir::transcode {
namespace {

using media::Codec;

struct Frame {
    Bytes bytes;
    int64_t time_us = 0;
};

// ITU-T G.711, mu-law.
uint8_t mu_law(int sample) {
    const int sign = sample < 0 ? 0x80 : 0;
    const int magnitude = std::min(std::abs(sample), 32'635) + 132;
    int exponent = 7;
    for (int mask = 0x4000; exponent > 0 && (magnitude & mask) == 0; mask >>= 1) {
        exponent--;
    }
    return static_cast<uint8_t>(~(sign | exponent << 4 | (magnitude >> (exponent + 3) & 0x0F)));
}

// 20 ms each, 8 kHz.
std::vector<Frame> tone(int frames, double loudness = 8000, int64_t start_us = 1'000'000) {
    std::vector<Frame> made;
    for (int i = 0; i < frames; i++) {
        Frame& frame = made.emplace_back();
        frame.time_us = start_us + i * 20'000;
        for (int s = 0; s < 160; s++) {
            const double at = (i * 160 + s) / 8000.0;
            frame.bytes.push_back(
                mu_law(static_cast<int>(loudness * std::sin(2 * std::numbers::pi * 440 * at))));
        }
    }
    return made;
}

std::unique_ptr<AudioTranscoder> make(Codec from, Codec to, Bytes config = {}) {
    AudioOptions options;
    options.from = from;
    options.from_config = std::move(config);
    options.to = to;
    auto made = AudioTranscoder::create(options);
    EXPECT_TRUE(made.ok()) << made.error().to_string();
    WEIR_CHECK(made.ok());
    return std::move(*made);
}

std::vector<Frame> run(AudioTranscoder& transcoder, const std::vector<Frame>& in) {
    std::vector<Frame> out;
    for (const Frame& frame : in) {
        Error error =
            transcoder.transcode(frame.bytes, frame.time_us, [&](ByteSpan bytes, int64_t time) {
                out.push_back({Bytes(bytes.begin(), bytes.end()), time});
            });
        EXPECT_FALSE(error) << error.to_string();
    }
    return out;
}

// Whole frames, one after the other, from about `start_us` on.
void expect_steady(const std::vector<Frame>& frames, uint32_t samples, int64_t start_us) {
    ASSERT_FALSE(frames.empty());
    EXPECT_NEAR(static_cast<double>(frames[0].time_us), static_cast<double>(start_us), 60'000);
    for (size_t i = 1; i < frames.size(); i++) {
        EXPECT_NEAR(static_cast<double>(frames[i].time_us - frames[i - 1].time_us),
                    samples * 1e6 / kAudioClockHz, 2)
            << i;
    }
}

double mean_size(const std::vector<Frame>& frames) {
    double sum = 0;
    for (const Frame& frame : frames) {
        sum += static_cast<double>(frame.bytes.size());
    }
    return sum / static_cast<double>(frames.size());
}

TEST(AudioTranscoderTest, SoundGoesThroughAllCodecsAndKeepsItsTimes) {
    const auto to_aac = make(Codec::kG711U, Codec::kAac);
    const std::vector<Frame> aac = run(*to_aac, tone(250));
    expect_steady(aac, kAacFrameSamples, 1'000'000);
    EXPECT_NEAR(static_cast<double>(aac.size()), 5.0 * kAudioClockHz / kAacFrameSamples, 4);
    ASSERT_GE(to_aac->output_config().size(), 2U);
    EXPECT_EQ(to_aac->output_config()[0], 0x11);  // AAC-LC, 48 kHz, stereo
    EXPECT_EQ(to_aac->output_config()[1], 0x90);

    const auto to_opus = make(Codec::kAac, Codec::kOpus, to_aac->output_config());
    EXPECT_TRUE(to_opus->output_config().empty());
    const std::vector<Frame> opus = run(*to_opus, aac);
    expect_steady(opus, kOpusFrameSamples, 1'000'000);
    EXPECT_NEAR(static_cast<double>(opus.size()), 250, 6);

    const std::vector<Frame> again = run(*make(Codec::kOpus, Codec::kAac), opus);
    expect_steady(again, kAacFrameSamples, 1'000'000);
    // It is still a tone: much more than what silence takes.
    const std::vector<Frame> silent = run(*make(Codec::kG711U, Codec::kAac), tone(250, 0));
    EXPECT_GT(mean_size(again), 4 * mean_size(silent));
}

TEST(AudioTranscoderTest, GapInTheInputIsAGapInTheOutput) {
    const auto transcoder = make(Codec::kG711U, Codec::kAac);
    run(*transcoder, tone(50));
    const std::vector<Frame> later = run(*transcoder, tone(50, 8000, 9'000'000));
    ASSERT_GT(later.size(), 10U);
    EXPECT_NEAR(static_cast<double>(later[2].time_us), 9'040'000, 60'000);
    EXPECT_NEAR(static_cast<double>(later.back().time_us), 9'970'000, 60'000);
    // Back in time, too: another publisher's clock.
    const std::vector<Frame> earlier = run(*transcoder, tone(50, 8000, 2'000'000));
    EXPECT_NEAR(static_cast<double>(earlier.back().time_us), 2'970'000, 60'000);
}

TEST(AudioTranscoderTest, SmallErrorsOfTheInputsTimesAreSmoothedOut) {
    std::vector<Frame> frames = tone(200);
    for (size_t i = 0; i < frames.size(); i++) {
        frames[i].time_us += i % 2 == 0 ? 15'000 : -15'000;
    }
    expect_steady(run(*make(Codec::kG711U, Codec::kAac), frames), kAacFrameSamples, 1'000'000);
}

TEST(AudioTranscoderTest, GarbageIsAnErrorAndTheNextFrameIsFine) {
    const auto to_aac = make(Codec::kG711U, Codec::kAac);
    const std::vector<Frame> aac = run(*to_aac, tone(100));
    const std::vector<Frame> opus =
        run(*make(Codec::kAac, Codec::kOpus, to_aac->output_config()), aac);
    weir::test::SeededRandom random(5);
    for (const auto& [codec, good] :
         {std::pair(Codec::kAac, &aac), std::pair(Codec::kOpus, &opus)}) {
        const auto transcoder =
            make(codec, Codec::kAac, codec == Codec::kAac ? to_aac->output_config() : Bytes());
        size_t errors = 0;
        const auto nothing = [](ByteSpan, int64_t) {};
        for (int i = 0; i < 500; i++) {
            Bytes bytes(random.below(300));
            random.fill(bytes);
            if (i % 3 == 0) {
                bytes = (*good)[random.below(good->size())].bytes;
                bytes.resize(random.below(bytes.size() + 1));
            }
            errors += transcoder->transcode(bytes, i * 20'000, nothing) ? 1U : 0U;
        }
        EXPECT_GT(errors, 20U);
        Error empty = transcoder->transcode({}, 0, nothing);
        EXPECT_EQ(empty.code(), ErrorCode::kMalformed);
        Error large = transcoder->transcode(Bytes(AudioTranscoder::kMaxInputFrame + 1), 0, nothing);
        EXPECT_EQ(large.code(), ErrorCode::kMalformed);
        size_t came = 0;
        for (size_t i = 0; i < good->size(); i++) {
            Error error = transcoder->transcode((*good)[i].bytes,
                                                100'000'000 + static_cast<int64_t>(i) * 20'000,
                                                [&](ByteSpan, int64_t) { came++; });
            EXPECT_FALSE(error && i > 3) << error.to_string();
        }
        EXPECT_GT(came, good->size() / 2);
    }
}

TEST(AudioTranscoderTest, WhatCannotBeDoneIsSaid) {
    AudioOptions options;
    options.from = Codec::kH264;
    auto picture = AudioTranscoder::create(options);
    ASSERT_FALSE(picture.ok());
    EXPECT_EQ(picture.error().code(), ErrorCode::kUnsupported);
    EXPECT_THAT(picture.error().to_string(), testing::HasSubstr("decoded"));
    options.from = Codec::kAac;
    options.to = Codec::kMp3;
    auto mp3 = AudioTranscoder::create(options);
    ASSERT_FALSE(mp3.ok());
    EXPECT_EQ(mp3.error().code(), ErrorCode::kUnsupported);
    options.to = Codec::kOpus;
    options.from_config = {0xFF, 0xFF, 0xFF, 0xFF};
    auto broken = AudioTranscoder::create(options);
    ASSERT_FALSE(broken.ok());
    EXPECT_EQ(broken.error().code(), ErrorCode::kMalformed);
}

std::vector<Frame> noise(int frames) {
    weir::test::SeededRandom random(3);
    std::vector<Frame> made;
    for (int i = 0; i < frames; i++) {
        Frame& frame = made.emplace_back();
        frame.time_us = i * 20'000;
        for (int s = 0; s < 160; s++) {
            frame.bytes.push_back(mu_law(static_cast<int>(random.below(20'000)) - 10'000));
        }
    }
    return made;
}

// The largest distance between what comes out and what went in at that moment.
int64_t largest_distance_us(AudioTranscoder& transcoder, const std::vector<Frame>& in) {
    int64_t largest = 0;
    for (const Frame& frame : in) {
        Error error = transcoder.transcode(frame.bytes, frame.time_us, [&](ByteSpan, int64_t time) {
            largest = std::max<int64_t>(largest, std::abs(time - frame.time_us));
        });
        EXPECT_FALSE(error) << error.to_string();
    }
    return largest;
}

// Two frames of AAC of look-ahead, and one that waits to be whole.
constexpr int64_t kOwnDelayUs = 70'000;

TEST(AudioTranscoderTest, TimesOfTheOutputFollowAClockThatRunsAnotherRate) {
    for (const int64_t step_us : {19'000, 21'000}) {
        std::vector<Frame> frames = tone(300);
        for (size_t i = 0; i < frames.size(); i++) {
            frames[i].time_us = static_cast<int64_t>(i) * step_us;
        }
        EXPECT_LE(largest_distance_us(*make(Codec::kG711U, Codec::kAac), frames),
                  AudioTranscoder::kMaxDriftUs + kOwnDelayUs)
            << step_us;
    }
}

TEST(AudioTranscoderTest, TimesOfTheOutputFollowAnInputThatLosesFrames) {
    weir::test::SeededRandom random(11);
    std::vector<Frame> frames = tone(400);
    std::erase_if(frames, [&](const Frame&) { return random.chance(0.3); });
    EXPECT_LE(largest_distance_us(*make(Codec::kG711U, Codec::kAac), frames),
              AudioTranscoder::kMaxDriftUs + kOwnDelayUs);
}

// Backwards they are not: what is over is left out.
TEST(AudioTranscoderTest, OnlyAJumpOfMoreThanTheDriftSetsTheTimesAgain) {
    for (const int64_t sign : {1, -1}) {
        // The resampler holds some milliseconds back, so not to the microsecond.
        for (const int64_t jump_us :
             {AudioTranscoder::kMaxDriftUs - 10'000, AudioTranscoder::kMaxDriftUs + 10'000}) {
            std::vector<Frame> frames = tone(100);
            for (size_t i = 50; i < frames.size(); i++) {
                frames[i].time_us += sign * jump_us;
            }
            const std::vector<Frame> out = run(*make(Codec::kG711U, Codec::kAac), frames);
            int jumps = 0;
            for (size_t i = 1; i < out.size(); i++) {
                const int64_t step = out[i].time_us - out[i - 1].time_us;
                jumps += std::abs(step - 21'333) > 2 ? 1 : 0;
            }
            const bool jumps_once = sign > 0 && jump_us > AudioTranscoder::kMaxDriftUs;
            EXPECT_EQ(jumps, jumps_once ? 1 : 0) << sign * jump_us;
        }
    }
}

// RTP clocks of players, and transport streams, must not see the same time twice.
TEST(AudioTranscoderTest, TimesOfTheOutputDoNotGoBackWithThoseOfTheInput) {
    for (const Codec to : {Codec::kAac, Codec::kOpus}) {
        const auto transcoder = make(Codec::kG711U, to);
        std::vector<Frame> in = tone(250);
        for (size_t i = 100; i < in.size(); i++) {
            in[i].time_us -= 150'000;
        }
        const std::vector<Frame> out = run(*transcoder, in);
        for (size_t i = 1; i < out.size(); i++) {
            EXPECT_GT(out[i].time_us, out[i - 1].time_us) << i;
        }
        EXPECT_NEAR(static_cast<double>(out.back().time_us), static_cast<double>(in.back().time_us),
                    130'000);
    }
}

TEST(AudioTranscoderTest, AnyClockOfTheInputIsKept) {
    for (const int64_t start_us : {int64_t{0}, int64_t{-5'000'000}, int64_t{1} << 52}) {
        const std::vector<Frame> out =
            run(*make(Codec::kG711U, Codec::kOpus), tone(50, 8000, start_us));
        expect_steady(out, kOpusFrameSamples, start_us);
    }
}

TEST(AudioTranscoderTest, OneLongFrameBecomesSeveral) {
    Bytes bytes;
    for (const Frame& frame : tone(23)) {
        bytes.insert(bytes.end(), frame.bytes.begin(), frame.bytes.end());
    }
    std::vector<Frame> out = run(*make(Codec::kG711U, Codec::kAac), {{bytes, 1'000'000}});
    EXPECT_GE(out.size(), 18U) << "460 ms, less what is held back";
    expect_steady(out, kAacFrameSamples, 1'000'000);
}

TEST(AudioTranscoderTest, AFrameOfMoreThanHalfASecondIsLeftOut) {
    const auto transcoder = make(Codec::kG711U, Codec::kAac);
    const auto none = [](ByteSpan, int64_t) { ADD_FAILURE() << "nothing may come of it"; };
    for (const size_t size : {size_t{4'500}, AudioTranscoder::kMaxInputFrame}) {
        Error error = transcoder->transcode(Bytes(size, 0xFF), 1'000'000, none);
        EXPECT_EQ(error.code(), ErrorCode::kMalformed) << size;
    }
    expect_steady(run(*transcoder, tone(50, 8000, 1'000'000)), kAacFrameSamples, 1'000'000);
}

// ITU-T G.711: the two codes of zero by the one law are large samples by the other.
TEST(AudioTranscoderTest, SilenceByMuLawIsNoiseByALaw) {
    weir::test::SeededRandom random(5);
    std::vector<Frame> frames = tone(100);
    for (Frame& frame : frames) {
        for (uint8_t& sample : frame.bytes) {
            sample = random.chance(0.5) ? 0xFF : 0x7F;
        }
    }
    const double silence = mean_size(run(*make(Codec::kG711U, Codec::kOpus), frames));
    EXPECT_GT(mean_size(run(*make(Codec::kG711A, Codec::kOpus), frames)), 4 * silence);
}

TEST(AudioTranscoderTest, TheBitRateIsAsAsked) {
    const std::vector<Frame> in = noise(100);
    for (const auto& [codec, samples] :
         {std::pair(Codec::kAac, kAacFrameSamples), std::pair(Codec::kOpus, kOpusFrameSamples)}) {
        for (const int64_t rate : {48'000, 128'000}) {
            AudioOptions options;
            options.from = Codec::kG711U;
            options.to = codec;
            options.bits_per_second = rate;
            auto made = AudioTranscoder::create(options);
            ASSERT_TRUE(made.ok()) << made.error().to_string();
            const double bits_per_second =
                mean_size(run(**made, in)) * 8 * kAudioClockHz / static_cast<double>(samples);
            EXPECT_NEAR(bits_per_second, static_cast<double>(rate), static_cast<double>(rate) / 3)
                << to_string(codec);
        }
    }
}

// A worker each, as the bridges of several streams have.
TEST(AudioTranscoderTest, SeveralThreadsDoNotDisturbEachOther) {
    const std::vector<Frame> in = tone(60);
    const auto digest = [&in] {
        Bytes all;
        const auto to_aac = make(Codec::kG711U, Codec::kAac);
        const std::vector<Frame> aac = run(*to_aac, in);
        for (const Frame& frame :
             run(*make(Codec::kAac, Codec::kOpus, to_aac->output_config()), aac)) {
            all.insert(all.end(), frame.bytes.begin(), frame.bytes.end());
        }
        return all;
    };
    const Bytes expected = digest();
    EXPECT_FALSE(expected.empty());
    std::array<Bytes, 4> results;
    std::vector<std::thread> threads;
    threads.reserve(results.size());
    for (Bytes& result : results) {
        threads.emplace_back([&result, &digest] { result = digest(); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const Bytes& result : results) {
        EXPECT_EQ(result, expected);
    }
}

TEST(AudioTranscoderTest, WhatCannotBeDecodedIsNamed) {
    for (const Codec codec : {Codec::kAc3, Codec::kFlac, Codec::kOtherAudio, Codec::kVp8}) {
        AudioOptions options;
        options.from = codec;
        auto made = AudioTranscoder::create(options);
        ASSERT_FALSE(made.ok()) << to_string(codec);
        EXPECT_EQ(made.error().code(), ErrorCode::kUnsupported);
        EXPECT_THAT(made.error().to_string(), testing::HasSubstr(std::string(to_string(codec))));
    }
    AudioOptions options;
    options.from = Codec::kG711U;
    for (const Codec codec : {Codec::kMp3, Codec::kUnknown}) {
        options.to = codec;
        auto made = AudioTranscoder::create(options);
        ASSERT_FALSE(made.ok()) << to_string(codec);
        EXPECT_THAT(made.error().to_string(), testing::HasSubstr("encoded"));
    }
}

}  // namespace
}  // namespace weir::transcode
