// The ways from codec to codec that AudioTranscoder has: the interface and its factories. Private
// to transcode/.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/bytes.h"
#include "base/error.h"
#include "transcode/audio_transcoder.h"

namespace weir::transcode {

class AudioPath {
  public:
    AudioPath() = default;
    AudioPath(const AudioPath&) = delete;
    AudioPath& operator=(const AudioPath&) = delete;
    virtual ~AudioPath() = default;

    // AudioTranscoder::transcode().
    virtual Error transcode(ByteSpan frame,
                            int64_t time_us,
                            const AudioTranscoder::Output& out) = 0;

    virtual const Bytes& output_config() const = 0;
};

// The time of what comes out. The output counts its samples; the input's times only say where it
// begins, and anew when they are too far from what was counted.
class OutputClock {
  public:
    // Times of the output do not go back, unless those of the input do by more: another clock.
    static constexpr int64_t kMaxOverUs = 1'000'000;

    explicit OutputClock(uint32_t rate) : rate_(rate) {}

    enum class Follows : uint8_t {
        kGoesOn,
        kAnew,   // the times are set again: what waits is of another time
        kIsOver  // its time has been given already: it is to be left out
    };

    // Input of this time comes, while `pending` samples wait to be taken.
    Follows note(int64_t time_us, size_t pending) {
        const int64_t next_us = us_of(taken_ + static_cast<int64_t>(pending));
        const int64_t off_us = time_us - origin_us_ - next_us;
        if (timed_ && std::abs(off_us) <= AudioTranscoder::kMaxDriftUs) {
            return Follows::kGoesOn;
        }
        if (timed_ && off_us < 0 && off_us > -kMaxOverUs) {
            return Follows::kIsOver;
        }
        origin_us_ = time_us - us_of(taken_);
        timed_ = true;
        return Follows::kAnew;
    }

    void take(int64_t samples) { taken_ += samples; }

    // Samples that were taken, all in all.
    int64_t taken() const { return taken_; }

    int64_t time_of(int64_t sample) const { return origin_us_ + us_of(sample); }

  private:
    int64_t us_of(int64_t samples) const { return samples * 1'000'000 / rate_; }

    uint32_t rate_;
    int64_t taken_ = 0;
    int64_t origin_us_ = 0;  // time of sample 0, as the input's times have it
    bool timed_ = false;
};

// With G.711 and PCM only, of rates that media::Resampler takes: no library is needed. `has` says
// so.
bool has_plain_path(const AudioOptions& options);
std::unique_ptr<AudioPath> make_plain_path(const AudioOptions& options);

// Everything else, by libavcodec.
Result<std::unique_ptr<AudioPath>> make_av_path(const AudioOptions& options);

}  // namespace weir::transcode
