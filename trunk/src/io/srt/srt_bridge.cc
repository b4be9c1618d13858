#include "io/srt/srt_bridge.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace weir::io {

// ---- the two queues ----

SrtBridge::~SrtBridge() {
    if (event_fd >= 0) {
        ::close(event_fd);
    }
}

void SrtBridge::command(SrtCommand command, size_t bytes) {
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        if (bytes > 0 && command_bytes_ + bytes > SrtEngine::kMaxCommandBytes) {
            counters.unsent_dropped += bytes;
            return;
        }
        first = commands_.empty();
        command_bytes_ += bytes;
        commands_.push_back(std::move(command));
    }
    if (first) {
        changed_.notify_one();
    }
}

bool SrtBridge::take_commands(std::vector<SrtCommand>& out, SrtClock::duration at_most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [this] { return stopping_ || !commands_.empty(); });
    out.swap(commands_);
    command_bytes_ = 0;
    return !stopping_;
}

void SrtBridge::tell(std::vector<SrtEvent>& events, size_t bytes) {
    if (events.empty()) {
        return;
    }
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        first = events_.empty();
        std::ranges::move(events, std::back_inserter(events_));
        event_bytes += bytes;
    }
    events.clear();
    if (first) {
        const uint64_t one = 1;
        // Cannot fail: the counter is far from its limit.
        (void)!write(event_fd, &one, sizeof one);
    }
}

void SrtBridge::take_events(std::vector<SrtEvent>& out) {
    const std::lock_guard lock(mutex_);
    out.swap(events_);
    event_bytes = 0;
    batch++;
}

void SrtBridge::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_one();
}

}  // namespace weir::io
