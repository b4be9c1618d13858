// The table of directives: the one place that knows their names, where they may stand, what they
// take, their defaults and ranges, and what they mean. The checker, the defaults of a Config,
// doc/configuration.md and conf/full.conf come from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.h"

namespace weir::app {

// Where a directive stands; a set of bits where several are possible.
using Contexts = uint8_t;

enum Context : Contexts {
    kGlobalContext = 1,
    kHttpServerContext = 2,
    kHttpApiContext = 4,
    kVhostContext = 8,
    kSecurityContext = 16,
    kPlayContext = 32,
    kPublishContext = 64,
    kRtcServerContext = 128,
};

// "the top level", "http_server", "vhost" ...
std::string_view to_string(Context context);

enum class ValueType : uint8_t {
    kBlock,      // { ... }, without values
    kVhost,      // NAME { ... }
    kFlag,       // on|off
    kCount,      // a plain number
    kSize,       // bytes; k, m, g
    kDuration,   // ms, s, m, h
    kChoice,     // one of `choices`
    kPath,       // relative to the folder of the configuration file
    kListen,     // one or more of PORT, ADDRESS:PORT, [ADDRESS]:PORT
    kCores,      // one or more of N, N-M
    kAddress,    // one or more numeric addresses, each with or without a port
    kAccess,     // publish|play ADDRESS|CIDR|all
    kIceServer,  // stun:HOST[:PORT], or turn:HOST[:PORT][?transport=udp|tcp] USER PASSWORD
};

// A checked value, as far as its type needs it.
struct Value {
    uint64_t number = 0;   // count, bytes, milliseconds, index of the choice, 0/1 of a flag
    bool special = false;  // the directive's special word was given
    std::string text;      // path, name of a vhost
    std::vector<ListenAddress> addresses;
    AccessRule rule;
    CoreSet cores;
    std::vector<NetAddress> candidates;
    IceServerConfig ice_server;
};

// Where a checked value goes. At the top level `vhost` holds what vhosts inherit.
struct Target {
    Config& config;
    VhostConfig& vhost;
    bool first = true;  // nobody gave this directive in this block before
};

struct Directive {
    std::string_view name = {};
    Contexts contexts = kGlobalContext;
    ValueType type = ValueType::kBlock;
    Context opens = kGlobalContext;      // blocks: the context inside
    std::string_view default_text = {};  // as one would write it; empty: none
    uint64_t min = 0;                    // count, size (bytes), duration (ms)
    uint64_t max = 0;
    uint64_t unit = 1;              // durations: what a bare number counts, in ms
    std::string_view choices = {};  // "refuse|takeover"
    std::string_view special =
        {};                   // a word or number that is allowed besides the range: "auto", "0"
    bool repeatable = false;  // may be given several times in one block
    bool reloadable = true;   // a running server could apply a change without a restart
    std::string_view example = {};  // a value for the documentation, where there is no default
    std::string_view doc = {};      // one line
    void (*apply)(const Target& target, const Value& value) = nullptr;
};

std::span<const Directive> directives();

// nullptr when there is no such directive in that context.
const Directive* find_directive(std::string_view name, Context context);

// In any context.
bool is_directive_name(std::string_view name);

// "a duration from 1s to 10m", "on or off", "refuse or takeover": completes "expected ...".
std::string expectation(const Directive& directive);

}  // namespace weir::app
