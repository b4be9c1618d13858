#include "config/directives.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/config_number.h"
#include "config/directive_tables.h"
#include "config/value_types.h"

namespace weir::config {

namespace {

// In the order of the documentation.
std::vector<Directive> all_directives() {
    std::vector<Directive> all;
    for (const std::span<const Directive> part :
         {core_directives(), life_directives(), tls_directives(), http_directives(),
          observe_directives(), rtc_directives(), rtsp_directives(), srt_directives(),
          sip_directives(), hls_directives(), record_directives(), vhost_directives(),
          access_directives(), hook_directives(), source_directives(), cluster_directives()}) {
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
        case kRtspServerContext: return "rtsp_server";
        case kSrtServerContext: return "srt_server";
        case kSipServerContext: return "sip_server";
        case kHlsContext: return "hls";
        case kRecordContext: return "record";
        case kClusterContext: return "cluster";
        case kHooksContext: return "http_hooks";
        case kSourceContext: return "source";
        case kSipRegisterContext: return "register";
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

bool is_secret_name(std::string_view name) {
    bool known = false;
    for (const Directive& directive : directives()) {
        const UrlSecrets urls = value_type(directive.type).urls;
        if (directive.name == name &&
            (directive.secret_from != kNoSecret ||
             (urls != UrlSecrets::kNone && directive.type != ValueType::kText))) {
            return true;
        }
        known = known || directive.name == name;
    }
    constexpr std::string_view kParts[] = {"secret", "token", "pass", "key"};
    return !known && std::ranges::any_of(kParts, [name](std::string_view part) {
        return name.find(part) != std::string_view::npos;
    });
}

}  // namespace weir::config
