#include "proto/cluster/relay_list.h"

#include "proto/cluster/names.h"
#include "proto/cluster/records.h"

namespace weir::cluster {

void RelayList::add(const std::string& stream) {
    if (stream.size() <= kMaxStreamText && streams_.insert(stream).second) {
        changed_ = true;
    }
}

void RelayList::remove(const std::string& stream) {
    if (streams_.erase(stream) > 0) {
        changed_ = true;
    }
}

void RelayList::say_again() {
    changed_ = changed_ || !streams_.empty();
}

std::optional<MonoTime> RelayList::next_due() const {
    if (changed_ && (stands_ || !streams_.empty())) {
        return said_ + pause_;
    }
    return stands_ ? std::optional(said_ + kAgain) : std::nullopt;
}

std::string RelayList::take(const std::string& boot, MonoTime now) {
    changed_ = false;
    stands_ = !streams_.empty();
    said_ = now;
    std::string text;
    for (const std::string& stream : streams_) {
        if (boot.size() + text.size() + 1 + stream.size() <= kMaxRelaysRecord) {
            text += ' ';
            text += stream;
        }
    }
    pause_ = kPause + Millis(text.size() * 1'000 / kBytesPerSecond);
    return text.empty() ? std::string() : boot + text;
}

void RelayList::put_back() {
    changed_ = true;
    stands_ = true;  // perhaps
}

}  // namespace weir::cluster
