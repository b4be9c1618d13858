// "rtmp://host:port/app/stream?token=x", "rtsp://user:password@camera/path",
// "whep+http://host/path" of a server, or "udp://239.1.1.1:5000" of a group that streams come from
// or go to: taken apart and checked. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/ts/group_address.h"
#include "proto/http/url.h"
#include "proto/http/user_info.h"
#include "proto/rtsp/url.h"

namespace weir::net {

inline constexpr size_t kMaxSourceUrlBytes = 2048;

struct SourceUrl {
    // "rtmp", "rtmps", "http", "https", "rtsp", "rtsps", "whep+http", "whep+https",
    // "udp", "rtp", "srt"; "exec" of a program, whose path are its words; "relay" of a stream whose
    // address is not known before each run
    std::string scheme;
    http::UserInfo login;  // of RTSP and WHEP
    std::string host;      // a name in lower case, or a numeric address without brackets
    uint16_t port = 0;
    // Without slashes at its ends: "live/cam", "live/cam.flv"; may be empty. Of RTSP and
    // WHEP as it was written, without the first slash: servers know their paths by each character.
    std::string path;
    std::string query;   // without '?'
    GroupAddress group;  // of "udp" and "rtp"; host and port are those of its `to`

    // kMalformed says what was expected, and holds no part of `text`, which may have a secret.
    static Result<SourceUrl> parse(std::string_view text);

    bool tls() const {
        return scheme == "rtmps" || scheme == "https" || scheme == "rtsps" ||
               scheme == "whep+https";
    }

    bool is_http() const { return scheme == "http" || scheme == "https"; }

    bool is_rtsp() const { return scheme == "rtsp" || scheme == "rtsps"; }

    // The address of a server alone, by HTTP or RTMP.
    bool is_server() const {
        return (is_http() || scheme == "rtmp" || scheme == "rtmps") && path.empty() &&
               query.empty();
    }

    // By HTTP, then WebRTC.
    bool is_whep() const { return scheme == "whep+http" || scheme == "whep+https"; }

    bool is_srt() const { return scheme == "srt"; }

    // Of SRT: its query says the stream id as it is, and the path counts for nothing.
    bool has_stream_id() const;

    // Datagrams of a transport stream, with or without RTP: nothing is connected.
    bool is_group() const { return scheme == "udp" || scheme == "rtp"; }

    // Of RTSP only.
    rtsp::Url rtsp() const;

    // Of WHEP: its endpoint, and a source whose endpoint is somewhere else (without login).
    http::Url endpoint() const;
    static SourceUrl whep_at(const http::Url& endpoint);

    // Puts "room/cam" behind the path.
    void append(std::string_view below);

    // The last part of the path, and what is in front of it: "cam" and "live". One part: the app
    // is empty.
    std::string_view last() const;
    std::string_view before_last() const;

    // "host:port": the port only where it is not that of the scheme.
    std::string authority() const;

    // "/live/cam.flv?token=x", as a request by HTTP has it.
    std::string target() const;

    // "rtmp://host/live/cam?token=x": all of it, secrets included.
    std::string full() const;

    // The same for logs and the API: without the login; instead of the query, where secrets are,
    // "?***"; and "***" for a path that names a password, as old cameras have it.
    std::string shown() const;

    // The same of the target of a forward: its stream name is hidden where there is one, since
    // services give stream keys in its place. A name with variables ("[stream]") is none.
    std::string shown_target() const;

    bool operator==(const SourceUrl&) const = default;
};

// Whether `servers` (HOST or HOST:PORT, in lower case) name the server of the URL.
bool is_one_of(std::span<const std::string> servers, const SourceUrl& url);

}  // namespace weir::net
