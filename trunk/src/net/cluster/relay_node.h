// RelayNode: this server as one of several that bring streams from each other: what its relays
// share. One per server. Never yields.
//
// Who asks this node for a stream is RelayServer's business, who brings one RelayPull's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stream/stream_key.h"

namespace weir {
class Error;
class NetAddress;
}  // namespace weir

namespace weir::net {

class Claims;
class Origins;

// Why a request of another node was refused; labels of /metrics.
enum class RelayRefusal : uint8_t {
    kUnsigned,   // no field, or none of this cluster's secret
    kMalformed,  // no field as nodes write it
    kLoop,       // the stream has come by the asking node, or over too many
    kNotHere,    // nobody publishes it here
    kEpoch,      // a newer claim than this node has was asked for
};

inline constexpr size_t kRelayRefusals = 5;

// "unsigned", "malformed", "loop", "not_here", "epoch".
std::string_view to_string(RelayRefusal refusal);

// Why a pull from another node ended; labels of /metrics.
enum class RelayEnd : uint8_t {
    kEnded,     // the stream or the connection
    kSilent,    // nothing came, or no answer
    kNotFound,  // nobody has the stream
    kLoop,      // 508
    kEpoch,     // 409: the other node has an older claim
    kRefused,   // 401, 403 and other answers
    kOther,
};

inline constexpr size_t kRelayEnds = 7;

// "ended", "silent", "not_found", "loop", "epoch", "refused", "other".
std::string_view to_string(RelayEnd end);

// What a pull that ended with this has to say.
RelayEnd relay_end(const Error& why);

struct RelayStats {
    uint64_t bytes = 0;     // that came from other nodes
    uint64_t answered = 0;  // requests of other nodes that got a stream
    std::array<uint64_t, kRelayRefusals> refused{};
    std::array<uint64_t, kRelayEnds> ended{};
};

class RelayNode {
  public:
    // Paths of requests whose pull has not begun yet, at most; then all are forgotten.
    static constexpr size_t kMaxAsked = 1'000;

    RelayNode() = default;
    RelayNode(const RelayNode&) = delete;
    RelayNode& operator=(const RelayNode&) = delete;

    // Before anything else. `secret` empty: this node signs nothing and answers nobody.
    void set_up(std::string node, std::string secret, uint32_t max_hops);

    // What processes of one server sign by, which ask each other by unix sockets alone: nobody is
    // answered for it who comes over the network.
    void set_process_secret(std::string secret) { process_secret_ = std::move(secret); }

    // Hosts under which other nodes may ask this one: lower case, without port, brackets and a dot
    // at the end. Besides them: the address to which the request came, loopback, localhost and
    // names without a dot, which no server elsewhere has. Empty: any.
    void set_names(std::vector<std::string> names) { names_ = std::move(names); }

    // Whether a request for that host (perhaps with a port) is for this node; `address`: where it
    // came in.
    bool is_called(std::string_view host, const NetAddress& address) const;

    // Where streams are pulled; must outlive this. Null: nowhere.
    void use(Origins* origins) { origins_ = origins; }

    // Whether nodes that the registry names may be at that address; empty: anywhere.
    std::function<bool(const NetAddress&)> may_connect = {};

    // Who knows the epochs of streams that are published here. Null: they have none.
    void use(const Claims* claims) { claims_ = claims; }

    // Which streams are brought for other nodes, too: those of `origin`. What a registry names is
    // had from the publisher's own node. Null: none.
    void set_passes_on(std::function<bool(const stream::StreamKey&)> passes_on) {
        passes_on_ = std::move(passes_on);
    }

    bool passes_on(const stream::StreamKey& key) const { return passes_on_ && passes_on_(key); }

    Origins* origins() const { return origins_; }

    const Claims* claims() const { return claims_; }

    const std::string& node() const { return node_; }

    // Of requests that come and go by a unix socket, or over the network. Empty: none is signed
    // there, and none is answered.
    const std::string& secret(bool by_unix_socket) const {
        return by_unix_socket && !process_secret_.empty() ? process_secret_ : secret_;
    }

    uint32_t max_hops() const { return max_hops_; }

    // ---- paths ----

    // Another node asked for a stream that has to be pulled for it: the nodes in between.
    void note_asked(const stream::StreamKey& key, std::vector<std::string> path);

    // The same, for the pull that begins: empty where it is for viewers of this node.
    std::vector<std::string> take_asked(const stream::StreamKey& key);

    // By which nodes a stream has come that is pulled here; forgotten by forget_upstream().
    void note_upstream(const stream::StreamKey& key, std::vector<std::string> path) {
        upstream_[key] = std::move(path);
    }

    void forget_upstream(const stream::StreamKey& key) { upstream_.erase(key); }

    const std::vector<std::string>& upstream(const stream::StreamKey& key) const;

    RelayStats& stats() { return stats_; }

    const RelayStats& stats() const { return stats_; }

  private:
    std::string node_;
    std::vector<std::string> names_;
    std::string secret_;          // of the cluster
    std::string process_secret_;  // empty: there is no other process
    uint32_t max_hops_ = 0;
    Origins* origins_ = nullptr;
    const Claims* claims_ = nullptr;
    std::function<bool(const stream::StreamKey&)> passes_on_;
    std::map<stream::StreamKey, std::vector<std::string>> asked_;
    std::map<stream::StreamKey, std::vector<std::string>> upstream_;  // as many as live pulls
    RelayStats stats_;
};

}  // namespace weir::net
