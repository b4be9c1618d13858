// Policy: what the configuration says about who may do what, as the sessions ask it. Implemented by
// app/. Never yields.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/play_rules.h"
#include "stream/stream_key.h"

namespace weir {
class NetAddress;
}

namespace weir::http {
struct Request;
}

namespace weir::io {
class SocketAddress;
}

namespace weir::net {

// Somebody who wants to publish or play. Views of what the caller has.
struct AccessRequest {
    const stream::StreamKey& key;
    const io::SocketAddress& peer;
    // What the peer shows to be let in: ?key=TOKEN or ?token=TOKEN of the stream's address, or
    // `Authorization: Bearer TOKEN`; empty when it shows nothing. A secret: never in an error or
    // the log, and compared by equal_in_constant_time().
    std::string_view token = {};
    // Who has proven to be whom by login(), and LoginAnswer::scope of that; empty: nobody.
    std::string_view user = {};
    std::string_view user_scope = {};
    // Of a request that came by HTTP: to tell whether another site's page has made it.
    const http::Request* http = nullptr;
    bool secure = false;  // it came by TLS (HttpExchange::secure())
    // A literal: "rtmp", "flv", "ws-flv", "webrtc".
    const char* transport = "";
    // The query of the stream's address as it came, with its secrets; for hooks.
    std::string_view query = {};
};

// An RTMP connection that has said connect.
struct LoginRequest {
    std::string_view vhost;
    std::string_view app;
    std::string_view query;  // of app or tcUrl
    bool publishes = false;  // it looks like an encoder
    const io::SocketAddress& peer;
};

struct LoginAnswer {
    std::string user;        // who it is; empty: nobody asked
    std::string refusal;     // not empty: the connect is refused with this description
    std::string scope = {};  // where the user counts; for AccessRequest::user_scope
};

// Somebody who shows a user and a password, itself (Basic) or as a proof that it knows it (Digest).
struct PasswordRequest {
    const stream::StreamKey& key;
    bool publishes = false;
    std::string_view user;
    std::string_view password;  // as it was shown; empty: only proven
    // Whether the proof was made with this password.
    const std::function<bool(std::string_view)>& proves;
    const io::SocketAddress& peer;
};

// What that is worth: one of both, or nothing.
struct PasswordAnswer {
    std::string user;   // a user of the configuration; for AccessRequest::user
    std::string scope;  // and for AccessRequest::user_scope
    std::string token;  // the password was a key; for AccessRequest::token
};

class Policy {
  public:
    // The key under which a stream is kept: the peer's vhost mapped to a configured one (the
    // default when unknown); of app and name, slashes at the ends and doubled ones are gone, and
    // the last part is the name. "rtp/GROUP:PORT" is "udp/GROUP:PORT". An empty name stays empty:
    // the key of an app.
    virtual stream::StreamKey key_of(std::string_view vhost,
                                     std::string_view app,
                                     std::string_view name) const = 0;

    // kDenied says what is missing, and which directive would allow it.
    virtual Result<PublishRules> may_publish(const AccessRequest& request) const = 0;
    virtual Result<PlayRules> may_play(const AccessRequest& request) const = 0;

    // What holds for who is started by this server itself: its sources publish, its forwards play.
    // Nobody is asked for an address or a key.
    virtual PublishRules rules_of_source(const stream::StreamKey&) const { return {}; }

    virtual PlayRules rules_of_forward(const stream::StreamKey&) const { return {}; }

    // Whether may_play() would say yes; nobody is counted as refused. For lists. Where the request
    // shows neither token nor user, the same for all streams of a vhost and app.
    virtual bool plays_openly(const AccessRequest& request) const { return may_play(request).ok(); }

    // Whether players may make this server bring the stream from the address in its key: a group,
    // or a stream of an RTSP server. kDenied says which directive would allow it.
    virtual Error may_bring(const stream::StreamKey&) const { return {}; }

    // Servers of fast channel change that players of that stream may make this server speak to;
    // null: none.
    virtual std::function<bool(const NetAddress&)> fast_change_servers(
        const stream::StreamKey&) const {
        return nullptr;
    }

    // User and password of an RTMP publisher, by Adobe's challenge and response.
    virtual LoginAnswer login(const LoginRequest&) const { return {}; }

    // Whether who publishes or plays that stream has to show a secret, so that asking for one
    // makes sense.
    virtual bool asks_for_secret(const stream::StreamKey&, bool /*publishes*/) const {
        return false;
    }

    // The user and password that somebody shows. Who guesses is slowed down.
    virtual PasswordAnswer check_password(const PasswordRequest&) const { return {}; }

  protected:
    ~Policy() = default;
};

}  // namespace weir::net
