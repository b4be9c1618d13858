// What nodes write into the registry, read without trust: lengths, characters and ranges are
// checked, and where a record does not hold it is none.
//
// Peers: http
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/net_address.h"
#include "proto/cluster/names.h"
#include "proto/http/url.h"

namespace weir::cluster {

inline constexpr size_t kMaxNodeRecord = 1024;  // bytes
inline constexpr size_t kMaxStreamRecord = 256;
inline constexpr size_t kMaxRelaysRecord = 32 * 1024;
inline constexpr size_t kMaxEvent = 4096;
// Milliseconds since 1970 with 15 digits: Lua's numbers hold them exactly.
inline constexpr uint64_t kMaxEpoch = 999'999'999'999'999;

enum class NodeState : uint8_t { kServing, kDraining };

// "serving", "draining".
std::string_view to_string(NodeState state);

// A node as it says itself, once a second: "BOOT URL MACHINE STATE BUSY RATE VERSION SINCE". An
// earlier version has no SINCE; what a later one puts behind it is not looked at.
struct NodeRecord {
    std::string boot;
    std::string url;      // where others pull: "http://10.0.0.7:8080"; empty: nowhere
    std::string machine;  // as a node's name
    NodeState state = NodeState::kServing;
    uint32_t busy_permille = 0;    // of the media thread, 0 to 1000
    uint64_t bits_per_second = 0;  // sent
    std::string version;           // letters, digits, "-._+"
    uint64_t since_ms = 0;         // it was started, since 1970; 0: it does not say

    std::string write() const;
    static std::optional<NodeRecord> parse(std::string_view text);

    bool operator==(const NodeRecord&) const = default;
};

// Who publishes a stream: "NODE BOOT EPOCH SINCE". It holds while the node's lease has that boot.
struct StreamRecord {
    std::string node;
    std::string boot;
    uint64_t epoch = 0;     // 1 to kMaxEpoch
    uint64_t since_ms = 0;  // since 1970, by the clock of the registry or the node

    static std::optional<StreamRecord> parse(std::string_view text);

    bool operator==(const StreamRecord&) const = default;
};

enum class EventKind : uint8_t { kClaim, kRelease, kKick };

// The streams that a node pulls from others: "BOOT STREAM STREAM...", which counts while the node's
// lease has that boot. Views of the text; the names are not checked.
struct RelaysRecordView {
    std::string_view boot;
    std::vector<std::string_view> streams;  // stream_text(), as far as the node keeps to it

    static std::optional<RelaysRecordView> parse(std::string_view text);
};

// A hint on the channel: "claim|release|kick STREAM EPOCH NODE".
struct Event {
    EventKind kind = EventKind::kClaim;
    std::string stream;  // stream_text()
    uint64_t epoch = 0;
    std::string node;

    std::string write() const;
    static std::optional<Event> parse(std::string_view text);

    bool operator==(const Event&) const = default;
};

// Whether others may be told to connect there without the operator's word: not to loopback,
// link-local, multicast or no address at all.
bool is_reachable(const NetAddress& address);

// A URL of a node: http or https, a host, no path and no query.
std::optional<http::Url> parse_node_url(std::string_view text);

// "localhost", and what ends in ".localhost".
bool is_local_name(std::string_view host);

}  // namespace weir::cluster
