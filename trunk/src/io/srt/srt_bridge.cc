#include "io/srt/srt_bridge.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace weir::io {

// ---- handshakes ----

void SrtHandshakes::set_gate(std::shared_ptr<const SrtGate> gate) {
    const std::lock_guard lock(mutex_);
    gate_ = std::move(gate);
}

// Everybody has all that there is until half of it is used up. From then on each address has its
// share: one that calls without end leaves the other half to others.
bool SrtHandshakes::take_room(SrtClock::time_point now, const std::string& peer) {
    const auto seconds = [now](SrtClock::time_point since) {
        return std::chrono::duration<double>(now - since).count();
    };
    tokens_ = std::min(SrtEngine::kHandshakeBurst,
                       tokens_ + seconds(filled_) * SrtEngine::kHandshakesPerSecond);
    filled_ = now;
    const size_t held = unadmitted_.size() + pending_.size();
    if (tokens_ < 1 || held >= SrtEngine::kMaxUnadmitted) {
        return false;
    }
    constexpr double kMost = SrtEngine::kHandshakesPerSecondOfOne;
    Share& share = shares_[peer];
    share.used = std::max(0.0, share.used - seconds(share.since) * kMost);
    share.since = now;
    const bool scarce =
        held * 2 >= SrtEngine::kMaxUnadmitted || tokens_ * 2 < SrtEngine::kHandshakeBurst;
    if (scarce && (share.held >= SrtEngine::kMaxUnadmittedOfOne || share.used > kMost - 1)) {
        return false;
    }
    share.used = std::min(share.used + 1, kMost);
    share.held++;
    tokens_ -= 1;
    return true;
}

void SrtHandshakes::give_back(const std::string& peer) {
    if (const auto found = shares_.find(peer); found != shares_.end()) {
        found->second.held--;
    }
}

void SrtHandshakes::forget_shares(SrtClock::time_point now) {
    std::erase_if(shares_, [now](const auto& each) {
        return each.second.held == 0 && now - each.second.since >= std::chrono::seconds(1);
    });
}

SrtVerdict SrtHandshakes::decide(int32_t socket,
                                 std::string_view peer,
                                 std::string_view stream_id) {
    counters_.handshakes++;
    const std::string from(peer);
    const SrtClock::time_point now = SrtClock::now();
    std::shared_ptr<const SrtGate> gate;
    {
        const std::lock_guard lock(mutex_);
        if (gate_ == nullptr || !take_room(now, from)) {
            counters_.refused_overload++;
            refused_ = {from, kSrtOverload};
            return {kSrtOverload, {}};
        }
        gate = gate_;
        pending_[socket] = {now, from, std::string(stream_id)};
    }
    SrtVerdict verdict = gate->decide(stream_id);
    if (verdict.reject != 0) {
        counters_.refused_gate++;
        const std::lock_guard lock(mutex_);
        if (pending_.erase(socket) > 0) {
            give_back(from);
        }
        refused_ = {from, verdict.reject};
    }
    return verdict;
}

SrtHandshakes::Refused SrtHandshakes::take_refused() {
    const std::lock_guard lock(mutex_);
    return std::exchange(refused_, {});
}

bool SrtHandshakes::succeeded(int32_t socket, std::string_view stream_id) {
    const std::lock_guard lock(mutex_);
    const auto found = pending_.find(socket);
    const bool same = found != pending_.end() && found->second.stream_id == stream_id;
    if (found != pending_.end()) {
        if (same) {
            unadmitted_[socket] = std::move(found->second.peer);
        } else {
            give_back(found->second.peer);
            refused_ = {std::move(found->second.peer), kSrtBadRequest};
        }
        pending_.erase(found);
    }
    if (!same) {
        counters_.refused_gate++;
        return false;
    }
    counters_.accepted++;
    return true;
}

void SrtHandshakes::settled(int32_t socket) {
    const std::lock_guard lock(mutex_);
    if (const auto found = unadmitted_.find(socket); found != unadmitted_.end()) {
        give_back(found->second);
        unadmitted_.erase(found);
    }
}

std::string SrtHandshakes::expire(SrtClock::time_point now) {
    std::string peer;
    const std::lock_guard lock(mutex_);
    for (auto at = pending_.begin(); at != pending_.end();) {
        if (now - at->second.since < kPatience) {
            ++at;
            continue;
        }
        counters_.failed_handshakes++;
        give_back(at->second.peer);
        peer = std::move(at->second.peer);
        at = pending_.erase(at);
    }
    forget_shares(now);
    return peer;
}

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
