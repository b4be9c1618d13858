#include "session/webrtc/whep_request.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/hmac.h"
#include "base/version.h"

namespace weir::session {
namespace {

std::string request_head(std::string_view method, const net::SourceUrl& url) {
    const http::UserInfo& who = url.login;
    std::string login;
    if (!who.user.empty()) {
        const std::string both = fmt::format("{}:{}", who.user, who.password);
        login = fmt::format("Authorization: Basic {}\r\n", base64(as_bytes(both)));
    } else if (!who.password.empty()) {
        login = fmt::format("Authorization: Bearer {}\r\n", who.password);
    }
    const http::Url to = url.endpoint();
    return fmt::format(
        "{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: Weir/{}\r\n{}Connection: close\r\n", method,
        to.target, to.authority(), kVersion, login);
}

}  // namespace

std::string whep_post(const net::SourceUrl& endpoint, std::string_view offer) {
    return fmt::format(
        "{}Accept: application/sdp\r\nContent-Type: application/sdp\r\nContent-Length: "
        "{}\r\n\r\n{}",
        request_head("POST", endpoint), offer.size(), offer);
}

std::string whep_delete(const net::SourceUrl& session) {
    return request_head("DELETE", session) + "\r\n";
}

}  // namespace weir::session
