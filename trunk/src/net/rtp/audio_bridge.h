// AudioBridge: audio of one stream in another codec, made on a worker thread, in order. Frames go
// in on the media thread and come out there, some milliseconds later. Never yields.
//
// At most kMaxQueued frames wait; more than a worker can do are dropped and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"
#include "base/object_count.h"
#include "io/worker_pool.h"
#include "media/packet.h"
#include "transcode/audio_transcoder.h"

namespace weir::net {

class AudioBridge final : private Counted<AudioBridge> {
  public:
    static constexpr ObjectName kObjectName{"audio_bridge", "transcoding"};
    static constexpr size_t kMaxQueued = 1024;  // a GOP of 20 s, when a player comes

    using Output = std::function<void(ByteSpan frame, int64_t time_us)>;

    // `workers` must outlive this; `out` is not called after this is gone. `stream`: for the line
    // that says why there is no audio.
    AudioBridge(io::WorkerPool& workers,
                const transcode::AudioOptions& options,
                std::string stream,
                Output out);
    ~AudioBridge();
    AudioBridge(const AudioBridge&) = delete;
    AudioBridge& operator=(const AudioBridge&) = delete;

    // The codec's own bytes of the packet; time: the packet's.
    void push(const media::PacketRef& packet);

    uint64_t dropped() const { return dropped_; }

  private:
    struct Shared;

    // For the worker, which must not see packets: their counts and bodies are the media thread's.
    struct InputFrame {
        Bytes payload;
        int64_t time_ms = 0;
    };

    void start();
    void finish();

    io::WorkerPool& workers_;
    std::string stream_;
    Output out_;
    std::shared_ptr<Shared> shared_;  // with the worker, which may be at it when this goes
    std::vector<InputFrame> queue_;
    uint64_t dropped_ = 0;
    uint64_t counted_bytes_ = 0;  // of the transcoder, from when it is there
    log::Throttle trouble_{Millis(1000)};
};

}  // namespace weir::net
