#include "net/source/source_machine.h"

#include <algorithm>
#include <array>

namespace weir::net {

std::string_view to_string(SourceState state) {
    switch (state) {
        case SourceState::kIdle: return "idle";
        case SourceState::kConnecting: return "connecting";
        case SourceState::kWaiting: return "waiting";
        case SourceState::kLive: return "live";
        case SourceState::kBackingOff: return "backing_off";
        case SourceState::kStopped: return "stopped";
    }
    return {};
}

void SourceMachine::enter(SourceState state, MonoTime now) {
    if (state_ == state) {
        return;
    }
    state_ = state;
    since_ = now;
    if (state == SourceState::kConnecting) {
        attempts_++;
        tried_at_ = now;
    }
}

void SourceMachine::update(MonoTime now) {
    if (state_ == SourceState::kStopped) {
        return;
    }
    if (!wanted(now)) {
        in_a_row_ = 0;
        enter(SourceState::kIdle, now);
    } else if (held_) {
        enter(SourceState::kBackingOff, now);
    } else if (state_ == SourceState::kIdle ||
               (state_ == SourceState::kBackingOff && now >= retry_at_ && is_waited_for())) {
        enter(SourceState::kConnecting, now);
    }
}

void SourceMachine::set_demand(bool wanted, MonoTime now) {
    if (demand_ && !wanted) {
        linger_until_ = now + timing_.linger;
    }
    if (!demand_ && wanted) {
        asked_until_ = {};  // who asked has come
        asker_waits_until_ = {};
    }
    demand_ = wanted;
    update(now);
}

void SourceMachine::ask(Millis waits, MonoTime now) {
    asked_until_ = std::max(asked_until_, now + std::max(timing_.linger, waits));
    asker_waits_until_ = std::max(asker_waits_until_, now + waits);
    update(now);
}

void SourceMachine::set_held(bool held, MonoTime now) {
    if (held_ && !held) {
        retry_at_ = now;
    }
    held_ = held;
    update(now);
}

void SourceMachine::on_connected(MonoTime now) {
    if (state_ == SourceState::kConnecting) {
        enter(SourceState::kWaiting, now);
    }
}

void SourceMachine::on_media(MonoTime now) {
    if (runs()) {
        enter(SourceState::kLive, now);
    }
}

// Spread over half of its length: sources that failed at the same moment do not come back at the
// same moment.
Micros SourceMachine::backoff() {
    Millis full = timing_.first_backoff;
    for (uint32_t i = 1; i < in_a_row_ && full < timing_.longest_backoff; i++) {
        full *= 2;
    }
    full = std::min(full, timing_.longest_backoff);
    const Micros half = Micros(full) / 2;
    return half + share_of(half);
}

// From nothing to all of it, at random.
Micros SourceMachine::share_of(Micros time) {
    std::array<uint8_t, 2> bytes{};
    random_.fill(bytes);
    const int64_t share = (int64_t{bytes[0]} << 8) | bytes[1];  // of 65,536
    return Micros(time.count() * share / 65'536);
}

void SourceMachine::retry_soon(Millis spacing, MonoTime now) {
    if (state_ == SourceState::kBackingOff && !held_) {
        retry_at_ = std::min(retry_at_, std::max(now, tried_at_ + spacing));
        update(now);
    }
}

bool SourceMachine::begin_anew(MonoTime now) {
    if (!runs()) {
        return false;
    }
    enter(SourceState::kBackingOff, now);
    retry_at_ = now;
    update(now);
    return true;
}

void SourceMachine::on_ended(MonoTime now) {
    if (!runs()) {
        return;
    }
    failures_++;
    const bool was_live = state_ == SourceState::kLive;
    in_a_row_ = state_ == SourceState::kLive && now - since_ >= timing_.settled ? 1 : in_a_row_ + 1;
    retry_at_ = now + backoff();
    if (timing_.looks_again && was_live) {
        retry_at_ = std::max(tried_at_ + kLeastSpacing, now + share_of(kLookSpread));
    }
    enter(SourceState::kBackingOff, now);
    update(now);
}

void SourceMachine::stop(MonoTime now) {
    enter(SourceState::kStopped, now);
}

std::optional<MonoTime> SourceMachine::next_timeout() const {
    std::optional<MonoTime> next;
    if (state_ == SourceState::kStopped || state_ == SourceState::kIdle) {
        return next;
    }
    if (state_ == SourceState::kBackingOff && !held_ && is_waited_for()) {
        next = retry_at_;
    }
    if (timing_.on_demand && !demand_) {
        next = next ? std::min(*next, kept_until()) : kept_until();
    }
    return next;
}

}  // namespace weir::net
