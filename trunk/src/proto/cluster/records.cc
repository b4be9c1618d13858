#include "proto/cluster/records.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/address_reach.h"
#include "base/strings.h"

namespace weir::cluster {
namespace {

constexpr size_t kMaxVersion = 64;
constexpr size_t kMaxUrl = 512;
constexpr size_t kNodeWords = 7;  // that each version writes
constexpr std::string_view kNone = "-";
constexpr uint32_t kWholePermille = 1000;

bool is_version(std::string_view text) {
    return !text.empty() && text.size() <= kMaxVersion && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '.' || c == '_' || c == '+' || c == '~';
    });
}

std::string_view or_none(std::string_view text) {
    return text.empty() ? kNone : text;
}

}  // namespace

std::string_view to_string(NodeState state) {
    return state == NodeState::kServing ? "serving" : "draining";
}

std::string NodeRecord::write() const {
    return fmt::format("{} {} {} {} {} {} {} {}", boot, or_none(url), or_none(machine),
                       to_string(state), busy_permille, bits_per_second, or_none(version),
                       since_ms);
}

std::optional<NodeRecord> NodeRecord::parse(std::string_view text) {
    if (text.size() > kMaxNodeRecord) {
        return std::nullopt;
    }
    const std::vector<std::string_view> words = split(text, ' ', kNodeWords + 2);
    if (words.size() < kNodeWords || !is_boot_id(words[0])) {
        return std::nullopt;
    }
    NodeRecord node;
    node.boot = words[0];
    if (words[1] != kNone) {
        if (words[1].size() > kMaxUrl || !parse_node_url(words[1])) {
            return std::nullopt;
        }
        node.url = words[1];
    }
    if (words[2] != kNone) {
        if (!is_node_name(words[2])) {
            return std::nullopt;
        }
        node.machine = words[2];
    }
    const std::optional<uint64_t> busy = parse_uint(words[4], 0, kWholePermille);
    const std::optional<uint64_t> rate = parse_uint(words[5]);
    const bool draining = words[3] == to_string(NodeState::kDraining);
    if ((!draining && words[3] != to_string(NodeState::kServing)) || !busy || !rate) {
        return std::nullopt;
    }
    if (words[6] != kNone) {
        if (!is_version(words[6])) {
            return std::nullopt;
        }
        node.version = words[6];
    }
    node.state = draining ? NodeState::kDraining : NodeState::kServing;
    node.busy_permille = static_cast<uint32_t>(*busy);
    node.bits_per_second = *rate;
    if (words.size() > kNodeWords) {
        node.since_ms = parse_uint(words[kNodeWords], 0, kMaxEpoch).value_or(0);
    }
    return node;
}

std::optional<StreamRecord> StreamRecord::parse(std::string_view text) {
    if (text.size() > kMaxStreamRecord) {
        return std::nullopt;
    }
    const std::vector<std::string_view> words = split(text, ' ', 5);
    if (words.size() != 4 || !is_node_name(words[0]) || !is_boot_id(words[1])) {
        return std::nullopt;
    }
    const std::optional<uint64_t> epoch = parse_uint(words[2], 1, kMaxEpoch);
    const std::optional<uint64_t> since = parse_uint(words[3], 0, kMaxEpoch);
    if (!epoch || !since) {
        return std::nullopt;
    }
    return StreamRecord{std::string(words[0]), std::string(words[1]), *epoch, *since};
}

std::optional<RelaysRecordView> RelaysRecordView::parse(std::string_view text) {
    if (text.size() > kMaxRelaysRecord) {
        return std::nullopt;
    }
    RelaysRecordView record;
    record.streams = split(text, ' ');
    if (record.streams.empty() || !is_boot_id(record.streams.front())) {
        return std::nullopt;
    }
    record.boot = record.streams.front();
    record.streams.erase(record.streams.begin());
    return record;
}

std::string Event::write() const {
    const std::string_view word = kind == EventKind::kClaim     ? "claim"
                                  : kind == EventKind::kRelease ? "release"
                                                                : "kick";
    return fmt::format("{} {} {} {}", word, stream, epoch, node);
}

std::optional<Event> Event::parse(std::string_view text) {
    if (text.size() > kMaxEvent) {
        return std::nullopt;
    }
    const std::vector<std::string_view> words = split(text, ' ', 5);
    if (words.size() != 4 || !is_node_name(words[3]) || !parse_stream_text(words[1])) {
        return std::nullopt;
    }
    const std::optional<uint64_t> epoch = parse_uint(words[2], 1, kMaxEpoch);
    if (!epoch || (words[0] != "claim" && words[0] != "release" && words[0] != "kick")) {
        return std::nullopt;
    }
    return Event{words[0] == "claim"     ? EventKind::kClaim
                 : words[0] == "release" ? EventKind::kRelease
                                         : EventKind::kKick,
                 std::string(words[1]), *epoch, std::string(words[3])};
}

bool is_reachable(const NetAddress& address) {
    const AddressReach reach = reach_of(address);
    return reach == AddressReach::kSite || reach == AddressReach::kPublic;
}

std::optional<http::Url> parse_node_url(std::string_view text) {
    Result<http::Url> url = http::Url::parse(text);
    if (!url.ok() || url->target != "/") {
        return std::nullopt;
    }
    return std::move(*url);
}

bool is_local_name(std::string_view host) {
    if (host.ends_with('.')) {
        host.remove_suffix(1);
    }
    return host == "localhost" || host.ends_with(".localhost");
}

}  // namespace weir::cluster
