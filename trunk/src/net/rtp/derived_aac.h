// AAC beside the audio that a session publishes, for those players who cannot have that: made by a
// worker (AudioBridge), while one of them is there. Never yields.
//
// Whoever comes first begins where the stream's start is, and that is older than he: the audio
// since then is made as well.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "io/worker_pool.h"
#include "media/packet.h"
#include "net/rtp/audio_bridge.h"

namespace weir::stream {
class Publisher;
class Stream;
}  // namespace weir::stream

namespace weir::net {

struct DerivedAacOptions {
    media::Codec from = media::Codec::kOpus;
    uint32_t from_rate = 0;  // of Speex
    uint32_t rate = 48'000;  // of what is made, and its channels
    uint8_t channels = 2;
    int64_t bits_per_second = 128'000;
    media::Audience of = media::Audience::kWebRtc;  // as the audio is published,
    media::Audience to = media::Audience::kFlv;     // and who gets AAC instead
};

// The AAC of a telephone's codec; nothing where the stream is AAC already.
std::optional<DerivedAacOptions> telephone_aac(media::Codec codec, uint32_t clock_hz);

class DerivedAac {
  public:
    // All must outlive this; `publisher` publishes `stream`.
    DerivedAac(stream::Stream& stream,
               const stream::Publisher& publisher,
               io::WorkerPool& workers,
               const DerivedAacOptions& options);

    // Publishes the configuration of the AAC. Done with the first frame at the latest; earlier
    // where players are to know from the beginning that there is AAC.
    void announce(int64_t time_ms);

    // A sink was attached to the stream: the audio that it begins with is made now. The next frame
    // may come behind the next key frame, when the GOP that the sink has begun with is not kept any
    // more.
    void on_sink();

    // The audio was published.
    void on_audio(const media::PacketRef& packet);

  private:
    void on_made(ByteSpan frame, int64_t time_ms);
    void publish(ByteSpan frame, bool config, int64_t time_ms);
    void begin(const media::PacketRef& packet);

    stream::Stream& stream_;
    const stream::Publisher& publisher_;
    io::WorkerPool& workers_;
    DerivedAacOptions options_;
    std::unique_ptr<AudioBridge> bridge_;  // while somebody takes what it makes
    std::optional<int64_t> last_ms_;       // of the newest frame
};

}  // namespace weir::net
