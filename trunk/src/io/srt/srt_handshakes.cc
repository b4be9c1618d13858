#include <algorithm>
#include <utility>

#include "io/srt/srt_bridge.h"
#include "io/srt/srt_sizes.h"

namespace weir::io {
namespace {

double seconds(SrtClock::duration span) {
    return std::chrono::duration<double>(span).count();
}

}  // namespace

void SrtHandshakes::set_gate(std::shared_ptr<const SrtGate> gate) {
    const std::lock_guard lock(mutex_);
    gate_ = std::move(gate);
}

void SrtHandshakes::set_limits(const SrtLimits& limits) {
    const std::lock_guard lock(mutex_);
    limits_ = limits;
}

// ---- before libsrt ----

bool SrtHandshakes::hears(const NetAddress& peer) {
    const std::lock_guard lock(mutex_);
    forget_leaving(SrtClock::now());
    const auto found = shares_.find(peer.network());
    const Share share = found == shares_.end() ? Share() : found->second;
    const bool refused = share.refused >= SrtEngine::kMaxRefusedOfOne && !peer.is_loopback();
    if (!refused && bytes_ + kSrtRefusedBytes <= most_bytes(share)) {
        return true;
    }
    counters_.unheard++;
    if (refused_.peer.empty() || refused_.why != Why::kUnheard) {
        refused_ = {peer.ip_text(), Why::kUnheard};
    }
    return false;
}

uint32_t SrtHandshakes::flight_window(Millis latency) {
    const std::lock_guard lock(mutex_);
    return srt_flight_window(limits_.max_bitrate, std::max(latency, limits_.latency));
}

// ---- room ----

// Up to so many bytes of all there is room for that address: the last quarter is for those who hold
// nothing.
size_t SrtHandshakes::most_bytes(const Share& share) {
    constexpr size_t kAll = SrtEngine::kMaxStrangerBytes;
    return share.bytes > 0 ? kAll - kAll / 4 : kAll;
}

// Everybody has all that there is until half of it is used up. From then on each address has its
// share: one that calls without end leaves the other half to others.
std::optional<SrtHandshakes::Why> SrtHandshakes::take_room(SrtClock::time_point now,
                                                           const NetAddress& peer,
                                                           size_t bytes) {
    tokens_ = std::min(SrtEngine::kHandshakeBurst,
                       tokens_ + seconds(now - filled_) * SrtEngine::kHandshakesPerSecond);
    filled_ = now;
    if (callers_.size() >= limits_.connections) {
        return Why::kFull;
    }
    Share& share = shares_[peer.network()];
    if (tokens_ < 1 || strangers_ >= SrtEngine::kMaxUnadmitted ||
        bytes_ + bytes > most_bytes(share)) {
        return Why::kOverload;
    }
    constexpr double kMost = SrtEngine::kHandshakesPerSecondOfOne;
    share.used = std::max(0.0, share.used - seconds(now - share.since) * kMost);
    share.since = now;
    if (share.all >= limits_.connections_of_one && !peer.is_loopback()) {
        return Why::kAddress;
    }
    const bool scarce = strangers_ * 2 >= SrtEngine::kMaxUnadmitted ||
                        bytes_ * 2 >= SrtEngine::kMaxStrangerBytes ||
                        tokens_ * 2 < SrtEngine::kHandshakeBurst;
    if (scarce && (share.strangers >= SrtEngine::kMaxUnadmittedOfOne || share.used > kMost - 1 ||
                   share.bytes + bytes > SrtEngine::kMaxStrangerBytesOfOne)) {
        return Why::kOverload;
    }
    share.used = std::min(share.used + 1, kMost);
    share.strangers++;
    share.all++;
    share.bytes += bytes;
    strangers_++;
    bytes_ += bytes;
    tokens_ -= 1;
    return std::nullopt;
}

void SrtHandshakes::refuse(const NetAddress& peer, Why why, SrtClock::time_point now) {
    refused_ = {peer.ip_text(), why};
    leave(peer.network(), kSrtRefusedBytes, true, now);
}

void SrtHandshakes::leave(const NetAddress& address,
                          size_t bytes,
                          bool refused,
                          SrtClock::time_point now) {
    leaving_.push_back({now + SrtEngine::kForgotten, address, bytes, refused});
    bytes_ += bytes;
    Share& share = shares_[address];
    share.since = std::max(share.since, now);
    share.bytes += bytes;
    share.refused += refused ? 1 : 0;
}

void SrtHandshakes::forget_leaving(SrtClock::time_point now) {
    while (!leaving_.empty() && leaving_.front().until <= now) {
        const Leaving& gone = leaving_.front();
        bytes_ -= gone.bytes;
        if (const auto share = shares_.find(gone.address); share != shares_.end()) {
            share->second.bytes -= gone.bytes;
            share->second.refused -= gone.refused ? 1 : 0;
        }
        leaving_.pop_front();
    }
}

void SrtHandshakes::forget_shares(SrtClock::time_point now) {
    std::erase_if(shares_, [now](const auto& each) {
        const Share& share = each.second;
        return share.all == 0 && share.bytes == 0 && now - share.since >= std::chrono::seconds(1);
    });
}

// A stranger's memory counts until libsrt has given it back.
SrtHandshakes::Callers::iterator SrtHandshakes::remove(Callers::iterator caller,
                                                       SrtClock::time_point now) {
    const Caller& gone = caller->second;
    const NetAddress address = gone.peer.network();
    const auto share = shares_.find(address);
    const bool stranger = gone.state != State::kAdmitted;
    if (share != shares_.end()) {
        share->second.all--;
        share->second.strangers -= stranger ? 1 : 0;
        share->second.bytes -= stranger ? gone.bytes : 0;
    }
    if (stranger) {
        strangers_--;
        bytes_ -= gone.bytes;
        leave(address, gone.bytes, false, now);
    }
    return callers_.erase(caller);
}

size_t SrtHandshakes::stranger_bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

// ---- the way of a caller ----

SrtHandshakes::Decision SrtHandshakes::decide(int32_t socket,
                                              const NetAddress& peer,
                                              std::string_view stream_id,
                                              Millis latency,
                                              SrtClock::time_point now) {
    counters_.handshakes++;
    std::shared_ptr<const SrtGate> gate;
    {
        const std::lock_guard lock(mutex_);
        gate = gate_;
    }
    // Without a lock: the gate never changes.
    Decision out{gate == nullptr ? SrtVerdict{kSrtOverload, {}} : gate->decide(stream_id)};
    const std::lock_guard lock(mutex_);
    forget_leaving(now);
    if (out.verdict.reject != 0) {
        counters_.refused_gate++;
        refuse(peer, out.verdict.reject == kSrtForbidden ? Why::kVhost : Why::kStreamId, now);
        return out;
    }
    out.receive_window = out.verdict.receives
                             ? srt_receive_window(limits_.max_bitrate,
                                                  std::max(latency, out.verdict.options.latency))
                             : kSrtFewPackets;
    const size_t bytes = srt_connection_bytes(
        srt_flight_window(limits_.max_bitrate, std::max(latency, limits_.latency)),
        out.receive_window);
    if (const std::optional<Why> why = take_room(now, peer, bytes)) {
        (*why == Why::kFull      ? counters_.refused_full
         : *why == Why::kAddress ? counters_.refused_address
                                 : counters_.refused_overload)++;
        refuse(peer, *why, now);
        out.verdict.reject = kSrtOverload;
        return out;
    }
    callers_[socket] = {State::kPending, now, peer, std::string(stream_id), bytes};
    return out;
}

bool SrtHandshakes::succeeded(int32_t socket,
                              std::string_view stream_id,
                              SrtClock::time_point now) {
    const std::lock_guard lock(mutex_);
    const auto found = callers_.find(socket);
    if (found == callers_.end() || found->second.state != State::kPending) {
        counters_.refused_gate++;
        return false;
    }
    if (found->second.stream_id != stream_id) {
        counters_.refused_gate++;
        refused_ = {found->second.peer.ip_text(), Why::kStreamId};
        remove(found, now);
        return false;
    }
    found->second.state = State::kNewcomer;
    found->second.stream_id.clear();
    counters_.accepted++;
    return true;
}

void SrtHandshakes::admitted(int32_t socket) {
    const std::lock_guard lock(mutex_);
    const auto found = callers_.find(socket);
    if (found == callers_.end() || found->second.state != State::kNewcomer) {
        return;
    }
    Caller& caller = found->second;
    caller.state = State::kAdmitted;
    strangers_--;
    bytes_ -= caller.bytes;
    if (const auto share = shares_.find(caller.peer.network()); share != shares_.end()) {
        share->second.strangers--;
        share->second.bytes -= caller.bytes;
    }
}

void SrtHandshakes::gone(int32_t socket, SrtClock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (const auto found = callers_.find(socket);
        found != callers_.end() && found->second.state != State::kPending) {
        remove(found, now);
    }
}

std::string SrtHandshakes::expire(SrtClock::time_point now) {
    std::string peer;
    const std::lock_guard lock(mutex_);
    for (auto at = callers_.begin(); at != callers_.end();) {
        const Caller& caller = at->second;
        if (caller.state != State::kPending || now - caller.since < kPatience) {
            ++at;
            continue;
        }
        counters_.failed_handshakes++;
        peer = caller.peer.ip_text();
        at = remove(at, now);
    }
    forget_leaving(now);
    forget_shares(now);
    return peer;
}

SrtHandshakes::Refused SrtHandshakes::take_refused() {
    const std::lock_guard lock(mutex_);
    return std::exchange(refused_, {});
}

}  // namespace weir::io
