// G.711 and PCM in both directions, without a library.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "media/g711.h"
#include "media/resampler.h"
#include "transcode/audio_path.h"

namespace weir::transcode {
namespace {

using media::Codec;
using media::g711::Law;

std::optional<Law> law_of(Codec codec) {
    return codec == Codec::kG711A   ? std::optional(Law::kA)
           : codec == Codec::kG711U ? std::optional(Law::kMu)
                                    : std::nullopt;
}

bool is_plain(Codec codec) {
    return codec == Codec::kPcm || law_of(codec).has_value();
}

uint32_t input_rate(const AudioOptions& options) {
    return law_of(options.from) || options.from_rate == 0 ? media::g711::kSampleRate
                                                          : options.from_rate;
}

class PlainPath final : public AudioPath {
  public:
    explicit PlainPath(const AudioOptions& options)
        : from_(law_of(options.from)),
          to_(law_of(options.to)),
          rate_(output_rate(options)),
          frame_samples_(rate_ * static_cast<size_t>(options.frame_duration.count()) / 1000),
          most_samples_(input_rate(options) / 2),
          resampler_(input_rate(options), rate_),
          clock_(rate_) {}

    Error transcode(ByteSpan frame, int64_t time_us, const AudioTranscoder::Output& out) override {
        // Half a second: what one input frame may add at most.
        const size_t samples = from_ ? frame.size() : frame.size() / sizeof(int16_t);
        if (samples > most_samples_) {
            return make_error(ErrorCode::kMalformed, "a frame of {} samples", samples);
        }
        switch (clock_.note(time_us, pending_.size())) {
            case OutputClock::Follows::kGoesOn: break;
            case OutputClock::Follows::kAnew: pending_.clear(); break;
            case OutputClock::Follows::kIsOver: return {};
        }
        input_.resize(samples);
        if (from_) {
            media::g711::decode(*from_, frame, input_);
        } else {
            std::memcpy(input_.data(), frame.data(), samples * sizeof(int16_t));
        }
        resampler_.feed(input_, pending_);
        size_t at = 0;
        for (; pending_.size() - at >= frame_samples_; at += frame_samples_) {
            give(std::span(pending_).subspan(at, frame_samples_), out);
        }
        pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(at));
        return {};
    }

    const Bytes& output_config() const override { return config_; }

  private:
    void give(std::span<const int16_t> samples, const AudioTranscoder::Output& out) {
        encoded_.resize(to_ ? samples.size() : samples.size_bytes());
        if (to_) {
            media::g711::encode(*to_, samples, encoded_);
        } else {
            std::memcpy(encoded_.data(), samples.data(), samples.size_bytes());
        }
        out(encoded_, clock_.time_of(clock_.taken()));
        clock_.take(static_cast<int64_t>(samples.size()));
    }

    std::optional<Law> from_;  // none: PCM
    std::optional<Law> to_;
    uint32_t rate_;
    size_t frame_samples_;
    size_t most_samples_;
    media::Resampler resampler_;
    OutputClock clock_;
    std::vector<int16_t> input_;
    std::vector<int16_t> pending_;  // that wait for a whole frame
    Bytes encoded_;
    Bytes config_;  // stays empty
};

}  // namespace

bool has_plain_path(const AudioOptions& options) {
    return is_plain(options.from) && is_plain(options.to) &&
           media::Resampler::supports(input_rate(options), output_rate(options));
}

std::unique_ptr<AudioPath> make_plain_path(const AudioOptions& options) {
    return std::make_unique<PlainPath>(options);
}

}  // namespace weir::transcode
