#include "session/sip/voice_line.h"

#include <utility>

#include "media/g711.h"
#include "proto/rtp/payload_audio.h"

namespace weir::session {
namespace {

using media::Codec;
using media::g711::Law;

constexpr uint32_t kNarrow = 8'000;
constexpr uint32_t kWide = 16'000;
constexpr uint32_t kAacFrame = 1024;

Law law_of(Codec codec) {
    return codec == Codec::kG711A ? Law::kA : Law::kMu;
}

}  // namespace

VoiceOptions stream_voice(Codec from, uint32_t clock_hz) {
    if (from == Codec::kG722) {
        return {from, clock_hz, Codec::kAac, kWide};
    }
    return {from, clock_hz, from, clock_hz};
}

VoiceOptions mixer_voice(Codec from, uint32_t clock_hz) {
    const bool narrow = is_g711(from) || (from == Codec::kSpeex && clock_hz <= kNarrow);
    return {from, clock_hz, Codec::kPcm, narrow ? kNarrow : kWide};
}

uint32_t voice_clock_hz(const VoiceOptions& options) {
    return options.to == Codec::kG722 ? kNarrow : options.to_rate;
}

uint32_t voice_frame_ticks(const VoiceOptions& options) {
    return options.to == Codec::kAac ? kAacFrame : voice_clock_hz(options) / 50;
}

VoiceLine::VoiceLine(const VoiceOptions& options, uint64_t noise_seed)
    : options_(options),
      audio_({options.clock_hz, options.clock_hz / 50},
             options.to_rate,
             noise_seed,
             [this](ByteSpan payload, bool restart, std::vector<int16_t>& samples) {
                 decode(payload, restart, samples);
             }),
      samples_(audio_.tick_samples()) {}

Result<std::unique_ptr<VoiceLine>> VoiceLine::create(const VoiceOptions& options,
                                                     uint64_t noise_seed) {
    std::unique_ptr<VoiceLine> line(new VoiceLine(options, noise_seed));
    transcode::AudioOptions codec;
    if (!is_g711(options.from)) {
        codec.from = options.from;
        codec.from_rate = options.from == Codec::kSpeex ? options.clock_hz : 0;
        WEIR_TRY_ASSIGN(line->decoder_, transcode::PcmDecoder::create(codec, options.to_rate));
    }
    if (!is_g711(options.to) && options.to != Codec::kPcm) {
        codec.to = options.to;
        codec.to_rate = options.to_rate;
        codec.to_channels = 1;
        codec.bits_per_second = kBitsPerSecond;
        codec.voice = true;
        WEIR_TRY_ASSIGN(line->encoder_, transcode::PcmEncoder::create(codec, options.to_rate));
    }
    return line;
}

void VoiceLine::handle_packet(MonoTime now, rtp::PlayoutPacketView packet) {
    packet.ticks = rtp::audio_ticks(options_.from, options_.clock_hz, packet.payload);
    audio_.handle_packet(now, packet);
}

void VoiceLine::decode(ByteSpan payload, bool restart, std::vector<int16_t>& samples) {
    if (decoder_) {
        decoder_->decode(payload, restart, samples);
        return;
    }
    const size_t before = samples.size();
    samples.resize(before + payload.size());
    media::g711::decode(law_of(options_.from), payload, std::span(samples).subspan(before));
}

bool VoiceLine::tick(MonoTime now, const Output& out) {
    if (!audio_.tick(now, samples_)) {
        return false;
    }
    if (encoder_) {
        encoder_->encode(samples_, out);
    } else if (options_.to == Codec::kPcm) {
        out({reinterpret_cast<const uint8_t*>(samples_.data()), samples_.size() * sizeof(int16_t)});
    } else {
        encoded_.resize(samples_.size());
        media::g711::encode(law_of(options_.to), samples_, encoded_);
        out(encoded_);
    }
    return true;
}

}  // namespace weir::session
