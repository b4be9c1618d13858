#include "net/rtp/audio_bridge.h"

#include <algorithm>
#include <iterator>

#include "base/log.h"

namespace weir::net {
namespace {

// A part of the queue at a time, so that the first frames come out soon.
constexpr size_t kBatch = 32;

struct OutputFrame {
    Bytes bytes;
    int64_t time_us = 0;
};

}  // namespace

// While `running`, the worker has all but `owner`; otherwise the media thread has it.
struct AudioBridge::Shared {
    void work() {
        if (!transcoder && !failed) {
            Result<std::unique_ptr<transcode::AudioTranscoder>> made =
                transcode::AudioTranscoder::create(options);
            if (made.ok()) {
                transcoder = std::move(*made);
            } else {
                failed = true;
                why = std::string(made.error().message());
            }
        }
        for (const InputFrame& frame : input) {
            if (failed) {
                return;
            }
            const Error skipped = transcoder->transcode(
                frame.payload, frame.time_ms * 1000, [this](ByteSpan made, int64_t time) {
                    output.push_back({Bytes(made.begin(), made.end()), time});
                });
            (void)skipped.code();  // a frame that cannot be decoded is silence
        }
    }

    transcode::AudioOptions options;
    std::unique_ptr<transcode::AudioTranscoder> transcoder;
    bool failed = false;
    std::string why;  // to be logged once
    std::vector<InputFrame> input;
    std::vector<OutputFrame> output;
    AudioBridge* owner = nullptr;  // media thread only; null: gone
    bool running = false;          // media thread only
};

AudioBridge::AudioBridge(io::WorkerPool& workers,
                         const transcode::AudioOptions& options,
                         std::string stream,
                         Output out)
    : workers_(workers),
      stream_(std::move(stream)),
      out_(std::move(out)),
      shared_(std::make_shared<Shared>()) {
    shared_->options = options;
    shared_->owner = this;
}

AudioBridge::~AudioBridge() {
    shared_->owner = nullptr;
    object_class().remove_bytes(counted_bytes_);
}

void AudioBridge::push(const media::PacketRef& packet) {
    if (queue_.size() == kMaxQueued) {
        dropped_++;
        return;
    }
    const ByteSpan payload = packet->payload();
    queue_.push_back({Bytes(payload.begin(), payload.end()), packet->time_ms()});
    start();
}

void AudioBridge::start() {
    if (shared_->running || queue_.empty()) {
        return;
    }
    const size_t count = std::min(queue_.size(), kBatch);
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
    shared_->input.assign(std::move_iterator(queue_.begin()), std::move_iterator(end));
    queue_.erase(queue_.begin(), end);
    shared_->running = true;
    const Error full = workers_.submit([shared = shared_] { shared->work(); },
                                       [shared = shared_] {
                                           shared->running = false;
                                           shared->input.clear();
                                           if (shared->owner) {
                                               shared->owner->finish();
                                           }
                                       });
    if (full) {
        shared_->running = false;
        shared_->input.clear();
        dropped_ += count;
    }
}

void AudioBridge::finish() {
    if (!shared_->why.empty()) {
        log::throttled(trouble_, log::Level::kWarn, "no audio in another codec stream={}: {}",
                       log::token(stream_), log::escaped(shared_->why, 500));
        shared_->why.clear();
    }
    if (counted_bytes_ == 0 && shared_->transcoder) {
        counted_bytes_ = shared_->options.to == media::Codec::kAac ? transcode::kBytesToAac
                                                                   : transcode::kBytesToOpus;
        object_class().add_bytes(counted_bytes_);
    }
    std::vector<OutputFrame> output;
    output.swap(shared_->output);
    start();
    for (const OutputFrame& frame : output) {
        out_(frame.bytes, frame.time_us);
    }
}

}  // namespace weir::net
