// From one audio codec to another, frame by frame: AAC to Opus for WebRTC players, Opus and G.711
// to AAC for all others; everything that telephones speak, to and from what streams have and PCM
// (for mixing). On libavcodec (libopus and libspeex inside); G.711 and PCM need no library.
//
// Blocking work, of a quarter of a millisecond a frame with AAC: for a worker thread. G.711 to PCM
// and back costs some microseconds. One thread at a time may use an object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "media/codec.h"

namespace weir::transcode {

inline constexpr uint32_t kAudioClockHz =
    48'000;  // of streams: what comes out if not asked otherwise
inline constexpr uint32_t kOpusFrameSamples = 960;
inline constexpr uint32_t kAacFrameSamples = 1024;

// media::Codec::kPcm is samples of 16 bits in the byte order of this machine, one channel.
struct AudioOptions {
    // kAac, kMp3, kOpus, kG711A, kG711U, kG722, kSpeex, kPcm.
    media::Codec from = media::Codec::kAac;
    Bytes from_config;       // AudioSpecificConfig of AAC; empty for the others
    uint32_t from_rate = 0;  // of Speex (0: 16000, as in FLV) and PCM (0: 8000); others say theirs

    // kAac, kOpus, kG711A, kG711U, kG722, kSpeex, kPcm.
    media::Codec to = media::Codec::kOpus;
    // Samples a second that come out. G.711 has 8000 and G.722 16000 whatever is said here; Speex
    // 8000, 16000 or 32000; Opus 8000, 12000, 16000, 24000 or 48000, which its packets do not show.
    uint32_t to_rate = kAudioClockHz;
    uint8_t to_channels = 2;  // AAC and Opus: 1 or 2; all others have 1
    // Of a frame that comes out, 10 to 60 ms. Not of AAC, whose frames have 1024 samples; Speex has
    // whole 20 ms.
    Millis frame_duration{20};
    int64_t bits_per_second = 96'000;  // of AAC and Opus
    bool voice = false;                // Opus: for speech, with forward error correction
};

// The rate and the channels that really come out.
uint32_t output_rate(const AudioOptions& options);
uint8_t output_channels(const AudioOptions& options);

// What an object holds besides itself: libavcodec's state, measured.
inline constexpr size_t kBytesToAac = 1'460'000;
inline constexpr size_t kBytesToOpus = 720'000;

class AudioTranscoder {
  public:
    // A gap or a jump of more than this in the times of the input sets the output's times again.
    static constexpr int64_t kMaxDriftUs = 60'000;
    static constexpr size_t kMaxInputFrame = 64 * 1024;

    // Loads the libraries where they are needed. kUnsupported (the message names the package, or
    // the codec), kMalformed (the configuration, or numbers out of range), kInternal.
    static Result<std::unique_ptr<AudioTranscoder>> create(const AudioOptions& options);

    // Whether create() does without libavcodec: cheap enough for any thread.
    static bool is_plain(const AudioOptions& options);

    ~AudioTranscoder();
    AudioTranscoder(const AudioTranscoder&) = delete;
    AudioTranscoder& operator=(const AudioTranscoder&) = delete;

    // AudioSpecificConfig of what comes out as AAC; empty for the others.
    const Bytes& output_config() const;

    // Calls `out` for each frame that came of it, none or several, with the time of its first
    // sample on the clock of the input's times. A frame that cannot be decoded is left out:
    // kMalformed; the next one may be fine.
    using Output = std::function<void(ByteSpan frame, int64_t time_us)>;
    Error transcode(ByteSpan frame, int64_t time_us, const Output& out);

  private:
    explicit AudioTranscoder(std::unique_ptr<class AudioPath> path);
    std::unique_ptr<class AudioPath> path_;
};

}  // namespace weir::transcode
