// From one audio codec to another, frame by frame: AAC to Opus for WebRTC players, Opus and G.711
// to AAC for all others. On libavcodec (libopus inside).
//
// Blocking work of about a quarter of a millisecond a frame: for a worker thread. One thread at a
// time may use an object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/bytes.h"
#include "base/error.h"
#include "media/codec.h"

namespace weir::transcode {

struct AudioOptions {
    media::Codec from = media::Codec::kAac;
    Bytes from_config;                      // AudioSpecificConfig of AAC; empty for the others
    media::Codec to = media::Codec::kOpus;  // kOpus or kAac; 48 kHz, stereo
    int64_t bits_per_second = 96'000;
};

inline constexpr uint32_t kAudioClockHz = 48'000;  // of everything that comes out
inline constexpr uint32_t kOpusFrameSamples = 960;
inline constexpr uint32_t kAacFrameSamples = 1024;

// What an object holds besides itself: libavcodec's state, measured.
inline constexpr size_t kBytesToAac = 1'460'000;
inline constexpr size_t kBytesToOpus = 720'000;

class AudioTranscoder {
  public:
    // A gap or a jump of more than this in the times of the input sets the output's times again.
    static constexpr int64_t kMaxDriftUs = 60'000;
    static constexpr size_t kMaxInputFrame = 64 * 1024;

    // Loads the libraries. kUnsupported (the message names the package), kMalformed (the
    // configuration), kInternal.
    static Result<std::unique_ptr<AudioTranscoder>> create(const AudioOptions& options);

    ~AudioTranscoder();
    AudioTranscoder(const AudioTranscoder&) = delete;
    AudioTranscoder& operator=(const AudioTranscoder&) = delete;

    // AudioSpecificConfig of what comes out as AAC; empty for Opus.
    const Bytes& output_config() const;

    // Calls `out` for each frame that came of it, none or several, with the time of its first
    // sample on the clock of the input's times. A frame that cannot be decoded is left out:
    // kMalformed; the next one may be fine.
    using Output = std::function<void(ByteSpan frame, int64_t time_us)>;
    Error transcode(ByteSpan frame, int64_t time_us, const Output& out);

  private:
    struct Impl;
    explicit AudioTranscoder(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace weir::transcode
