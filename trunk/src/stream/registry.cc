#include "stream/registry.h"

namespace weir::stream {

Stream* Registry::find(const StreamKey& key) {
    auto found = streams_.find(key);
    return found == streams_.end() ? nullptr : found->second.get();
}

Stream& Registry::get_or_create(const StreamKey& key, const StreamOptions& options, MonoTime now) {
    std::unique_ptr<Stream>& slot = streams_[key];
    if (!slot) {
        slot = std::make_unique<Stream>(key, options, now, &observers_);
    }
    return *slot;
}

bool Registry::want(const StreamKey& key) {
    bool comes = false;
    observers_.tell([&](LifeObserver& observer) { comes = observer.on_wanted(key) || comes; });
    return comes;
}

Registry::Traffic Registry::traffic() const {
    Traffic traffic = gone_;
    for (const auto& [key, stream] : streams_) {
        traffic.received += stream->bytes_received_ever();
        traffic.sent += stream->bytes_sent();
    }
    return traffic;
}

void Registry::lose_publisher(Stream& stream, MonoTime now) {
    if (stream.live()) {
        lost_[stream.key()] = now + kLostStay;
        stream.lose_publisher(now);
    }
}

void Registry::release_lost(MonoTime now) {
    for (auto at = lost_.begin(); at != lost_.end();) {
        if (at->second > now) {
            ++at;
            continue;
        }
        Stream* const stream = find(at->first);
        at = lost_.erase(at);
        if (stream != nullptr) {
            release(*stream);
        }
    }
}

void Registry::release(Stream& stream) {
    if (!stream.live() && !stream.has_sinks() && !lost_.contains(stream.key())) {
        const StreamKey key = stream.key();
        gone_.received += stream.bytes_received_ever();
        gone_.sent += stream.bytes_sent();
        streams_.erase(key);
    }
}

}  // namespace weir::stream
