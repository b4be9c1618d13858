// What a telephone says, made even: its packets go through a jitter buffer that conceals losses,
// follows the drift of its clock and fills silence with comfort noise (rtp::PlayoutAudio), and come
// out as frames of another codec, or the same. Knows no thread and no clock: G.711 costs some
// microseconds a tick, everything else uses libavcodec and belongs on a worker (needs_worker()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "media/codec.h"
#include "proto/rtp/playout_audio.h"
#include "transcode/pcm_codec.h"

namespace weir::session {

struct VoiceOptions {
    media::Codec from = media::Codec::kG711U;
    uint32_t clock_hz = 8000;  // of the phone's RTP times
    media::Codec to = media::Codec::kG711U;
    uint32_t to_rate = 8000;  // of the samples that are encoded, or that come out as kPcm

    bool operator==(const VoiceOptions&) const = default;
};

// As a stream that all protocols carry: the phone's own codec, AAC where that is G.722.
VoiceOptions stream_voice(media::Codec from, uint32_t clock_hz);

// As PCM of 8000 or 16000 samples a second, for a mixer: what the phone's codec has of it.
VoiceOptions mixer_voice(media::Codec from, uint32_t clock_hz);

constexpr bool is_g711(media::Codec codec) {
    return codec == media::Codec::kG711A || codec == media::Codec::kG711U;
}

// The RTP clock of what comes out, and how long a frame is on it; PCM counts samples.
uint32_t voice_clock_hz(const VoiceOptions& options);
uint32_t voice_frame_ticks(const VoiceOptions& options);

class VoiceLine {
  public:
    static constexpr Micros kTick = Millis(20);
    static constexpr int64_t kBitsPerSecond = 32'000;  // of what is encoded with loss

    static bool needs_worker(const VoiceOptions& options) {
        return !is_g711(options.from) || (!is_g711(options.to) && options.to != media::Codec::kPcm);
    }

    // Errors are those of transcode::AudioTranscoder::create().
    static Result<std::unique_ptr<VoiceLine>> create(const VoiceOptions& options,
                                                     uint64_t noise_seed);

    VoiceLine(const VoiceLine&) = delete;
    VoiceLine& operator=(const VoiceLine&) = delete;

    // A packet as it arrives. Its `ticks` are found here.
    void handle_packet(MonoTime now, rtp::PlayoutPacketView packet);

    // The next 20 ms; calls `out` for each frame that is whole with them. False: nothing was heard
    // of the phone yet.
    using Output = std::function<void(ByteSpan frame)>;
    bool tick(MonoTime now, const Output& out);

    // Nothing is said.
    bool silent() const { return audio_.silent(); }

    const rtp::PlayoutStats& stats() const { return audio_.stats(); }

  private:
    VoiceLine(const VoiceOptions& options, uint64_t noise_seed);
    void decode(ByteSpan payload, bool restart, std::vector<int16_t>& samples);

    VoiceOptions options_;
    std::unique_ptr<transcode::PcmDecoder> decoder_;  // null: G.711
    std::unique_ptr<transcode::PcmEncoder> encoder_;  // null: G.711 or PCM
    rtp::PlayoutAudio audio_;
    std::vector<int16_t> samples_;
    Bytes encoded_;
};

}  // namespace weir::session
