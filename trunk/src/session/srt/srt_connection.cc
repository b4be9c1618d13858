#include "session/srt/srt_connection.h"

#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "io/deadline.h"
#include "net/limits.h"
#include "net/player_protocol.h"
#include "proto/rtmp/stream_name.h"
#include "session/srt/srt_publish.h"
#include "session/srt/srt_server.h"
#include "stream/registry.h"

namespace weir::session {
SrtConnection::SrtConnection(SrtServer& server, io::SrtNewcomer newcomer)
    : server_(server),
      peer_ip_(newcomer.peer.ip_text()),
      peer_(io::SocketAddress::of(newcomer.peer)),
      stream_id_(std::move(newcomer.stream_id)),
      link_(server.engine()) {
    link_.take(newcomer);
    link_.set_on_sample([this] { count_traffic(); });
}

SrtConnection::~SrtConnection() {
    link_.set_client(nullptr);
    if (holds_budget_) {
        server_.services().connections.give_back();
    }
}

void SrtConnection::count_traffic() {
    const io::SrtStats& now = link_.stats();
    SrtTotals& totals = server_.totals();
    const auto lost = [](const io::SrtStats& s) { return s.send_lost + s.receive_lost; };
    const auto dropped = [](const io::SrtStats& s) { return s.send_dropped + s.receive_dropped; };
    const auto add = [](uint64_t& sum, uint64_t newer, uint64_t older) {
        sum += newer > older ? newer - older : 0;
    };
    add(totals.sent_bytes, now.sent_bytes, counted_.sent_bytes);
    add(totals.received_bytes, now.received_bytes, counted_.received_bytes);
    add(totals.retransmitted, now.retransmitted, counted_.retransmitted);
    add(totals.lost, lost(now), lost(counted_));
    add(totals.dropped, dropped(now), dropped(counted_));
    counted_ = now;
}

void SrtConnection::run() {
    const Error failed = converse();
    if (client_) {
        finish(failed);
    } else if (failed && failed.code() != ErrorCode::kInterrupted &&
               failed.code() != ErrorCode::kDenied) {  // admission has said that
        server_.log_rejected(peer_ip_, failed.message());
    }
}

Error SrtConnection::converse() {
    WEIR_TRY_ASSIGN(id_, server_.rules().read(stream_id_));
    const size_t slash = id_.resource.rfind('/');
    const std::string_view path = id_.resource;
    rtmp::StreamName name;
    WEIR_TRY(rtmp::parse_path(path.substr(0, slash), path.substr(slash + 1), name));
    key_ = server_.services().policy.key_of(srt_vhost_of(id_), name.app, name.stream);
    const std::vector<QueryItem> items = parse_query(id_.query);
    const std::optional<std::string_view> key = query_value(items, "key");
    token_ = !id_.token.empty() ? id_.token
             : key              ? std::string(*key)
                                : std::string(query_value(items, "token").value_or(""));
    query_ = id_.query;
    if (!id_.token.empty()) {
        query_ += fmt::format("{}key={}", query_.empty() ? "" : "&", id_.token);
    }
    tc_url_ = fmt::format("srt://{}/{}", key_.vhost, key_.app);
    WEIR_TRY_ASSIGN(const bool publishes, decide());
    check_password(publishes);
    return publishes ? publish() : play();
}

// Yields where only time can tell.
Result<bool> SrtConnection::decide() {
    if (id_.mode != srt::StreamMode::kNone) {
        return id_.mode == srt::StreamMode::kPublish;
    }
    const stream::Stream* const stream = server_.services().registry.find(key_);
    if (stream != nullptr && stream->live()) {
        return false;
    }
    const io::Deadline deadline = io::Deadline::after(kDecide);
    while (!link_.has_held()) {
        if (link_.ended()) {
            return make_error(ErrorCode::kClosed, "{}", link_.how().detail);
        }
        const Error waited = link_.wait(deadline);
        if (waited.code() == ErrorCode::kTimeout) {
            return false;
        }
        if (waited.code() == ErrorCode::kInterrupted) {
            return make_error(ErrorCode::kInterrupted, "the server stops");
        }
    }
    return true;
}

// A user with a password may be one of the configuration; else the password is a key.
void SrtConnection::check_password(bool publishes) {
    if (id_.user.empty() || token_.empty()) {
        return;
    }
    const std::function<bool(std::string_view)> proves = [this](std::string_view password) {
        return password == token_;
    };
    net::PasswordAnswer answer = server_.services().policy.check_password(
        {key_, publishes, id_.user, token_, proves, peer_});
    user_ = std::move(answer.user);
    user_scope_ = std::move(answer.scope);
}

net::NewcomerView SrtConnection::newcomer(bool) {
    return {.access = {.key = key_,
                       .peer = peer_,
                       .token = token_,
                       .user = user_,
                       .user_scope = user_scope_,
                       .secure = link_.encrypted(),
                       .transport = "srt",
                       .query = query_},
            .tc_url = tc_url_,
            .takes_address_place = true,
            .check = [this]() -> Error {
                return link_.ended() ? make_error(ErrorCode::kClosed, "the client left") : Error();
            }};
}

void SrtConnection::begin(std::unique_ptr<net::Client> client, net::ClientRole role) {
    client_ = std::move(client);
    client_->tc_url = tc_url_;
    client_->hold(server_.services().connections);
    holds_budget_ = false;
    link_.set_client(client_.get());
    net::begin_turn(*client_, role, key_, link_.encrypted() ? " encrypted=yes" : "");
}

// ---- publishing ----

Error SrtConnection::publish() {
    const net::Services& services = server_.services();
    const net::NewcomerView who = newcomer(true);
    Result<net::AdmittedPublisher> admitted = server_.admission().publish(who);
    if (!admitted.ok()) {
        return make_error(ErrorCode::kDenied, "{}", admitted.error().message());
    }
    const MonoTime now = MonoClock::now();
    stream::Stream& stream = services.registry.get_or_create(key_, admitted->rules.stream, now);
    net::Client& client = *admitted->client;
    const auto publish = std::make_unique<SrtPublish>(link_, client, stream, admitted->rules, [&] {
        services.limits.count(net::Refusal::kPublishBitrate);
        link_.end(net::EndClass::kRefused,
                  "the publisher sends more than it may (max_publish_bitrate)");
    });
    if (Error busy = stream.start_publish(*publish, admitted->rules.conflict, now)) {
        server_.admission().log_refused(net::HookAction::kPublish, who, busy);
        client.end_quietly(net::EndClass::kRefused, busy.message());
        services.registry.release(stream);
        return make_error(ErrorCode::kDenied, "{}", busy.message());
    }
    begin(std::move(admitted->client), net::ClientRole::kPublisher);
    server_.engine().admit(link_.id(), {});
    Error ended = flow(*publish);
    link_.set_receiver(nullptr);
    log::info("unpublish stream={}", log::token(key_.to_string()));
    stream.end_publish(*publish, MonoClock::now());
    services.registry.release(stream);
    return ended;
}

Error SrtConnection::flow(SrtPublish& publish) {
    link_.set_receiver([&publish](ByteSpan data) { publish.feed(data); });
    while (!link_.ended()) {
        const Error waited = link_.wait(io::Deadline::at(publish.deadline()));
        if (waited.code() == ErrorCode::kInterrupted) {
            return make_error(ErrorCode::kInterrupted, "the server stops");
        }
        if (MonoClock::now() >= publish.deadline()) {
            link_.end(net::EndClass::kTimeout, "no media for too long");
        }
    }
    return {};
}

// ---- playing ----

Error SrtConnection::play() {
    Result<net::AdmittedPlayer> admitted = server_.admission().play(newcomer(false));
    if (!admitted.ok()) {
        return make_error(ErrorCode::kDenied, "{}", admitted.error().message());
    }
    const net::PlayRules rules = admitted->rules;
    WEIR_TRY_ASSIGN(SrtPump* const pump, server_.pump_for(key_, rules));
    begin(std::move(admitted->client), net::ClientRole::kPlayer);
    if (id_.mode == srt::StreamMode::kNone) {
        link_.set_receiver([this](ByteSpan) { end_misjudged(); });
    } else {
        link_.set_receiver(nullptr);
    }
    server_.engine().admit(link_.id(), {rules.pump.queue_bytes, rules.pump.queue_length});
    SrtPlayer player{link_, *client_, MonoClock::now()};
    pump->add(player);
    pump->stream().note_new_player();
    Error interrupted;
    while (!link_.ended() && !interrupted) {
        Error waited = link_.wait(io::Deadline::forever());  // ended by the link, or stop()
        if (waited.code() == ErrorCode::kInterrupted) {
            interrupted = std::move(waited);
        }
    }
    pump->remove(player);
    return interrupted;
}

// An encoder that came back while its old connection was still live. It calls again.
void SrtConnection::end_misjudged() {
    if (!link_.ended()) {
        constexpr std::string_view kWhy =
            "a plain stream id was taken for that of a player, but the client sends media: the "
            "stream was live when it came; publish:APP/STREAM or m=publish makes it clear";
        server_.log_rejected(peer_ip_, kWhy);
        link_.end(net::EndClass::kRefused, std::string(kWhy));
    }
}

// What published or played has ended.
void SrtConnection::finish(const Error& interrupted) {
    link_.set_client(nullptr);
    if (!link_.ended() || interrupted.code() == ErrorCode::kInterrupted) {
        client_->log_summary(net::EndClass::kStopping,
                             net::to_string(net::EndReason::kServerStopping));
    } else {
        client_->log_summary(link_.how().why, link_.how().detail);
    }
    client_.reset();
}

}  // namespace weir::session
