#include "net/cluster/known_streams.h"

#include <utility>

namespace weir::net {

KnownStreams::Entry* KnownStreams::find(const std::string& stream) {
    const auto young = young_.find(stream);
    if (young != young_.end()) {
        return &young->second;
    }
    return old_.contains(stream) ? &get(stream) : nullptr;
}

KnownStreams::Entry& KnownStreams::get(const std::string& stream) {
    if (const auto young = young_.find(stream); young != young_.end()) {
        return young->second;
    }
    Entry entry;
    if (const auto old = old_.find(stream); old != old_.end()) {
        entry = std::move(old->second);
        old_.erase(old);
    }
    if (young_.size() >= kMaxStreams / 2) {
        old_ = std::move(young_);
        young_.clear();
    }
    return young_.emplace(stream, std::move(entry)).first->second;
}

bool KnownStreams::note_epoch(const std::string& stream, uint64_t epoch) {
    Entry& entry = get(stream);
    if (epoch < entry.epoch) {
        return false;
    }
    entry.epoch = epoch;
    return true;
}

uint64_t KnownStreams::epoch(const std::string& stream) {
    const Entry* const entry = find(stream);
    return entry == nullptr ? 0 : entry->epoch;
}

void KnownStreams::found(const std::string& stream, Origin origin) {
    Entry& entry = get(stream);
    entry.origin = std::move(origin);
    entry.nobody_until = {};
    entry.older_since.reset();
}

std::optional<Origin> KnownStreams::last(const std::string& stream) {
    const Entry* const entry = find(stream);
    return entry == nullptr ? std::nullopt : entry->origin;
}

void KnownStreams::forget_origin(const std::string& stream) {
    if (Entry* const entry = find(stream)) {
        entry->origin.reset();
        entry->nobody_until = {};
    }
}

void KnownStreams::found_nobody(const std::string& stream, MonoTime now) {
    Entry& entry = get(stream);
    entry.origin.reset();
    entry.nobody_until = now + kNegative;
    entry.older_since.reset();
}

Micros KnownStreams::note_older(const std::string& stream, MonoTime now) {
    Entry& entry = get(stream);
    if (!entry.older_since || now - entry.older_at > kLookGap) {
        entry.older_since = now;
    }
    entry.older_at = now;
    return now - *entry.older_since;
}

bool KnownStreams::had_nobody(const std::string& stream, MonoTime now) {
    const Entry* const entry = find(stream);
    return entry != nullptr && now < entry->nobody_until;
}

void KnownStreams::drop_negative(const std::string& stream) {
    if (Entry* const entry = find(stream)) {
        entry->nobody_until = {};
    }
}

}  // namespace weir::net
