#include "proto/cluster/claim_book.h"

#include <algorithm>
#include <utility>

namespace weir::cluster {

bool ClaimBook::begin(const std::string& stream, bool takeover) {
    Claim& claim = claims_[stream];
    claim.places++;
    if (claim.state != State::kAsking) {
        return true;
    }
    claim.takeover = takeover;
    releases_.erase(stream);
    released_.erase(stream);
    return false;
}

void ClaimBook::on_claimed(const std::string& stream,
                           uint64_t epoch,
                           uint64_t since_ms,
                           MonoTime now) {
    const auto at = claims_.find(stream);
    if (at == claims_.end()) {  // whoever asked has gone
        releases_[stream] = epoch;
        return;
    }
    Claim& claim = at->second;
    if (claim.state != State::kHeld || epoch > claim.epoch) {
        claim.epoch = epoch;
        claim.since_ms = since_ms;
    }
    claim.state = State::kHeld;
    claim.lost = false;
    claim.renew_at = now + kRenewPeriod;
    drop_if_unneeded(at);
}

void ClaimBook::on_refused(const std::string& stream) {
    give_up(stream);
}

void ClaimBook::on_unknown(const std::string& stream, uint64_t epoch, uint64_t since_ms) {
    const auto at = claims_.find(stream);
    if (at == claims_.end()) {
        releases_[stream] = 0;
        return;
    }
    if (at->second.state == State::kAsking) {
        at->second.state = State::kProvisional;
        at->second.epoch = epoch;
        at->second.since_ms = since_ms;
        at->second.renew_at = MonoTime{};
    }
}

void ClaimBook::on_renewed(const std::string& stream, uint64_t epoch, MonoTime now) {
    const auto at = claims_.find(stream);
    if (at != claims_.end() && at->second.state == State::kHeld) {
        at->second.epoch = std::max(at->second.epoch, epoch);
        at->second.renew_at = now + kRenewPeriod;
    }
}

bool ClaimBook::on_lost(const std::string& stream, uint64_t epoch) {
    const auto at = claims_.find(stream);
    if (at == claims_.end() || at->second.state == State::kAsking ||
        (at->second.state == State::kHeld && at->second.epoch > epoch)) {
        return false;
    }
    // Who has a place and does not publish yet hears of it when it does: the name is claimed again.
    const bool published = std::exchange(at->second.published, false);
    at->second.state = State::kAsking;
    at->second.epoch = 0;
    at->second.lost = true;
    if (at->second.places == 0) {
        claims_.erase(at);
    }
    return published;
}

void ClaimBook::give_up(const std::string& stream) {
    const auto at = claims_.find(stream);
    if (at != claims_.end() && at->second.places > 0) {
        at->second.places--;
        drop_if_unneeded(at);
    }
}

void ClaimBook::on_publish(const std::string& stream) {
    const auto at = claims_.find(stream);
    if (at == claims_.end()) {
        return;
    }
    Claim& claim = at->second;
    claim.published = true;
    if (std::exchange(claim.lost, false) && claim.state == State::kAsking) {
        claim.state = State::kProvisional;
        claim.renew_at = MonoTime{};
    }
}

void ClaimBook::on_unpublish(const std::string& stream) {
    if (const auto at = claims_.find(stream); at != claims_.end()) {
        at->second.published = false;
        drop_if_unneeded(at);
    }
}

void ClaimBook::drop_if_unneeded(Map::iterator at) {
    const Claim& claim = at->second;
    if (claim.places > 0 || claim.published) {
        return;
    }
    if (claim.state != State::kAsking && releases_.size() < kMaxReleases) {
        releases_[at->first] = claim.state == State::kHeld ? claim.epoch : 0;
    }
    claims_.erase(at);
}

void ClaimBook::renew_all(MonoTime now) {
    for (auto& [stream, claim] : claims_) {
        claim.renew_at = MonoTime{};
    }
    for (const auto& [stream, released] : released_) {
        if (now - released.at < kReleaseMemory && releases_.size() < kMaxReleases) {
            releases_.try_emplace(stream, released.epoch);
        }
    }
}

void ClaimBook::renew_now(const std::string& stream) {
    if (const auto at = claims_.find(stream); at != claims_.end()) {
        at->second.renew_at = MonoTime{};
    }
}

std::vector<ClaimBook::Due> ClaimBook::due(MonoTime now, size_t most) {
    std::vector<Due> list;
    for (auto& [stream, claim] : claims_) {
        if (list.size() == most) {
            break;
        }
        if (claim.state == State::kAsking || claim.renew_at > now) {
            continue;
        }
        claim.renew_at = now + kRenewPeriod;
        list.push_back({stream, claim.state == State::kProvisional, claim.takeover, claim.epoch,
                        claim.since_ms});
    }
    return list;
}

std::optional<MonoTime> ClaimBook::next_due() const {
    std::optional<MonoTime> next;
    for (const auto& [stream, claim] : claims_) {
        if (claim.state != State::kAsking && (!next || claim.renew_at < *next)) {
            next = claim.renew_at;
        }
    }
    return next;
}

std::vector<ClaimBook::Release> ClaimBook::take_releases(size_t most) {
    std::vector<Release> list;
    while (!releases_.empty() && list.size() < most) {
        const auto first = releases_.begin();
        list.push_back({first->first, first->second});
        releases_.erase(first);
    }
    return list;
}

void ClaimBook::on_released(std::vector<Release> releases, MonoTime now) {
    forget_released(now);
    for (Release& each : releases) {
        // Said again, it is not remembered for longer: it was given back when it was said first.
        if (!claims_.contains(each.stream) && released_.size() < kMaxReleases) {
            released_.try_emplace(std::move(each.stream), Released{each.epoch, now});
        }
    }
}

void ClaimBook::forget_released(MonoTime now) {
    if (now - forgotten_at_ < kReleaseMemory / 4) {
        return;
    }
    forgotten_at_ = now;
    std::erase_if(released_,
                  [&](const auto& each) { return now - each.second.at >= kReleaseMemory; });
}

void ClaimBook::put_back(std::vector<Release> releases) {
    for (Release& each : releases) {
        if (!claims_.contains(each.stream) && releases_.size() < kMaxReleases) {
            releases_.try_emplace(std::move(each.stream), each.epoch);
        }
    }
}

std::optional<uint64_t> ClaimBook::epoch(const std::string& stream) const {
    const auto at = claims_.find(stream);
    if (at == claims_.end() || at->second.state == State::kAsking) {
        return std::nullopt;
    }
    return at->second.epoch;
}

size_t ClaimBook::size() const {
    return static_cast<size_t>(std::ranges::count_if(
        claims_, [](const auto& each) { return each.second.state != State::kAsking; }));
}

size_t ClaimBook::provisional() const {
    return static_cast<size_t>(std::ranges::count_if(
        claims_, [](const auto& each) { return each.second.state == State::kProvisional; }));
}

}  // namespace weir::cluster
