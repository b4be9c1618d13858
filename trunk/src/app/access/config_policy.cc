#include "app/access/config_policy.h"

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "base/stream_path.h"
#include "base/strings.h"
#include "config/asked_sources.h"
#include "net/trusted_proxies.h"
#include "net/ts/group_address.h"
#include "proto/http/origin.h"

namespace weir::app {
namespace {

// Without slashes at the ends and doubled ones.
std::string normal_path(std::string_view path) {
    std::string out;
    for (const std::string_view part : split(path, '/')) {
        if (!part.empty()) {
            out += out.empty() ? "" : "/";
            out += part;
        }
    }
    return out;
}

net::PumpOptions pump_options_of(const config::VhostConfig& vhost) {
    net::PumpOptions options;
    options.merge_window = vhost.play.mw_latency;
    options.queue_length = vhost.play.queue_length;
    options.queue_bytes = vhost.play.queue_size;
    options.wait_publisher = vhost.play.wait_publisher;
    options.write_stall = vhost.write_stall_timeout;
    return options;
}

stream::StreamOptions stream_options_of(const config::VhostConfig& vhost) {
    stream::StreamOptions options;
    options.gop_cap_bytes = vhost.play.gop_cache_max_size;
    options.publisher_clock = vhost.publish.publisher_clock;
    return options;
}

net::PublishRules publish_rules_of(const config::VhostConfig& vhost) {
    net::PublishRules rules;
    rules.conflict = vhost.publish_conflict;
    rules.stream = stream_options_of(vhost);
    rules.first_packet = vhost.publish.firstpkt_timeout;
    rules.silent = vhost.publish.normal_timeout;
    rules.max_bits_per_second = vhost.max_publish_bitrate;
    return rules;
}

net::PlayRules play_rules_of(const config::VhostConfig& vhost) {
    net::PlayRules rules;
    rules.max_players = vhost.max_players;
    rules.stream = stream_options_of(vhost);
    rules.pump = pump_options_of(vhost);
    rules.socket.send_buffer_bytes = static_cast<int>(vhost.send_buffer);
    return rules;
}

// For the log, where a client is refused by the rules of the vhost itself: perhaps it wants those
// of an application, whose name is written wrong. Not for the client: it may guess names.
void log_likely_application(const config::VhostConfig& section, std::string_view app) {
    static log::Throttle throttle{Millis(1'000)};
    std::vector<std::string_view> names;
    for (const config::VhostConfig& application : section.applications) {
        names.emplace_back(application.application);
    }
    const std::string_view nearest = nearest_name(app, names);
    if (!nearest.empty()) {
        log::throttled(throttle, log::Level::kInfo,
                       "there is no application {}, did its client mean {}?", log::token(app),
                       log::token(nearest));
    }
}

}  // namespace

stream::StreamKey ConfigPolicy::key_of(std::string_view vhost,
                                       std::string_view app,
                                       std::string_view name) const {
    const config::VhostConfig* found = config_.find_vhost(vhost);
    stream::StreamKey key{found ? found->name : std::string(vhost), normal_path(app),
                          normal_path(name)};
    if (const size_t slash = key.name.rfind('/'); slash != std::string::npos) {
        key.app += (key.app.empty() ? "" : "/") + key.name.substr(0, slash);
        key.name.erase(0, slash + 1);
    }
    if (net::is_rtp_group(key.app, key.name)) {
        key.app = net::kGroupApp;
    }
    return key;
}

Result<const config::VhostConfig*> ConfigPolicy::section_of(const stream::StreamKey& key) const {
    const config::VhostConfig* vhost = config_.find_vhost(key.vhost);
    if (!vhost) {
        limits_.count(net::Refusal::kVhostDisabled);
        return make_error(ErrorCode::kDenied,
                          "vhost {} is disabled; set \"enabled on;\" in its section",
                          log::escaped(key.vhost));
    }
    const config::VhostConfig* section = vhost->settings_of(key.app);
    if (section == nullptr) {
        limits_.count(net::Refusal::kVhostDisabled);
        const config::VhostConfig& application = *vhost->application_of(key.app);
        if (!application.has_spelling_of(key.app)) {
            return make_error(ErrorCode::kDenied,
                              "there is no application {}; upper and lower case differ: it is "
                              "written {}",
                              log::escaped(key.app), log::escaped(application.application));
        }
        return make_error(ErrorCode::kDenied,
                          "application {} is disabled; set \"enabled on;\" in its section",
                          log::escaped(application.application));
    }
    return section;
}

Result<const config::VhostConfig*> ConfigPolicy::admit(config::Action action,
                                                       const net::AccessRequest& request) const {
    using Kind = config::AccessRules::Verdict::Kind;
    if (request.key.app.empty() || request.key.name.empty()) {
        return make_error(ErrorCode::kDenied, "which stream? Its address is /APP/STREAM");
    }
    if (const Error wrong =
            check_stream_path(fmt::format("{}/{}", request.key.app, request.key.name))) {
        return make_error(ErrorCode::kDenied, "{}", wrong.message());
    }
    WEIR_TRY_ASSIGN(const config::VhostConfig* const vhost, section_of(request.key));
    const bool publishes = action == config::Action::kPublish;
    const bool asks = publishes ? vhost->access.asks_to_publish() : vhost->access.asks_to_play();
    const std::string host = request.peer.host();
    const std::optional<config::IpAddress> address = config::IpAddress::parse(host);
    const config::AccessRules::Verdict verdict =
        address ? vhost->security.verdict(action, *address)
                : config::AccessRules::Verdict{config::AccessRules::Verdict::Kind::kDeny, true};
    // The secret takes the place of the unwritten rules, unless the operator listed who may.
    const bool secret_is_enough =
        asks && (vhost->access.satisfy_any || !vhost->security.names_allowed(action));
    const bool address_passes =
        verdict.kind == Kind::kAllow ||
        (verdict.kind == Kind::kNone &&
         (secret_is_enough || config::AccessRules::default_allows(action, *address)));
    if (!address_passes) {
        limits_.count(net::Refusal::kAddress);
        log_likely_application(*vhost, request.key.app);
        return make_error(ErrorCode::kDenied, "{}",
                          config::refusal_text(action, host, vhost->title(), verdict.rule));
    }
    const bool address_is_enough =
        !asks || (vhost->access.satisfy_any && verdict.kind == Kind::kAllow);
    if (!address_is_enough) {
        WEIR_TRY(access_.check(*vhost, action, request));
    } else if (publishes && !(verdict.kind == Kind::kAllow && verdict.all)) {
        WEIR_TRY(check_page(*vhost, request));
    }
    return vhost;
}

// An address that may publish without a secret lends that right to every page in its browsers: only
// pages of this server may use it.
Error ConfigPolicy::check_page(const config::VhostConfig& vhost,
                               const net::AccessRequest& request) const {
    if (request.http == nullptr) {
        return {};
    }
    const std::string_view page =
        http::foreign_origin(*request.http, config_.server_names, request.secure);
    // A developer's page on another port of the machine asks over loopback, without a proxy: such a
    // peer would not be a loopback address (net::TrustedProxies).
    const bool local = request.peer.is_loopback() && !net::names_a_proxy(request.http->headers) &&
                       http::is_loopback_page(*request.http);
    if (page.empty() || local || http::is_listed_origin(page, vhost.access.allow_origins)) {
        return {};
    }
    limits_.count(net::Refusal::kOrigin);
    return make_error(
        ErrorCode::kDenied,
        "publishing without a key from a page of {} is not allowed; add \"security {{ "
        "allow_origin {}; }}\" to {}, or, if that page is this server's own, its "
        "name with server_name",
        log::escaped(page), log::escaped(page), vhost.title());
}

Error ConfigPolicy::may_bring(const stream::StreamKey& key) const {
    WEIR_TRY_ASSIGN(const config::VhostConfig* const section, section_of(key));
    return config::may_bring(*section, key);
}

std::function<bool(const NetAddress&)> ConfigPolicy::fast_change_servers(
    const stream::StreamKey& key) const {
    const auto section = section_of(key);
    if (!section.ok() || (*section)->allow_fcc.empty()) {
        return nullptr;
    }
    return [networks = (*section)->allow_fcc](const NetAddress& server) {
        const std::optional<config::IpAddress> ip = config::IpAddress::parse(server.ip_text());
        return ip && std::ranges::any_of(networks, [&](const config::IpNetwork& network) {
                   return network.contains(*ip);
               });
    };
}

net::LoginAnswer ConfigPolicy::login(const net::LoginRequest& request) const {
    const config::VhostConfig* vhost =
        config_.find_settings(request.vhost, normal_path(split_once(request.app, '?').before));
    if (!vhost || vhost->access.publish_users.empty()) {
        return {};
    }
    // Who shows a key in the address of the connection needs no login; nor does an address that is
    // enough.
    const std::vector<QueryItem> items = parse_query(request.query);
    const bool shows_key = query_value(items, "key") || query_value(items, "token");
    const std::optional<config::IpAddress> address = config::IpAddress::parse(request.peer.host());
    const bool listed = address && vhost->access.satisfy_any &&
                        vhost->security.verdict(config::Action::kPublish, *address).kind ==
                            config::AccessRules::Verdict::Kind::kAllow;
    net::LoginAnswer answer =
        access_.login(*vhost, request, request.publishes && !shows_key && !listed);
    answer.scope = vhost->section();
    return answer;
}

bool ConfigPolicy::asks_for_secret(const stream::StreamKey& key, bool publishes) const {
    const config::VhostConfig* section = config_.find_settings(key.vhost, key.app);
    return section != nullptr &&
           (publishes ? section->access.asks_to_publish() : section->access.asks_to_play());
}

net::PasswordAnswer ConfigPolicy::check_password(const net::PasswordRequest& request) const {
    const config::VhostConfig* section = config_.find_settings(request.key.vhost, request.key.app);
    return section != nullptr ? access_.check_password(*section, request) : net::PasswordAnswer();
}

Result<net::PublishRules> ConfigPolicy::may_publish(const net::AccessRequest& request) const {
    WEIR_TRY_ASSIGN(const config::VhostConfig* vhost, admit(config::Action::kPublish, request));
    return publish_rules_of(*vhost);
}

Result<net::PlayRules> ConfigPolicy::may_play(const net::AccessRequest& request) const {
    WEIR_TRY_ASSIGN(const config::VhostConfig* vhost, admit(config::Action::kPlay, request));
    return play_rules_of(*vhost);
}

net::PublishRules ConfigPolicy::rules_of_source(const stream::StreamKey& key) const {
    const config::VhostConfig* vhost = config_.find_settings(key.vhost, key.app);
    return vhost != nullptr ? publish_rules_of(*vhost) : net::PublishRules();
}

net::PlayRules ConfigPolicy::rules_of_forward(const stream::StreamKey& key) const {
    const config::VhostConfig* vhost = config_.find_settings(key.vhost, key.app);
    return vhost != nullptr ? play_rules_of(*vhost) : net::PlayRules();
}

bool ConfigPolicy::plays_openly(const net::AccessRequest& request) const {
    const net::Limits::Uncounted question(limits_);
    return may_play(request).ok();
}

std::optional<net::PumpOptions> ConfigPolicy::pump_options(const stream::StreamKey& key) const {
    const config::VhostConfig* vhost = config_.find_settings(key.vhost, key.app);
    if (vhost == nullptr || vhost->name != key.vhost) {
        return std::nullopt;
    }
    return pump_options_of(*vhost);
}

}  // namespace weir::app
