#include "net/stream_throttle.h"

#include <utility>

#include <fmt/format.h>

namespace weir::net {

bool StreamThrottle::allow(const stream::StreamKey& key, MonoTime now) {
    const auto found = next_.find(key);
    if ((found != next_.end() && now < found->second) || !all_.allow(now)) {
        swallowed_++;
        return false;
    }
    if (next_.size() >= kMaxStreams) {
        std::erase_if(next_, [now](const auto& each) { return each.second <= now; });
    }
    if (next_.size() >= kMaxStreams) {
        next_.clear();
    }
    next_[key] = now + kPerStream;
    reported_ = std::exchange(swallowed_, 0);
    return true;
}

std::string StreamThrottle::rest() const {
    return reported_ == 0 ? std::string() : fmt::format(" ({} more were not logged)", reported_);
}

}  // namespace weir::net
