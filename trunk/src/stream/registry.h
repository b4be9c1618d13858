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

    size_t size() const { return streams_.size(); }

    // In order of key.
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [key, stream] : streams_) {
            visit(*stream);
        }
    }

  private:
    std::map<StreamKey, std::unique_ptr<Stream>> streams_;
};

}  // namespace weir::stream
