#include "stream/registry.h"

namespace weir::stream {

Stream* Registry::find(const StreamKey& key) {
    auto found = streams_.find(key);
    return found == streams_.end() ? nullptr : found->second.get();
}

Stream& Registry::get_or_create(const StreamKey& key, const StreamOptions& options, MonoTime now) {
    std::unique_ptr<Stream>& slot = streams_[key];
    if (!slot) {
        slot = std::make_unique<Stream>(key, options, now);
    }
    return *slot;
}

void Registry::release(Stream& stream) {
    if (!stream.live() && !stream.has_sinks()) {
        const StreamKey key = stream.key();
        streams_.erase(key);
    }
}

}  // namespace weir::stream
