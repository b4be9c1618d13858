// What a node does at the registry, as scripts that Redis runs as a whole. Arguments and answers
// are texts and small numbers; the functions here write the ones and read the others.
//
// The rules of a claim (doc/adr/0014-cluster.md): an epoch is higher than any before it of the same
// stream, also after the registry was emptied, since it is at least the registry's clock in
// milliseconds; renewing, releasing and raising are compared with the epoch; a record holds while
// the lease of its node has the record's boot id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/cluster/records.h"
#include "proto/redis/command.h"
#include "proto/redis/reply.h"

namespace weir::cluster {

// Peers: redis http

// A script with its digest, by which Redis knows it once it has run it.
struct Script {
    std::string text;
    std::string digest;  // SHA-1 in hexadecimal
};

const Script& beat_script();
const Script& leave_script();
const Script& claim_script();
const Script& renew_script();
const Script& release_script();
const Script& lookup_script();
const Script& raise_script();

// The command that runs one by its digest, or with its text.
redis::Command run_by_digest(const Script& script, redis::Command keys_and_arguments);
redis::Command with_text(const Script& script, redis::Command by_digest);

// This node, as it stands in records.
struct NodeIdentity {
    std::string node;
    std::string boot;
};

// How long a stream's record stays without being renewed.
inline constexpr int64_t kStreamLifeMs = 60'000;

// ---- the lease of a node ----

enum class Beat : uint8_t {
    kHeld,     // it was there, and is extended
    kNew,      // there was none: the first one, it had expired, or the registry was emptied
    kForeign,  // another boot of this name has it
};

// `held`: this node has had the lease, so whoever has it now is no former boot of this node.
redis::Command beat(const NodeIdentity& self,
                    const NodeRecord& record,
                    int64_t lease_ms,
                    bool held);
std::optional<Beat> parse_beat(const redis::Reply& reply);

redis::Command leave(const NodeIdentity& self);

// No script. `record`: of RelayList; empty: there is to be none.
redis::Command say_relays(const NodeIdentity& self, std::string record, int64_t life_ms);

// ---- the record of a stream ----

// `least_epoch`: the epoch is not lower.
redis::Command claim(const NodeIdentity& self,
                     std::string_view stream,
                     bool takeover,
                     uint64_t least_epoch);
redis::Command renew(const NodeIdentity& self,
                     std::string_view stream,
                     uint64_t epoch,
                     uint64_t since_ms);
// `epoch` 0: any of this node.
redis::Command release(const NodeIdentity& self, std::string_view stream, uint64_t epoch);
redis::Command lookup(std::string_view stream);
// Raises the epoch of `record`, another node's, to at least that, where the record still stands.
redis::Command raise(std::string_view stream, const StreamRecord& record, uint64_t least_epoch);

struct ClaimAnswer {
    bool won = false;
    std::string node;    // who has it
    uint64_t epoch = 0;  // under which
};

// Of claim(), renew() and raise(). None: that is no answer of the script.
std::optional<ClaimAnswer> parse_claim(const redis::Reply& reply);

enum class Found : uint8_t {
    kNobody,
    kNode,
    kUnreadable,  // what is there is no record, or no lease of a node
};

struct LookupAnswer {
    Found found = Found::kNobody;
    StreamRecord stream;
    NodeRecord node;
};

std::optional<LookupAnswer> parse_lookup(const redis::Reply& reply);

}  // namespace weir::cluster
