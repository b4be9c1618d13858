#include "session/sip/voice_line.h"

#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "media/g711.h"
#include "media/tone.h"
#include "proto/rtp/header.h"

#include "test/support/netem.h"

namespace weir::session {
namespace {

using media::Codec;
using Content = rtp::PlayoutPacketView::Content;
using Samples = std::vector<int16_t>;

constexpr double kTone = 500;
constexpr uint8_t kLevel = 40;  // of comfort noise: heard well

// A phone and its line, on a clock of the test's own.
class VoiceLineTest : public testing::Test {
  protected:
    void open(const VoiceOptions& options) {
        options_ = options;
        auto made = VoiceLine::create(options, 1);
        WEIR_CHECK(made.ok());
        line_ = std::move(*made);
    }

    // Says a tone of G.711 and hears what comes out, a tick after the other.
    void say(int ticks, double loss = 0) {
        for (int i = 0; i < ticks; i++) {
            Samples samples(160);
            tone_.fill(samples);
            Bytes payload(160);
            media::g711::encode(media::g711::Law::kMu, samples, payload);
            if (!random_.chance(loss)) {
                packet(Content::kAudio, payload);
            }
            sequence_++;
            tick();
        }
    }

    void packet(Content content, ByteSpan payload) {
        rtp::PlayoutPacketView view;
        view.content = content;
        view.sequence = sequence_;
        view.rtp_time = time_;
        view.ssrc = 7;
        view.payload = payload;
        line_->handle_packet(now_, view);
    }

    void tick() {
        now_ += VoiceLine::kTick;
        time_ += 160;
        ticks_++;
        const bool heard = line_->tick(now_, [&](ByteSpan frame) {
            frames_++;
            const size_t before = heard_.size();
            if (options_.to == Codec::kPcm) {
                heard_.resize(before + frame.size() / sizeof(int16_t));
                std::memcpy(heard_.data() + before, frame.data(), frame.size());
            } else if (options_.to == Codec::kG711U) {
                heard_.resize(before + frame.size());
                media::g711::decode(media::g711::Law::kMu, frame,
                                    std::span(heard_).subspan(before));
            }
        });
        silent_ticks_ += heard ? 0 : 1;
    }

    // The share of the tone in the newest second.
    double share() const {
        WEIR_CHECK(heard_.size() >= 8000);
        return media::tone_share(std::span(heard_).last(8000), kTone, 8000);
    }

    VoiceOptions options_;
    std::unique_ptr<VoiceLine> line_;
    media::ToneGenerator tone_{kTone, 8000};
    test::SeededRandom random_{5};
    MonoTime now_{Seconds(100)};
    uint32_t time_ = 0;
    uint16_t sequence_ = 65'500;
    int ticks_ = 0;
    int silent_ticks_ = 0;
    int frames_ = 0;
    Samples heard_;
};

TEST_F(VoiceLineTest, G711ComesOutAsG711) {
    open(stream_voice(Codec::kG711U, 8000));
    EXPECT_FALSE(VoiceLine::needs_worker(options_));
    say(150);
    EXPECT_GT(share(), 0.98);
    EXPECT_EQ(frames_, ticks_ - silent_ticks_);
    EXPECT_LE(silent_ticks_, 3);
}

TEST_F(VoiceLineTest, LossesAreBridged) {
    open(stream_voice(Codec::kG711U, 8000));
    say(500, 0.05);
    EXPECT_GT(share(), 0.9);
    EXPECT_GT(line_->stats().lost, 5U);
    EXPECT_EQ(frames_, ticks_ - silent_ticks_);
}

TEST_F(VoiceLineTest, ComfortNoiseIsHeardWhileThePhoneSendsNothing) {
    open(stream_voice(Codec::kG711U, 8000));
    say(50);
    packet(Content::kComfortNoise, ByteSpan(&kLevel, 1));
    sequence_++;
    const int before = frames_;
    for (int i = 0; i < 100; i++) {
        tick();
    }
    EXPECT_EQ(frames_, before + 100);
    const double noise = media::rms(std::span(heard_).last(8000));
    EXPECT_NEAR(noise, 327, 60);  // -40 dBov
    say(100);
    EXPECT_GT(share(), 0.95);
}

TEST_F(VoiceLineTest, AGapWithoutComfortNoiseIsSilence) {
    open(stream_voice(Codec::kG711U, 8000));
    say(50);
    const int before = frames_;
    for (int i = 0; i < 100; i++) {
        tick();
    }
    EXPECT_EQ(frames_, before + 100);
    EXPECT_LT(media::rms(std::span(heard_).last(8000)), 5);
    EXPECT_TRUE(line_->silent());
}

TEST_F(VoiceLineTest, NothingComesOutBeforeThePhoneSaysSomething) {
    open(stream_voice(Codec::kG711U, 8000));
    for (int i = 0; i < 10; i++) {
        tick();
    }
    EXPECT_EQ(frames_, 0);
    EXPECT_EQ(silent_ticks_, 10);
}

// By a thousandth, more than any phone's: in two minutes 120 ms too many.
TEST_F(VoiceLineTest, AClockThatRunsFasterIsFollowed) {
    open(mixer_voice(Codec::kG711U, 8000));
    MonoTime due = now_;
    uint32_t time = 0;
    for (int i = 0; i < 6000; i++) {
        for (; due <= now_; due += Micros(19'980)) {
            Samples samples(160);
            tone_.fill(samples);
            Bytes payload(160);
            media::g711::encode(media::g711::Law::kMu, samples, payload);
            time_ = time += 160;
            packet(Content::kAudio, payload);
            sequence_++;
        }
        tick();
    }
    EXPECT_GT(line_->stats().shortened, 10U);
    EXPECT_EQ(line_->stats().lost, 0U);
    EXPECT_LT(line_->stats().delay, Millis(80));
    EXPECT_GT(share(), 0.9);
}

TEST_F(VoiceLineTest, AMixerGetsWhatTheCodecHas) {
    EXPECT_EQ(mixer_voice(Codec::kG711A, 8000).to_rate, 8000U);
    EXPECT_EQ(mixer_voice(Codec::kSpeex, 8000).to_rate, 8000U);
    EXPECT_EQ(mixer_voice(Codec::kSpeex, 16000).to_rate, 16000U);
    EXPECT_EQ(mixer_voice(Codec::kG722, 8000).to_rate, 16000U);
    EXPECT_EQ(mixer_voice(Codec::kOpus, 48000).to_rate, 16000U);
    open(mixer_voice(Codec::kG711U, 8000));
    say(100);
    EXPECT_GT(share(), 0.98);
}

// ITU-T G.722 as libavcodec makes it, in packets of 20 ms.
TEST_F(VoiceLineTest, G722BecomesAac) {
    open(stream_voice(Codec::kG722, 8000));
    EXPECT_TRUE(VoiceLine::needs_worker(options_));
    EXPECT_EQ(options_.to, Codec::kAac);
    EXPECT_EQ(voice_frame_ticks(options_), 1024U);
    transcode::AudioOptions g722;
    g722.to = Codec::kG722;
    auto encoder = transcode::PcmEncoder::create(g722, 16'000);
    ASSERT_TRUE(encoder.ok()) << encoder.error().to_string();
    media::ToneGenerator tone(kTone, 16'000);
    for (int i = 0; i < 100; i++) {
        Samples samples(320);
        tone.fill(samples);
        (*encoder)->encode(samples, [&](ByteSpan frame) {
            packet(Content::kAudio, frame);
            sequence_++;
        });
        tick();
    }
    EXPECT_NEAR(frames_, 100 * 320 / 1024, 4);
}

TEST_F(VoiceLineTest, GarbageIsBorne) {
    open(stream_voice(Codec::kG711U, 8000));
    const Bytes large(1400, 0x11);
    for (int i = 0; i < 200; i++) {
        packet(static_cast<Content>(i % 3), ByteSpan(large).first(static_cast<size_t>(i * 7)));
        sequence_ += static_cast<uint16_t>(i * 331);
        time_ += static_cast<uint32_t>(i) * 77'777;
        tick();
    }
    say(100);
    EXPECT_GT(share(), 0.9);
}

}  // namespace
}  // namespace weir::session
