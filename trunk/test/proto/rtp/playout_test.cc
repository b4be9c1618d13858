// Calls in memory: a source that says a tone, a network, and an owner with a tick each 20 ms that
// hears it. Payloads are the samples themselves.
#include "proto/rtp/playout.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "media/concealer.h"
#include "media/tone.h"

#include "test/support/netem.h"

namespace weir::rtp {
namespace {

using Content = PlayoutPacketView::Content;
using Samples = std::vector<int16_t>;

constexpr uint32_t kRate = 8000;
constexpr size_t kTick = 160;
constexpr double kAmplitude = 8000;

int largest_step(std::span<const int16_t> samples) {
    int most = 0;
    for (size_t i = 1; i < samples.size(); i++) {
        most = std::max(most, std::abs(samples[i] - samples[i - 1]));
    }
    return most;
}

// The largest step of the tone itself.
const double kToneStep = kAmplitude * 2 * std::sin(3.14159265 * 440 / kRate);

struct Arrival {
    MonoTime at{};
    Bytes payload;
    PlayoutPacketView packet;
};

class PlayoutTest : public testing::Test {
  protected:
    // Says `ms` in packets; `delay_ms` gives the time on the way, negative: lost.
    void say(int ms, const std::function<double()>& delay_ms) {
        const int packet_ms = static_cast<int>(packet_samples * 1000 / kRate);
        for (int said = 0; said < ms; said += packet_ms) {
            Samples samples(packet_samples);
            tone.fill(samples);
            Arrival arrival;
            arrival.payload.resize(samples.size() * 2);
            std::memcpy(arrival.payload.data(), samples.data(), arrival.payload.size());
            send(std::move(arrival), Content::kAudio, delay_ms());
            rtp_time += static_cast<uint32_t>(packet_samples);
            pass_at_source(packet_ms);
        }
    }

    void say(int ms, double delay_ms = 20) {
        say(ms, [delay_ms] { return delay_ms; });
    }

    void send(Arrival arrival, Content content, double delay_ms) {
        arrival.packet.content = content;
        arrival.packet.sequence = sequence++;
        arrival.packet.rtp_time = rtp_time;
        arrival.packet.ssrc = ssrc;
        arrival.packet.ticks =
            content == Content::kAudio ? static_cast<uint32_t>(packet_samples) : 0;
        arrival.at = source_now + Micros(static_cast<int64_t>(delay_ms * 1000));
        sent++;
        if (delay_ms >= 0) {
            arrivals.push_back(std::move(arrival));
        } else {
            lost++;
        }
    }

    // Time passes at the source, whose clock may run wrong.
    void pass_at_source(double ms) {
        source_ms += ms;
        source_now = start + Micros(static_cast<int64_t>(source_ms * 1000 * (1 + drift_ppm / 1e6)));
    }

    // Nothing is sent; the RTP clock goes on.
    void be_silent(int ms) {
        rtp_time += static_cast<uint32_t>(ms) * kRate / 1000;
        pass_at_source(ms);
    }

    // Everything arrives and is heard until `ms` from the start.
    void hear_until(double ms) {
        std::stable_sort(arrivals.begin(), arrivals.end(),
                         [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
        size_t next = 0;
        while (now < start + Micros(static_cast<int64_t>(ms * 1000))) {
            while (next < arrivals.size() && arrivals[next].at <= now) {
                Arrival& arrival = arrivals[next++];
                arrival.packet.payload = arrival.payload;
                buffer.handle_packet(arrival.at, arrival.packet);
            }
            tick();
            now += Millis(20);
        }
        arrivals.erase(arrivals.begin(), arrivals.begin() + static_cast<std::ptrdiff_t>(next));
    }

    void hear_all() { hear_until(source_ms + 500); }

    void tick() {
        for (int steps = 0; fifo.size() < kTick; steps++) {
            ASSERT_LT(steps, 20);
            const PlayoutStepView step = buffer.next(
                now, {static_cast<uint32_t>(fifo.size()), concealer.silent() || silent});
            kinds.push_back(step.kind);
            if (step.kind == PlayoutKind::kNothing) {
                return;
            }
            take(step);
        }
        heard.insert(heard.end(), fifo.begin(), fifo.begin() + kTick);
        fifo.erase(fifo.begin(), fifo.begin() + kTick);
        longest_delay = std::max(longest_delay, buffer.stats().delay);
    }

    void take(const PlayoutStepView& step) {
        Samples samples(step.ticks);
        if (step.kind == PlayoutKind::kFrame) {
            ASSERT_EQ(step.payload.size(), samples.size() * 2);
            std::memcpy(samples.data(), step.payload.data(), step.payload.size());
            restarts += step.restart ? 1 : 0;
            if (step.adjust == PlayoutAdjust::kShorten) {
                samples.resize(concealer.shorten(samples));
            } else if (step.adjust == PlayoutAdjust::kStretch) {
                Samples longer(samples.size() + concealer.max_period());
                longer.resize(concealer.stretch(samples, longer));
                samples = longer;
            }
            concealer.add(samples, step.broken);
        } else {
            if (step.kind == PlayoutKind::kSilence && !step.payload.empty()) {
                noise_levels.push_back(step.payload[0]);
            }
            concealer.conceal(samples);
        }
        fifo.insert(fifo.end(), samples.begin(), samples.end());
    }

    int count(PlayoutKind kind) const {
        return static_cast<int>(std::count(kinds.begin(), kinds.end(), kind));
    }

    std::span<const int16_t> heard_from(double ms) const {
        return std::span(heard).subspan(static_cast<size_t>(ms * kRate / 1000));
    }

    // The smallest share of the tone in a second of what was heard from `ms` on.
    double worst_second(double ms) const {
        double worst = 1;
        const std::span<const int16_t> all = heard_from(ms);
        for (size_t at = 0; at + kRate <= all.size(); at += kRate) {
            worst = std::min(worst, media::tone_share(all.subspan(at, kRate), 440, kRate));
        }
        return worst;
    }

    const PlayoutStats& stats() const { return buffer.stats(); }

    const MonoTime start{Seconds(1000)};
    size_t packet_samples = 160;
    media::ToneGenerator tone{440, kRate, kAmplitude};
    double drift_ppm = 0;
    double source_ms = 0;
    MonoTime source_now = start;
    uint16_t sequence = 65'500;
    uint32_t rtp_time = 0xFFFFF000;
    uint32_t ssrc = 1;
    int sent = 0;
    int lost = 0;
    std::vector<Arrival> arrivals;

    MonoTime now = start + Millis(7);
    PlayoutBuffer buffer{PlayoutOptions()};
    media::Concealer concealer{kRate};
    Samples fifo;
    bool silent = false;  // what the owner says, whatever is heard
    Samples heard;
    std::vector<PlayoutKind> kinds;
    std::vector<int> noise_levels;
    int restarts = 0;
    Micros longest_delay{};
};

TEST_F(PlayoutTest, PlaysWhatComesInTimeAsItIs) {
    say(4'000);
    hear_until(4'000);
    media::ToneGenerator same(440, kRate, kAmplitude);
    Samples expected(heard.size());
    for (size_t at = 0; at < expected.size(); at += kTick) {
        same.fill(std::span(expected).subspan(at, kTick));
    }
    EXPECT_EQ(heard, expected);
    EXPECT_EQ(count(PlayoutKind::kLost) + count(PlayoutKind::kSilence), 0);
    EXPECT_GE(stats().delay, Millis(20));
    EXPECT_LT(stats().delay, Millis(40));
    EXPECT_EQ(stats().target, Millis(20));
    EXPECT_EQ(stats().lost, 0U);
}

TEST_F(PlayoutTest, SaysNothingBeforeTheFirstPacketHasWaited) {
    EXPECT_EQ(buffer.next(now, {}).kind, PlayoutKind::kNothing);
    say(40, 0);
    hear_until(19);  // ticks at 7 ms
    EXPECT_EQ(count(PlayoutKind::kFrame), 0);
    hear_until(39);  // and 27 ms
    EXPECT_EQ(count(PlayoutKind::kFrame), 1);
}

TEST_F(PlayoutTest, LossIsConcealedWithoutClicks) {
    test::SeededRandom random(4);
    say(1'000);
    say(60'000, [&] { return random.chance(0.05) ? -1.0 : 20.0; });
    say(1'000);
    hear_until(source_ms);
    EXPECT_GT(lost, 100);
    EXPECT_EQ(stats().lost, static_cast<uint64_t>(lost));
    EXPECT_EQ(stats().concealed, static_cast<uint64_t>(lost));
    EXPECT_GT(worst_second(0), 0.9);
    EXPECT_LT(largest_step(heard), 1.6 * kToneStep);
    EXPECT_LT(longest_delay, Millis(45)) << "the delay does not grow by loss";
}

TEST_F(PlayoutTest, PacketsInWrongOrderAreHeardInOrder) {
    test::SeededRandom random(8);
    int at = 0;
    say(20'000, [&] { return at++ % 2 == 0 ? 55.0 : 20.0; });
    hear_until(source_ms);
    EXPECT_LE(stats().lost, 5U) << "until the delay has grown";
    EXPECT_GT(worst_second(3'000), 0.97);
    EXPECT_LT(largest_step(heard), 1.6 * kToneStep);
}

TEST_F(PlayoutTest, DuplicatesAreHeardOnce) {
    say(2'000);
    const std::vector<Arrival> copies = arrivals;
    for (const Arrival& copy : copies) {
        arrivals.push_back(copy);
        arrivals.back().at += Millis(5);
    }
    hear_until(2'000);
    EXPECT_GT(stats().duplicates + stats().late, 90U);
    EXPECT_EQ(stats().lost, 0U);
    EXPECT_GT(worst_second(0), 0.999);
}

TEST_F(PlayoutTest, TheDelayFollowsTheJitterUpAndDown) {
    test::SeededRandom random(15);
    say(10'000);
    hear_until(source_ms);
    EXPECT_EQ(stats().target, Millis(20));
    say(30'000, [&] { return 20 + 80 * random.unit(); });
    hear_until(source_ms);
    EXPECT_GE(stats().target, Millis(65));
    EXPECT_LE(stats().target, Millis(85));
    EXPECT_GE(stats().delay, Millis(60));
    EXPECT_GT(stats().jitter, Millis(15));
    const uint64_t concealed = stats().concealed;
    say(20'000, [&] { return 20 + 80 * random.unit(); });
    hear_until(source_ms);
    EXPECT_LT(stats().concealed - concealed, 20U) << "of 1,000 packets";
    say(60'000);
    hear_until(source_ms);
    EXPECT_EQ(stats().target, Millis(20));
    EXPECT_LE(stats().delay, Millis(46));
    EXPECT_GT(stats().shortened, 0U);
    EXPECT_LT(largest_step(heard), 1.8 * kToneStep);
}

TEST_F(PlayoutTest, InSilenceTheDelayShrinksAtOnce) {
    test::SeededRandom random(5);
    say(20'000, [&] { return 20 + 100 * random.unit(); });
    say(8'000);
    hear_until(source_ms);
    const uint64_t before = stats().shortened;
    EXPECT_GT(stats().delay, Millis(60));
    silent = true;
    const double then = source_ms;
    say(20'000);
    hear_until(then + 20'000);
    EXPECT_LE(stats().delay, Millis(46));
    EXPECT_GT(stats().shortened, before);
}

TEST_F(PlayoutTest, DriftOfTheClocksIsFollowedWithoutClicks) {
    for (const double ppm : {100.0, -100.0, 200.0, -200.0}) {
        PlayoutTest_DriftOfTheClocksIsFollowedWithoutClicks_Test call;
        call.drift_ppm = ppm;
        test::SeededRandom random(1);
        call.say(600'000, [&] { return 20 + 4 * random.unit(); });
        call.hear_until(call.source_ms - 1'000);
        EXPECT_LT(call.longest_delay, Millis(55)) << ppm;
        EXPECT_GT(call.stats().delay, Millis(10)) << ppm;
        EXPECT_LE(call.stats().concealed, 2U) << ppm;
        EXPECT_EQ(call.stats().dropped + call.stats().lost, 0U) << ppm;
        EXPECT_GT(call.worst_second(0), 0.9) << ppm;
        EXPECT_LT(largest_step(call.heard), 1.6 * kToneStep) << ppm;
        // 60 ms for each 100 ppm in ten minutes; a period is 2.5 to 10 ms.
        EXPECT_GE(call.stats().shortened + call.stats().stretched, 3U) << ppm;
        EXPECT_LT(call.stats().shortened + call.stats().stretched, 30U) << ppm;
    }
}

// A bad radio network: everything at once.
TEST_F(PlayoutTest, LossJitterAndDriftTogetherStayBounded) {
    test::SeededRandom random(21);
    drift_ppm = 150;
    bool bad = false;
    say(120'000, [&] {
        bad = bad ? !random.chance(0.4) : random.chance(0.02);  // bursts of 2.5 packets
        return bad ? -1.0 : 20 + 60 * random.unit() * random.unit();
    });
    hear_until(source_ms - 500);
    EXPECT_GT(lost, 200);
    const uint64_t gone = stats().lost;
    EXPECT_LE(gone, static_cast<uint64_t>(lost) * 12 / 10) << "few of those that came";
    EXPECT_LT(longest_delay, Millis(150));
    EXPECT_LT(stats().delay, Millis(100));
    EXPECT_EQ(stats().restarts, 0U);
    EXPECT_LT(largest_step(heard), 2 * kToneStep);
    double sum = 0;
    for (size_t at = 0; at + kRate <= heard.size(); at += kRate) {
        sum += media::tone_share(std::span(heard).subspan(at, kRate), 440, kRate);
    }
    EXPECT_GT(sum / static_cast<double>(heard.size() / kRate), 0.9);
}

TEST_F(PlayoutTest, ALatePacketIsHeardAndTheDelayGrows) {
    say(1'000);
    double held = 100;
    say(80, [&] { return held -= 20; });  // four come at once
    say(1'000);
    hear_until(source_ms);
    EXPECT_EQ(stats().lost, 0U);
    EXPECT_GE(count(PlayoutKind::kFrame), 101);
    EXPECT_GE(stats().concealed, 2U);
    EXPECT_GT(stats().delay, Millis(55));
}

TEST_F(PlayoutTest, BeyondTheGreatestDelayPacketsAreDropped) {
    say(2'000);
    double held = 1'020;
    say(1'000, [&] { return held -= 20; });  // all come at once
    say(5'000);
    hear_until(source_ms);
    EXPECT_GT(stats().dropped, 30U);
    EXPECT_LE(longest_delay, Millis(230));
    EXPECT_LT(largest_step(heard), 1.8 * kToneStep);
    EXPECT_GT(worst_second(5'000), 0.9);
}

TEST_F(PlayoutTest, ComfortNoiseGivesItsLevelAndSpeechBeginsWithTheTarget) {
    for (int spurt = 0; spurt < 5; spurt++) {
        say(1'000);
        Arrival noise;
        noise.payload = {static_cast<uint8_t>(40 + spurt)};
        send(std::move(noise), Content::kComfortNoise, 20);
        be_silent(1'500 + 7 * spurt);
    }
    hear_until(source_ms);
    EXPECT_EQ(noise_levels, (std::vector<int>{40, 41, 42, 43, 44}));
    EXPECT_EQ(stats().lost + stats().concealed + stats().late, 0U);
    EXPECT_EQ(count(PlayoutKind::kFrame), 250);
    EXPECT_NEAR(count(PlayoutKind::kSilence), 5 * 75, 6);
    EXPECT_LT(stats().delay, Millis(41));
    EXPECT_EQ(stats().restarts, 0U);
}

TEST(PlayoutBufferTest, ComfortNoiseBeforeAnyAudioIsHeardAtOnce) {
    PlayoutBuffer buffer({});
    const uint8_t level = 50;
    PlayoutPacketView packet;
    packet.content = Content::kComfortNoise;
    packet.payload = ByteSpan(&level, 1);
    MonoTime now{Seconds(10)};
    buffer.handle_packet(now, packet);
    const PlayoutStepView first = buffer.next(now, {});
    EXPECT_EQ(first.kind, PlayoutKind::kSilence);
    ASSERT_EQ(first.payload.size(), 1U);
    EXPECT_EQ(first.payload[0], level);
    for (int i = 0; i < 10; i++) {
        now += Millis(20);
        EXPECT_EQ(buffer.next(now, {}).kind, PlayoutKind::kSilence);
    }
    const Bytes audio(kTick, 1);
    packet.content = Content::kAudio;
    packet.payload = audio;
    packet.ticks = kTick;
    bool heard = false;
    for (int i = 0; i < 10; i++) {
        packet.sequence++;
        packet.rtp_time += kTick;
        buffer.handle_packet(now, packet);
        heard = heard || buffer.next(now, {}).kind == PlayoutKind::kFrame;
        now += Millis(20);
    }
    EXPECT_TRUE(heard);
    EXPECT_EQ(buffer.stats().lost, 0U);
}

TEST_F(PlayoutTest, AGapWithoutComfortNoiseIsConcealedBriefly) {
    say(1'000);
    be_silent(60'000);
    say(1'000);
    hear_until(source_ms);
    EXPECT_EQ(stats().lost, 0U);
    EXPECT_LE(stats().concealed, 3U);
    EXPECT_NEAR(count(PlayoutKind::kSilence), 3'000, 6);
    EXPECT_GE(count(PlayoutKind::kFrame), 98);
    EXPECT_EQ(stats().restarts, 0U);
}

TEST_F(PlayoutTest, AClockThatStoppedWhileNothingWasSaidIsTakenUp) {
    say(1'000);
    pass_at_source(30'000);  // on hold
    say(2'000);
    hear_until(source_ms);
    EXPECT_EQ(stats().restarts, 1U);
    EXPECT_EQ(stats().lost, 0U);
    EXPECT_GE(count(PlayoutKind::kFrame), 148);
    EXPECT_LT(stats().delay, Millis(41));
}

TEST_F(PlayoutTest, AJumpOfTheTimesIsNoGap) {
    say(1'000);
    rtp_time += 0x20000000;
    say(1'000);
    rtp_time -= 0x10000000;
    say(1'000);
    hear_until(source_ms);
    EXPECT_EQ(stats().restarts, 2U);
    EXPECT_GE(count(PlayoutKind::kFrame), 147);
    EXPECT_LE(count(PlayoutKind::kLost) + count(PlayoutKind::kSilence), 4);
}

TEST_F(PlayoutTest, AnotherSourceFollowsTheOneBefore) {
    say(1'000);
    ssrc = 99;
    sequence = 7;
    rtp_time = 12'345;
    say(1'000);
    hear_until(source_ms);
    EXPECT_EQ(restarts, 1);
    EXPECT_EQ(stats().restarts, 1U);
    EXPECT_EQ(stats().lost, 0U);
    EXPECT_GE(count(PlayoutKind::kFrame), 98);
    EXPECT_LE(count(PlayoutKind::kLost) + count(PlayoutKind::kSilence), 3);
}

TEST_F(PlayoutTest, OneStrayNumberIsNoRestartAndTwoInARowAre) {
    say(1'000);
    const uint16_t good = sequence;
    sequence = static_cast<uint16_t>(good + 20'000);
    say(20);
    sequence = good;
    say(1'000);
    hear_until(source_ms);
    EXPECT_EQ(stats().restarts, 0U);
    sequence = static_cast<uint16_t>(sequence + 20'000);
    say(1'000);
    hear_until(source_ms);
    EXPECT_EQ(stats().restarts, 1U);
    EXPECT_GE(count(PlayoutKind::kFrame), 145);
}

TEST_F(PlayoutTest, EventsAmongTheAudioAreNoLoss) {
    say(1'000);
    for (int i = 0; i < 8; i++) {
        Arrival event;
        event.payload = {5, 10, 0, 160};
        send(std::move(event), Content::kOther, 20);
        be_silent(20);
    }
    say(1'000);
    hear_until(source_ms);
    EXPECT_EQ(stats().lost, 0U);
    EXPECT_GE(count(PlayoutKind::kFrame), 98);
    EXPECT_EQ(stats().concealed, 0U);
}

TEST_F(PlayoutTest, TakesPacketsOfAnyDuration) {
    for (const size_t ms : {10U, 30U, 40U, 60U, 100U}) {
        PlayoutTest_TakesPacketsOfAnyDuration_Test call;
        call.packet_samples = ms * kRate / 1000;
        call.say(12'000);
        call.hear_until(call.source_ms - 200);
        EXPECT_EQ(call.stats().concealed + call.stats().lost, 0U) << ms;
        EXPECT_GT(call.worst_second(0), 0.99) << ms;
        EXPECT_LT(call.stats().delay, Millis(2 * ms + 41)) << ms;
    }
}

TEST_F(PlayoutTest, MemoryIsBoundedWhenNobodyPlays) {
    say(60'000);
    for (Arrival& arrival : arrivals) {
        arrival.packet.payload = arrival.payload;
        buffer.handle_packet(arrival.at, arrival.packet);
        EXPECT_LE(buffer.held(), PlayoutBuffer::kMaxPackets);
    }
    EXPECT_EQ(stats().dropped, 3'000 - PlayoutBuffer::kMaxPackets);
    arrivals.clear();
    now = source_now;
    say(2'000);
    hear_until(source_ms);
    EXPECT_LT(stats().delay, Millis(230));
    EXPECT_GT(worst_second(1'000), 0.9);
}

TEST_F(PlayoutTest, WhatIsNoAudioIsNotTaken) {
    PlayoutPacketView packet;
    buffer.handle_packet(now, packet);
    packet.ticks = 160;
    buffer.handle_packet(now, packet);
    const Bytes large(PlayoutBuffer::kMaxPayload + 1);
    packet.payload = large;
    buffer.handle_packet(now, packet);
    packet.payload = ByteSpan(large).first(1);
    packet.ticks = kRate + 1;
    buffer.handle_packet(now, packet);
    EXPECT_EQ(buffer.held(), 0U);
    EXPECT_EQ(stats().received, 0U);
}

}  // namespace
}  // namespace weir::rtp
