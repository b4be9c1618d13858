// The commands of a connection: connect, publish, play. Each is handled once, from its check to its
// answer, and yields where a hook server has to be asked.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/redact.h"
#include "base/strings.h"
#include "net/admission.h"
#include "net/fanout.h"
#include "net/hooks.h"
#include "net/placement.h"
#include "session/rtmp/rtmp_connection.h"
#include "session/rtmp/rtmp_player.h"
#include "session/rtmp/rtmp_server.h"
#include "stream/registry.h"

namespace weir::session {
namespace {

constexpr uint32_t kMaxRefusals = 16;  // of one connection: whoever goes on is guessing

// "rtmp://host/app/stream?key=TOKEN", or ?token=TOKEN
std::string token_in(std::string_view query) {
    const std::vector<QueryItem> items = parse_query(query);
    const std::optional<std::string_view> key = query_value(items, "key");
    return std::string(key ? *key : query_value(items, "token").value_or(""));
}

// Of a refused publish or play, for the peer.
std::string_view status_of(net::HookAction action, const Error& refused) {
    if (action == net::HookAction::kPublish) {
        return refused.code() == ErrorCode::kBusy ? rtmp::status::kPublishBadName
                                                  : rtmp::status::kPublishDenied;
    }
    return refused.code() == ErrorCode::kNotFound ? rtmp::status::kPlayStreamNotFound
                                                  : rtmp::status::kPlayFailed;
}

}  // namespace

// Yields. What was answered before a hook server is asked goes out first: the peer may wait long.
Error RtmpConnection::flush_before_asking(net::HookAction action, const stream::StreamKey& key) {
    return server_.services().hooks.wants(action, key) ? flush() : Error();
}

// Yields. It is we who take that long to answer; but who asks again and again has no more time for
// it.
template <typename Question>
auto RtmpConnection::in_our_time(Question&& question) {
    const MonoTime asked_at = MonoClock::now();
    auto answer = question();
    const Micros waited = MonoClock::now() - asked_at;
    phase_since_ += waited;
    for (const auto& publish : publishes_) {
        publish->postpone(waited);
    }
    return answer;
}

RtmpConnectFacts& RtmpConnection::facts() {
    if (!facts_) {
        facts_ = std::make_unique<RtmpConnectFacts>();
    }
    return *facts_;
}

// As it came, for hooks.
std::string_view RtmpConnection::tc_url() const {
    return facts_ && !facts_->tc_url.empty() ? facts_->tc_url : client_->tc_url;
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

// ---- connect ----

// Yields.
Result<RtmpConnection::Next> RtmpConnection::handle_connect(const rtmp::ConnectRequest& request) {
    const net::Services& services = server_.services();
    const stream::StreamKey key = services.policy.key_of(request.vhost, request.app, "");
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
    WEIR_TRY(ask_to_connect(key, request));
    if (std::string scope = services.hooks.connect_scope(key); !scope.empty()) {
        facts().connect_scope = std::move(scope);
    }
    if (RtmpLine::is_one(request)) {
        if (Error failed = open_line(request)) {
            if (failed.code() == ErrorCode::kClosed || failed.code() == ErrorCode::kInterrupted) {
                return failed;
            }
            refused_ = true;
            phase_since_ = MonoClock::now();
            server_.log_rejected(*client_, failed);
            session_.reject_connect(rtmp::status::kConnectRejected, failed.message());
            return Next::kGoOn;
        }
    }
    connected_ = true;
    phase_since_ = MonoClock::now();
    session_.accept_connect();
    return Next::kGoOn;
}

// Yields. The connection becomes a telephone.
Error RtmpConnection::open_line(const rtmp::ConnectRequest& request) {
    const net::Services& services = server_.services();
    const auto key = [&](std::string_view name) {
        return services.policy.key_of(request.vhost, request.app, name);
    };
    net::PhoneLines* const lines = services.phones ? services.phones->lines() : nullptr;
    auto line = std::make_unique<RtmpLine>(session_, stream_->peer());
    WEIR_TRY(in_our_time(
        [&] { return line->open(lines, request, key("local"), key("remote"), *stream_); }));
    line_ = std::move(line);
    session_.take_calls();
    return {};
}

// Yields. A refused connect is the end of the connection.
Error RtmpConnection::ask_to_connect(const stream::StreamKey& key,
                                     const rtmp::ConnectRequest& request) {
    net::Hooks& hooks = server_.services().hooks;
    if (!hooks.wants(net::HookAction::kConnect, key)) {
        return {};
    }
    WEIR_TRY(flush());
    const net::HookRequestView what{.action = net::HookAction::kConnect,
                                    .vhost = key.vhost,
                                    .app = key.app,
                                    .stream = key.name,
                                    .param = request.query,
                                    .tc_url = tc_url(),
                                    .page_url = client_->page_url};
    Result<net::HookTicket> answer =
        in_our_time([&] { return hooks.ask(*client_, what, stream_.get()); });
    if (answer.ok()) {
        client_->connected_ticket = std::move(*answer);
        return {};
    }
    Error refused = answer.take_error();
    if (refused.code() != ErrorCode::kDenied && refused.code() != ErrorCode::kTimeout &&
        refused.code() != ErrorCode::kUnavailable) {
        return refused;  // it left, or the server stops
    }
    session_.reject_connect(rtmp::status::kConnectRejected, refused.message());
    return make_error(ErrorCode::kDenied, "{}", refused.message());
}

// ---- publish ----

// Yields.
Result<RtmpConnection::Next> RtmpConnection::handle_publish(uint32_t stream_id,
                                                            const rtmp::PublishRequest& request) {
    if (vod_) {
        session_.reject(stream_id, rtmp::status::kPublishDenied,
                        "This connection plays; publish on another one.");
        return Next::kGoOn;
    }
    told_.reset();
    const net::Services& services = server_.services();
    const stream::StreamKey key =
        services.policy.key_of(request.name.vhost, request.name.app, request.name.stream);
    const std::string token = token_in(request.name.query);
    net::NewcomerView who = newcomer(key, token, request.name.query);
    who.access.user = facts_ ? facts_->login_user : std::string_view();
    who.has_line = line_ && key == line_->local();
    who.access.user_scope = facts_ ? facts_->login_scope : std::string_view();
    WEIR_TRY(flush_before_asking(net::HookAction::kPublish, key));
    Result<net::AdmittedPublisher> admitted =
        in_our_time([&] { return server_.admission().publish(who); });
    if (!admitted.ok()) {
        return refuse(net::HookAction::kPublish, stream_id, admitted.take_error());
    }
    const MonoTime now = MonoClock::now();
    stream::Stream& target = services.registry.get_or_create(key, admitted->rules.stream, now);
    auto publish = std::make_unique<RtmpPublish>(*this, stream_id, target, admitted->rules);
    publish->ticket = std::move(admitted->ticket);
    if (Error busy = target.start_publish(*publish, admitted->rules.conflict, now)) {
        publish->ticket.end(*client_, net::EndClass::kRefused, busy.message());
        return refuse(net::HookAction::kPublish, stream_id, std::move(busy));
    }
    publish->begin(now);
    publishes_.push_back(std::move(publish));
    session_.accept_publish(stream_id);
    net::begin_turn(*client_, net::ClientRole::kPublisher, key);
    return Next::kGoOn;
}

// ---- play ----

// Yields.
Result<RtmpConnection::Next> RtmpConnection::handle_play(uint32_t stream_id,
                                                         const rtmp::PlayRequest& request,
                                                         const Unread& unread) {
    if (!publishes_.empty() && !line_) {
        session_.reject(stream_id, rtmp::status::kPlayFailed,
                        "This connection publishes; play on another one.");
        return Next::kGoOn;
    }
    stop_recording();
    if (!unsent_.empty()) {  // it may begin within a message, and a player would know nothing of it
        WEIR_TRY(flush());
    }
    const std::string whole = request.name.path();
    net::VodLibrary* const recordings = server_.services().recordings();
    if (const auto path = net::vod_path(whole);
        path && !line_ && recordings != nullptr && recordings->serves()) {
        return play_recording(stream_id, request, *path);
    }
    const stream::StreamKey key =
        server_.services().policy.key_of(request.name.vhost, request.name.app, request.name.stream);
    if (told_) {
        WEIR_TRY(flush());  // the peer has the answers to all before
        if (move_to_its_stream(key, unread)) {
            return Next::kHandedOver;
        }
    }
    const std::string token = token_in(request.name.query);
    net::NewcomerView who = newcomer(key, token, request.name.query);
    if (line_) {  // its own row is of what it publishes
        who.client = nullptr;
        who.has_line = key == line_->remote();
    }
    WEIR_TRY(flush_before_asking(net::HookAction::kPlay, key));
    Result<net::AdmittedPlayer> admitted =
        in_our_time([&] { return server_.admission().play(who); });
    if (!admitted.ok()) {
        return refuse(net::HookAction::kPlay, stream_id, admitted.take_error());
    }
    if (line_) {
        play_on_line(stream_id, std::move(*admitted));
        return Next::kGoOn;
    }
    client_->turn_ticket = std::move(admitted->ticket);
    client_->hold(std::move(admitted->place));
    net::begin_turn(*client_, net::ClientRole::kPlayer, key);
    hand_over(stream_id, request.duration_ms, admitted->rules, unread.rest());
    return Next::kHandedOver;
}

// True: another process has the connection, from its first byte on; here it is over. It has not
// played, so nobody is told.
bool RtmpConnection::move_to_its_stream(const stream::StreamKey& key, const Unread& unread) {
    const std::unique_ptr<Told> told = std::exchange(told_, nullptr);
    net::Placement& placement = *server_.services().placement;
    const std::optional<uint32_t> process = placement.better_process(key, net::PlaceBy::kLoad);
    if (!process || line_) {
        return false;
    }
    const auto last = told->bytes.begin() + static_cast<std::ptrdiff_t>(told->last);
    io::Replay replay;
    replay.answered.assign(told->bytes.begin(), last);
    replay.heard.assign(last, told->bytes.end());
    replay.heard.insert(replay.heard.end(), unread.rest().begin(), unread.rest().end());
    if (!placement.move(*process, "rtmp", *stream_, std::move(replay))) {
        return false;
    }
    log::debug("moved stream={} process={}", log::token(key.to_string()), *process);
    client_->tell_end(net::EndClass::kPeerClosed, "moved to another process");
    stream_->close();
    return true;
}

// Yields. By the rules for playing its stream, from the connection's own coroutine.
Result<RtmpConnection::Next> RtmpConnection::play_recording(uint32_t stream_id,
                                                            const rtmp::PlayRequest& request,
                                                            std::string_view path) {
    const net::Services& services = server_.services();
    net::VodLibrary& recordings = *services.recordings();
    const rtmp::StreamName& name = request.name;
    auto found = recordings.find(services.policy, name.vhost, path, name.query);
    const stream::StreamKey asked = services.policy.key_of(name.vhost, name.app, name.stream);
    const std::string token = token_in(name.query);
    if (!found.ok()) {
        server_.admission().log_refused(net::HookAction::kPlay, newcomer(asked, token, name.query),
                                        found.error());
        return refuse(net::HookAction::kPlay, stream_id, found.take_error());
    }
    const stream::StreamKey key = (*found)->key();
    net::NewcomerView who = newcomer(key, token, name.query);
    who.needs_stream = false;
    who.check = [this, &asked] { return check_connected(asked); };
    WEIR_TRY(flush_before_asking(net::HookAction::kPlay, key));
    Result<net::AdmittedPlayer> admitted =
        in_our_time([&] { return server_.admission().play(who); });
    if (!admitted.ok()) {
        return refuse(net::HookAction::kPlay, stream_id, admitted.take_error());
    }
    auto source = in_our_time([&] { return recordings.open(std::move(*found), stream_->peer()); });
    if (!source.ok()) {
        admitted->ticket.end(*client_, net::EndClass::kRefused, source.error().message());
        return refuse(net::HookAction::kPlay, stream_id, source.take_error());
    }
    client_->turn_ticket = std::move(admitted->ticket);
    client_->hold(std::move(admitted->place));
    net::begin_turn(*client_, net::ClientRole::kPlayer, key,
                    fmt::format(" recording={}", log::token(path)));
    stream_->apply(admitted->rules.socket);
    vod_ = std::make_unique<RtmpVod>(session_, stream_id, *stream_, *client_, std::move(*source),
                                     admitted->rules.pump.write_stall);
    vod_->begin(request.start_ms, request.duration_ms);
    return Next::kGoOn;
}

net::NewcomerView RtmpConnection::newcomer(const stream::StreamKey& key,
                                           std::string_view token,
                                           std::string_view query) {
    return {.access = {.key = key,
                       .peer = peer(),
                       .token = token,
                       .transport = client_->transport(),
                       .query = query},
            .tc_url = tc_url(),
            .connection = stream_.get(),
            .client = client_.get(),
            .check = [this, &key] { return check_connected(key); }};
}

// The peer hears why; or it has left, or the server stops. Each refused command may cost a
// signature or a question to a hook server, and a peer can send a thousand of them at once.
Result<RtmpConnection::Next> RtmpConnection::refuse(net::HookAction action,
                                                    uint32_t stream_id,
                                                    Error why) {
    if (why.code() == ErrorCode::kClosed || why.code() == ErrorCode::kInterrupted) {
        return why;
    }
    session_.reject(stream_id, status_of(action, why), why.message());
    // Who waits for a stream may look for it again and again.
    if (why.code() != ErrorCode::kNotFound && ++refusals_ >= kMaxRefusals) {
        return make_error(ErrorCode::kDenied, "{} commands of this connection were refused",
                          refusals_);
    }
    return Next::kGoOn;
}

// Playing goes on beside all else that the connection does, until the connection ends or wants no
// more of it.
void RtmpConnection::play_on_line(uint32_t stream_id, net::AdmittedPlayer admitted) {
    admitted.client->tc_url = client_->tc_url;
    admitted.client->encrypted = client_->encrypted;
    net::begin_turn(*admitted.client, net::ClientRole::kPlayer, admitted.client->key);
    session_.accept_play(stream_id);
    admitted.rules.pump.wait_publisher = RtmpServer::kLineWait;
    server_.services().fanout.play(admitted.rules, server_.line_format(session_.chunk_size()),
                                   std::move(stream_), line_->make_player(stream_id),
                                   std::move(admitted.client));
}

// What of it waits to be written goes out before all else, as it may end within a message.
void RtmpConnection::stop_recording() {
    if (!vod_) {
        return;
    }
    unsent_ = vod_->take_unsent();
    vod_.reset();
    client_->stop_playing();
    client_->turn_ticket.end(*client_, net::EndClass::kPeerClosed, "stopped by the client");
    phase_since_ = MonoClock::now();
}

void RtmpConnection::stop_playing() {
    stop_recording();
    if (line_ && line_->plays()) {
        stream_ = line_->stop_playing();
    }
}

// Answers that are not sent yet go with the session; the player sends them at once.
void RtmpConnection::hand_over(uint32_t stream_id,
                               int64_t duration_ms,
                               const net::PlayRules& rules,
                               ByteSpan rest) {
    client_->kick = nullptr;
    client_->probe = nullptr;
    const RtmpFormat& format =
        server_.format(session_.chunk_size(),
                       session_.takes_multitrack() ? RtmpTracks::kAll : RtmpTracks::kDefault);
    auto player = std::make_unique<RtmpPlayer>(std::move(session_), stream_id, duration_ms,
                                               Bytes(rest.begin(), rest.end()), std::move(facts_),
                                               server_.resume());
    server_.services().fanout.play(rules, format, std::move(stream_), std::move(player),
                                   std::move(client_));
}

}  // namespace weir::session
