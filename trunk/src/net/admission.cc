#include "net/admission.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/redact.h"
#include "io/socket_address.h"
#include "io/tcp.h"
#include "net/hooks.h"
#include "net/limits.h"
#include "net/phone_lines.h"
#include "net/private_streams.h"
#include "net/source/wait.h"
#include "proto/http/access_token.h"
#include "stream/registry.h"
#include "stream/stream.h"

namespace weir::net {
namespace {

constexpr size_t kMaxReferer = 256;  // bytes that are kept of it
constexpr size_t kMaxLoggedReason = 500;
constexpr std::string_view kNotThere = "no such stream: nobody publishes it";

bool is_live(const stream::Stream* stream) {
    return stream != nullptr && stream->live();
}

}  // namespace

// ---- the order ----

Result<AdmittedPublisher> Admission::publish(const NewcomerView& who) {
    AdmittedPublisher admitted;
    if (Error refused = try_publish(who, admitted)) {
        return refuse(HookAction::kPublish, who, admitted, std::move(refused));
    }
    settle(who, admitted);
    if (admitted.client && services_.claims != nullptr) {
        admitted.client->hold(std::move(admitted.claim));
    }
    return admitted;
}

Error Admission::try_publish(const NewcomerView& who, AdmittedPublisher& out) {
    WEIR_TRY_ASSIGN(out.rules, may_publish(who));
    WEIR_TRY(take_address(who, out));
    if (who.before_hook) {
        WEIR_TRY(who.before_hook());
    }
    WEIR_TRY(check_name(who, out.rules));
    if (services_.hooks.wants(HookAction::kPublish, who.access.key)) {
        WEIR_TRY(ask(HookAction::kPublish, who, out));
        WEIR_TRY(check_again(who, out.rules));
    }
    return claim(who, out);
}

Error Admission::check_again(const NewcomerView& who, PublishRules& rules) const {
    WEIR_TRY(check_key(who));
    WEIR_TRY_ASSIGN(rules, may_publish(who));
    return check_name(who, rules);
}

// Yields. After the hooks: whoever they refuse must not take a name over from another node. A
// private stream is of this node alone.
Error Admission::claim(const NewcomerView& who, AdmittedPublisher& out) const {
    if (services_.claims == nullptr || is_private(who)) {
        return {};
    }
    const stream::StreamKey& key = who.access.key;
    WEIR_TRY(services_.claims->claim(key, out.rules.conflict));
    out.claim = ClaimPlace(*services_.claims, key);
    WEIR_TRY(check_again(who, out.rules));
    return {};
}

Result<AdmittedPlayer> Admission::play(const NewcomerView& who) {
    AdmittedPlayer admitted;
    if (Error refused = try_play(who, admitted)) {
        return refuse(HookAction::kPlay, who, admitted, std::move(refused));
    }
    settle(who, admitted);
    return admitted;
}

// A hook server may be what starts the stream, so whether it is there is asked last.
Error Admission::try_play(const NewcomerView& who, AdmittedPlayer& out) {
    WEIR_TRY_ASSIGN(out.rules, may_play(who));
    WEIR_TRY(take_address(who, out));
    WEIR_TRY_ASSIGN(out.place,
                    services_.limits.enter_player(who.access.key, out.rules.max_players));
    if (who.before_hook) {
        WEIR_TRY(who.before_hook());
    }
    if (services_.hooks.wants(HookAction::kPlay, who.access.key)) {
        WEIR_TRY(ask(HookAction::kPlay, who, out));
        WEIR_TRY(check_key(who));
        WEIR_TRY_ASSIGN(out.rules, may_play(who));
    }
    return check_name(who, out.rules);
}

// ---- its steps ----

Result<PublishRules> Admission::may_publish(const NewcomerView& who) const {
    PublishRules rules;
    if (is_private(who)) {
        WEIR_TRY(check_key_of_private(who));
        rules = services_.policy.rules_of_source(who.access.key);
    } else {
        WEIR_TRY_ASSIGN(rules, services_.policy.may_publish(who.access));
        if (!who.has_line && services_.phones != nullptr &&
            services_.phones->keeps(who.access.key)) {
            return make_error(ErrorCode::kDenied, "this name is kept for a phone line");
        }
    }
    if (who.check) {
        WEIR_TRY(who.check());
    }
    return rules;
}

Result<PlayRules> Admission::may_play(const NewcomerView& who) const {
    PlayRules rules;
    if (is_private(who)) {
        WEIR_TRY(check_key_of_private(who));
        rules = services_.policy.rules_of_forward(who.access.key);
    } else {
        WEIR_TRY_ASSIGN(rules, services_.policy.may_play(who.access));
    }
    if (who.check) {
        WEIR_TRY(who.check());
    }
    return rules;
}

bool Admission::is_private(const NewcomerView& who) const {
    return services_.private_streams != nullptr && services_.private_streams->has(who.access.key);
}

// The phone line that a private stream belongs to is its other end.
Error Admission::check_key_of_private(const NewcomerView& who) const {
    if (who.has_line || services_.private_streams->opens(who.access.key, who.access.token)) {
        return {};
    }
    services_.limits.count(who.access.token.empty() ? Refusal::kKeyMissing : Refusal::kKeyWrong);
    return make_error(ErrorCode::kDenied, "this stream is private: it has a key");
}

Error Admission::take_address(const NewcomerView& who, Admitted& out) const {
    if (who.takes_address_place) {
        WEIR_TRY_ASSIGN(out.address, services_.limits.enter(who.access.peer));
    }
    return {};
}

Error Admission::check_name(const NewcomerView& who, const PublishRules& rules) const {
    const stream::Stream* stream = services_.registry.find(who.access.key);
    return stream != nullptr ? stream->may_publish(rules.conflict) : Error();
}

// A source of this server may bring the stream: it begins now, and whoever asks waits for it.
Error Admission::check_name(const NewcomerView& who, PlayRules& rules) const {
    const stream::StreamKey& key = who.access.key;
    if (is_live(services_.registry.find(key))) {
        return {};
    }
    if (who.has_line || !who.needs_stream) {
        return {};
    }
    if (services_.registry.want(key)) {
        rules.pump.wait_publisher = std::max(rules.pump.wait_publisher, kSourceWait);
        return {};
    }
    return who.may_wait && rules.pump.wait_publisher > Millis(0)
               ? Error()
               : make_error(ErrorCode::kNotFound, "{}", kNotThere);
}

// Of a vhost that a reload has taken away: what was asked for would be another stream now.
Error Admission::check_key(const NewcomerView& who) const {
    const stream::StreamKey& key = who.access.key;
    return services_.policy.key_of(key.vhost, key.app, key.name) == key
               ? Error()
               : make_error(ErrorCode::kDenied, "vhost {} is gone: ask again",
                            log::escaped(key.vhost));
}

// Yields. The client ends while it waits by the API, or because its peer leaves.
Error Admission::ask(HookAction action, const NewcomerView& who, Admitted& out) const {
    const AccessRequest& access = who.access;
    if (who.client == nullptr) {
        make_row(who, out);
        if (who.connection != nullptr) {
            out.client->kick = [connection = who.connection] { connection->shutdown(); };
        }
    }
    const Client& client = who.client != nullptr ? *who.client : *out.client;
    const std::string param = http::query_with_token(access.query, access.token);
    const HookRequestView what{.action = action,
                               .vhost = access.key.vhost,
                               .app = access.key.app,
                               .stream = access.key.name,
                               .param = param,
                               .tc_url = who.tc_url,
                               .page_url = client.page_url};
    Result<HookTicket> ticket = services_.hooks.ask(client, what, who.connection);
    if (out.client) {
        out.client->kick = nullptr;  // the connection goes to somebody else now
    }
    WEIR_TRY_ASSIGN(out.ticket, std::move(ticket));
    return {};
}

void Admission::make_row(const NewcomerView& who, Admitted& out) const {
    const AccessRequest& access = who.access;
    out.client = std::make_unique<Client>(services_.clients, access.transport, access.peer.host());
    out.client->key = access.key;
    if (access.http != nullptr) {
        const std::string_view page = access.http->headers.get("Referer").value_or("");
        out.client->page_url = redacted_url(page.substr(0, kMaxReferer));
    }
}

void Admission::settle(const NewcomerView& who, Admitted& out) const {
    if (who.client != nullptr || (!who.begins && !out.client)) {
        return;
    }
    if (!out.client) {
        make_row(who, out);
    }
    out.client->hold(std::move(out.address));
    out.client->hold(std::move(out.place));
    out.client->turn_ticket = std::move(out.ticket);
}

Error Admission::refuse(HookAction action, const NewcomerView& who, Admitted& out, Error why) {
    if (out.ticket) {
        const Client& client = who.client != nullptr ? *who.client : *out.client;
        const bool missing = why.code() == ErrorCode::kNotFound;
        out.ticket.end(client, missing ? EndClass::kNoPublisher : EndClass::kRefused,
                       why.message());
    }
    log_refused(action, who, why);
    return why;
}

// ---- the log ----

void Admission::log_refused(HookAction action, const NewcomerView& who, const Error& why) {
    if (why.code() == ErrorCode::kClosed || why.code() == ErrorCode::kInterrupted) {
        return;
    }
    const MonoTime now = MonoClock::now();
    if (!refused_.allow(now)) {
        return;
    }
    // Who has the name is for the operator, not for the one who asked.
    const stream::Stream* holder =
        why.code() == ErrorCode::kBusy ? services_.registry.find(who.access.key) : nullptr;
    log::warn("{} refused stream={} transport={} ip={} code={}: {}{} ({} more in the last second)",
              action == HookAction::kPublish ? "publish" : "play",
              log::token(who.access.key.to_string()), who.access.transport, who.access.peer.host(),
              to_string(why.code()), log::escaped(why.message(), kMaxLoggedReason),
              holder != nullptr ? holder->describe_holder(now) : "", refused_.suppressed());
}

void begin_turn(Client& client,
                ClientRole role,
                const stream::StreamKey& key,
                std::string_view more) {
    client.role = role;
    client.key = key;
    if (client.turns++ < kToldTurns) {
        log::info_as(client.id(), "{} stream={} transport={} ip={}{}",
                     role == ClientRole::kPublisher ? "publish" : "play",
                     log::token(key.to_string()), client.transport(), client.ip(), more);
    }
}

}  // namespace weir::net
