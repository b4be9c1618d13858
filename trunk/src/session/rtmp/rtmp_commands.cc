// The commands of a connection: connect, publish, play; what the policy, the limits and the hook
// servers say to them.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/redact.h"
#include "base/strings.h"
#include "session/rtmp/rtmp_connection.h"
#include "session/rtmp/rtmp_player.h"
#include "session/rtmp/rtmp_server.h"

namespace weir::session {
namespace {

constexpr uint32_t kMaxRefusals = 16;  // of one connection: whoever goes on is guessing

// "rtmp://host/app/stream?key=TOKEN", or ?token=TOKEN
std::string token_in(std::string_view query) {
    const std::vector<QueryItem> items = parse_query(query);
    const std::optional<std::string_view> key = query_value(items, "key");
    return std::string(key ? *key : query_value(items, "token").value_or(""));
}

}  // namespace

// Each refused command may cost a signature or a question to a hook server, and a peer can send a
// thousand of them at once.
Result<RtmpConnection::Next> RtmpConnection::reject(uint32_t stream_id,
                                                    std::string_view status,
                                                    std::string_view why) {
    session_.reject(stream_id, status, why);
    if (++refusals_ >= kMaxRefusals) {
        return make_error(ErrorCode::kDenied, "{} commands of this connection were refused",
                          refusals_);
    }
    return Next::kGoOn;
}

// ---- hooks ----

// Whether hook servers have to be asked before this is done. They are asked last: what is refused
// anyway is no event.
bool RtmpConnection::has_to_ask(net::HookAction action,
                                const stream::StreamKey& key,
                                rtmp::Event& event,
                                ByteSpan rest) {
    if (answered_ != nullptr || !server_.services().hooks.wants(action, key)) {
        return false;
    }
    asked_ = std::make_unique<Asked>();
    asked_->event = std::move(event);
    asked_->rest.assign(rest.begin(), rest.end());
    return true;
}

// Yields.
void RtmpConnection::ask() {
    const net::Services& services = server_.services();
    rtmp::Event& event = asked_->event;
    stream::StreamKey key;
    net::HookRequestView what;
    if (event.kind == rtmp::EventKind::kConnect) {
        const rtmp::ConnectRequest& request = event.connect();
        key = services.policy.key_of(request.vhost, request.app, "");
        what.action = net::HookAction::kConnect;
        what.param = request.query;
    } else {
        const bool publishes = event.kind == rtmp::EventKind::kPublish;
        const rtmp::StreamName& name = publishes ? event.publish().name : event.play().name;
        key = services.policy.key_of(name.vhost, name.app, name.stream);
        what.action = publishes ? net::HookAction::kPublish : net::HookAction::kPlay;
        what.param = name.query;
    }
    what.vhost = key.vhost;
    what.app = key.app;
    what.stream = key.name;
    what.tc_url = facts_ && !facts_->tc_url.empty() ? facts_->tc_url : client_->tc_url;
    what.page_url = client_->page_url;
    asked_->answer = services.hooks.ask(*client_, what, stream_.get());
}

RtmpConnectFacts& RtmpConnection::facts() {
    if (!facts_) {
        facts_ = std::make_unique<RtmpConnectFacts>();
    }
    return *facts_;
}

// on_connect was asked about another app or vhost than that of the stream. A client without stream
// names connects to the whole path, so that is what was asked about.
Error RtmpConnection::check_connected(const stream::StreamKey& key) const {
    const net::Hooks& hooks = server_.services().hooks;
    const std::string scope = hooks.connect_scope({key.vhost, key.app, std::string()});
    const std::string_view connected = facts_ ? facts_->connect_scope : std::string_view();
    if (scope.empty() || connected == scope ||
        (!connected.empty() &&
         connected == hooks.connect_scope({key.vhost, key.app + "/" + key.name, std::string()}))) {
        return {};
    }
    return make_error(ErrorCode::kDenied,
                      "this connection was let in to another application or vhost: connect to "
                      "rtmp://{}/{}",
                      key.vhost == stream::kDefaultVhost ? "HOST" : log::escaped(key.vhost),
                      log::escaped(key.app));
}

// Of the command that was asked for; success when it was allowed, or nobody was asked.
Error RtmpConnection::take_refusal() {
    return answered_ == nullptr || answered_->answer.ok() ? Error()
                                                          : answered_->answer.take_error();
}

Result<RtmpConnection::Next> RtmpConnection::handle_connect(rtmp::Event& event, ByteSpan rest) {
    const net::Services& services = server_.services();
    const rtmp::ConnectRequest& request = event.connect();
    const stream::StreamKey key = services.policy.key_of(request.vhost, request.app, "");
    if (answered_ == nullptr) {
        client_->tc_url = redacted_url(request.tc_url);
        client_->page_url = redacted_url(request.page_url);
        net::LoginAnswer login = services.policy.login(
            {request.vhost, request.app, request.query, request.publishes, stream_->peer()});
        if (!login.refusal.empty()) {
            // The peer reads it, ends the connection and comes back with an answer.
            refused_ = true;
            phase_since_ = MonoClock::now();
            session_.reject_connect(rtmp::status::kConnectRejected, login.refusal);
            return Next::kGoOn;
        }
        if (!login.user.empty()) {
            facts().login_user = std::move(login.user);
            facts().login_scope = std::move(login.scope);
        }
        if (services.hooks.wants(net::HookAction::kConnect, key) ||
            services.hooks.wants(net::HookAction::kPublish, key) ||
            services.hooks.wants(net::HookAction::kPlay, key)) {
            facts().tc_url = request.tc_url;
        }
    }
    if (has_to_ask(net::HookAction::kConnect, key, event, rest)) {
        return Next::kAsk;
    }
    if (Error refused = take_refusal()) {
        session_.reject_connect(rtmp::status::kConnectRejected, refused.message());
        return make_error(ErrorCode::kDenied, "{}", refused.message());
    }
    if (answered_ != nullptr) {
        client_->connected_ticket = std::move(*answered_->answer);
    }
    if (std::string scope = services.hooks.connect_scope(key); !scope.empty()) {
        facts().connect_scope = std::move(scope);
    }
    connected_ = true;
    phase_since_ = MonoClock::now();
    session_.accept_connect();
    return Next::kGoOn;
}

Result<RtmpConnection::Next> RtmpConnection::handle_publish(rtmp::Event& event, ByteSpan rest) {
    const net::Services& services = server_.services();
    const uint32_t stream_id = event.stream_id;
    const rtmp::PublishRequest& request = event.publish();
    const stream::StreamKey key =
        services.policy.key_of(request.name.vhost, request.name.app, request.name.stream);
    const MonoTime now = MonoClock::now();
    const std::string token = token_in(request.name.query);
    Result<net::PublishRules> rules = services.policy.may_publish(
        {.key = key,
         .peer = stream_->peer(),
         .token = token,
         .user = facts_ ? facts_->login_user : std::string_view(),
         .user_scope = facts_ ? facts_->login_scope : std::string_view(),
         .transport = "rtmp",
         .query = request.name.query});
    if (rules.ok()) {
        if (Error elsewhere = check_connected(key)) {
            rules = std::move(elsewhere);
        }
    }
    if (!rules.ok()) {
        server_.log_refused("publish", key, *client_, rules.error());
        return reject(stream_id, rtmp::status::kPublishDenied, rules.error().message());
    }
    const stream::Stream* holder = services.registry.find(key);
    const bool busy_now =
        holder != nullptr && holder->live() && rules->conflict == stream::PublishConflict::kRefuse;
    if (!busy_now && has_to_ask(net::HookAction::kPublish, key, event, rest)) {
        return Next::kAsk;
    }
    if (Error refused = take_refusal()) {
        server_.log_refused("publish", key, *client_, refused);
        return reject(stream_id, rtmp::status::kPublishDenied, refused.message());
    }
    stream::Stream& target = services.registry.get_or_create(key, rules->stream, now);
    auto publish = std::make_unique<RtmpPublish>(*this, stream_id, target, *rules);
    if (answered_ != nullptr) {
        publish->ticket = std::move(*answered_->answer);
    }
    if (Error busy = target.start_publish(*publish, rules->conflict, now)) {
        server_.log_refused("publish", key, *client_, busy, target.describe_holder(now));
        // Two asked, the other one was faster.
        publish->ticket.end(*client_, net::EndClass::kRefused, busy.message());
        return reject(stream_id, rtmp::status::kPublishBadName, busy.message());
    }
    publish->begin(now);
    publishes_.push_back(std::move(publish));
    client_->role = net::ClientRole::kPublisher;
    client_->key = key;
    session_.accept_publish(stream_id);
    if (client_->turns++ < kToldTurns) {
        log::info("publish stream={} ip={}", log::token(key.to_string()), client_->ip());
    }
    return Next::kGoOn;
}

Result<RtmpConnection::Next> RtmpConnection::handle_play(rtmp::Event& event, ByteSpan rest) {
    const net::Services& services = server_.services();
    const uint32_t stream_id = event.stream_id;
    const rtmp::PlayRequest& request = event.play();
    if (!publishes_.empty()) {
        session_.reject(stream_id, rtmp::status::kPlayFailed,
                        "This connection publishes; play on another one.");
        return Next::kGoOn;
    }
    const stream::StreamKey key =
        services.policy.key_of(request.name.vhost, request.name.app, request.name.stream);
    const std::string token = token_in(request.name.query);
    Result<net::PlayRules> rules = services.policy.may_play({.key = key,
                                                             .peer = stream_->peer(),
                                                             .token = token,
                                                             .transport = "rtmp",
                                                             .query = request.name.query});
    if (rules.ok()) {
        if (Error elsewhere = check_connected(key)) {
            rules = std::move(elsewhere);
        }
    }
    if (!rules.ok()) {
        server_.log_refused("play", key, *client_, rules.error());
        return reject(stream_id, rtmp::status::kPlayFailed, rules.error().message());
    }
    Result<net::Limits::PlayerPlace> place = services.limits.enter_player(key, rules->max_players);
    if (!place.ok()) {
        server_.log_refused("play", key, *client_, place.error());
        return reject(stream_id, rtmp::status::kPlayFailed, place.error().message());
    }
    if (has_to_ask(net::HookAction::kPlay, key, event, rest)) {
        return Next::kAsk;
    }
    if (Error refused = take_refusal()) {
        server_.log_refused("play", key, *client_, refused);
        return reject(stream_id, rtmp::status::kPlayFailed, refused.message());
    }
    if (answered_ != nullptr) {
        client_->turn_ticket = std::move(*answered_->answer);
    }
    const stream::Stream* target = services.registry.find(key);
    if (rules->pump.wait_publisher == Millis(0) && !(target && target->live())) {
        session_.reject(stream_id, rtmp::status::kPlayStreamNotFound,
                        "No such stream: nobody publishes it.");
        client_->turn_ticket.end(*client_, net::EndClass::kNoPublisher,
                                 "no such stream: nobody publishes it");
        return Next::kGoOn;
    }
    client_->hold(std::move(*place));
    client_->role = net::ClientRole::kPlayer;
    client_->key = key;
    if (client_->turns++ < kToldTurns) {
        log::info("play stream={} ip={}", log::token(key.to_string()), client_->ip());
    }
    hand_over(stream_id, request.duration_ms, *rules, rest);
    return Next::kHandedOver;
}

// Answers that are not sent yet go with the session; the player sends them at once.
void RtmpConnection::hand_over(uint32_t stream_id,
                               int64_t duration_ms,
                               const net::PlayRules& rules,
                               ByteSpan rest) {
    client_->kick = nullptr;
    client_->probe = nullptr;
    const RtmpFormat& format = server_.format(session_.chunk_size());
    auto player = std::make_unique<RtmpPlayer>(std::move(session_), stream_id, duration_ms,
                                               Bytes(rest.begin(), rest.end()), std::move(facts_),
                                               server_.resume());
    server_.services().fanout.play(rules, format, std::move(stream_), std::move(player),
                                   std::move(client_));
}

}  // namespace weir::session
