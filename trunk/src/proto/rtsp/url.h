// "rtsp://user:password@host:port/path?query": taken apart and checked, and the addresses of the
// tracks of a session (RFC 2326 §C.1.1). Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "proto/http/user_info.h"

namespace weir::rtsp {

inline constexpr uint16_t kRtspPort = 554;
inline constexpr uint16_t kRtspsPort = 322;  // RFC 7826 §4.2

struct Url {
    bool tls = false;      // rtsps
    http::UserInfo login;  // empty: the URL has none
    std::string host;      // a name in lower case, or a numeric address without brackets
    uint16_t port = kRtspPort;
    std::string target = "/";  // path and query, exactly as they were written

    // rtsp, rtsps, and rtspu as rtsp. kMalformed says what was expected and holds no part of
    // `text`, which may have a password. Host and characters: the rules of http::Url.
    static Result<Url> parse(std::string_view text);

    // "host:port": the port only where it is not that of the scheme.
    std::string authority() const;

    // "rtsp://host:port/path?query": for request lines. Never with the login.
    std::string full() const;

    // For the log: without login and query.
    std::string shown() const;

    bool operator==(const Url&) const = default;
};

// What a client knows after DESCRIBE. Empty: there is no such field.
struct BaseView {
    std::string_view content_base = {};
    std::string_view content_location = {};
    std::string_view session_control = {};  // a=control of the session level
};

// What a=control of a track is resolved against, and the URL for PLAY, PAUSE and TEARDOWN of all
// tracks: Content-Base, else Content-Location, else `request` (RFC 2326 §C.1.1); an absolute
// control of the session level comes first. Those that are no URLs are skipped; a scheme that
// stands twice ("rtsp://rtsp://host/") counts once. Scheme, host and port are always those of
// `request`: cameras behind NAT name their inner address, and no answer may send a client, with its
// password, to another server.
std::string base_url(const Url& request, const BaseView& base);

// The URL of a track, or of all for "*" and an empty control; the whole table of forms is in the
// tests. nullopt: the control has characters that no URL has, or the result is too long.
//
// Deviation: a relative control is put behind the base, with a '/' between them where there is
// none, and behind the query, too. RFC 3986 would replace the last part of the path, but cameras
// leave the slash out and mean it, and their servers expect "...?channel=1/trackID=1".
std::optional<std::string> resolve_control(std::string_view base, std::string_view control);

// True when an Authorization for `uri` counts for a request of `url`: the same path, or one of them
// lies below the other, since clients of live555 sign the URL of the session in SETUP of a track.
// Host and query are not compared: proxies and clients change them. "*" is only itself.
bool is_uri_for(std::string_view uri, std::string_view url);

}  // namespace weir::rtsp
