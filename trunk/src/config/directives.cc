#include "config/directives.h"

#include <fmt/format.h>

#include "base/config_number.h"
#include "config/directive_tables.h"

namespace weir::config {

namespace {

// In the order of the documentation.
std::vector<Directive> all_directives() {
    std::vector<Directive> all;
    for (const std::span<const Directive> part :
         {core_directives(), life_directives(), tls_directives(), http_directives(),
          observe_directives(), rtc_directives(), vhost_directives(), access_directives(),
          hook_directives()}) {
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

}  // namespace

Millis millis(const Value& value) {
    return Millis(static_cast<Millis::rep>(value.number));
}

void add_listeners(std::vector<ListenAddress>& list, const Target& target, const Value& value) {
    if (target.first) {
        list.clear();
    }
    list.insert(list.end(), value.addresses.begin(), value.addresses.end());
}

std::string_view to_string(Context context) {
    switch (context) {
        case kGlobalContext: return "the top level";
        case kHttpServerContext: return "http_server";
        case kHttpApiContext: return "http_api";
        case kVhostContext: return "vhost";
        case kApplicationContext: return "application";
        case kSecurityContext: return "security";
        case kPlayContext: return "play";
        case kPublishContext: return "publish";
        case kRtcServerContext: return "rtc_server";
        case kHooksContext: return "http_hooks";
    }
    return {};
}

std::span<const Directive> directives() {
    static const std::vector<Directive> all = all_directives();
    return all;
}

const Directive* find_directive(std::string_view name, Context context) {
    for (const Directive& directive : directives()) {
        if (directive.name == name && (directive.contexts & context) != 0) {
            return &directive;
        }
    }
    return nullptr;
}

bool is_directive_name(std::string_view name) {
    for (const Directive& directive : directives()) {
        if (directive.name == name) {
            return true;
        }
    }
    return false;
}

std::string expectation(const Directive& directive) {
    std::string special = directive.special.empty() ? "" : fmt::format("{} or ", directive.special);
    switch (directive.type) {
        case ValueType::kBlock: return "'{'";
        case ValueType::kVhost: return "the name of one virtual host";
        case ValueType::kApplication: return "the name of one application";
        case ValueType::kFlag: return "on or off";
        case ValueType::kCount:
            return fmt::format("{}a number from {} to {}", special, directive.min, directive.max);
        case ValueType::kSize:
            return fmt::format("{}a size from {} to {} (bytes, or with k, m or g)", special,
                               size_text(directive.min), size_text(directive.max));
        case ValueType::kDuration:
            return fmt::format(
                "{}a duration from {} to {} (with ms, s, m or h; a bare number counts {})", special,
                duration_text(directive.min), duration_text(directive.max),
                directive.unit == 1 ? "milliseconds" : "seconds");
        case ValueType::kBitrate:
            return fmt::format("{}a bit rate from {} to {} (bits per second, or with k, m or g)",
                               special, bitrate_text(directive.min), bitrate_text(directive.max));
        case ValueType::kText: return "one word";
        case ValueType::kHosts: return "names of hosts, as in media.example.org";
        case ValueType::kOrigins: return "SCHEME://HOST[:PORT], or *";
        case ValueType::kFrames: return "self, none, or SCHEME://HOST[:PORT]";
        case ValueType::kSecret:
            return directive.min > 1
                       ? fmt::format("secrets of at least {} bytes, or file:PATH", directive.min)
                       : "keys, or file:PATH";
        case ValueType::kLogin: return "a name, and a password or file:PATH";
        case ValueType::kRoleSecret: return "read or admin, and a token or file:PATH";
        case ValueType::kRoleLogin: return "read or admin, a name, and a password or file:PATH";
        case ValueType::kChoice: return either_of(directive.choices);
        case ValueType::kPath: return special + "a path";
        case ValueType::kListen: return "PORT, ADDRESS:PORT or [IPV6-ADDRESS]:PORT";
        case ValueType::kCores:
            return fmt::format("core numbers from 0 to {}, as in 1 or 0 2-3", kMaxCore);
        case ValueType::kAddress: return "numeric addresses, as in 203.0.113.7 or 203.0.113.7:8000";
        case ValueType::kAccess: return "publish or play, and an address, ADDRESS/BITS or all";
        case ValueType::kInclude: return "the path of a file, or a pattern as in conf.d/*.conf";
        case ValueType::kIceServer: return "stun:HOST, or turn:HOST USER PASSWORD";
        case ValueType::kNetworks:
            return fmt::format("{}addresses or ADDRESS/BITS, as in 10.0.0.0/8 2001:db8::1",
                               special);
        case ValueType::kUser: return "the name of a user, and of a group if it is not the user's";
        case ValueType::kUrl: return "http://HOST[:PORT][/PATH] or the same with https";
        case ValueType::kSharedSecret:
            return fmt::format("a text of {} to {} characters, or file:PATH", kMinSharedSecret,
                               kMaxSharedSecret);
    }
    return {};
}

}  // namespace weir::config
