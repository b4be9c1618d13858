// What happens within an answered call: offers of both sides, refreshes, INFO, BYE.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "proto/sip/call.h"

namespace weir::sip {
namespace {

// RFC 3261 §14.1: the one who has made the Call-ID waits longer.
Millis glare_pause(RandomSource& random, bool caller) {
    std::array<uint8_t, 2> bytes{};
    random.fill(bytes);
    ByteReader reader(bytes);
    const uint32_t number = reader.u16();
    return caller ? Millis(2100 + 10 * (number % 191)) : Millis(10 * (number % 201));
}

}  // namespace

bool Call::on_request(MonoTime now, const TransactionEvent& event) {
    if (!dialog_ || dialog_->remote_tag() != event.core.from.tag()) {
        return false;
    }
    prove();
    if (event.flow.remote.same_ip(flow_.remote)) {  // else it knows the call, and forges an address
        context_.transactions.prove(event.id);
    }
    heard_ = now;
    if (!dialog_->on_request(event.core)) {
        respond_simple(now, event, 500);
        return true;
    }
    const Method method = event.request.method;
    if (method == Method::kBye) {
        on_bye(now, event);
        return true;
    }
    if (state_ == State::kEnding) {
        return false;
    }
    switch (method) {
        case Method::kInvite: on_reinvite(now, event); break;
        case Method::kUpdate: on_update(now, event); break;
        case Method::kInfo: on_info(now, event); break;
        case Method::kPrack: on_prack(now, event); break;
        case Method::kOptions: respond_simple(now, event, 200); break;
        case Method::kRefer: respond_simple(now, event, 603); break;
        case Method::kNotify:
        case Method::kSubscribe: respond_simple(now, event, 489); break;
        default: respond_simple(now, event, 405); break;
    }
    return true;
}

void Call::respond_simple(MonoTime now, const TransactionEvent& event, int status) {
    Response response = context_.transactions.make_response(event.id, status);
    if (status == 405 || event.request.method == Method::kOptions) {
        add_capabilities(response.headers, false);
        response.headers.add("Accept", std::string(kSdpType));
    } else if (status == 415) {
        response.headers.add("Accept", std::string(kSdpType));
    } else if (status == 500) {
        response.headers.add("Retry-After", "2");
    } else if (status == 422) {
        response.headers.add("Min-SE", fmt::format("{}", context_.options.min_session.count()));
    }
    context_.transactions.respond(now, event.id, response);
}

void Call::on_bye(MonoTime now, const TransactionEvent& event) {
    respond_simple(now, event, 200);
    if (incoming_) {
        context_.transactions.respond(now, incoming_->transaction, 487);
        incoming_.reset();
    }
    unacked_.reset();
    bye_wanted_ = false;
    std::string reason(event.request.header("Reason"));
    if (waits_for_answer()) {
        context_.transactions.respond(now, invite_, 487);  // RFC 3261 §15.1.2
        finish(CallEvent::Kind::kCancelled, 487, false, std::move(reason));
    } else if (state_ == State::kEstablished) {
        finish(CallEvent::Kind::kEnded, 0, false, std::move(reason));
    }
}

void Call::on_info(MonoTime now, const TransactionEvent& event) {
    respond_simple(now, event, 200);
    CallEvent info;
    info.kind = CallEvent::Kind::kInfo;
    info.type = event.request.header("Content-Type");
    info.body = event.request.body;
    emit(std::move(info));
}

bool Call::has_pending(Purpose purpose) const {
    return std::ranges::any_of(pending_,
                               [&](const auto& each) { return each.second.purpose == purpose; });
}

// RFC 3261 §14.2: an offer that meets another one gets 491, one that comes too early 500.
void Call::on_reinvite(MonoTime now, const TransactionEvent& event) {
    std::optional<std::string> sdp = sdp_of(event.request);
    if (waits_for_answer() || unacked_ || incoming_) {
        respond_simple(now, event, 500);
    } else if (state_ == State::kCalling || has_pending(Purpose::kOffer) ||
               has_pending(Purpose::kRefresh)) {
        respond_simple(now, event, 491);
    } else if (!sdp) {
        respond_simple(now, event, 415);
    } else {
        take_offer(now, event, std::move(*sdp));
    }
}

void Call::on_update(MonoTime now, const TransactionEvent& event) {
    std::optional<std::string> sdp = sdp_of(event.request);
    if (!sdp) {
        respond_simple(now, event, 415);
    } else if (!sdp->empty() && (state_ != State::kEstablished || incoming_)) {
        respond_simple(now, event, 500);
    } else if (!sdp->empty() && (has_pending(Purpose::kOffer) || has_pending(Purpose::kRefresh))) {
        respond_simple(now, event, 491);
    } else if (!sdp->empty()) {
        take_offer(now, event, std::move(*sdp));
    } else {
        const SessionAnswer session = answer_session(
            event.request.headers, context_.options.session_expires, context_.options.min_session);
        if (session.too_small) {
            respond_simple(now, event, 422);
            return;
        }
        dialog_->refresh_target(event.request);
        respond_ok(now, event.id, {}, session);
    }
}

void Call::take_offer(MonoTime now, const TransactionEvent& event, std::string sdp) {
    Incoming incoming;
    incoming.session = answer_session(event.request.headers, context_.options.session_expires,
                                      context_.options.min_session);
    if (incoming.session.too_small) {
        respond_simple(now, event, 422);
        return;
    }
    context_.transactions.set_user(event.id, user_of_call(id_));
    dialog_->refresh_target(event.request);
    incoming.transaction = event.id;
    incoming.invite = event.request.method == Method::kInvite;
    incoming.empty = sdp.empty();
    incoming.number = event.core.cseq.number;
    incoming.deadline = now + context_.transactions.options().t64() / 2;
    incoming_ = incoming;
    CallEvent offer;
    offer.kind = CallEvent::Kind::kOffer;
    offer.sdp = std::move(sdp);
    emit(std::move(offer));
}

bool Call::answer_offer(MonoTime now, std::string sdp) {
    if (!incoming_ || state_ != State::kEstablished) {
        return false;
    }
    const Incoming incoming = *std::exchange(incoming_, std::nullopt);
    local_sdp_ = sdp;
    respond_ok(now, incoming.transaction, std::move(sdp), incoming.session);
    if (incoming.invite) {
        unacked_ = repeat(now, incoming.transaction, incoming.number);
        unacked_->has_offer = incoming.empty;
    }
    return true;
}

bool Call::refuse_offer(MonoTime now, int status) {
    if (!incoming_ || status < 400 || status > 699) {
        return false;
    }
    const Incoming incoming = *std::exchange(incoming_, std::nullopt);
    return context_.transactions.respond(now, incoming.transaction, status);
}

bool Call::offer(MonoTime now, std::string sdp) {
    if (state_ != State::kEstablished || incoming_ || unacked_ || retried_ ||
        has_pending(Purpose::kOffer) || has_pending(Purpose::kRefresh)) {
        return false;
    }
    offer_tries_ = 0;
    return send_offer(now, std::move(sdp), Purpose::kOffer);
}

bool Call::send_offer(MonoTime now, std::string sdp, Purpose purpose) {
    Request request = dialog_->make_request(Method::kInvite);
    add_capabilities(request.headers, true);
    add_session(request, purpose == Purpose::kRefresh);
    if (!sdp.empty()) {
        request.headers.add("Content-Type", std::string(kSdpType));
    }
    local_sdp_ = sdp;
    request.body = std::move(sdp);
    offer_tries_++;
    login_.begin_request();
    proxy_login_.begin_request();
    return send(now, std::move(request), purpose, requests_flow());
}

bool Call::send_info(MonoTime now, std::string type, std::string body) {
    if (state_ != State::kEstablished) {
        return false;
    }
    Request request = dialog_->make_request(Method::kInfo);
    request.headers.add("Content-Type", std::move(type));
    request.body = std::move(body);
    login_.begin_request();
    proxy_login_.begin_request();
    return send(now, std::move(request), Purpose::kInfo, requests_flow());
}

bool Call::ask(MonoTime now) {
    if (state_ != State::kEstablished || has_pending(Purpose::kAsk)) {
        return false;
    }
    Request request = dialog_->make_request(Method::kOptions);
    request.headers.add("Accept", std::string(kSdpType));
    login_.begin_request();
    proxy_login_.begin_request();
    return send(now, std::move(request), Purpose::kAsk, requests_flow());
}

// RFC 4028 §7.4: UPDATE where the peer has it, since it needs no offer.
void Call::refresh(MonoTime now) {
    if (state_ != State::kEstablished || has_pending(Purpose::kOffer) ||
        has_pending(Purpose::kRefresh)) {
        return;  // what is under way refreshes as well
    }
    if (incoming_ || unacked_) {
        retry_at_ = now + context_.transactions.options().t2;
        return;
    }
    if (!peer_updates_) {
        offer_tries_ = 0;
        send_offer(now, local_sdp_, Purpose::kRefresh);
        return;
    }
    Request request = dialog_->make_request(Method::kUpdate);
    add_capabilities(request.headers, true);
    add_session(request, true);
    login_.begin_request();
    proxy_login_.begin_request();
    send(now, std::move(request), Purpose::kRefresh, requests_flow());
}

void Call::on_session_response(MonoTime now, const TransactionEvent& event, Pending pending) {
    const Response& response = event.response;
    const Purpose purpose = pending.purpose;
    const bool invite = pending.request.method == Method::kInvite;
    const bool success = response.status < 300;
    if (success && invite) {
        acknowledge(event.core.cseq.number);
    }
    if (state_ == State::kEnding && purpose != Purpose::kBye) {
        return;
    }
    if ((response.status == 401 || response.status == 407) &&
        send_again(now, std::move(pending), response)) {
        return;
    }
    if (purpose == Purpose::kBye || purpose == Purpose::kPrack || purpose == Purpose::kAsk) {
        return;
    }
    // RFC 3261 §12.2.1.2: the peer knows nothing of this dialog, or has gone.
    if (response.status == 481 || response.status == 408) {
        end_failed(now, response.status);
        return;
    }
    if (purpose == Purpose::kInfo) {
        return;
    }
    if (!success) {
        on_offer_refused(now, response, purpose);
        return;
    }
    dialog_->refresh_target(response);
    start_session(now, response);
    std::string sdp = sdp_of(response).value_or("");
    if (invite && (purpose == Purpose::kOffer || !sdp.empty())) {
        CallEvent answered;
        answered.kind = CallEvent::Kind::kOfferAnswered;
        answered.status = response.status;
        answered.sdp = std::move(sdp);
        emit(std::move(answered));
    }
}

void Call::on_offer_refused(MonoTime now, const Response& response, Purpose purpose) {
    if (response.status == 491 && offer_tries_ < kMaxOfferTries) {
        retry_at_ = now + glare_pause(context_.random, caller_);
        if (purpose == Purpose::kOffer) {
            retried_ = local_sdp_;
        }
        return;
    }
    const uint32_t minimum = parse_seconds(response.header("Min-SE")).value_or(0);
    if (response.status == 422 && purpose == Purpose::kRefresh && minimum > min_session_) {
        min_session_ = minimum;
        retry_at_ = now;
        return;
    }
    if (purpose == Purpose::kOffer) {
        CallEvent refused;
        refused.kind = CallEvent::Kind::kOfferRefused;
        refused.status = response.status;
        refused.reason = response.reason;
        emit(std::move(refused));
    }
}

}  // namespace weir::sip
