// The table of directives: the one place that knows their names, where they may stand, what they
// take, their defaults and ranges, and what they mean. The checker, the defaults of a Config,
// doc/configuration.md and conf/full.conf come from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_lexer.h"
#include "config/config.h"

namespace weir::config {

// Of a secret. Shorter ones are guessed.
inline constexpr size_t kMinSharedSecret = 8;
inline constexpr size_t kMaxSharedSecret = 256;

// Where a directive stands; a set of bits where several are possible.
using Contexts = uint32_t;

enum Context : Contexts {
    kGlobalContext = 1,
    kHttpServerContext = 2,
    kHttpApiContext = 4,
    kVhostContext = 8,
    kSecurityContext = 16,
    kPlayContext = 32,
    kPublishContext = 64,
    kRtcServerContext = 128,
    kApplicationContext = 256,
    kHooksContext = 1 << 13,
    kSourceContext = 1 << 14,
    kRtspServerContext = 1 << 15,
    kSrtServerContext = 1 << 16,
    kSipServerContext = 1 << 17,
    kSipRegisterContext = 1 << 18,
    kHlsContext = 1 << 19,
    kRecordContext = 1 << 20,
    kClusterContext = 1 << 21,
    kLastContext = kClusterContext,  // the highest bit
};

// Of what a stream has: the top level gives the default, a vhost changes it for its streams, and an
// application of the vhost for its own.
inline constexpr Contexts kStreamContexts = kGlobalContext | kVhostContext | kApplicationContext;

// "the top level", "http_server", "vhost" ...
std::string_view to_string(Context context);

// What each means is in value_types.h.
enum class ValueType : uint8_t {
    kBlock,         // { ... }, without values
    kVhost,         // NAME { ... }
    kApplication,   // NAME { ... }
    kFlag,          // on|off
    kCount,         // a plain number
    kSize,          // bytes; k, m, g
    kDuration,      // ms, s, m, h
    kChoice,        // one of `choices`
    kPath,          // relative to the folder of the configuration file
    kListen,        // one or more of PORT, ADDRESS:PORT, [ADDRESS]:PORT, then ssl, proxy_protocol
    kCores,         // one or more of N, N-M
    kAddress,       // one or more numeric addresses, each with or without a port
    kAccess,        // publish|play ADDRESS|CIDR|all
    kInclude,       // the path of a file, or a pattern
    kBitrate,       // bits per second; k, m, g of 1000
    kText,          // one word, or a text in quotes
    kPlace,         // a file or a URL
    kHosts,         // one or more names of hosts
    kServers,       // one or more of HOST, HOST:PORT
    kOrigins,       // one or more of SCHEME://HOST[:PORT], or *
    kFrames,        // self, none, or one or more of SCHEME://HOST[:PORT], *
    kSecret,        // one or more secrets, or file:PATH; at least `min` bytes each
    kLogin,         // NAME SECRET
    kRoleSecret,    // read|operate|admin SECRET
    kRoleLogin,     // read|operate|admin NAME SECRET
    kIceServer,     // stun:HOST[:PORT], or turn:HOST[:PORT][?transport=udp|tcp] USER PASSWORD
    kNetworks,      // one or more of ADDRESS, ADDRESS/BITS
    kUser,          // NAME [GROUP]
    kUrl,           // one or more of http://..., https://...
    kSharedSecret,  // a text that is never shown
    kSource,        // URL; or URL { ... }
    kOrigin,        // http://HOST[:PORT], https, rtmp or rtmps: no path
    kForward,       // rtmp://..., perhaps with [app] and [stream]
    kCommand,       // PROGRAM ARGUMENT ..., perhaps with $app, $name and $vhost
    kGroupOut,      // STREAM udp://GROUP:PORT
    kStreamNames,   // one or more of APP/STREAM, perhaps with [app] and [stream]
    kStreamName,    // APP/STREAM
    kDial,          // NUMBER APP/STREAM [APP/STREAM]
    kMeeting,       // NUMBER APP/STREAM
    kPortRange,     // FIRST-LAST
    kExtension,     // NUMBER USER
    kCallTargets,   // one or more of ADDRESS, ADDRESS/BITS, HOST, *.HOST
    kSipUser,       // sip:USER@HOST; or sip:USER@HOST { ... }
    kSipServers,    // one or more of HOST, HOST:PORT, a URI
    kSipDomains,    // one or more of HOST, HOST:PORT
    kOutside,       // PREFIX via USER@HOST [max_calls N] [strip N] [users NAME ...]
    kKeep,          // a time (d, h, min), a size (g, mb), or both
    kRecordName,    // {vhost}/{app}/{stream}/{time}
    kLast = kRecordName,
};

// A checked value, as far as its type needs it.
struct Value {
    uint64_t number = 0;   // count, bytes, milliseconds, index of the choice, 0/1 of a flag
    bool special = false;  // the directive's special word was given
    std::string text;      // path, name of a vhost, secret
    std::vector<ListenAddress> addresses;
    AccessRule rule;
    CoreSet cores;
    std::vector<NetAddress> candidates;
    IceServerConfig ice_server;
    std::vector<IpNetwork> networks;
    Position at;  // of the statement
    std::vector<http::Url> urls;
    net::SourceUrl source_url;
    std::vector<std::string> words;
    std::vector<SecretSource> secrets;
};

// Where a checked value goes. At the top level `vhost` holds what vhosts inherit.
struct Target {
    Config& config;
    VhostConfig& vhost;
    bool first = true;  // nobody gave this directive in this block before
};

// From where in its words a value is a secret, which is never shown.
inline constexpr uint8_t kNoSecret = UINT8_MAX;

inline constexpr std::string_view kIncludeName = "include";

// Stands for a decision that only the operator can make: a file with one in it is refused.
inline constexpr std::string_view kUnresolvedName = "unresolved";

// What a change does to a running server.
enum class Effect : uint8_t {
    kByPlace,         // in a vhost kNewConnections, elsewhere kApplied
    kApplied,         // holds for everybody from now on
    kNewConnections,  // for what begins from now on
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
    bool reloadable = true;   // a running server applies a change without a restart
    Effect effect = Effect::kByPlace;  // of that change, for the report of a reload
    uint8_t secret_from = kNoSecret;   // the first word that is a secret
    std::string_view example = {};     // a value for the documentation, where there is no default
    std::string_view doc = {};         // one line
    void (*apply)(const Target& target, const Value& value) = nullptr;
};

std::span<const Directive> directives();

// nullptr when there is no such directive in that context.
const Directive* find_directive(std::string_view name, Context context);

// In any context.
bool is_directive_name(std::string_view name);

// Whether a value of a directive of that name, in any context, may be a secret or a URL with one:
// by the rows of the tables, and by its sound where it is none of ours.
bool is_secret_name(std::string_view name);

// "a duration from 1s to 10m", "on or off", "refuse or takeover": completes "expected ...".
std::string expectation(const Directive& directive);

}  // namespace weir::config
