// What the audio of a call costs without a library: each per 20 ms.
#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>

#include "media/comfort_noise.h"
#include "media/concealer.h"
#include "media/g711.h"
#include "media/mixer.h"
#include "media/resampler.h"
#include "media/tone.h"
#include "proto/rtp/playout.h"

namespace weir::media {
namespace {

std::vector<int16_t> tone(uint32_t rate) {
    std::vector<int16_t> out(rate / 50);
    ToneGenerator(440, rate).fill(out);
    return out;
}

void g711_encode(benchmark::State& state) {
    const std::vector<int16_t> samples = tone(8'000);
    Bytes codes(samples.size());
    for (auto _ : state) {
        g711::encode(g711::Law::kMu, samples, codes);
        benchmark::DoNotOptimize(codes.data());
    }
}

BENCHMARK(g711_encode);

void g711_decode(benchmark::State& state) {
    const Bytes codes(160, 0x21);
    std::vector<int16_t> samples(codes.size());
    for (auto _ : state) {
        g711::decode(g711::Law::kA, codes, samples);
        benchmark::DoNotOptimize(samples.data());
    }
}

BENCHMARK(g711_decode);

void resample(benchmark::State& state) {
    const auto from = static_cast<uint32_t>(state.range(0));
    Resampler resampler(from, static_cast<uint32_t>(state.range(1)));
    const std::vector<int16_t> in = tone(from);
    std::vector<int16_t> out;
    for (auto _ : state) {
        out.clear();
        resampler.feed(in, out);
        benchmark::DoNotOptimize(out.data());
    }
}

BENCHMARK(resample)
    ->Args({8'000, 16'000})
    ->Args({16'000, 8'000})
    ->Args({8'000, 48'000})
    ->Args({48'000, 8'000})
    ->Args({16'000, 48'000})
    ->Args({48'000, 16'000});

// A frame that is fine, and one after a loss with the loss.
void conceal(benchmark::State& state) {
    const auto rate = static_cast<uint32_t>(state.range(0));
    const bool lost = state.range(1) != 0;
    Concealer concealer(rate);
    const std::vector<int16_t> samples = tone(rate);
    std::vector<int16_t> frame = samples;
    for (auto _ : state) {
        frame = samples;
        concealer.add(frame);
        if (lost) {
            concealer.conceal(frame);
        }
        benchmark::DoNotOptimize(frame.data());
    }
}

BENCHMARK(conceal)->Args({8'000, 0})->Args({8'000, 1})->Args({16'000, 1})->Args({48'000, 1});

void shorten(benchmark::State& state) {
    const auto rate = static_cast<uint32_t>(state.range(0));
    const Concealer concealer(rate);
    const std::vector<int16_t> samples = tone(rate);
    std::vector<int16_t> frame;
    for (auto _ : state) {
        frame = samples;
        benchmark::DoNotOptimize(concealer.shorten(frame));
    }
}

BENCHMARK(shorten)->Arg(8'000)->Arg(48'000);

void comfort_noise(benchmark::State& state) {
    ComfortNoise noise(1);
    noise.set_level(50);
    std::vector<int16_t> out(160);
    for (auto _ : state) {
        noise.fill(out);
        benchmark::DoNotOptimize(out.data());
    }
}

BENCHMARK(comfort_noise);

// Everybody of a conference at 16 kHz, by the number of parties.
void mix(benchmark::State& state) {
    const auto parties = static_cast<size_t>(state.range(0));
    const std::vector<std::vector<int16_t>> said(parties, tone(16'000));
    std::vector<int16_t> out(320);
    Mixer mixer;
    for (auto _ : state) {
        mixer.begin(320);
        for (const auto& frame : said) {
            mixer.add(frame);
        }
        for (const auto& frame : said) {
            mixer.mix_without(frame, out);
            benchmark::DoNotOptimize(out.data());
        }
    }
}

BENCHMARK(mix)->Arg(3)->Arg(50);

// A packet in, a frame out, with the decoding of G.711 and the concealer.
void play_out(benchmark::State& state) {
    rtp::PlayoutBuffer buffer{rtp::PlayoutOptions()};
    Concealer concealer(8'000);
    const Bytes payload(160, 0x35);
    std::vector<int16_t> frame(160);
    rtp::PlayoutPacketView packet;
    packet.ticks = 160;
    packet.payload = payload;
    MonoTime now{Seconds(1)};
    for (auto _ : state) {
        buffer.handle_packet(now, packet);
        packet.sequence++;
        packet.rtp_time += 160;
        const rtp::PlayoutStepView step = buffer.next(now, {});
        if (step.kind == rtp::PlayoutKind::kFrame) {
            g711::decode(g711::Law::kA, step.payload, frame);
            concealer.add(frame, step.broken);
        }
        now += Millis(20);
        benchmark::DoNotOptimize(frame.data());
    }
}

BENCHMARK(play_out);

}  // namespace
}  // namespace weir::media
