// What telephones and streams say, in each other's codecs: a tone goes in as PCM and must come out.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "media/g711.h"
#include "media/opus.h"
#include "media/speex.h"
#include "media/tone.h"
#include "transcode/audio_transcoder.h"

namespace weir::transcode {
namespace {

using media::Codec;
using Samples = std::vector<int16_t>;

struct Frame {
    Bytes bytes;
    int64_t time_us = 0;
};

// A codec as it is spoken somewhere.
struct Spoken {
    const char* name;
    Codec codec;
    uint32_t rate;
    uint8_t channels;
};

const Spoken kAacMono = {"AAC", Codec::kAac, 48'000, 1};
const Spoken kAacStereo = {"AAC in stereo", Codec::kAac, 48'000, 2};
const Spoken kOpus = {"Opus", Codec::kOpus, 48'000, 1};
const Spoken kOpusStereo = {"Opus in stereo", Codec::kOpus, 48'000, 2};
const Spoken kOpusWide = {"Opus at 16 kHz", Codec::kOpus, 16'000, 1};
const Spoken kA = {"A-law", Codec::kG711A, 8'000, 1};
const Spoken kU = {"mu-law", Codec::kG711U, 8'000, 1};
const Spoken kG722 = {"G.722", Codec::kG722, 16'000, 1};
const Spoken kSpeex8 = {"Speex at 8 kHz", Codec::kSpeex, 8'000, 1};
const Spoken kSpeex16 = {"Speex at 16 kHz", Codec::kSpeex, 16'000, 1};
const Spoken kPcm8 = {"PCM at 8 kHz", Codec::kPcm, 8'000, 1};
const Spoken kPcm16 = {"PCM at 16 kHz", Codec::kPcm, 16'000, 1};
const Spoken kPcm48 = {"PCM at 48 kHz", Codec::kPcm, 48'000, 1};

const Spoken kAll[] = {kAacMono, kAacStereo, kOpus,    kOpusStereo, kOpusWide, kA,    kU,
                       kG722,    kSpeex8,    kSpeex16, kPcm8,       kPcm16,    kPcm48};

AudioOptions options(const Spoken& from, const Spoken& to) {
    AudioOptions out;
    out.from = from.codec;
    out.from_rate = from.rate;
    out.to = to.codec;
    out.to_rate = to.rate;
    out.to_channels = to.channels;
    out.bits_per_second = 48'000;
    return out;
}

std::unique_ptr<AudioTranscoder> make(const AudioOptions& options) {
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

// PCM of 440 Hz, 20 ms each.
std::vector<Frame> tone(uint32_t rate, int frames, double amplitude = 8000) {
    media::ToneGenerator generator(440, rate, amplitude);
    std::vector<Frame> out;
    for (int i = 0; i < frames; i++) {
        Samples samples(rate / 50);
        generator.fill(samples);
        Frame& frame = out.emplace_back();
        frame.bytes.resize(samples.size() * 2);
        std::memcpy(frame.bytes.data(), samples.data(), frame.bytes.size());
        frame.time_us = 1'000'000 + i * 20'000;
    }
    return out;
}

Samples samples_of(const std::vector<Frame>& frames) {
    Samples out;
    for (const Frame& frame : frames) {
        const size_t before = out.size();
        out.resize(before + frame.bytes.size() / 2);
        std::memcpy(out.data() + before, frame.bytes.data(), frame.bytes.size());
    }
    return out;
}

// A tone in a codec, and the configuration of what came out.
struct Said {
    std::vector<Frame> frames;
    Bytes config;
};

Said say(const Spoken& codec, int frames = 100, Millis duration = Millis(20)) {
    AudioOptions of = options(kPcm48, codec);
    of.frame_duration = duration;
    const auto transcoder = make(of);
    Said said;
    said.frames = run(*transcoder, tone(48'000, frames));
    said.config = transcoder->output_config();
    return said;
}

// The second second, in which everything has settled.
double share_of(const Samples& heard, uint32_t rate, double amplitude_at_least = 4000) {
    const auto settled = std::span(heard).subspan(heard.size() / 2);
    EXPECT_GT(media::rms(settled) * std::sqrt(2), amplitude_at_least);
    return media::tone_share(settled, 440, rate);
}

TEST(TelephonyTranscoderTest, AToneGoesFromEachCodecToEachOther) {
    for (const Spoken& from : kAll) {
        const Said said = say(from);
        for (const Spoken& to : kAll) {
            if (from.codec == Codec::kPcm && to.codec == Codec::kPcm) {
                continue;
            }
            AudioOptions there = options(from, to);
            there.from_config = said.config;
            const auto transcoder = make(there);
            const std::vector<Frame> frames = run(*transcoder, said.frames);
            AudioOptions back = options(to, kPcm16);
            back.from_config = transcoder->output_config();
            const Samples heard = samples_of(run(*make(back), frames));
            ASSERT_GT(heard.size(), 25'000U) << from.name << " to " << to.name;
            EXPECT_GT(share_of(heard, 16'000), 0.95) << from.name << " to " << to.name;
        }
    }
}

TEST(TelephonyTranscoderTest, FramesHaveTheirDurationAndTheirTimes) {
    const struct {
        Spoken codec;
        size_t bytes;  // of a frame of 20 ms; 0: any
    } cases[] = {{kA, 160},    {kU, 160},     {kG722, 160},   {kSpeex8, 38}, {kSpeex16, 70},
                 {kPcm8, 320}, {kPcm16, 640}, {kPcm48, 1920}, {kOpus, 0},    {kOpusWide, 0}};

    for (const auto& [codec, bytes] : cases) {
        for (const Millis duration : {Millis(20), Millis(40), Millis(60)}) {
            const std::vector<Frame> frames = say(codec, 60, duration).frames;
            ASSERT_GE(frames.size(), static_cast<size_t>(1'000 / duration.count())) << codec.name;
            EXPECT_NEAR(static_cast<double>(frames[0].time_us), 1'000'000, 60'000) << codec.name;
            for (size_t i = 1; i < frames.size(); i++) {
                EXPECT_NEAR(static_cast<double>(frames[i].time_us - frames[i - 1].time_us),
                            static_cast<double>(duration.count() * 1000), 2)
                    << codec.name;
            }
            if (bytes != 0 && codec.codec != Codec::kSpeex) {
                EXPECT_EQ(frames.back().bytes.size(),
                          bytes * static_cast<size_t>(duration.count()) / 20)
                    << codec.name;
            }
            if (bytes != 0 && duration == Millis(20)) {
                EXPECT_EQ(frames.back().bytes.size(), bytes) << codec.name;
            }
        }
    }
}

// RFC 5574 §3.3: what comes out may be sent as it is.
TEST(TelephonyTranscoderTest, PacketsOfSpeexAreThoseOfItsManual) {
    for (const Spoken& codec : {kSpeex8, kSpeex16}) {
        for (const size_t count : {1U, 3U}) {
            const std::vector<Frame> frames =
                say(codec, 50, Millis(20 * static_cast<int>(count))).frames;
            for (const Frame& frame : frames) {
                EXPECT_EQ(media::speex::count_frames(frame.bytes), count);
                EXPECT_EQ(media::speex::sample_rate(frame.bytes), codec.rate);
            }
        }
    }
}

TEST(TelephonyTranscoderTest, SeveralFramesOfSpeexInAPacketAreHeardAsTheyWouldBeOneByOne) {
    for (const Spoken& codec : {kSpeex8, kSpeex16}) {
        std::vector<Frame> whole = say(codec, 99, Millis(60)).frames;
        std::vector<Frame> single;
        for (const Frame& frame : whole) {
            int64_t time_us = frame.time_us;
            for (const Bytes& one : media::speex::split(frame.bytes, 1)) {
                single.push_back({one, time_us});
                time_us += 20'000;
            }
        }
        EXPECT_EQ(single.size(), 3 * whole.size());
        const Samples together = samples_of(run(*make(options(codec, kPcm16)), whole));
        const Samples apart = samples_of(run(*make(options(codec, kPcm16)), single));
        EXPECT_TRUE(together == apart) << codec.name;
        EXPECT_GT(share_of(together, 16'000), 0.95) << codec.name;
    }
}

TEST(TelephonyTranscoderTest, WhatIsNotSpeexIsMalformed) {
    const auto transcoder = make(options(kSpeex16, kPcm16));
    for (const Bytes& bad : {Bytes(20, 0xFF), Bytes{0x2C}, Bytes{0x7F}}) {
        Error error = transcoder->transcode(bad, 0, [](ByteSpan, int64_t) { FAIL(); });
        EXPECT_EQ(error.code(), ErrorCode::kMalformed);
    }
    EXPECT_GT(share_of(samples_of(run(*transcoder, say(kSpeex16).frames)), 16'000), 0.95);
}

TEST(TelephonyTranscoderTest, OpusForVoiceIsMono) {
    AudioOptions voice = options(kA, kOpusWide);
    voice.voice = true;
    voice.bits_per_second = 24'000;
    const std::vector<Frame> frames =
        run(*make(voice), run(*make(options(kPcm8, kA)), tone(8'000, 100)));
    ASSERT_GT(frames.size(), 90U);
    for (const Frame& frame : frames) {
        EXPECT_EQ(media::opus::packet_samples(frame.bytes), 960U);
        EXPECT_FALSE(media::opus::is_stereo(frame.bytes));
    }
    EXPECT_GT(share_of(samples_of(run(*make(options(kOpus, kPcm8)), frames)), 8'000), 0.95);
}

TEST(TelephonyTranscoderTest, TheLoudnessStays) {
    for (const Spoken& codec : kAll) {
        const Said said = say(codec);
        AudioOptions back = options(codec, kPcm16);
        back.from_config = said.config;
        const Samples heard = samples_of(run(*make(back), said.frames));
        const double level = media::rms(std::span(heard).subspan(heard.size() / 2));
        // From one channel to two the library takes 3 dB away.
        const double expected = 8'000 / std::sqrt(codec.channels == 2 ? 4.0 : 2.0);
        EXPECT_NEAR(level, expected, expected / 5) << codec.name;
    }
}

TEST(TelephonyTranscoderTest, G711AndPcmNeedNoLibrary) {
    for (const Spoken& from : {kA, kU, kPcm8, kPcm16, kPcm48}) {
        for (const Spoken& to : {kA, kU, kPcm8, kPcm16, kPcm48}) {
            EXPECT_TRUE(AudioTranscoder::is_plain(options(from, to))) << from.name << to.name;
        }
    }
    EXPECT_FALSE(AudioTranscoder::is_plain(options(kA, kG722)));
    EXPECT_FALSE(AudioTranscoder::is_plain(options(kOpus, kPcm8)));
    AudioOptions odd = options(kPcm48, kPcm8);
    odd.from_rate = 44'100;
    EXPECT_FALSE(AudioTranscoder::is_plain(odd));
    EXPECT_GT(share_of(samples_of(run(*make(odd), tone(44'100, 100))), 8'000), 0.95);
}

TEST(TelephonyTranscoderTest, G711ToPcmIsTheTable) {
    Frame frame;
    for (int code = 0; code < 160; code++) {
        frame.bytes.push_back(static_cast<uint8_t>(code));
    }
    const Samples samples = samples_of(run(*make(options(kA, kPcm8)), {frame}));
    ASSERT_EQ(samples.size(), 160U);
    for (size_t i = 0; i < samples.size(); i++) {
        EXPECT_EQ(samples[i], media::g711::decode(media::g711::Law::kA, static_cast<uint8_t>(i)));
    }
    const auto to_mu = make(options(kA, kU));
    const std::vector<Frame> mu = run(*to_mu, {frame});
    Bytes expected(160);
    media::g711::convert(media::g711::Law::kA, frame.bytes, expected);
    ASSERT_EQ(mu.size(), 1U);
    EXPECT_EQ(mu[0].bytes, expected);
}

TEST(TelephonyTranscoderTest, PacketsOfOtherDurationsBecomeFramesOfTheirOwn) {
    AudioOptions of = options(kA, kU);
    std::vector<Frame> in = say(kA).frames;
    Frame long_one;
    long_one.time_us = in[0].time_us;
    for (size_t i = 0; i < 3; i++) {
        long_one.bytes.insert(long_one.bytes.end(), in[i].bytes.begin(), in[i].bytes.end());
    }
    const auto transcoder = make(of);
    const std::vector<Frame> out = run(*transcoder, {long_one});
    ASSERT_EQ(out.size(), 3U);
    EXPECT_EQ(out[2].time_us - out[0].time_us, 40'000);
    Frame next{Bytes(80, 0xD5), long_one.time_us + 60'000};
    EXPECT_TRUE(run(*transcoder, {next}).empty());
    next.time_us += 10'000;
    EXPECT_EQ(run(*transcoder, {next}).size(), 1U);
    // A jump: what waits is of another time.
    EXPECT_TRUE(run(*transcoder, {{Bytes(80, 0xD5), 9'000'000}}).empty());
    const std::vector<Frame> later = run(*transcoder, {{Bytes(160, 0xD5), 9'010'000}});
    ASSERT_EQ(later.size(), 1U);
    EXPECT_EQ(later[0].time_us, 9'000'000);
}

TEST(TelephonyTranscoderTest, TooLongFramesAreMalformed) {
    const auto plain = make(options(kA, kU));
    Error error = plain->transcode(Bytes(4'001), 0, [](ByteSpan, int64_t) { FAIL(); });
    EXPECT_EQ(error.code(), ErrorCode::kMalformed);
    error = plain->transcode({}, 0, [](ByteSpan, int64_t) { FAIL(); });
    EXPECT_EQ(error.code(), ErrorCode::kMalformed);
}

TEST(TelephonyTranscoderTest, OptionsOutOfRangeAreRefused) {
    const auto code_of = [](const AudioOptions& wrong) {
        auto made = AudioTranscoder::create(wrong);
        return made.ok() ? ErrorCode::kInternal : made.error().code();
    };
    AudioOptions wrong = options(kA, kU);
    wrong.frame_duration = Millis(25);
    EXPECT_EQ(code_of(wrong), ErrorCode::kMalformed);
    wrong.frame_duration = Millis(0);
    EXPECT_EQ(code_of(wrong), ErrorCode::kMalformed);
    wrong = options(kA, kOpus);
    wrong.to_channels = 3;
    EXPECT_EQ(code_of(wrong), ErrorCode::kMalformed);
    wrong = options(kPcm8, kPcm8);
    wrong.from_rate = 1;
    EXPECT_EQ(code_of(wrong), ErrorCode::kMalformed);
    wrong = options(kA, kOpus);
    wrong.to_rate = 44'100;
    EXPECT_EQ(code_of(wrong), ErrorCode::kUnsupported);
    wrong = options(kA, kA);
    wrong.to = Codec::kMp3;
    EXPECT_EQ(code_of(wrong), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace weir::transcode
