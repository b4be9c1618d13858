#include "proto/redis/url.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::redis {
namespace {

constexpr size_t kMaxWord = 256;  // of a user, password or master

Error wrong(std::string_view expected) {
    return make_error(ErrorCode::kMalformed, "expected {}", expected);
}

bool is_host_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool is_master_character(char c) {
    return is_host_character(c) || (c >= 'A' && c <= 'Z');
}

bool has_control(std::string_view text) {
    return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Result<Host> parse_host(std::string_view text, uint16_t port) {
    Host host;
    host.port = port;
    std::string_view rest;
    if (text.starts_with('[')) {
        const size_t end = text.find(']');
        if (end == std::string_view::npos) {
            return wrong("a ']' behind the IPv6 address");
        }
        host.name = to_lower(text.substr(1, end - 1));
        rest = text.substr(end + 1);
        if (host.name.empty() ||
            host.name.find_first_not_of("0123456789abcdef:.") != std::string::npos) {
            return wrong("an IPv6 address between the brackets");
        }
    } else {
        const size_t colon = text.find(':');
        host.name = to_lower(text.substr(0, colon));
        rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
        if (host.name.empty() || host.name.size() > 253 ||
            !std::ranges::all_of(host.name, is_host_character)) {
            return wrong("a host: a name, an IPv4 address, or an IPv6 address in brackets");
        }
    }
    if (rest.empty()) {
        return host;
    }
    const std::optional<uint64_t> number =
        rest.starts_with(':') ? parse_uint(rest.substr(1), 1, UINT16_MAX) : std::nullopt;
    if (!number) {
        return wrong("a port from 1 to 65535 behind ':'");
    }
    host.port = static_cast<uint16_t>(*number);
    return host;
}

Error parse_scheme(std::string_view scheme, Url& out) {
    out.tls = scheme.starts_with("rediss");
    const std::string_view kind = scheme.substr(std::min(scheme.size(), size_t{out.tls ? 6U : 5U}));
    if (!scheme.starts_with("redis") ||
        (!kind.empty() && kind != "+sentinel" && kind != "+cluster")) {
        return wrong("redis://, rediss://, redis+sentinel:// or redis+cluster://");
    }
    out.kind = kind == "+sentinel"  ? Kind::kSentinel
               : kind == "+cluster" ? Kind::kCluster
                                    : Kind::kSingle;
    return {};
}

Error parse_login(std::string_view login, Url& out) {
    const Halves halves = split_once(login, ':');
    if (!halves.found) {
        return wrong("USER:PASSWORD@ or :PASSWORD@ in front of the host");
    }
    out.user = url_decode(halves.before);
    out.password = url_decode(halves.after);
    if (out.user.size() > kMaxWord || out.password.size() > kMaxWord || has_control(out.user) ||
        has_control(out.password)) {
        return wrong("a user and a password of at most 256 bytes without control characters");
    }
    return {};
}

Error parse_path(std::string_view path, Url& out) {
    if (out.kind == Kind::kSentinel) {
        const Halves halves = split_once(path, '/');
        out.master = halves.before;
        path = halves.after;
        if (out.master.empty() || out.master.size() > kMaxWord ||
            !std::ranges::all_of(out.master, is_master_character)) {
            return wrong("the name of the master behind the sentinels, as in /mymaster");
        }
    }
    if (path.empty()) {
        return {};
    }
    const std::optional<uint64_t> database = parse_uint(path, 0, kMaxDatabase);
    if (!database || out.kind == Kind::kCluster) {
        return out.kind == Kind::kCluster
                   ? wrong("no database: Redis Cluster has one only")
                   : wrong(fmt::format("the number of a database, at most {}", kMaxDatabase));
    }
    out.database = static_cast<uint32_t>(*database);
    return {};
}

}  // namespace

std::string Host::to_string() const {
    const bool brackets = name.find(':') != std::string::npos;
    return brackets ? fmt::format("[{}]:{}", name, port) : fmt::format("{}:{}", name, port);
}

Result<Url> Url::parse(std::string_view text) {
    if (text.size() > kMaxUrlBytes) {
        return wrong(fmt::format("at most {} bytes", kMaxUrlBytes));
    }
    const size_t end = text.find("://");
    if (end == std::string_view::npos) {
        return wrong("redis://, rediss://, redis+sentinel:// or redis+cluster://");
    }
    Url url;
    WEIR_TRY(parse_scheme(text.substr(0, end), url));
    std::string_view rest = text.substr(end + 3);
    // A password may have any character, so the last '@' ends it.
    if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
        WEIR_TRY(parse_login(rest.substr(0, at), url));
        rest.remove_prefix(at + 1);
    }
    const Halves halves = split_once(rest, '/');
    const std::vector<std::string_view> hosts = split(halves.before, ',', kMaxHosts + 1);
    if (hosts.size() > kMaxHosts || (url.kind == Kind::kSingle && hosts.size() > 1)) {
        return url.kind == Kind::kSingle
                   ? wrong("one host; several are for redis+sentinel:// and redis+cluster://")
                   : wrong(fmt::format("at most {} hosts", kMaxHosts));
    }
    for (const std::string_view each : hosts) {
        WEIR_TRY_ASSIGN(Host host, parse_host(each, url.kind == Kind::kSentinel ? kSentinelPort
                                                                                : kDefaultPort));
        url.hosts.push_back(std::move(host));
    }
    WEIR_TRY(parse_path(halves.after, url));
    return url;
}

std::string Url::shown() const {
    std::string text = tls ? "rediss" : "redis";
    text += kind == Kind::kSentinel ? "+sentinel" : kind == Kind::kCluster ? "+cluster" : "";
    text += "://";
    for (size_t i = 0; i < hosts.size(); i++) {
        text += (i > 0 ? "," : "") + hosts[i].to_string();
    }
    if (!master.empty()) {
        text += "/" + master;
    }
    if (database > 0) {
        text += fmt::format("/{}", database);
    }
    return text;
}

}  // namespace weir::redis
