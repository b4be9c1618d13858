#include "app/access/access_control.h"

#include <functional>
#include <utility>

#include "app/access/jwt.h"
#include "base/clock.h"
#include "base/hmac.h"
#include "base/log.h"
#include "base/random.h"
#include "io/socket_address.h"

namespace weir::app {
namespace {

constexpr int64_t kMillisPerSecond = 1000;

const VhostSecrets& secrets_of(const AccessData& data, const config::VhostConfig& vhost) {
    static const VhostSecrets none;  // of a vhost that is newer than the data: nobody gets in
    const VhostSecrets* found = data.find(vhost.section());
    return found != nullptr ? *found : none;
}

// What would let a peer in, to a peer that showed nothing.
std::string what_is_asked(const config::AccessConfig& access, config::Action action) {
    const bool publishes = action == config::Action::kPublish;
    const bool key = publishes ? !access.publish_keys.empty() : !access.play_keys.empty();
    const bool jwt = publishes ? access.jwt_for_publish() : access.jwt_for_play();
    std::string text;
    if (key || jwt) {
        text = fmt::format("a {}: ?key={} behind the stream's name, or Authorization: Bearer",
                           key && jwt ? "key or token"
                           : key      ? "key"
                                      : "token",
                           key ? "KEY" : "TOKEN");
    }
    if (publishes && !access.publish_users.empty()) {
        text += text.empty() ? "" : "; or ";
        text += "a user and a password (RTMP, RTSP)";
    }
    return text;
}

// By user, so that an encoder with an old password keeps no other one behind its router out.
NetAddress guesser_of(const io::SocketAddress& peer, std::string_view user) {
    const auto mark = static_cast<uint16_t>(std::hash<std::string_view>()(user));
    return net::limited_address(peer).with_port(mark);
}

}  // namespace

bool is_one_of(std::string_view shown, const std::vector<std::string>& secrets) {
    bool found = false;
    for (const std::string& secret : secrets) {
        found = equal_in_constant_time(as_bytes(shown), as_bytes(secret)) || found;
    }
    return found;
}

AccessControl::AccessControl(net::Limits& limits)
    : limits_(limits), data_(std::make_shared<const AccessData>()), adobe_(system_random()) {}

Error AccessControl::refuse(net::Refusal reason, std::string text) const {
    limits_.count(reason);
    return Error::make(ErrorCode::kDenied, std::move(text));
}

Error AccessControl::check(const config::VhostConfig& vhost,
                           config::Action action,
                           const net::AccessRequest& request) const {
    const VhostSecrets& secrets = secrets_of(*data_, vhost);
    const bool publishes = action == config::Action::kPublish;
    if (publishes && !request.user.empty() && request.user_scope == vhost.section()) {
        for (const UserSecrets& user : secrets.publish_users) {
            if (user.name == request.user) {
                return {};
            }
        }
    }
    if (request.token.empty()) {
        return refuse(net::Refusal::kKeyMissing, fmt::format("{}ing needs {}", to_string(action),
                                                             what_is_asked(vhost.access, action)));
    }
    if (is_one_of(request.token, publishes ? secrets.publish_keys : secrets.play_keys)) {
        return {};
    }
    const bool jwt = publishes ? vhost.access.jwt_for_publish() : vhost.access.jwt_for_play();
    if (!jwt || !looks_like_jwt(request.token)) {
        return refuse(net::Refusal::kKeyWrong,
                      fmt::format("the {} is wrong", jwt ? "token (or key)" : "key"));
    }
    JwtQuestion question;
    question.action = action;
    question.vhost = request.key.vhost;
    question.app = request.key.app;
    question.stream = request.key.name;
    const std::string ip = request.peer.host();
    question.ip = ip;
    question.audience = vhost.access.jwt_audience;
    question.now_s = wall_time_ms() / kMillisPerSecond;
    if (Error wrong = check_jwt(request.token, secrets.jwt_keys, question)) {
        return refuse(net::Refusal::kToken,
                      fmt::format("the token is refused: {}", wrong.message()));
    }
    return {};
}

net::LoginAnswer AccessControl::login(const config::VhostConfig& vhost,
                                      const net::LoginRequest& request,
                                      bool asked) {
    const rtmp::AdobeQueryView query = rtmp::AdobeQueryView::parse(request.query);
    if (query.authmod.empty()) {
        return {{}, asked ? rtmp::adobe_need_auth() : ""};
    }
    if (query.authmod != "adobe") {
        return {{}, asked ? rtmp::adobe_need_auth() : ""};
    }
    const std::string peer = request.peer.host();
    const int64_t now_ms = wall_time_ms();
    const auto failed = [&]() -> net::LoginAnswer {
        log_login_refused(query.user, peer, vhost);
        return {{}, rtmp::adobe_failed()};
    };
    if (!rtmp::AdobeAuthenticator::is_user_name(query.user)) {
        return failed();
    }
    if (query.response.empty()) {
        return {{}, adobe_.challenge(query.user, peer, now_ms).description(query.user)};
    }
    const NetAddress guesser = guesser_of(request.peer, query.user);
    const MonoTime now = MonoClock::now();
    if (login_failures_.wait_for(guesser, kLoginFailures, now) > Millis(0)) {
        return failed();
    }
    std::vector<std::string> passwords;
    for (const UserSecrets& user : secrets_of(*data_, vhost).publish_users) {
        if (user.name == query.user) {
            passwords.insert(passwords.end(), user.passwords.begin(), user.passwords.end());
        }
    }
    switch (adobe_.check(query, peer, passwords, now_ms)) {
        case rtmp::AdobeAuthenticator::Verdict::kGood: return {std::string(query.user), {}};
        case rtmp::AdobeAuthenticator::Verdict::kStale:
            return {{}, adobe_.challenge(query.user, peer, now_ms).description(query.user)};
        case rtmp::AdobeAuthenticator::Verdict::kWrong: break;
    }
    (void)login_failures_.take(guesser, kLoginFailures, now);
    return failed();
}

net::PasswordAnswer AccessControl::check_password(const config::VhostConfig& vhost,
                                                  const net::PasswordRequest& request) {
    const NetAddress guesser = guesser_of(request.peer, request.user);
    const MonoTime now = MonoClock::now();
    const std::string ip = request.peer.host();
    if (login_failures_.wait_for(guesser, kLoginFailures, now) > Millis(0)) {
        log_login_refused(request.user, ip, vhost);
        return {};
    }
    const VhostSecrets& secrets = secrets_of(*data_, vhost);
    net::PasswordAnswer answer;
    if (request.publishes) {
        for (const UserSecrets& user : secrets.publish_users) {
            for (const std::string& password : user.passwords) {
                if (user.name == request.user && request.proves(password)) {
                    answer.user = user.name;
                    answer.scope = vhost.section();
                }
            }
        }
    }
    for (const std::string& key : request.publishes ? secrets.publish_keys : secrets.play_keys) {
        if (request.proves(key)) {
            answer.token = key;
        }
    }
    const bool jwt =
        request.publishes ? vhost.access.jwt_for_publish() : vhost.access.jwt_for_play();
    if (answer.user.empty() && answer.token.empty() && jwt && looks_like_jwt(request.password)) {
        answer.token = request.password;
    }
    if (answer.user.empty() && answer.token.empty()) {
        (void)login_failures_.take(guesser, kLoginFailures, now);
        log_login_refused(request.user, ip, vhost);
    }
    return answer;
}

void AccessControl::log_login_refused(std::string_view user,
                                      const std::string& ip,
                                      const config::VhostConfig& vhost) const {
    limits_.count(net::Refusal::kLogin);
    if (log_.allow(MonoClock::now())) {
        log::warn(
            "login refused user={} ip={} vhost={}: wrong user or password ({} more in the last "
            "second)",
            log::escaped(user), ip, log::token(vhost.section()), log_.suppressed());
    }
}

void AccessControl::refresh(const config::Config& config, io::WorkerPool& workers) {
    const std::shared_ptr<const AccessData> before = data_;
    if (before->files.empty()) {
        return;
    }
    // A copy: the configuration may be replaced while the worker reads.
    const auto copy = std::make_unique<const config::Config>(config);
    bool stale = false;
    Result<std::shared_ptr<const AccessData>> loaded = before;
    const Error refused = workers.run([&] {
        stale = before->is_stale();
        if (stale) {
            loaded = AccessData::load(*copy);
        }
    });
    if (refused || !stale || data_ != before) {
        return;
    }
    if (!loaded.ok()) {
        if (told_ != loaded.error().message()) {
            told_ = loaded.error().message();
            log::error("secrets stay as they were: {}", log::escaped(told_, 500));
        }
        return;
    }
    told_.clear();
    data_ = std::move(*loaded);
    log::info("secrets were read again: a file has changed");
}

}  // namespace weir::app
