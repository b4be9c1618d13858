#include "transcode/pcm_codec.h"

#include <cstring>
#include <utility>

namespace weir::transcode {
namespace {

constexpr Millis kBlock{10};  // the shortest: what waits for a whole one is delay

int64_t us_of(int64_t samples, uint32_t rate) {
    return samples * 1'000'000 / rate;
}

}  // namespace

Result<std::unique_ptr<PcmDecoder>> PcmDecoder::create(const AudioOptions& options,
                                                       uint32_t sample_rate) {
    AudioOptions of;
    of.from = options.from;
    of.from_config = options.from_config;
    of.from_rate = options.from_rate;
    of.to = media::Codec::kPcm;
    of.to_rate = sample_rate;
    of.to_channels = 1;
    of.frame_duration = kBlock;
    WEIR_TRY_ASSIGN(std::unique_ptr<AudioTranscoder> made, AudioTranscoder::create(of));
    return std::unique_ptr<PcmDecoder>(new PcmDecoder(std::move(made), sample_rate));
}

void PcmDecoder::decode(ByteSpan frame, bool restart, std::vector<int16_t>& samples) {
    if (restart) {
        base_us_ += 2 * AudioTranscoder::kMaxDriftUs;  // what waits is of what was before
    }
    // The time of what has come out is never far from that of what waits, so no time is set again.
    const int64_t now_us = base_us_ + us_of(given_, sample_rate_);
    Error error = transcoder_->transcode(frame, now_us, [&](ByteSpan pcm, int64_t) {
        const size_t before = samples.size();
        samples.resize(before + pcm.size() / sizeof(int16_t));
        std::memcpy(samples.data() + before, pcm.data(), pcm.size());
        given_ += static_cast<int64_t>(pcm.size() / sizeof(int16_t));
    });
    malformed_ += error ? 1U : 0U;
}

Result<std::unique_ptr<PcmEncoder>> PcmEncoder::create(const AudioOptions& options,
                                                       uint32_t sample_rate) {
    AudioOptions of = options;
    of.from = media::Codec::kPcm;
    of.from_config.clear();
    of.from_rate = sample_rate;
    WEIR_TRY_ASSIGN(std::unique_ptr<AudioTranscoder> made, AudioTranscoder::create(of));
    return std::unique_ptr<PcmEncoder>(new PcmEncoder(std::move(made), sample_rate));
}

void PcmEncoder::encode(std::span<const int16_t> samples, const Output& out) {
    const int64_t time_us = us_of(taken_, sample_rate_);
    taken_ += static_cast<int64_t>(samples.size());
    const ByteSpan bytes(reinterpret_cast<const uint8_t*>(samples.data()), samples.size_bytes());
    // Fails for no samples, and for more than half a second of them, which then are left out.
    (void)transcoder_->transcode(bytes, time_us, [&](ByteSpan frame, int64_t) { out(frame); });
}

}  // namespace weir::transcode
