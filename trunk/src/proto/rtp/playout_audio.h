// What a telephone says, as PCM of one channel, a tick of 20 ms at a time: a PlayoutBuffer with all
// that its owner needs (decoded samples, concealment, changes of length, comfort noise). The codec
// is a function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "media/comfort_noise.h"
#include "media/concealer.h"
#include "proto/rtp/playout.h"

namespace weir::rtp {

class PlayoutAudio {
  public:
    // Appends the samples of a payload. `restart`: it is the first one of another source. What it
    // cannot decode it leaves out, which is concealed. A decoder that gives samples later than
    // their payload, or in blocks of its own, is fine.
    using Decode =
        std::function<void(ByteSpan payload, bool restart, std::vector<int16_t>& samples)>;

    // `sample_rate`: of what `decode` gives, 8000 to 48000. It may differ from the RTP clock (that
    // of G.722 does).
    PlayoutAudio(const PlayoutOptions& options,
                 uint32_t sample_rate,
                 uint64_t noise_seed,
                 Decode decode);

    void handle_packet(MonoTime now, const PlayoutPacketView& packet) {
        buffer_.handle_packet(now, packet);
    }

    // The next samples, tick_samples() of them. False, and silence, before the first packet is
    // heard.
    bool tick(MonoTime now, std::span<int16_t> out);

    size_t tick_samples() const { return sample_rate_ / 50; }

    const PlayoutStats& stats() const { return buffer_.stats(); }

    // Nothing is said: concealment has faded, or what is said is silent.
    bool silent() const { return concealer_.silent() || concealer_.faded(); }

  private:
    // A decoder that gives far more than its payloads last is cut.
    static constexpr size_t kMaxSamples = 48'000;
    static constexpr int kMaxSteps = 16;  // of one tick: packets of 2.5 ms and losses between them

    void play(const PlayoutStepView& step);
    void conceal(const PlayoutStepView& step);
    void change_length(PlayoutAdjust adjust);

    PlayoutBuffer buffer_;
    uint32_t clock_hz_;
    uint32_t sample_rate_;
    media::Concealer concealer_;
    media::ComfortNoise noise_;
    Decode decode_;
    std::vector<int16_t> ready_;    // decoded, not played
    std::vector<int16_t> frame_;    // of one step
    std::vector<int16_t> changed_;  // room for a longer one
};

}  // namespace weir::rtp
