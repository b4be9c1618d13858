#include "config/config_warnings.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "config/access_rules.h"

namespace weir::config {
namespace {

// "127.0.0.1:1985", "[::1]:1985".
bool is_loopback(const ListenAddress& listen) {
    const std::optional<IpAddress> address =
        IpAddress::parse(std::string_view(listen.address).substr(0, listen.address.rfind(':')));
    return address && address->is_loopback();
}

// A key that everybody can guess is none.
constexpr size_t kShortSecret = 8;

bool is_short(const SecretSource& secret) {
    return !secret.is_file && secret.text.size() < kShortSecret;
}

bool any_short(const std::vector<SecretSource>& secrets) {
    for (const SecretSource& secret : secrets) {
        if (is_short(secret)) {
            return true;
        }
    }
    return false;
}

void warn_of_vhost(const VhostConfig& vhost, std::vector<std::string>& out) {
    bool short_password = false;
    for (const LoginConfig& user : vhost.access.publish_users) {
        short_password = short_password || is_short(user.password);
    }
    if (any_short(vhost.access.publish_keys) || any_short(vhost.access.play_keys) ||
        short_password) {
        out.push_back(
            fmt::format("{}: a key or password has fewer than {} characters and can be guessed",
                        vhost.title(), kShortSecret));
    }
    if (!vhost.access.publish_users.empty() &&
        (!vhost.access.publish_keys.empty() || vhost.access.jwt_for_publish())) {
        out.push_back(fmt::format(
            "{} has users and keys for publishing: an encoder without user and password must "
            "put its key into the address of the server (rtmp://HOST/APP?key=KEY), not only behind "
            "the stream's name",
            vhost.title()));
    }
    for (const VhostConfig& application : vhost.applications) {
        if (application.access != vhost.access) {
            warn_of_vhost(application, out);
        }
    }
}

// `outer`: what an application says the same as has been warned of.
void warn_of_hls(const VhostConfig& section,
                 const VhostConfig* outer,
                 std::vector<std::string>& out) {
    const auto useless = [](const VhostConfig& of) {
        return std::pair(of.hls.path.empty() && of.hls.dvr > Millis(0),
                         of.hls.path.empty() && of.http_hooks.has(net::HookAction::kHls));
    };
    const auto [dvr, hook] = useless(section);
    const auto [outer_dvr, outer_hook] =
        outer != nullptr ? useless(*outer) : std::pair(false, false);
    if (dvr && !outer_dvr) {
        out.push_back(
            fmt::format("{}: hls {{ dvr; }} does nothing without a folder: add \"hls {{ "
                        "path DIR; }}\"",
                        section.title()));
    }
    if (hook && !outer_hook) {
        out.push_back(
            fmt::format("{}: on_hls is never told, as segments stay in memory: add \"hls "
                        "{{ path DIR; }}\"",
                        section.title()));
    }
    for (const VhostConfig& application : section.applications) {
        warn_of_hls(application, &section, out);
    }
}

void warn_of_record(const VhostConfig& section,
                    const VhostConfig* outer,
                    std::vector<std::string>& out) {
    const auto useless = [](const VhostConfig& of) {
        return of.record.enabled && of.record.path.empty();
    };
    if (useless(section) && (outer == nullptr || !useless(*outer))) {
        out.push_back(
            fmt::format("{}: record {{ enabled on; }} does nothing without a folder: add \"record "
                        "{{ path DIR; }}\"",
                        section.title()));
    }
    for (const VhostConfig& application : section.applications) {
        warn_of_record(application, &section, out);
    }
}

}  // namespace

std::vector<std::string> config_warnings(const Config& config) {
    std::vector<std::string> out;
    const ApiAccessConfig& api = config.http_api.access;
    for (const ListenAddress& listen : config.http_api.listen) {
        if (config.http_api.enabled && !api.asks() && !is_loopback(listen)) {
            out.push_back(fmt::format(
                "the HTTP API listens on {} ({}) and asks nobody for a login: whoever reaches it "
                "can end every stream; add \"http_api {{ token admin TOKEN; }}\" or listen on "
                "127.0.0.1",
                listen.address, listen.origin));
        }
    }
    bool short_login = false;
    for (const ApiTokenConfig& token : api.tokens) {
        short_login = short_login || is_short(token.token);
    }
    for (const ApiUserConfig& user : api.users) {
        short_login = short_login || is_short(user.login.password);
    }
    if (short_login) {
        out.push_back(fmt::format(
            "http_api: a token or password has fewer than {} characters and can be guessed",
            kShortSecret));
    }
    const ClusterConfig& cluster = config.cluster;
    if (cluster.enabled && !cluster.registry.empty() && cluster.advertise.empty()) {
        out.emplace_back(
            "cluster: registry without advertise: the other nodes cannot play what is published "
            "here; add \"cluster { advertise http://HOST:PORT; }\", where they reach http_server "
            "of "
            "this one");
    }
    for (const VhostConfig& vhost : config.vhosts) {
        warn_of_vhost(vhost, out);
        warn_of_hls(vhost, nullptr, out);
        warn_of_record(vhost, nullptr, out);
    }
    for (const SipOutsideConfig& each : config.sip_server.outside) {
        const bool known = std::ranges::any_of(
            config.sip_server.registrations,
            [&](const SipRegisterConfig& one) { return one.user + "@" + one.domain == each.via; });
        if (!known) {
            out.push_back(
                fmt::format("sip_server: outside {} goes via {}, which no line of register names: "
                            "such calls get 480",
                            each.prefix, each.via));
        }
    }
    return out;
}

}  // namespace weir::config
