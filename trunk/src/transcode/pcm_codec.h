// Decoders to PCM and encoders from it, one channel of 16 bits: for conferences, and for what a
// telephone says after its jitter buffer (rtp::PlayoutAudio). AudioTranscoder without times: what
// goes in follows what went in before. G.711 needs no library. One thread at a time may use an
// object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "transcode/audio_transcoder.h"

namespace weir::transcode {

class PcmDecoder {
  public:
    // `options`: `from`, `from_config` and `from_rate`; the rest is not looked at. Errors are those
    // of AudioTranscoder::create().
    static Result<std::unique_ptr<PcmDecoder>> create(const AudioOptions& options,
                                                      uint32_t sample_rate);

    // Appends the samples of a frame; decoders give them some milliseconds later than their frame,
    // in blocks of 10 ms. `restart`: it does not follow the one before. A frame that cannot be
    // decoded is left out.
    void decode(ByteSpan frame, bool restart, std::vector<int16_t>& samples);

    // Frames that were left out.
    uint64_t malformed() const { return malformed_; }

  private:
    PcmDecoder(std::unique_ptr<AudioTranscoder> transcoder, uint32_t sample_rate)
        : transcoder_(std::move(transcoder)), sample_rate_(sample_rate) {}

    std::unique_ptr<AudioTranscoder> transcoder_;
    uint32_t sample_rate_;
    int64_t given_ = 0;    // samples
    int64_t base_us_ = 0;  // time of the first of them
    uint64_t malformed_ = 0;
};

class PcmEncoder {
  public:
    // `options`: everything but `from`, `from_config` and `from_rate`.
    static Result<std::unique_ptr<PcmEncoder>> create(const AudioOptions& options,
                                                      uint32_t sample_rate);

    // Calls `out` for each frame that is whole with these samples: none or several.
    using Output = std::function<void(ByteSpan frame)>;
    void encode(std::span<const int16_t> samples, const Output& out);

    // AudioSpecificConfig of AAC.
    const Bytes& output_config() const { return transcoder_->output_config(); }

  private:
    PcmEncoder(std::unique_ptr<AudioTranscoder> transcoder, uint32_t sample_rate)
        : transcoder_(std::move(transcoder)), sample_rate_(sample_rate) {}

    std::unique_ptr<AudioTranscoder> transcoder_;
    uint32_t sample_rate_;
    int64_t taken_ = 0;  // samples
};

}  // namespace weir::transcode
