// What a tick of 20 ms costs: of a conference of so many callers who all speak, or of whom three
// do, and of one jitter buffer; without sockets. 50 ticks are a second.
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/log.h"
#include "media/g711.h"
#include "media/tone.h"
#include "net/client_table.h"
#include "session/sip/sip_conference.h"
#include "stream/stream.h"

namespace weir::session {
namespace {

constexpr size_t kFrame = 160;
constexpr size_t kFrames = 50;  // of a tone that is said again and again

std::vector<std::array<uint8_t, kFrame>> frames(double hertz) {
    media::ToneGenerator tone(hertz, 8000, 3000);
    std::vector<std::array<uint8_t, kFrame>> all(kFrames);
    for (auto& each : all) {
        std::array<int16_t, kFrame> samples;
        tone.fill(samples);
        media::g711::encode(media::g711::Law::kMu, samples, each);
    }
    return all;
}

void conference(benchmark::State& state, size_t speakers) {
    log::set_sink([](log::Level, std::string_view) {});
    net::ClientTable clients;
    MonoTime now{Seconds(100)};
    stream::Stream stream({"", "talk", "round"}, {}, now);
    net::AdmittedPublisher place;
    place.client = std::make_unique<net::Client>(clients, "sip", "127.0.0.1");
    SipConference round("300", stream, std::move(place), nullptr);
    if (round.begin(now)) {
        state.SkipWithError("the stream is taken");
    }
    uint64_t bytes = 0;
    std::vector<std::unique_ptr<ConferenceParty>> parties;
    for (int64_t i = 0; i < state.range(0); i++) {
        parties.push_back(std::make_unique<ConferenceParty>(
            round, ConferenceParty::Setup{media::Codec::kG711U, 8000, 1, nullptr},
            [&](MonoTime, ByteSpan payload, uint32_t) { bytes += payload.size(); },
            [](net::EndClass, std::string_view) {}));
    }
    const auto said = frames(440);
    uint16_t sequence = 0;
    for (auto _ : state) {
        std::array<uint8_t, rtp::kFixedHeaderSize + kFrame> packet;
        rtp::write_header({0, false, sequence, sequence * uint32_t{kFrame}, 9}, packet.data());
        const auto& frame = said[sequence % kFrames];
        std::copy(frame.begin(), frame.end(), packet.begin() + rtp::kFixedHeaderSize);
        sequence++;
        const auto view = *rtp::PacketView::parse(packet);
        for (size_t i = 0; i < parties.size() && i < speakers; i++) {
            parties[i]->handle_packet(now, view, rtp::PlayoutPacketView::Content::kAudio);
        }
        now += SipConference::kTick;
        round.tick(now);
    }
    benchmark::DoNotOptimize(bytes);
    parties.clear();
    round.end(net::EndClass::kPeerClosed, "done");
    log::set_sink(nullptr);
}

void BM_ConferenceAllSpeak(benchmark::State& state) {
    conference(state, SIZE_MAX);
}

BENCHMARK(BM_ConferenceAllSpeak)->Arg(2)->Arg(10)->Arg(50);

void BM_ConferenceThreeSpeak(benchmark::State& state) {
    conference(state, 3);
}

BENCHMARK(BM_ConferenceThreeSpeak)->Arg(10)->Arg(50);

void BM_JitterBufferG711(benchmark::State& state) {
    auto line = std::move(*VoiceLine::create(stream_voice(media::Codec::kG711U, 8000), 1));
    const auto said = frames(440);
    MonoTime now{Seconds(100)};
    rtp::PlayoutPacketView packet;
    uint64_t bytes = 0;
    for (auto _ : state) {
        packet.payload = said[packet.sequence % kFrames];
        packet.sequence++;
        packet.rtp_time += kFrame;
        line->handle_packet(now, packet);
        now += VoiceLine::kTick;
        line->tick(now, [&](ByteSpan frame) { bytes += frame.size(); });
    }
    benchmark::DoNotOptimize(bytes);
}

BENCHMARK(BM_JitterBufferG711);

}  // namespace
}  // namespace weir::session
