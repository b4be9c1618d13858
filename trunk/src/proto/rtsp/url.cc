#include "proto/rtsp/url.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "proto/http/url.h"

namespace weir::rtsp {
namespace {

// The length of "rtsp://", "rtsps://" or "rtspu://" in any letter case; 0: it is none of them.
size_t scheme_size(std::string_view text) {
    for (const std::string_view scheme : {"rtsp://", "rtsps://", "rtspu://"}) {
        if (equals_ignore_case(text.substr(0, scheme.size()), scheme)) {
            return scheme.size();
        }
    }
    return 0;
}

// The same of what cameras write: "rtsp://rtsp://host/" has one twice.
size_t schemes_size(std::string_view text) {
    size_t size = 0;
    for (size_t more = scheme_size(text); more > 0; more = scheme_size(text.substr(size))) {
        size += more;
    }
    return size;
}

// Of an absolute URL: path and query. Of anything else: itself.
std::string_view target_of(std::string_view text) {
    const size_t scheme = schemes_size(text);
    return scheme == 0 ? text
                       : text.substr(std::min(text.find_first_of("/?", scheme), text.size()));
}

std::string_view path_of(std::string_view text) {
    std::string_view target = target_of(text);
    target = target.substr(0, target.find('?'));
    while (target.ends_with('/')) {
        target.remove_suffix(1);
    }
    return target;
}

// "/a" of "/a/b?c", for "does this path begin as that one does".
std::string_view first_part(std::string_view path) {
    const size_t end = path.find_first_of("/?", 1);
    return path.substr(0, end);
}

bool is_url_text(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

bool has_port(std::string_view authority) {
    const size_t colon = authority.rfind(':');
    return colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
    const auto wrong = [](std::string_view why) {
        return make_error(ErrorCode::kMalformed,
                          "expected rtsp://[USER:PASSWORD@]HOST[:PORT][/PATH], or the same with "
                          "rtsps{}",
                          why);
    };
    const size_t scheme = scheme_size(text);
    if (scheme == 0) {
        return wrong("");
    }
    if (text.size() > http::kMaxUrlBytes) {
        return wrong(fmt::format(", {} bytes at most", http::kMaxUrlBytes));
    }
    Url url;
    url.tls = scheme == std::string_view("rtsps://").size() && (text[4] == 's' || text[4] == 'S');
    std::string_view rest = text.substr(scheme);
    const size_t end = std::min(rest.find_first_of("/?"), rest.size());
    // Passwords may hold '@' as it is; a host never does.
    if (const size_t at = rest.substr(0, end).rfind('@'); at != std::string_view::npos) {
        const std::optional<http::UserInfo> login = http::UserInfo::parse(rest.substr(0, at));
        if (!login) {
            return wrong(", with special characters of USER and PASSWORD as %XX");
        }
        url.login = *login;
        rest.remove_prefix(at + 1);
    }
    // Host, port and characters: the rules of HTTP, whose default port never counts here.
    const size_t host_end = std::min(rest.find_first_of("/?"), rest.size());
    const bool names_port = has_port(rest.substr(0, host_end));
    Result<http::Url> like = http::Url::parse(fmt::format("http://{}", rest));
    if (!like.ok()) {
        return wrong(", with special characters as %XX");
    }
    url.host = std::move(like->host);
    url.port = names_port ? like->port : url.tls ? kRtspsPort : kRtspPort;
    url.target = std::move(like->target);
    return url;
}

std::string Url::authority() const {
    const std::string name = host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
    return port == (tls ? kRtspsPort : kRtspPort) ? name : fmt::format("{}:{}", name, port);
}

std::string Url::full() const {
    return fmt::format("{}://{}{}", tls ? "rtsps" : "rtsp", authority(), target);
}

std::string Url::shown() const {
    const size_t mark = target.find('?');
    return fmt::format("{}://{}{}{}", tls ? "rtsps" : "rtsp", authority(), target.substr(0, mark),
                       mark == std::string::npos ? "" : "?***");
}

std::string base_url(const Url& request, const BaseView& base) {
    const auto use = [&](std::string_view text, bool only_absolute) -> std::optional<std::string> {
        text = trim(text);
        const size_t scheme = schemes_size(text);
        const bool absolute = scheme > 0 && scheme < text.size();
        const bool usable = absolute || (!only_absolute && text.starts_with('/'));
        if (!usable || !is_url_text(text) || text.size() > http::kMaxUrlBytes) {
            return std::nullopt;
        }
        Url url = request;
        url.target = target_of(text);
        if (!url.target.starts_with('/')) {
            url.target.insert(0, "/");
        }
        return url.full();
    };
    if (auto url = use(base.session_control, true)) {
        return *url;
    }
    if (auto url = use(base.content_base, false)) {
        return *url;
    }
    if (auto url = use(base.content_location, false)) {
        return *url;
    }
    return request.full();
}

std::optional<std::string> resolve_control(std::string_view base, std::string_view control) {
    control = trim(control);
    if (!is_url_text(control) || base.size() + control.size() > http::kMaxUrlBytes) {
        return std::nullopt;
    }
    const size_t scheme = scheme_size(base);
    const size_t root = std::min(base.find_first_of("/?", scheme), base.size());
    std::string out(base);
    if (control.empty() || control == "*") {
        return out;
    }
    const bool absolute = scheme_size(control) > 0;
    // "/live/cam/track1" for the base ".../live/cam" is a path from the root, as RFC 3986 has it;
    // "/track1" is meant as a part behind the base.
    const bool from_root =
        control.starts_with('/') && first_part(control) == first_part(base.substr(root));
    if (absolute || from_root) {
        // Scheme and host stay those of the base, for the reasons that base_url() has.
        out = base.substr(0, root);
        const std::string_view target = target_of(control);
        out += target.starts_with('/') ? "" : "/";
        out += target;
        return out;
    }
    if (control.starts_with('?')) {
        out += control;
        return out;
    }
    if (out.ends_with('/') && control.starts_with('/')) {
        out.pop_back();
    } else if (!out.ends_with('/') && !control.starts_with('/')) {
        out += '/';
    }
    out += control;
    return out;
}

bool is_uri_for(std::string_view uri, std::string_view url) {
    if (uri == "*" || url == "*") {
        return uri == url;
    }
    std::string_view longer = path_of(uri);
    std::string_view shorter = path_of(url);
    if (longer.size() < shorter.size()) {
        std::swap(longer, shorter);
    }
    return longer.starts_with(shorter) &&
           (longer.size() == shorter.size() || (!shorter.empty() && longer[shorter.size()] == '/'));
}

}  // namespace weir::rtsp
