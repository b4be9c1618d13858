#include "app/api/live_merge.h"

#include <algorithm>
#include <array>

namespace weir::app {
namespace {

constexpr int kMaxDepth = 16;

std::string text_in(const net::Json& item, const char* name) {
    const auto found = item.find(name);
    return found != item.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int64_t number_in(const net::Json& item, const char* name) {
    const auto found = item.find(name);
    return found != item.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

stream::StreamKey key_of(const net::Json& item) {
    return {text_in(item, "vhost"), text_in(item, "app"), text_in(item, "name")};
}

constexpr std::array<std::string_view, 3> kTimes = {"time_ms", "period_ms", "uptime_s"};

void add_figure(net::Json& to, std::string_view name, const net::Json& more) {
    if (std::ranges::find(kTimes, name) != kTimes.end()) {
        return;
    }
    if (to.is_number_integer() && more.is_number_integer()) {
        to = to.get<int64_t>() + more.get<int64_t>();
    } else if (to.is_number() && more.is_number()) {
        const double one = to.get<double>();
        const double other = more.get<double>();
        to = name == "busy" ? std::max(one, other) : one + other;
    }
}

void add_health(net::Json& to, const net::Json& more) {
    for (const auto& [name, figure] : to.items()) {
        const auto other = more.find(name);
        if (other == more.end()) {
            continue;
        }
        if (figure.is_object() && other->is_object()) {
            add_health(figure, *other);
        } else if (figure.is_array() && other->is_array()) {
            const size_t count = std::min(figure.size(), other->size());
            for (size_t i = 1; i <= count; i++) {
                add_figure(figure[figure.size() - i], name, (*other)[other->size() - i]);
            }
        } else {
            add_figure(figure, name, *other);
        }
    }
}

}  // namespace

net::Json merge_health(const std::vector<net::Json>& all) {
    net::Json merged = all.front();
    for (size_t i = 1; merged.is_object() && i < all.size(); i++) {
        if (all[i].is_object()) {
            add_health(merged, all[i]);
        }
    }
    return merged;
}

void LiveMerge::add_text(std::string_view item) {
    const net::Json json = net::parsed(item, kMaxDepth);
    if (json.is_object()) {
        add(json, std::string(item));
    }
}

void LiveMerge::add_missing(const net::Json& item) {
    if (!streams_.contains(key_of(item))) {
        add(item);
    }
}

void LiveMerge::add(const net::Json& item, std::string text) {
    stream::StreamKey key = key_of(item);
    if (key.name.empty()) {
        return;
    }
    const int64_t live_ms = number_in(item, "live_ms");
    const auto players = static_cast<uint64_t>(std::max<int64_t>(number_in(item, "players"), 0));
    const auto [at, is_new] = streams_.try_emplace(std::move(key));
    Entry& entry = at->second;
    if (is_new) {
        entry = {std::move(text), live_ms, players, false};
        return;
    }
    if (live_ms > entry.live_ms) {
        entry.text = std::move(text);
        entry.live_ms = live_ms;
    }
    // One of them is the relay to the other process.
    entry.players = std::max<uint64_t>(entry.players + players, 1) - 1;
    entry.several = true;
}

std::optional<std::pair<stream::StreamKey, std::string>> LiveMerge::after(
    const stream::StreamKey& key) const {
    const auto next = streams_.upper_bound(key);
    if (next == streams_.end()) {
        return std::nullopt;
    }
    const Entry& entry = next->second;
    if (!entry.several) {
        return std::pair(next->first, entry.text);
    }
    net::Json json = net::parsed(entry.text, kMaxDepth);
    json["players"] = entry.players;
    return std::pair(next->first, net::dumped(json));
}

std::optional<std::string_view> LiveLinesView::next() {
    // The head ends with the first line, the list with "]}".
    const size_t begin = rest_.find('\n');
    if (begin == std::string_view::npos) {
        return std::nullopt;
    }
    std::string_view line = rest_.substr(begin + 1);
    const size_t end = line.find('\n');
    if (end == std::string_view::npos || !line.starts_with('{')) {
        return std::nullopt;
    }
    rest_ = line.substr(end);
    line = line.substr(0, end);
    line.remove_suffix(line.ends_with(',') ? 1 : 0);
    return line;
}

net::Json LiveLinesView::health_in(std::string_view text) {
    const net::Json head =
        net::parsed(std::string(text.substr(0, text.find('\n'))) + "]}", kMaxDepth);
    const auto health = head.is_object() ? head.find("health") : head.end();
    return health != head.end() ? *health : net::Json(nullptr);
}

}  // namespace weir::app
