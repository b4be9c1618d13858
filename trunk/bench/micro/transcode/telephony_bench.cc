// What a call costs that is transcoded: time for each frame of 20 ms in each direction, and memory
// of an object ("bytes").
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>
#include <malloc.h>

#include "base/check.h"
#include "media/tone.h"
#include "transcode/audio_transcoder.h"

namespace weir::transcode {
namespace {

using media::Codec;

struct Spoken {
    const char* name;
    Codec codec;
    uint32_t rate;
};

constexpr Spoken kSpoken[] = {
    {"g711", Codec::kG711U, 8'000},   {"g722", Codec::kG722, 16'000},
    {"speex8", Codec::kSpeex, 8'000}, {"speex16", Codec::kSpeex, 16'000},
    {"opus16", Codec::kOpus, 16'000}, {"opus48", Codec::kOpus, 48'000},
    {"aac", Codec::kAac, 48'000},     {"pcm8", Codec::kPcm, 8'000},
    {"pcm16", Codec::kPcm, 16'000},   {"pcm48", Codec::kPcm, 48'000},
    {"aac16", Codec::kAac, 16'000},
};

struct Frame {
    Bytes bytes;
    int64_t time_us = 0;
};

constexpr int kFrames = 500;
constexpr int64_t kLength = kFrames * 20'000;  // microseconds

AudioOptions options(const Spoken& from, const Spoken& to) {
    AudioOptions out;
    out.from = from.codec;
    out.from_rate = from.rate;
    out.to = to.codec;
    out.to_rate = to.rate;
    out.to_channels = 1;
    out.bits_per_second = to.codec == Codec::kAac ? 48'000 : 24'000;
    out.voice = true;
    return out;
}

size_t bytes_in_use() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// Ten seconds of a tone that grows and shrinks, in a codec.
std::vector<Frame> say(const Spoken& codec, Bytes& config) {
    constexpr uint32_t kRate = 48'000;
    auto made = AudioTranscoder::create(options({"", Codec::kPcm, kRate}, codec));
    WEIR_CHECK(made.ok());
    media::ToneGenerator tone(440, kRate);
    std::vector<Frame> out;
    for (int i = 0; i < kFrames; i++) {
        std::vector<int16_t> samples(kRate / 50);
        tone.fill(samples);
        for (int16_t& sample : samples) {
            sample = static_cast<int16_t>(sample * (i % 50) / 50);
        }
        Bytes bytes(samples.size() * sizeof(int16_t));
        std::memcpy(bytes.data(), samples.data(), bytes.size());
        Error error = (*made)->transcode(bytes, i * 20'000, [&](ByteSpan frame, int64_t time_us) {
            out.push_back({Bytes(frame.begin(), frame.end()), time_us});
        });
        WEIR_CHECK(!error);
    }
    config = (*made)->output_config();
    return out;
}

void transcode_call(benchmark::State& state, const Spoken& from, const Spoken& to) {
    AudioOptions of = options(from, to);
    const std::vector<Frame> said = say(from, of.from_config);
    { const auto warm = AudioTranscoder::create(of); }  // tables of the library
    const size_t before = bytes_in_use();
    auto made = AudioTranscoder::create(of);
    WEIR_CHECK(made.ok());
    size_t at = 0;
    int64_t round_us = 0;
    size_t came = 0;
    const auto count = [&came](ByteSpan, int64_t) { came++; };
    const auto one = [&] {
        Error error = (*made)->transcode(said[at].bytes, round_us + said[at].time_us, count);
        WEIR_CHECK(!error);
        if (++at == said.size()) {
            at = 0;
            round_us += kLength;
        }
    };
    for (size_t i = 0; i < said.size() / 10; i++) {
        one();
    }
    const size_t bytes = bytes_in_use() - before;
    const size_t frames = said.size();
    int64_t done = 0;
    for (auto _ : state) {
        one();
        done++;
    }
    benchmark::DoNotOptimize(came);
    // Frames of AAC are 21.3 ms: all are counted as 20 ms of audio.
    const double audio_20ms = static_cast<double>(done) * kFrames / static_cast<double>(frames);
    state.counters["per_20ms"] =
        benchmark::Counter(audio_20ms, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    state.counters["bytes"] = static_cast<double>(bytes);
}

// Of a conference: everybody's codec to PCM and back. Of a call: what phones speak, to and from
// what streams have.
const bool kRegistered = [] {
    const auto add = [](const Spoken& from, const Spoken& to) {
        const std::string name = std::string("transcode_call/") + from.name + "/" + to.name;
        benchmark::RegisterBenchmark(
            name.c_str(), [from, to](benchmark::State& state) { transcode_call(state, from, to); });
    };
    for (const Spoken& spoken : kSpoken) {
        if (spoken.codec != Codec::kPcm && spoken.name != std::string_view("aac16")) {
            const Spoken& pcm = spoken.rate == 8'000    ? kSpoken[7]
                                : spoken.rate == 16'000 ? kSpoken[8]
                                                        : kSpoken[9];
            add(spoken, pcm);
            add(pcm, spoken);
        }
    }
    for (size_t phone : {0U, 1U, 2U, 3U, 4U}) {
        for (size_t stream : {5U, 6U}) {
            add(kSpoken[phone], kSpoken[stream]);
            add(kSpoken[stream], kSpoken[phone]);
        }
    }
    for (size_t phone : {0U, 2U, 3U}) {  // as calls are made for players of HLS
        add(kSpoken[phone], kSpoken[10]);
    }
    add(kSpoken[0], kSpoken[9]);
    add(kSpoken[9], kSpoken[0]);
    return true;
}();

}  // namespace
}  // namespace weir::transcode
