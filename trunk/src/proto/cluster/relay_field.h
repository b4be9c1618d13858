// The field `Weir-Relay`, by which nodes of a cluster know each other when one pulls a stream from
// another. Pure; time and randomness are parameters.
//
//   request   v=2;path=b,c;epoch=17;time=1764128638123;nonce=<32 hex digits>;mac=<64 hex digits>
//   answer    v=1;path=a;epoch=17
//
// The mac is HMAC-SHA256 by the secret of the cluster over the method, the host that is asked
// (without port), the target as it is sent (with its query, so the vhost too), and all that stands
// in front of it. It holds for kRelayLife. Nonces are not remembered: whoever gets or hears a
// request may repeat it within its life, at that host, for that one stream. Requests of older
// nodes have v=1, whose mac is not over the host, and are read, too; nothing that was signed
// as v=2 can be shown as v=1.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "proto/cluster/names.h"

namespace weir::cluster {

inline constexpr std::string_view kRelayField = "Weir-Relay";
inline constexpr size_t kMaxRelayPath = 9;         // nodes
inline constexpr size_t kMaxRelayFieldSize = 900;  // bytes
inline constexpr Millis kRelayLife{30'000};        // in both directions: clocks differ

struct RelayRequest {
    std::vector<std::string> path;  // nodes that the stream will come to, the asking one last
    uint64_t epoch = 0;             // of the claim that is asked for; 0: of any
    int64_t time_ms = 0;            // since 1970
    std::array<uint8_t, 16> nonce{};
    bool for_any_host = false;  // that was read as v=1, whose mac is not over the host

    bool operator==(const RelayRequest&) const = default;
};

struct RelayAnswer {
    std::vector<std::string> path;  // nodes that the stream came by, the answering one last
    uint64_t epoch = 0;             // of the claim by which it is published; 0: unknown

    bool operator==(const RelayAnswer&) const = default;
};

// "a.example" of "a.example:8080", "[::1]" of "[::1]:80".
std::string_view without_port(std::string_view host);

// `host`: a name or an address, perhaps with a port, which counts for nothing.
//
// The value of the field, with its mac. `path` has 1 to kMaxRelayPath names of nodes.
std::string write_relay_request(const RelayRequest& request,
                                std::string_view secret,
                                std::string_view method,
                                std::string_view host,
                                std::string_view target);

// kMalformed, or kDenied: another secret, another host or target, changed on the way, or too old;
// with a sentence for the administrator of the node that asked.
// `now_ms`: since 1970.
Result<RelayRequest> read_relay_request(std::string_view value,
                                        std::string_view secret,
                                        std::string_view method,
                                        std::string_view host,
                                        std::string_view target,
                                        int64_t now_ms);

std::string write_relay_answer(const RelayAnswer& answer);

// kMalformed.
Result<RelayAnswer> read_relay_answer(std::string_view value);

}  // namespace weir::cluster
