#include "proto/sip/call.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::sip {

std::optional<std::string> sdp_of(const MessageBase& message) {
    if (message.body.empty()) {
        return std::string();
    }
    const std::string_view type = message.header("Content-Type");
    const std::string_view name = http::trimmed(type.substr(0, type.find(';')));
    const bool encoded = !equals_ignore_case(
        message.headers.get("Content-Encoding").value_or("identity"), "identity");
    if (!equals_ignore_case(name, kSdpType) || encoded) {
        return std::nullopt;
    }
    return message.body;
}

void Call::emit(CallEvent event) {
    event.call = id_;
    context_.events.push_back(std::move(event));
}

// The last event. What is still under way is ended where it can be.
void Call::finish(CallEvent::Kind kind, int status, bool by_us, std::string reason) {
    if (state_ == State::kEnding) {
        return;
    }
    state_ = State::kEnding;
    session_.stop();
    answer_by_.reset();
    retry_at_.reset();
    retried_.reset();
    unpracked_.reset();
    CallEvent event;
    event.kind = kind;
    event.status = status;
    event.by_us = by_us;
    event.reason = std::move(reason);
    emit(std::move(event));
}

bool Call::send(MonoTime now, Request request, Purpose purpose, const Flow& flow) {
    if (pending_.size() >= kMaxPendingRequests) {
        return false;
    }
    Pending pending{purpose, request};
    const std::string_view method = to_string(request.method);
    http::Fields credentials;
    if (std::string value = login_.authorization(method, request.uri, context_.random);
        !value.empty()) {
        credentials.add("Authorization", std::move(value));
    }
    if (std::string value = proxy_login_.authorization(method, request.uri, context_.random);
        !value.empty()) {
        credentials.add("Proxy-Authorization", std::move(value));
    }
    for (const http::Field& field : credentials) {
        request.headers.add(field.name, field.value);
    }
    if (request.method == Method::kInvite) {
        credentials_ = std::move(credentials);
    }
    const TransactionId id =
        context_.transactions.send_request(now, std::move(request), flow, user_of_call(id_));
    if (id == 0) {
        return false;
    }
    if (purpose == Purpose::kInvite) {
        invite_ = id;
        provisional_ = false;
    }
    pending_.emplace(id, std::move(pending));
    return true;
}

// After 401 and 407. False: there is nothing to answer with, or the answer was wrong.
bool Call::send_again(MonoTime now, Pending pending, const Response& response) {
    const bool proxy = response.status == 407;
    http::Login& login = proxy ? proxy_login_ : login_;
    if (login.on_challenge(response.headers, proxy ? "Proxy-Authenticate" : "WWW-Authenticate") !=
            http::Login::Outcome::kAnswer ||
        pending.purpose == Purpose::kPrack) {
        return false;
    }
    uint32_t number = 0;
    if (pending.purpose == Purpose::kInvite) {
        number = ++invite_number_;
    } else {
        number = dialog_->local_number() + 1;
        dialog_->set_local_number(number);
    }
    pending.request.headers.set("CSeq",
                                fmt::format("{} {}", number, to_string(pending.request.method)));
    return send(now, std::move(pending.request), pending.purpose, requests_flow());
}

void Call::send_bye(MonoTime now) {
    bye_wanted_ = false;
    if (dialog_ && !proven_) {
        context_.transactions.send_once(invite_, dialog_->make_request(Method::kBye));
    } else if (dialog_) {
        login_.begin_request();
        proxy_login_.begin_request();
        send(now, dialog_->make_request(Method::kBye), Purpose::kBye, requests_flow());
    }
}

// Our tag, which every request within the dialog has, was sent to the peer's address only.
void Call::prove() {
    proven_ = true;
    context_.transactions.prove(invite_);
}

void Call::end_failed(MonoTime now, int status) {
    if (state_ == State::kEstablished) {
        hang_up_dialog(now, status);
    }
}

void Call::hang_up_dialog(MonoTime now, int status) {
    if (incoming_) {
        context_.transactions.respond(now, incoming_->transaction, incoming_->invite ? 487 : 481);
        incoming_.reset();
    }
    finish(CallEvent::Kind::kEnded, status, true);
    for (const auto& [id, pending] : pending_) {
        context_.transactions.cancel(now, id);  // only an INVITE that got a provisional answer
    }
    // RFC 3261 §15: no BYE from the one who was called before the ACK.
    if (unacked_ && unacked_->initial) {
        bye_wanted_ = true;
    } else {
        unacked_.reset();
        send_bye(now);
    }
}

bool Call::hang_up(MonoTime now) {
    switch (state_) {
        case State::kInvited:
        case State::kAccepting: return reject(now, 480, {});
        case State::kCalling: give_up(now, 487); return true;
        case State::kEstablished: hang_up_dialog(now, 0); return true;
        case State::kEnding: return false;
    }
    return false;
}

Call::Repeated Call::repeat(MonoTime now, TransactionId id, uint32_t invite) const {
    const TransactionOptions& times = context_.transactions.options();
    Repeated out;
    out.transaction = id;
    out.invite = invite;
    out.interval = times.t1;
    out.next = now + times.t1;
    out.deadline = now + times.t64();
    return out;
}

// RFC 3261 §13.3.1.4: the 2xx is sent again until the ACK comes, over TCP as well.
void Call::on_unacked(MonoTime now) {
    if (now < unacked_->deadline) {
        context_.transactions.respond_again(unacked_->transaction);
        unacked_->interval = std::min(2 * unacked_->interval, context_.transactions.options().t2);
        unacked_->next = std::min(now + unacked_->interval, unacked_->deadline);
        return;
    }
    unacked_.reset();
    if (state_ == State::kEstablished) {
        hang_up_dialog(now, 408);
    } else {
        send_bye(now);
    }
}

// Nobody answers: neither the peer of a call of ours, nor the owner.
void Call::on_answer_due(MonoTime now) {
    answer_by_.reset();
    if (state_ == State::kCalling) {
        give_up(now, 408);
    } else if (waits_for_answer()) {
        context_.transactions.respond(now, invite_, 480);
        finish(CallEvent::Kind::kCancelled, 408, true);
    }
}

void Call::add_session(Request& request, bool refresher) const {
    const auto wanted = static_cast<uint32_t>(context_.options.session_expires.count());
    const SessionExpires expires{
        std::max(wanted, min_session_),
        refresher ? SessionExpires::Refresher::kUac : SessionExpires::Refresher::kNone};
    request.headers.add("Session-Expires", expires.write());
    const auto minimum = static_cast<uint32_t>(context_.options.min_session.count());
    request.headers.add("Min-SE", fmt::format("{}", std::max(minimum, min_session_)));
}

void Call::add_capabilities(http::Fields& headers, bool request) const {
    headers.add("Allow", std::string(kAllow));
    headers.add("Supported", std::string(kSupported));
    if (!context_.options.product.empty()) {
        headers.add(request ? "User-Agent" : "Server", context_.options.product);
    }
}

void Call::on_response(MonoTime now, const TransactionEvent& event) {
    if (event.response.status != 481 && event.response.status != 408) {
        heard_ = now;
    }
    const auto at = pending_.find(event.id);
    if (event.response.status < 200) {
        if (at != pending_.end() && at->second.purpose == Purpose::kInvite) {
            on_provisional(now, event);
        } else if (at != pending_.end() && state_ == State::kEnding) {
            context_.transactions.cancel(now, event.id);
        }
        return;
    }
    if (at == pending_.end()) {
        if (event.core.cseq.method != Method::kInvite || event.response.status >= 300) {
            return;
        }
        // A 2xx once more, or one of another phone that the call was forked to.
        if (dialog_ && event.core.to.tag() == dialog_->remote_tag()) {
            if (event.core.cseq.number == ack_number_ && !ack_.empty()) {
                context_.transactions.send_bytes(ack_, requests_flow());
            }
        } else if (event.id == invite_) {
            acknowledge_fork(now, event);
        }
        return;
    }
    Pending pending = std::move(at->second);
    pending_.erase(at);
    if (pending.purpose == Purpose::kInvite) {
        on_invite_response(now, event, std::move(pending));
    } else {
        on_session_response(now, event, std::move(pending));
    }
}

void Call::on_unanswered(MonoTime now, const TransactionEvent& event) {
    const auto at = pending_.find(event.id);
    if (at == pending_.end()) {
        return;
    }
    const Purpose purpose = at->second.purpose;
    pending_.erase(at);
    const int status = event.kind == TransactionEvent::Kind::kTimeout ? 408 : 503;
    if (purpose == Purpose::kInvite) {
        finish(CallEvent::Kind::kFailed, status, false);
    } else if (purpose == Purpose::kOffer || purpose == Purpose::kRefresh) {
        end_failed(now, status);  // RFC 3261 §14.1, RFC 4028 §10
    }
}

void Call::handle_timeout(MonoTime now) {
    if (answer_by_ && *answer_by_ <= now) {
        on_answer_due(now);
    }
    if (unacked_ && unacked_->next <= now) {
        on_unacked(now);
    }
    if (unpracked_ && unpracked_->next <= now) {
        on_provisional_due(now);
    }
    if (incoming_ && incoming_->deadline <= now) {
        refuse_offer(now, 488);
    }
    if (retry_at_ && *retry_at_ <= now) {
        retry_at_.reset();
        if (!retried_) {
            refresh(now);
        } else if (!incoming_ && !unacked_) {
            send_offer(now, *std::exchange(retried_, std::nullopt), Purpose::kOffer);
        } else {
            retry_at_ = now + context_.transactions.options().t1;
        }
    }
    switch (session_.due(now)) {
        case SessionTimer::Due::kNothing: break;
        case SessionTimer::Due::kRefresh: refresh(now); break;
        case SessionTimer::Due::kExpired: end_failed(now, 408); break;
    }
}

std::optional<MonoTime> Call::next_timeout() const {
    std::optional<MonoTime> out;
    const auto take = [&](std::optional<MonoTime> at) {
        if (at && (!out || *at < *out)) {
            out = at;
        }
    };
    take(answer_by_);
    take(retry_at_);
    take(session_.next());
    take(unacked_ ? std::optional(unacked_->next) : std::nullopt);
    take(unpracked_ ? std::optional(unpracked_->next) : std::nullopt);
    take(incoming_ ? std::optional(incoming_->deadline) : std::nullopt);
    return out;
}

}  // namespace weir::sip
