// Registry: all streams of the process, by key. A stream exists while somebody publishes it or
// players hold it.
#pragma once

#include <map>
#include <memory>

#include "stream/stream.h"

namespace weir::stream {

class Registry {
  public:
    Registry() = default;
    ~Registry() = default;
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    // Null when nobody publishes or awaits it.
    Stream* find(const StreamKey& key);

    // `options` are for a new stream. The reference is good until the stream has neither publisher
    // nor muxers and release() is called.
    Stream& get_or_create(const StreamKey& key, const StreamOptions& options, MonoTime now);

    // Deletes the stream when it has neither a publisher nor muxers. Called by whoever gave up one
    // of these.
    void release(Stream& stream);

    // Another node or process has the stream's name now: its publisher is told that it was taken
    // over, and nobody follows here. The stream stays for kLostStay, as that publisher may still
    // look at it while it ends.
    static constexpr Millis kLostStay{60'000};
    void lose_publisher(Stream& stream, MonoTime now);

    // Who is told of the life of all streams. An observer must be removed before this goes.
    LifeObservers& observers() { return observers_; }

    // Somebody asks for a stream that nobody publishes. True: it will be published soon, unless
    // that fails, so waiting for it is worth a while.
    bool want(const StreamKey& key);

    size_t size() const { return streams_.size(); }

    // Once a second, for the rates of all streams.
    void sample(MonoTime now) {
        clock_.tick(now);
        release_lost(now);
        for (auto& [key, stream] : streams_) {
            stream->sample(clock_, now);
        }
    }

    const RateClock& clock() const { return clock_; }

    // Of all streams that there ever were: walks those that there are.
    struct Traffic {
        uint64_t received = 0;
        uint64_t sent = 0;
    };

    Traffic traffic() const;

    // Media messages that were dropped because no stream could be told to be theirs.
    void count_stray(uint64_t messages) { stray_messages_ += messages; }

    uint64_t stray_messages() const { return stray_messages_; }

    // The first stream behind that key, null: there is none. For those who go over all and yield in
    // between; a key of empty parts is before all.
    const Stream* after(const StreamKey& key) const {
        const auto next = streams_.upper_bound(key);
        return next == streams_.end() ? nullptr : next->second.get();
    }

    // In order of key.
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [key, stream] : streams_) {
            visit(*stream);
        }
    }

  private:
    void release_lost(MonoTime now);

    std::map<StreamKey, MonoTime> lost_;  // streams that stay until then
    LifeObservers observers_;             // the streams' before them: told to their ends
    std::map<StreamKey, std::unique_ptr<Stream>> streams_;
    RateClock clock_;
    Traffic gone_;  // of streams that are no more
    uint64_t stray_messages_ = 0;
};

}  // namespace weir::stream
