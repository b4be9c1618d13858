#include "net/source/source_url.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/http/url.h"

namespace weir::net {
namespace {

struct Scheme {
    std::string_view name;
    std::string_view like;  // the same form with HTTP's rules
    uint16_t port;
};

constexpr std::array<Scheme, 9> kSchemes{{
    {"rtmp", "http", 1935},
    {"rtmps", "https", 443},
    {"http", "http", 80},
    {"https", "https", 443},
    {"srt", "http", 10080},
    {"rtsp", "", rtsp::kRtspPort},
    {"rtsps", "", rtsp::kRtspsPort},
    {"whep+http", "", 80},
    {"whep+https", "", 443},
}};

const Scheme* find_scheme(std::string_view name) {
    const auto found = std::ranges::find(kSchemes, name, &Scheme::name);
    return found == kSchemes.end() ? nullptr : &*found;
}

std::string trimmed_path(std::string_view path) {
    std::string out;
    for (const char c : path) {
        if (c != '/' || (!out.empty() && out.back() != '/')) {
            out += c;
        }
    }
    if (!out.empty() && out.back() == '/') {
        out.pop_back();
    }
    return out;
}

bool starts_with(std::string_view text, std::string_view scheme) {
    return equals_ignore_case(text.substr(0, scheme.size()), scheme);
}

constexpr std::string_view kWhep = "whep+";

// "whep+https://user:password@host/path". nullopt: not of that form.
std::optional<SourceUrl> parse_whep(std::string_view text) {
    text.remove_prefix(kWhep.size());
    const size_t begin = text.find("://");
    if (begin == std::string_view::npos) {
        return std::nullopt;
    }
    const size_t end = std::min(text.find_first_of("/?", begin + 3), text.size());
    const size_t at = text.substr(0, end).rfind('@');
    std::optional<http::UserInfo> login = http::UserInfo();
    std::string plain(text);
    if (at != std::string_view::npos) {
        login = http::UserInfo::parse(text.substr(begin + 3, at - begin - 3));
        plain.erase(begin + 3, at - begin - 2);
    }
    const Result<http::Url> endpoint = http::Url::parse(plain);
    if (!login || !endpoint.ok()) {
        return std::nullopt;
    }
    SourceUrl url = SourceUrl::whep_at(*endpoint);
    url.login = std::move(*login);
    return url;
}

Result<SourceUrl> parse_group(std::string_view scheme, std::string_view text) {
    WEIR_TRY_ASSIGN(GroupAddress group, GroupAddress::parse(text));
    SourceUrl url;
    url.scheme = scheme;
    url.host = group.to.ip_text();
    url.port = group.to.port();
    url.group = std::move(group);
    return url;
}

// "/user=admin_password=secret_channel=1.sdp" of cameras.
bool names_password(std::string_view path) {
    constexpr std::array<std::string_view, 3> kNames{"passw", "pwd", "pass="};
    const std::string lower = to_lower(path);
    return std::ranges::any_of(
        kNames, [&lower](std::string_view name) { return lower.find(name) != std::string::npos; });
}

// All that is not surely part of a name, as %XX.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                           (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
        out += plain ? std::string(1, c)
                     : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    return out;
}

}  // namespace

Result<SourceUrl> SourceUrl::parse(std::string_view text) {
    const auto wrong = [] {
        return make_error(ErrorCode::kMalformed,
                          "expected rtmp://HOST[:PORT]/APP/STREAM, or the same with rtmps, http or "
                          "https, without user and password; or "
                          "rtsp://[USER:PASSWORD@]HOST[:PORT]/PATH, or the same with rtsps, "
                          "whep+http or whep+https; or srt://HOST[:PORT]/APP/STREAM or "
                          "srt://HOST:PORT?streamid=ID; or udp://GROUP:PORT, or the same with rtp");
    };
    if (text.size() <= kMaxSourceUrlBytes) {
        for (const std::string_view scheme : {"udp", "rtp"}) {
            const std::string front = fmt::format("{}://", scheme);
            if (starts_with(text, front)) {
                return parse_group(scheme, text.substr(front.size()));
            }
        }
    }
    if (starts_with(text, kWhep)) {
        std::optional<SourceUrl> url = parse_whep(text);
        return url && text.size() <= kMaxSourceUrlBytes ? Result<SourceUrl>(std::move(*url))
                                                        : Result<SourceUrl>(wrong());
    }
    if (starts_with(text, "rtsp")) {
        const Result<rtsp::Url> parsed = rtsp::Url::parse(text);
        if (!parsed.ok() || text.size() > kMaxSourceUrlBytes) {
            return wrong();
        }
        SourceUrl url;
        url.scheme = parsed->tls ? "rtsps" : "rtsp";
        url.login = parsed->login;
        url.host = parsed->host;
        url.port = parsed->port;
        const Halves target = split_once(parsed->target, '?');
        url.path = target.before.substr(target.before.starts_with('/') ? 1 : 0);
        url.query = target.after;
        return url;
    }
    const size_t end = text.find("://");
    if (text.size() > kMaxSourceUrlBytes || end == std::string_view::npos) {
        return wrong();
    }
    const Scheme* const scheme = find_scheme(text.substr(0, end));
    if (scheme == nullptr || scheme->like.empty()) {
        return wrong();
    }
    // Host, port and characters: the rules of HTTP.
    const Result<http::Url> like =
        http::Url::parse(fmt::format("{}{}", scheme->like, text.substr(end)));
    if (!like.ok()) {
        return wrong();
    }
    const uint16_t like_port = scheme->like == "http" ? 80 : 443;
    const std::string_view authority =
        text.substr(end + 3, text.find_first_of("/?", end + 3) - end - 3);
    const size_t colon = authority.rfind(':');
    const bool names_port =
        colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
    SourceUrl url;
    url.scheme = scheme->name;
    url.host = like->host;
    url.port = names_port || like_port == scheme->port ? like->port : scheme->port;
    const size_t mark = like->target.find('?');
    url.path = trimmed_path(std::string_view(like->target).substr(0, mark));
    url.query = mark == std::string::npos ? "" : like->target.substr(mark + 1);
    return url;
}

bool SourceUrl::has_stream_id() const {
    return is_srt() && query_value(parse_query(query), "streamid").has_value();
}

std::string_view SourceUrl::last() const {
    const size_t slash = path.rfind('/');
    return std::string_view(path).substr(slash == std::string::npos ? 0 : slash + 1);
}

std::string_view SourceUrl::before_last() const {
    const size_t slash = path.rfind('/');
    return std::string_view(path).substr(0, slash == std::string::npos ? 0 : slash);
}

std::string SourceUrl::authority() const {
    const std::string name = host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
    const Scheme* const known = find_scheme(scheme);
    return known != nullptr && known->port == port ? name : fmt::format("{}:{}", name, port);
}

std::string SourceUrl::target() const {
    return fmt::format("/{}{}{}", path, query.empty() ? "" : "?", query);
}

std::string SourceUrl::full() const {
    if (is_group()) {
        return fmt::format("{}://{}", scheme, group.to_string());
    }
    const std::string who =
        login.empty() ? std::string()
                      : fmt::format("{}:{}@", escaped(login.user), escaped(login.password));
    return fmt::format("{}://{}{}/{}{}{}", scheme, who, authority(), path, query.empty() ? "" : "?",
                       query);
}

rtsp::Url SourceUrl::rtsp() const {
    rtsp::Url url;
    url.tls = tls();
    url.login = login;
    url.host = host;
    url.port = port;
    url.target = target();
    return url;
}

http::Url SourceUrl::endpoint() const {
    http::Url url;
    url.tls = tls();
    url.host = host;
    url.port = port;
    url.target = target();
    return url;
}

SourceUrl SourceUrl::whep_at(const http::Url& endpoint) {
    SourceUrl url;
    url.scheme = endpoint.tls ? "whep+https" : "whep+http";
    url.host = endpoint.host;
    url.port = endpoint.port;
    const Halves target = split_once(std::string_view(endpoint.target).substr(1), '?');
    url.path = target.before;
    url.query = target.after;
    return url;
}

void SourceUrl::append(std::string_view below) {
    path += path.empty() || path.ends_with('/') ? "" : "/";
    path += below;
}

std::string SourceUrl::shown_target() const {
    if (before_last().empty() || last().find('[') != std::string_view::npos) {
        return shown();
    }
    SourceUrl hidden = *this;
    hidden.path = fmt::format("{}/***", before_last());
    return hidden.shown();
}

std::string SourceUrl::shown() const {
    if (is_group()) {
        return full();
    }
    const bool hidden = (is_rtsp() || is_whep()) && names_password(path);
    return fmt::format("{}://{}/{}{}", scheme, authority(), hidden ? "***" : path,
                       query.empty() ? "" : "?***");
}

bool is_one_of(std::span<const std::string> servers, const SourceUrl& url) {
    return std::ranges::any_of(servers, [&url](const std::string& server) {
        const Halves parts = split_once(server, ':');
        return equals_ignore_case(parts.before, url.host) &&
               (!parts.found || parse_uint(parts.after) == url.port);
    });
}

}  // namespace weir::net
