#include "proto/rtp/playout_audio.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "media/g711.h"
#include "media/tone.h"

#include "test/support/netem.h"

namespace weir::rtp {
namespace {

using Content = PlayoutPacketView::Content;
using Samples = std::vector<int16_t>;

// A call of G.711 in packets of 20 ms that arrive at once, and is heard at each tick.
class PlayoutAudioTest : public testing::Test {
  protected:
    void say(int packets, double loss = 0) {
        for (int i = 0; i < packets; i++) {
            Samples samples(160);
            tone.fill(samples);
            Bytes payload(160);
            media::g711::encode(media::g711::Law::kA, samples, payload);
            if (!random.chance(loss)) {
                packet(Content::kAudio, payload);
            }
            next();
        }
    }

    void packet(Content content, ByteSpan payload) {
        PlayoutPacketView view;
        view.content = content;
        view.sequence = sequence;
        view.rtp_time = rtp_time;
        view.ssrc = ssrc;
        view.ticks = 160;
        view.payload = payload;
        audio.handle_packet(now, view);
    }

    void next() {
        sequence++;
        be_silent(1);
    }

    void be_silent(int ticks) {
        for (int i = 0; i < ticks; i++) {
            now += Millis(20);
            rtp_time += 160;
            Samples out(audio.tick_samples());
            if (audio.tick(now, out)) {
                heard.insert(heard.end(), out.begin(), out.end());
            } else {
                silent_ticks++;
            }
        }
    }

    void decode(ByteSpan payload, bool restart, Samples& out) {
        restarts += restart ? 1 : 0;
        if (payload[0] == kBroken) {
            return;
        }
        out.resize(payload.size());
        media::g711::decode(media::g711::Law::kA, payload, out);
    }

    int largest_step() const {
        int most = 0;
        for (size_t i = 1; i < heard.size(); i++) {
            most = std::max(most, std::abs(heard[i] - heard[i - 1]));
        }
        return most;
    }

    static constexpr uint8_t kBroken = 0x2A;  // no sample of the tone is that loud
    int restarts = 0;

    test::SeededRandom random{6};
    media::ToneGenerator tone{440, 8000};
    MonoTime now{Seconds(10)};
    uint16_t sequence = 1;
    uint32_t rtp_time = 0;
    uint32_t ssrc = 5;
    PlayoutAudio audio{
        PlayoutOptions(), 8000, 1,
        [this](ByteSpan payload, bool restart, Samples& out) { decode(payload, restart, out); }};
    Samples heard;
    int silent_ticks = 0;
};

TEST_F(PlayoutAudioTest, HearsATone) {
    say(100);
    EXPECT_LE(silent_ticks, 2);
    EXPECT_EQ(heard.size(), (100 - static_cast<size_t>(silent_ticks)) * 160);
    EXPECT_GT(media::tone_share(heard, 440, 8000), 0.99);
    EXPECT_FALSE(audio.silent());
}

TEST_F(PlayoutAudioTest, LossIsHardlyHeard) {
    say(10);
    say(1'000, 0.05);
    EXPECT_GT(audio.stats().lost, 20U);
    for (size_t at = 0; at + 8'000 <= heard.size(); at += 8'000) {
        EXPECT_GT(media::tone_share(std::span(heard).subspan(at, 8'000), 440, 8000), 0.9);
    }
    EXPECT_LT(largest_step(), 1.6 * 8'000 * 2 * std::sin(3.14159265 * 440 / 8000));
}

TEST_F(PlayoutAudioTest, WhatCannotBeDecodedIsConcealed) {
    say(50);
    packet(Content::kAudio, Bytes(160, kBroken));
    Samples skipped(160);
    tone.fill(skipped);
    next();
    say(50);
    EXPECT_GT(media::tone_share(heard, 440, 8000), 0.98);
}

TEST_F(PlayoutAudioTest, ComfortNoiseIsHeardBetweenSpeech) {
    say(50);
    packet(Content::kComfortNoise, Bytes{45});
    next();
    be_silent(100);
    const auto noise = std::span(heard).last(8'000);
    EXPECT_NEAR(media::noise_level_of(noise), 45, 1);
    EXPECT_LT(media::tone_share(noise, 440, 8000), 0.01);
    EXPECT_TRUE(audio.silent());
    say(50);
    EXPECT_GT(media::tone_share(std::span(heard).last(4'000), 440, 8000), 0.99);
    EXPECT_FALSE(audio.silent());
    EXPECT_EQ(audio.stats().lost, 0U);
}

TEST_F(PlayoutAudioTest, SilenceGoesOnWhenNothingComesAnyMore) {
    say(50);
    be_silent(500);
    EXPECT_EQ(heard.size(), (550 - static_cast<size_t>(silent_ticks)) * 160);
    EXPECT_EQ(media::rms(std::span(heard).last(8'000)), 0);
    EXPECT_TRUE(audio.silent());
}

TEST_F(PlayoutAudioTest, TheDecoderHearsOfAnotherSource) {
    say(50);
    EXPECT_EQ(restarts, 0);
    ssrc = 6;
    sequence = 40'000;
    rtp_time = 77;
    say(50);
    EXPECT_EQ(restarts, 1);
}

// RFC 3551 §4.5.2: two samples in a tick of the clock.
TEST_F(PlayoutAudioTest, TheClockOfG722IsHalfItsRate) {
    media::ToneGenerator wide(440, 16'000);
    PlayoutAudio of_g722(PlayoutOptions(), 16'000, 1, [&](ByteSpan payload, bool, Samples& out) {
        out.resize(payload.size() * 2);
        wide.fill(out);
    });
    EXPECT_EQ(of_g722.tick_samples(), 320U);
    const Bytes payload(160);
    PlayoutPacketView view;
    view.ticks = 160;
    view.payload = payload;
    Samples out(320);
    for (int i = 0; i < 100; i++) {
        if (i % 10 != 5) {
            of_g722.handle_packet(now, view);
        }
        view.sequence++;
        view.rtp_time += 160;
        now += Millis(20);
        if (of_g722.tick(now, out)) {
            heard.insert(heard.end(), out.begin(), out.end());
        }
    }
    EXPECT_GE(heard.size(), 98U * 320);
    EXPECT_EQ(of_g722.stats().lost, 10U);
    EXPECT_GT(media::rms(heard), 5'000);
}

// A resampler or a codec with blocks of its own in the decoder.
TEST_F(PlayoutAudioTest, ADecoderMayGiveItsSamplesLater) {
    Samples held;
    PlayoutAudio late(PlayoutOptions(), 8000, 1, [&](ByteSpan payload, bool, Samples& out) {
        Samples samples(payload.size());
        media::g711::decode(media::g711::Law::kA, payload, samples);
        held.insert(held.end(), samples.begin(), samples.end());
        const size_t whole = held.size() / 120 * 120;
        out.assign(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(whole));
        held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(whole));
    });
    PlayoutPacketView view;
    view.ticks = 160;
    Samples out(160);
    for (int i = 0; i < 300; i++) {
        Samples samples(160);
        tone.fill(samples);
        Bytes payload(160);
        media::g711::encode(media::g711::Law::kA, samples, payload);
        view.payload = payload;
        late.handle_packet(now, view);
        view.sequence++;
        view.rtp_time += 160;
        now += Millis(20);
        if (late.tick(now, out)) {
            heard.insert(heard.end(), out.begin(), out.end());
        }
    }
    EXPECT_GE(heard.size(), 296U * 160);
    EXPECT_GT(media::tone_share(std::span(heard).last(8'000), 440, 8000), 0.95);
    EXPECT_LE(late.stats().delay, Millis(65));
}

}  // namespace
}  // namespace weir::rtp
