#include "app/processes/stream_owners.h"

namespace weir::app {

uint64_t StreamOwners::claim(const stream::StreamKey& key, uint32_t process, bool takeover) {
    const auto found = all_.find(key);
    if (found == all_.end()) {
        if (all_.size() >= kMaxStreams) {
            return 0;
        }
        all_[key] = {process, ++last_epoch_};
        return last_epoch_;
    }
    if (found->second.process == process) {
        return found->second.epoch;
    }
    if (!takeover) {
        return 0;
    }
    found->second = {process, ++last_epoch_};
    return last_epoch_;
}

bool StreamOwners::release(const stream::StreamKey& key, uint32_t process, uint64_t epoch) {
    const auto found = all_.find(key);
    if (found == all_.end() || found->second != StreamOwner{process, epoch}) {
        return false;
    }
    all_.erase(found);
    return true;
}

std::vector<stream::StreamKey> StreamOwners::drop(uint32_t process) {
    std::vector<stream::StreamKey> dropped;
    for (auto at = all_.begin(); at != all_.end();) {
        if (at->second.process == process) {
            dropped.push_back(at->first);
            at = all_.erase(at);
        } else {
            ++at;
        }
    }
    return dropped;
}

StreamOwner StreamOwners::find(const stream::StreamKey& key) const {
    const auto found = all_.find(key);
    return found == all_.end() ? StreamOwner() : found->second;
}

}  // namespace weir::app
